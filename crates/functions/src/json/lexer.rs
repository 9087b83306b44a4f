//! Reading JSON text as Jackson does by default: strict, 1000 levels at most, and what follows the first value is not
//! read.

use std::borrow::Cow;

use crate::json::decimal::Decimal;
use crate::json::value::{Number, Value};

/// The deepest nesting of arrays and objects that is taken.
pub const MAX_DEPTH: usize = 1000;
const MAX_NUMBER_DIGITS: usize = 1000;

/// A position in a JSON text; reads one token, skips one value or builds one value.
#[derive(Debug, Clone)]
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Lexer<'a> {
    /// Starts at the first character.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    /// The next byte, if there is one.
    pub fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// An error that names what was expected and where.
    pub fn error(&self, expected: &str) -> String {
        let found = self.text.get(self.at..).and_then(|rest| rest.chars().next());
        match found {
            Some(found) => format!("invalid JSON: expected {expected} at offset {}, found {found:?}", self.at),
            None => format!("invalid JSON: expected {expected}, but the text ends"),
        }
    }

    /// Steps over spaces, tabs and line ends.
    pub fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Steps over the byte if it is next.
    pub fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Enters an array or object whose bracket is next; an error if it lies too deep.
    pub fn enter(&mut self) -> Result<(), String> {
        if self.depth >= MAX_DEPTH {
            return Err(format!("invalid JSON: nested deeper than {MAX_DEPTH} levels at offset {}", self.at));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Leaves an array or object whose bracket was taken.
    pub fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// An object's key with the colon after it.
    pub fn key(&mut self) -> Result<Cow<'a, str>, String> {
        self.space();
        if self.peek() != Some(b'"') {
            return Err(self.error("a key in double quotes"));
        }
        let key = self.string()?;
        self.colon()?;
        Ok(key)
    }

    pub(crate) fn colon(&mut self) -> Result<(), String> {
        self.space();
        if self.take(b':') { Ok(()) } else { Err(self.error("':'")) }
    }

    /// After a member of an object or array: true if a further one follows, false if it is closed.
    pub fn more(&mut self, close: u8) -> Result<bool, String> {
        self.space();
        if self.take(b',') {
            return Ok(true);
        }
        if self.take(close) {
            self.leave();
            return Ok(false);
        }
        Err(self.error(if close == b']' { "',' or ']'" } else { "',' or '}'" }))
    }

    /// Scans a string; gives where its contents lie and whether it has escapes.
    pub(crate) fn scan_string(&mut self) -> Result<(&'a str, bool), String> {
        self.at += 1;
        let start = self.at;
        let mut escaped = false;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.at += 1;
                    match self.peek() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
                        Some(b'u') => {
                            self.at += 1;
                            for _ in 0..4 {
                                if !self.peek().is_some_and(|b| b.is_ascii_hexdigit()) {
                                    return Err(self.error("a hexadecimal digit"));
                                }
                                self.at += 1;
                            }
                        }
                        _ => return Err(self.error("an escape")),
                    }
                }
                Some(0..0x20) => return Err(self.error("no bare control character in a string")),
                Some(_) => {
                    let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
                    let plain = rest.iter().position(|b| matches!(b, b'"' | b'\\' | 0..0x20));
                    self.at += plain.unwrap_or(rest.len());
                }
                None => return Err(self.error("'\"'")),
            }
        }
        let raw = self.text.get(start..self.at).unwrap_or_default();
        self.at += 1;
        Ok((raw, escaped))
    }

    /// The string that begins here, borrowed if it has no escapes; a lone surrogate becomes `?`.
    pub fn string(&mut self) -> Result<Cow<'a, str>, String> {
        let (raw, escaped) = self.scan_string()?;
        Ok(if escaped { Cow::Owned(unescape(raw)) } else { Cow::Borrowed(raw) })
    }

    fn digits(&mut self) -> Result<usize, String> {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(self.error("a digit")) } else { Ok(self.at - start) }
    }

    /// The number that begins here, as it is printed again.
    fn number(&mut self) -> Result<Number<'a>, String> {
        let start = self.at;
        self.take(b'-');
        let mut count = 1;
        if self.take(b'0') {
            if self.peek().is_some_and(|b| b.is_ascii_digit()) {
                return Err(self.error("no digit after a leading zero"));
            }
        } else {
            count = self.digits()?;
        }
        let (mut integer, mut exponent) = (true, false);
        if self.take(b'.') {
            integer = false;
            count += self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            (integer, exponent) = (false, true);
            if !self.take(b'+') {
                self.take(b'-');
            }
            count += self.digits()?;
        }
        if count > MAX_NUMBER_DIGITS {
            return Err(format!("invalid JSON: a number of more than {MAX_NUMBER_DIGITS} digits at offset {start}"));
        }
        if self.depth == 0 && !matches!(self.peek(), None | Some(b' ' | b'\n' | b'\r' | b'\t')) {
            return Err(self.error("space after a number"));
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        if integer {
            return Ok(Number { text: Cow::Borrowed(if text == "-0" { "0" } else { text }), integer });
        }
        // A plain number of at least 1 is printed as written; tiny ones and zero may not be.
        let whole = text.strip_prefix('-').unwrap_or(text);
        if !exponent && !whole.starts_with('0') {
            return Ok(Number { text: Cow::Borrowed(text), integer });
        }
        let Some(decimal) = Decimal::parse(text) else {
            return Err(format!("invalid JSON: the exponent at offset {start} is out of range"));
        };
        let mut printed = String::with_capacity(text.len() + 2);
        decimal.write(&mut printed);
        Ok(Number { text: if printed == text { Cow::Borrowed(text) } else { Cow::Owned(printed) }, integer })
    }

    fn word(&mut self, word: &'static str) -> Result<(), String> {
        if !self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            return Err(self.error("a value"));
        }
        self.at += word.len();
        let next = self.text.get(self.at..).and_then(|rest| rest.chars().next());
        if next.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            return Err(self.error("an end of the word"));
        }
        Ok(())
    }

    /// The value that begins here if it is no array and no object.
    pub(crate) fn scalar(&mut self) -> Result<Value<'a>, String> {
        match self.peek() {
            Some(b'"') => Ok(Value::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => Ok(Value::Number(self.number()?)),
            Some(b't') => self.word("true").map(|()| Value::Bool(true)),
            Some(b'f') => self.word("false").map(|()| Value::Bool(false)),
            Some(b'n') => self.word("null").map(|()| Value::Null),
            _ => Err(self.error("a value")),
        }
    }
}

/// Resolves the escapes of a string that was scanned.
fn unescape(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(rest.get(..at).unwrap_or_default());
        let code = rest.as_bytes().get(at + 1).copied().unwrap_or(b'\\');
        let mut length = 2;
        match code {
            b'b' => out.push('\u{8}'),
            b'f' => out.push('\u{c}'),
            b'n' => out.push('\n'),
            b'r' => out.push('\r'),
            b't' => out.push('\t'),
            b'u' => {
                let unit = hex(rest, at + 2);
                length = 6;
                let low = match unit {
                    0xd800..0xdc00 if rest.get(at + 6..at + 8) == Some("\\u") => hex(rest, at + 8),
                    _ => 0,
                };
                if (0xdc00..0xe000).contains(&low) {
                    length = 12;
                    out.push(char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)).unwrap_or('?'));
                } else {
                    out.push(char::from_u32(unit).unwrap_or('?'));
                }
            }
            other => out.push(char::from(other)),
        }
        rest = rest.get(at + length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

fn hex(text: &str, at: usize) -> u32 {
    text.get(at..at + 4).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0xfffd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings() {
        for (text, wanted) in
            [(r#""a\n\u00e9\uD83D\uDE00\/""#, "a\né😀/"), (r#""\uD83Dx""#, "?x"), (r#""\uDE00\uD83D\"""#, "??\"")]
        {
            assert_eq!(Lexer::new(text).string().as_deref(), Ok(wanted));
        }
        assert!(matches!(Lexer::new("\"é\"").string(), Ok(Cow::Borrowed("é"))));
    }

    #[test]
    fn numbers_are_printed_as_big_decimal() {
        for (text, wanted, integer) in [
            ("-0", "0", true),
            ("123456789012345678901234567890", "123456789012345678901234567890", true),
            ("1.50", "1.50", false),
            ("-0.0", "0.0", false),
            ("1e3", "1E+3", false),
            ("0.00000010", "1.0E-7", false),
            ("0.5", "0.5", false),
        ] {
            let number = Lexer::new(text).number().unwrap();
            assert_eq!((number.text.as_ref(), number.integer), (wanted, integer));
        }
        assert!(Lexer::new(&"1".repeat(1000)).number().is_ok());
        assert!(Lexer::new(&"1".repeat(1001)).number().is_err());
    }
}
