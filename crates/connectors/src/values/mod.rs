//! Values as text: how numbers, decimals, dates, timestamps and bytes are read and written, the same in every format.

pub(crate) mod base64;
pub(crate) mod number;
pub(crate) mod sql_type;
pub(crate) mod timestamp;
pub(crate) mod write;
pub(crate) mod zone;

pub(crate) use sql_type::sql_type;
pub(crate) use zone::Zone;

/// Why a text is not a value: a message without a place, which the reader of the format adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem(pub(crate) String);

impl Problem {
    #[cold]
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Problem(message.into())
    }
}

/// A text as messages show it: cut where it gets long, control characters escaped.
pub(crate) fn shown(text: &[u8]) -> String {
    const LONGEST: usize = 120;
    let text = String::from_utf8_lossy(text);
    let mut shown: String = text
        .chars()
        .take(LONGEST)
        .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
        .collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}
