//! Text for people: what a terminal would take for a command is written out.
//!
//! Names of tables, columns and files, and whatever is quoted from a file, may hold any character. On a terminal some
//! of them move the cursor, change what was written before, or turn the order of letters around.

use std::fmt;

/// A text as part of a line: line breaks and tabs are written out too.
///
/// ```
/// # use headpond_state::printable::OneLine;
/// assert_eq!(OneLine("a\x1b[2Jb\n").to_string(), r"a\u001b[2Jb\n");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct OneLine<'a>(pub &'a str);

/// A text of any number of lines: line breaks and tabs stay.
#[derive(Debug, Clone, Copy)]
pub struct Lines<'a>(pub &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_escaped(self.0, f, is_command)
    }
}

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_escaped(self.0, f, |c| !matches!(c, '\n' | '\t') && is_command(c))
    }
}

/// Control characters, and those that change the direction of text or break lines.
fn is_command(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Escapes as in JSON, so that a JSON text stays the same JSON.
fn write_escaped(text: &str, f: &mut fmt::Formatter<'_>, is_escaped: impl Fn(char) -> bool) -> fmt::Result {
    let mut rest = text;
    while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_escaped(*c)) {
        f.write_str(&rest[..at])?;
        match c {
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c => write!(f, "\\u{:04x}", u32::from(c))?,
        }
        rest = &rest[at + c.len_utf8()..];
    }
    f.write_str(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, Error};

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        let hostile = "a\x1b]0;title\x07\x08\u{9b}31m\x7f\r\u{202e}b\nc\td";
        let shown = r"a\u001b]0;title\u0007\u0008\u009b31m\u007f\r\u202eb";
        assert_eq!(OneLine(hostile).to_string(), format!(r"{shown}\nc\td"));
        assert_eq!(Lines(hostile).to_string(), format!("{shown}\nc\td"));
        for text in ["", "größe 東京 \u{200f}שלום 👍", "C:\\x"] {
            assert_eq!(OneLine(text).to_string(), text);
        }
    }

    #[test]
    fn errors_are_printable_whatever_they_name() {
        let error = Error::invalid("no table 'a\x1b[31m'").with(Context::Path, "x\ny\x1b").because("b\x07");
        assert_eq!(error.to_string(), r"no table 'a\u001b[31m' (path x\ny\u001b): b\u0007");
        assert!(!format!("{error:?}").contains('\x1b'));
    }
}
