//! Walking over JSON text (RFC 8259).

use crate::values::Problem;
use std::borrow::Cow;

/// How deep values may nest.
const DEPTH_MAX: usize = 128;

/// A place in a text.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

/// What a value is, by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    Null,
    True,
    False,
    Number,
    String,
    Array,
    Object,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Cursor { text, at: 0 }
    }

    /// The bytes before the place.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    /// What the next value is.
    pub(super) fn kind(&mut self) -> Result<ValueKind, Problem> {
        self.skip_space();
        match self.peek() {
            Some(b'"') => Ok(ValueKind::String),
            Some(b'-' | b'0'..=b'9') => Ok(ValueKind::Number),
            Some(b'n') => Ok(ValueKind::Null),
            Some(b't') => Ok(ValueKind::True),
            Some(b'f') => Ok(ValueKind::False),
            Some(b'{') => Ok(ValueKind::Object),
            Some(b'[') => Ok(ValueKind::Array),
            _ => Err(self.expected("a value")),
        }
    }

    #[cold]
    fn expected(&self, what: &str) -> Problem {
        match self.text[self.at..].chars().next() {
            Some(found) => Problem::new(format!("expected {what}, found '{}'", found.escape_debug())),
            None => Problem::new(format!("expected {what}, found the end")),
        }
    }

    /// Moves behind `byte`, if it is next after spaces.
    pub(super) fn accept(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, byte: u8) -> Result<(), Problem> {
        if self.accept(byte) { Ok(()) } else { Err(self.expected(&format!("'{}'", char::from(byte)))) }
    }

    /// Moves behind the text's end, if nothing but spaces is left.
    pub(super) fn end(&mut self) -> Result<(), Problem> {
        self.skip_space();
        if self.at == self.text.len() { Ok(()) } else { Err(self.expected("the end of the row")) }
    }

    /// Moves behind `null`, `true` or `false`.
    pub(super) fn literal(&mut self, literal: &str) -> Result<(), Problem> {
        if !self.text[self.at..].starts_with(literal) {
            return Err(self.expected(literal));
        }
        self.at += literal.len();
        Ok(())
    }

    /// Moves behind a number and gives its text.
    pub(super) fn number(&mut self) -> Result<&'a str, Problem> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.expected("a digit")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.some_digits()?;
        }
        Ok(&self.text[start..self.at])
    }

    fn some_digits(&mut self) -> Result<(), Problem> {
        let start = self.at;
        self.digits();
        if self.at == start { Err(self.expected("a digit")) } else { Ok(()) }
    }

    fn digits(&mut self) {
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
    }

    /// Moves behind a string and gives what it stands for.
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>, Problem> {
        self.expect(b'"')?;
        let start = self.at;
        self.plain_part()?;
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(Cow::Borrowed(&self.text[start..self.at - 1]));
        }
        let mut string = self.text[start..self.at].to_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(string));
                }
                Some(b'\\') => {
                    self.at += 1;
                    string.push(self.escape()?);
                }
                _ => return Err(self.expected("the end of a string")),
            }
            let start = self.at;
            self.plain_part()?;
            string.push_str(&self.text[start..self.at]);
        }
    }

    /// Moves to the next quote or backslash.
    fn plain_part(&mut self) -> Result<(), Problem> {
        let rest = &self.text.as_bytes()[self.at..];
        let len = rest.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20).unwrap_or(rest.len());
        self.at += len;
        match self.peek() {
            Some(b'"' | b'\\') => Ok(()),
            Some(_) => Err(Problem::new("a control character in a string must be escaped")),
            None => Err(self.expected("the end of a string")),
        }
    }

    fn escape(&mut self) -> Result<char, Problem> {
        let byte = self.peek().ok_or_else(|| self.expected("an escaped character"))?;
        let character = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                self.at += 1;
                return self.unicode_escape();
            }
            _ => return Err(self.expected("an escaped character")),
        };
        self.at += 1;
        Ok(character)
    }

    /// A character from its UTF-16 code units. Half a pair stands for nothing: it becomes the replacement character.
    fn unicode_escape(&mut self) -> Result<char, Problem> {
        let first = self.code_unit()?;
        if let 0xd800..=0xdbff = first
            && self.text[self.at..].starts_with("\\u")
        {
            let before = self.at;
            self.at += 2;
            let second = self.code_unit()?;
            if let 0xdc00..=0xdfff = second {
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn code_unit(&mut self) -> Result<u32, Problem> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let code = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|text| u32::from_str_radix(text, 16).ok());
        let code = code.ok_or_else(|| self.expected("four hexadecimal digits"))?;
        self.at += 4;
        Ok(code)
    }

    /// Moves behind the next value and gives its text.
    pub(super) fn value(&mut self) -> Result<&'a str, Problem> {
        self.skip_space();
        let start = self.at;
        self.skip(0)?;
        Ok(&self.text[start..self.at])
    }

    fn skip(&mut self, depth: usize) -> Result<(), Problem> {
        if depth > DEPTH_MAX {
            return Err(Problem::new(format!("values nest deeper than {DEPTH_MAX} levels")));
        }
        match self.kind()? {
            ValueKind::Null => self.literal("null"),
            ValueKind::True => self.literal("true"),
            ValueKind::False => self.literal("false"),
            ValueKind::Number => self.number().map(drop),
            ValueKind::String => self.string().map(drop),
            ValueKind::Array => self.elements(|cursor| cursor.skip(depth + 1)),
            ValueKind::Object => self.members(|cursor, _| cursor.skip(depth + 1)),
        }
    }

    /// Moves behind an array; `element` moves behind each element.
    pub(super) fn elements(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        self.expect(b'[')?;
        if self.accept(b']') {
            return Ok(());
        }
        loop {
            element(self)?;
            if self.accept(b']') {
                return Ok(());
            }
            if !self.accept(b',') {
                return Err(self.expected("',' or ']'"));
            }
        }
    }

    /// Moves behind an object; `member` gets each name and moves behind the value.
    pub(super) fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, Cow<'a, str>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        self.expect(b'{')?;
        if self.accept(b'}') {
            return Ok(());
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.expected("a name in quotes"));
            }
            let name = self.string()?;
            self.expect(b':')?;
            member(self, name)?;
            if self.accept(b'}') {
                return Ok(());
            }
            if !self.accept(b',') {
                return Err(self.expected("',' or '}'"));
            }
        }
    }
}
