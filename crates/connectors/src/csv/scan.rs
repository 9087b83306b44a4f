//! Finding the fields of a row.

use super::Dialect;

/// Finds the fields of the row that a window begins with.
#[derive(Debug)]
pub(super) struct Scanner {
    delimiter: u8,
    quote: Option<u8>,
    escape: Option<u8>,
    comments: bool,
    /// Which bytes may end a field that has no quotes, or stand before one that is escaped.
    special: [bool; 256],
    /// The delimiter, a newline, the quote and the escape, each eight times; a newline for what the dialect does not
    /// have.
    words: [u64; 4],
    spans: Vec<Span>,
}

/// Where a field is, without its quotes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) quoted: bool,
    /// Whether something in it is doubled or escaped.
    pub(super) escaped: bool,
}

/// What a window begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scan {
    /// A row, whose fields are [`spans`](Scanner::spans).
    Row(Extent),
    /// An empty line or a comment.
    Nothing(Extent),
    /// A row with text between a closing quote and the next delimiter.
    BehindQuote(Extent),
    /// A row whose last field's quote is not closed before the end of the file.
    Unclosed,
    /// More than the window has.
    Incomplete,
    /// Nothing at all: the end of the file.
    End,
}

/// How much of the window it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) bytes: usize,
    pub(super) newlines: u64,
}

/// What ends a field.
enum Ending {
    Delimiter,
    Newline,
    EndOfFile,
    Other,
}

impl Scanner {
    pub(super) fn new(dialect: &Dialect) -> Self {
        let mut special = [false; 256];
        special[usize::from(dialect.delimiter)] = true;
        special[usize::from(b'\n')] = true;
        if let Some(escape) = dialect.escape {
            special[usize::from(escape)] = true;
        }
        let Dialect { delimiter, quote, escape, comments, .. } = *dialect;
        let bytes = [delimiter, b'\n', quote.unwrap_or(b'\n'), escape.unwrap_or(b'\n')];
        let words = bytes.map(|byte| u64::from_ne_bytes([byte; 8]));
        Scanner { delimiter, quote, escape, comments, special, words, spans: Vec::new() }
    }

    /// The fields of the last row.
    #[inline]
    pub(super) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Looks at what `window` begins with; the file ends with it if `at_end`.
    pub(super) fn scan(&mut self, window: &[u8], at_end: bool) -> Scan {
        match window.first() {
            None => return if at_end { Scan::End } else { Scan::Incomplete },
            Some(b'\n') => return Scan::Nothing(Extent { bytes: 1, newlines: 1 }),
            Some(b'\r') if window.get(1) == Some(&b'\n') => return Scan::Nothing(Extent { bytes: 2, newlines: 1 }),
            Some(b'\r') if window.len() == 1 => {
                return if at_end { Scan::Nothing(Extent { bytes: 1, newlines: 0 }) } else { Scan::Incomplete };
            }
            Some(b'#') if self.comments => return comment(window, at_end),
            Some(_) => {}
        }
        self.spans.clear();
        if let Some(extent) = self.plain(window) {
            return Scan::Row(extent);
        }
        self.spans.clear();
        let mut at = 0;
        let mut newlines = 0;
        let mut behind_quote = false;
        loop {
            let span = if self.quote.is_some() && window.get(at).copied() == self.quote {
                match self.quoted(window, at, at_end, &mut newlines) {
                    Ok(span) => span,
                    Err(scan) => return scan,
                }
            } else {
                self.bare(window, at)
            };
            at = span.end + usize::from(span.quoted);
            let mut span = span;
            match self.ending(window, at, &mut span) {
                Ending::EndOfFile if !at_end => return Scan::Incomplete,
                Ending::Delimiter => {
                    self.spans.push(span);
                    at += 1;
                }
                ending @ (Ending::Newline | Ending::EndOfFile) => {
                    self.spans.push(span);
                    let is_newline = matches!(ending, Ending::Newline);
                    at = if is_newline { line_end(window, at) } else { window.len() };
                    newlines += u64::from(is_newline);
                    let extent = Extent { bytes: at, newlines };
                    return if behind_quote { Scan::BehindQuote(extent) } else { Scan::Row(extent) };
                }
                Ending::Other => {
                    behind_quote = true;
                    let rest = self.bare(window, at);
                    self.spans.push(span);
                    at = rest.end;
                    match window.get(at) {
                        None if !at_end => return Scan::Incomplete,
                        Some(&byte) if byte == self.delimiter => at += 1,
                        _ => {
                            let bytes = line_end(window, at);
                            return Scan::BehindQuote(Extent { bytes, newlines: newlines + u64::from(bytes > at) });
                        }
                    }
                }
            }
        }
    }

    /// The row, if it has neither quotes nor escapes and does not end close before the window does: nearly all rows.
    /// Eight bytes are looked at together.
    fn plain(&mut self, window: &[u8]) -> Option<Extent> {
        let [delimiter, newline, quote, escape] = self.words;
        let (mut start, mut at) = (0, 0);
        loop {
            let word = u64::from_le_bytes(*window.get(at..)?.first_chunk::<8>()?);
            let others = zeros(word ^ quote) | zeros(word ^ escape);
            let mut ends = zeros(word ^ delimiter) | zeros(word ^ newline);
            while ends != 0 {
                let bit = ends.trailing_zeros();
                if others & !(u64::MAX << bit) != 0 {
                    return None;
                }
                let end = at + (bit / 8) as usize;
                let is_newline = window[end] == b'\n';
                let carriage_return = is_newline && end > start && window[end - 1] == b'\r';
                let span = Span { start, end: end - usize::from(carriage_return), quoted: false, escaped: false };
                self.spans.push(span);
                start = end + 1;
                if is_newline {
                    return Some(Extent { bytes: start, newlines: 1 });
                }
                ends &= ends - 1;
            }
            if others != 0 {
                return None;
            }
            at += 8;
        }
    }

    /// A field without quotes that begins at `start`.
    #[inline]
    fn bare(&self, window: &[u8], start: usize) -> Span {
        let mut at = start;
        let mut escaped = false;
        loop {
            while at < window.len() && !self.special[usize::from(window[at])] {
                at += 1;
            }
            match window.get(at) {
                Some(&byte) if Some(byte) == self.escape => {
                    escaped = true;
                    at = (at + 2).min(window.len());
                }
                _ => return Span { start, end: at, quoted: false, escaped },
            }
        }
    }

    /// A field with quotes that begins, with its quote, at `start`.
    fn quoted(&self, window: &[u8], start: usize, at_end: bool, newlines: &mut u64) -> Result<Span, Scan> {
        let unfinished = if at_end { Scan::Unclosed } else { Scan::Incomplete };
        let mut at = start + 1;
        let mut escaped = false;
        loop {
            let Some(&byte) = window.get(at) else { return Err(unfinished) };
            if Some(byte) == self.quote {
                match window.get(at + 1) {
                    Some(&next) if next == byte => {
                        escaped = true;
                        at += 2;
                    }
                    None if !at_end => return Err(Scan::Incomplete),
                    _ => return Ok(Span { start: start + 1, end: at, quoted: true, escaped }),
                }
            } else if Some(byte) == self.escape {
                escaped = true;
                at += 2;
            } else {
                *newlines += u64::from(byte == b'\n');
                at += 1;
            }
        }
    }

    /// What stands at `at`, behind a field. A carriage return before a newline is taken off the field.
    #[inline]
    fn ending(&self, window: &[u8], at: usize, span: &mut Span) -> Ending {
        match window.get(at) {
            Some(&byte) if byte == self.delimiter => Ending::Delimiter,
            Some(b'\n') => {
                if !span.quoted && span.end > span.start && window[span.end - 1] == b'\r' {
                    span.end -= 1;
                }
                Ending::Newline
            }
            None => {
                if !span.quoted && span.end > span.start && window[span.end - 1] == b'\r' {
                    span.end -= 1;
                }
                Ending::EndOfFile
            }
            Some(b'\r') if window.get(at + 1) == Some(&b'\n') => Ending::Newline,
            Some(b'\r') if at + 1 == window.len() => Ending::EndOfFile,
            Some(_) => Ending::Other,
        }
    }
}

/// The high bits of the bytes that are zero.
#[inline]
fn zeros(word: u64) -> u64 {
    const LOW: u64 = u64::from_ne_bytes([0x7f; 8]);
    !(((word & LOW) + LOW) | word | LOW)
}

/// The place behind the line break at `at`, if there is one.
fn line_end(window: &[u8], at: usize) -> usize {
    match &window[at.min(window.len())..] {
        [b'\r', b'\n', ..] => at + 2,
        [b'\n', ..] => at + 1,
        _ => at,
    }
}

fn comment(window: &[u8], at_end: bool) -> Scan {
    match window.iter().position(|&byte| byte == b'\n') {
        Some(at) => Scan::Nothing(Extent { bytes: at + 1, newlines: 1 }),
        None if at_end => Scan::Nothing(Extent { bytes: window.len(), newlines: 0 }),
        None => Scan::Incomplete,
    }
}
