//! Cuts a text into statements.
//!
//! A statement ends at a semicolon outside quotes and comments. `SET` and `RESET` also end where the next statement
//! begins on a line of its own, since people paste lists of settings without semicolons.

use crate::position::{At, Position};
use headpond_state::{Error, Result};

/// A statement's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatementText<'a> {
    /// Where it begins.
    pub(crate) position: Position,
    /// Its text, without the semicolon.
    pub(crate) text: &'a str,
}

impl StatementText<'_> {
    /// The first word, in capitals.
    pub(crate) fn first_word(&self) -> String {
        let end = self.text.find(|c: char| !is_word(c)).unwrap_or(self.text.len());
        self.text[..end].to_ascii_uppercase()
    }

    /// The first few words, for messages: without secrets.
    pub(crate) fn beginning(&self) -> String {
        const LENGTH: usize = 60;
        let words = headpond_config::mask(self.text);
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        match words.char_indices().nth(LENGTH) {
            Some((end, _)) => format!("{}…", words[..end].trim_end()),
            None => words,
        }
    }
}

/// Words that begin a statement: where one stands at the beginning of a line, a setting before it has ended.
const STATEMENT_WORDS: [&str; 18] = [
    "SET", "RESET", "CREATE", "INSERT", "EXPLAIN", "EXECUTE", "BEGIN", "END", "SELECT", "WITH", "DROP", "USE", "SHOW",
    "DESCRIBE", "ALTER", "ADD", "LOAD", "DESC",
];

/// The statements of a text.
pub(crate) fn statement_texts(text: &str) -> Result<Vec<StatementText<'_>>> {
    let mut cursor = Cursor::new(text, Position::START);
    let mut texts = Vec::new();
    loop {
        cursor.skip_to_statement()?;
        let (start, position) = (cursor.offset, cursor.position);
        if cursor.peek().is_none() {
            return Ok(texts);
        }
        let first = StatementText { position, text: &text[start..] }.first_word();
        let end = cursor.skip_statement(matches!(first.as_str(), "SET" | "RESET"))?;
        texts.push(StatementText { position, text: text[start..end].trim_end() });
    }
}

/// Reads characters and knows where they stand.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    pub(super) offset: usize,
    pub(super) position: Position,
}

impl<'a> Cursor<'a> {
    /// A cursor at the beginning of `text`, which stands at `position`.
    pub(super) fn new(text: &'a str, position: Position) -> Self {
        Cursor { text, offset: 0, position }
    }

    /// What is still to be read.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.offset..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.offset += c.len_utf8();
        if c == '\n' {
            self.position = Position { line: self.position.line + 1, column: 1 };
        } else {
            self.position.column += 1;
        }
        Some(c)
    }

    /// Skips white space and comments.
    pub(super) fn skip_blank(&mut self) -> Result<()> {
        loop {
            if self.peek().is_some_and(is_blank) {
                self.bump();
            } else if !self.skip_comment()? {
                return Ok(());
            }
        }
    }

    /// Skips what stands between statements.
    fn skip_to_statement(&mut self) -> Result<()> {
        loop {
            if self.at_hint() {
                let error = Error::invalid("a hint stands in front of a statement");
                return Err(error.hint("put it behind SELECT").at(self.position));
            }
            if self.peek().is_some_and(|c| c == ';' || is_blank(c)) {
                self.bump();
            } else if !self.skip_comment()? {
                return Ok(());
            }
        }
    }

    /// Whether a hint begins here.
    fn at_hint(&self) -> bool {
        self.rest().starts_with("/*+")
    }

    /// Skips a comment, if one begins here.
    pub(super) fn skip_comment(&mut self) -> Result<bool> {
        if self.rest().starts_with("--") {
            while self.peek().is_some_and(|c| c != '\n') {
                self.bump();
            }
            return Ok(true);
        }
        if !self.rest().starts_with("/*") {
            return Ok(false);
        }
        let begin = self.position;
        let Some(length) = self.rest().find("*/") else {
            return Err(Error::invalid("a comment has no end").hint("close it with */").at(begin));
        };
        let end = self.offset + length + 2;
        while self.offset < end {
            self.bump();
        }
        Ok(true)
    }

    /// Reads a quoted text, if one begins here. A doubled quote stands for one.
    pub(super) fn quoted(&mut self) -> Result<Option<String>> {
        let begin = self.position;
        let close = match self.peek() {
            Some(quote @ ('\'' | '"' | '`')) => quote,
            Some('“' | '”') => '”',
            Some('‘' | '’') => '’',
            _ => return Ok(None),
        };
        self.bump();
        let mut content = String::new();
        loop {
            match self.bump() {
                Some(c) if c == close && self.peek() == Some(close) => {
                    self.bump();
                    content.push(close);
                }
                Some(c) if c == close => return Ok(Some(content)),
                Some(c) => content.push(c),
                None => {
                    let error = Error::invalid("a quoted text has no end").hint(format!("close it with {close}"));
                    return Err(error.at(begin));
                }
            }
        }
    }

    /// Whether a word that begins a statement stands here.
    pub(super) fn at_statement(&self) -> bool {
        let word = StatementText { position: self.position, text: self.rest() }.first_word();
        STATEMENT_WORDS.contains(&word.as_str())
    }

    /// Skips to the end of a statement and returns it; the semicolon is skipped, too.
    fn skip_statement(&mut self, is_setting: bool) -> Result<usize> {
        while self.peek().is_some_and(is_word) {
            self.bump();
        }
        let mut end = self.offset;
        while let Some(c) = self.peek() {
            if c == ';' {
                self.bump();
                break;
            }
            if is_setting && c == '\n' {
                let mut ahead = self.clone();
                ahead.skip_blank()?;
                if ahead.at_statement() {
                    break;
                }
                // What was skipped is not looked at again.
                *self = ahead;
                continue;
            }
            let hint = self.at_hint();
            if self.skip_comment()? {
                // A hint belongs to the statement, also at its end.
                if hint {
                    end = self.offset;
                }
                continue;
            }
            // Typographic quotes are quotes only in settings: elsewhere SQL does not know them.
            let quoted = matches!(c, '\'' | '"' | '`') || (is_setting && matches!(c, '“' | '”' | '‘' | '’'));
            if !quoted || self.quoted()?.is_none() {
                self.bump();
            }
            end = self.offset;
        }
        Ok(end)
    }
}

/// Whether a character says nothing.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

/// Whether a word goes on with this character.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
