//! Java's regular expressions, compiled once for many texts.

use crate::text::error::{TextError, TextResult};
use crate::text::regex_translate::{Translator, ends_with_terminator};
use std::fmt;

/// How many steps one search may go back before it is given up.
const BACKTRACK_LIMIT: usize = 1_000_000;

/// Why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegexError {
    /// Java refuses the pattern, too.
    Invalid(String),
    /// Java has the construct, but it cannot be done here.
    Unsupported(String),
}

impl fmt::Display for RegexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(text) => write!(f, "The regular expression is not valid: {text}"),
            Self::Unsupported(text) => write!(f, "The regular expression is not supported: {text}"),
        }
    }
}

impl std::error::Error for RegexError {}

impl From<RegexError> for TextError {
    fn from(e: RegexError) -> Self {
        TextError::new(e.to_string())
    }
}

#[derive(Debug, Clone)]
enum Engine {
    /// Without look-around: time is linear in the text.
    Linear(regex::Regex),
    Backtracking(Box<fancy_regex::Regex>),
}

fn limit(e: fancy_regex::Error) -> TextError {
    TextError::new(format!("The regular expression was given up: {e}"))
}

impl Engine {
    fn compile(pattern: &str, backtracks: bool) -> Result<Self, RegexError> {
        if !backtracks {
            return regex::Regex::new(pattern).map(Self::Linear).map_err(|e| RegexError::Unsupported(e.to_string()));
        }
        let built = fancy_regex::RegexBuilder::new(pattern).backtrack_limit(BACKTRACK_LIMIT).build();
        built.map(|r| Self::Backtracking(Box::new(r))).map_err(|e| RegexError::Unsupported(e.to_string()))
    }

    fn find(&self, text: &str, from: usize) -> TextResult<Option<(usize, usize)>> {
        match self {
            Self::Linear(r) => Ok(r.find_at(text, from).map(|m| (m.start(), m.end()))),
            Self::Backtracking(r) => Ok(r.find_from_pos(text, from).map_err(limit)?.map(|m| (m.start(), m.end()))),
        }
    }

    /// The spans of the whole match and of one group.
    fn find_group(&self, text: &str, from: usize, group: usize) -> TextResult<Option<(Span, Option<Span>)>> {
        if group == 0 {
            return Ok(self.find(text, from)?.map(|whole| (whole, Some(whole))));
        }
        match self {
            Self::Linear(r) => Ok(r.captures_at(text, from).and_then(|c| {
                let whole = c.get(0)?;
                Some(((whole.start(), whole.end()), c.get(group).map(|m| (m.start(), m.end()))))
            })),
            Self::Backtracking(r) => Ok(r.captures_from_pos(text, from).map_err(limit)?.and_then(|c| {
                let whole = c.get(0)?;
                Some(((whole.start(), whole.end()), c.get(group).map(|m| (m.start(), m.end()))))
            })),
        }
    }

    fn group_count(&self) -> usize {
        match self {
            Self::Linear(r) => r.captures_len() - 1,
            Self::Backtracking(r) => r.captures_len() - 1,
        }
    }
}

type Span = (usize, usize);

/// A compiled regular expression of Java's syntax.
#[derive(Debug, Clone)]
pub struct JavaRegex {
    exact: Engine,
    /// A faster one for texts that do not end with a line terminator.
    plain: Option<Engine>,
    empty: bool,
}

impl JavaRegex {
    /// Compiles a pattern; the error says whether Java refuses it, too.
    pub fn new(pattern: &str) -> Result<Self, RegexError> {
        Self::build(pattern, false)
    }

    /// Compiles a pattern that must match the whole text.
    pub fn whole(pattern: &str) -> Result<Self, RegexError> {
        Self::build(pattern, true)
    }

    /// Compiles a pattern as the REGEXP functions need it: None if Java refuses it, an error if it cannot be done here.
    pub fn lenient(pattern: &str) -> TextResult<Option<Self>> {
        match Self::new(pattern) {
            Ok(regex) => Ok(Some(regex)),
            Err(RegexError::Invalid(_)) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    fn build(pattern: &str, whole: bool) -> Result<Self, RegexError> {
        let frame = |body: String| if whole { format!(r"\A(?:{body})\z") } else { body };
        let (state, body) = Translator::run(pattern, false)?;
        let exact = Engine::compile(&frame(body), state.backtracks)?;
        let plain = if state.end_anchor {
            let (state, body) = Translator::run(pattern, true)?;
            Some(Engine::compile(&frame(body), state.backtracks)?)
        } else {
            None
        };
        Ok(Self { exact, plain, empty: pattern.is_empty() })
    }

    fn engine(&self, text: &str) -> &Engine {
        match &self.plain {
            Some(plain) if !ends_with_terminator(text) => plain,
            _ => &self.exact,
        }
    }

    /// Whether the pattern is the empty text.
    pub fn is_empty(&self) -> bool {
        self.empty
    }

    /// The number of groups of the pattern.
    pub fn group_count(&self) -> usize {
        self.exact.group_count()
    }

    /// Whether the pattern matches anywhere in the text.
    pub fn is_match(&self, text: &str) -> TextResult<bool> {
        match self.engine(text) {
            Engine::Linear(r) => Ok(r.is_match(text)),
            Engine::Backtracking(r) => r.is_match(text).map_err(limit),
        }
    }

    /// The byte positions of the first match.
    pub fn find(&self, text: &str) -> TextResult<Option<(usize, usize)>> {
        self.engine(text).find(text, 0)
    }

    /// Calls `each` with the whole match and one group of every match, as Java's `Matcher.find` goes through a text:
    /// an empty match may follow directly after another match. Stops when `each` gives false.
    pub fn each_match(
        &self,
        text: &str,
        group: usize,
        mut each: impl FnMut(Span, Option<Span>) -> bool,
    ) -> TextResult<()> {
        let engine = self.engine(text);
        let mut from = 0;
        while let Some((whole, part)) = engine.find_group(text, from, group)? {
            if !each(whole, part) {
                break;
            }
            from = whole.1;
            if whole.0 == whole.1 {
                match text.get(from..).and_then(|rest| rest.chars().next()) {
                    Some(c) => from += c.len_utf8(),
                    None => break,
                }
            }
        }
        Ok(())
    }

    /// Splits a text as Java's `Pattern.split`: with a limit of 0, empty pieces at the end are left out.
    pub fn split<'a>(&self, text: &'a str, limit: usize) -> TextResult<Vec<&'a str>> {
        let mut pieces = Vec::new();
        let mut start = 0;
        self.each_match(text, 0, |(from, to), _| {
            if limit > 0 && pieces.len() + 1 == limit {
                return false;
            }
            // An empty match at the beginning gives no piece.
            if to > 0 {
                pieces.push(text.get(start..from).unwrap_or(""));
                start = to;
            }
            true
        })?;
        if pieces.is_empty() {
            return Ok(vec![text]);
        }
        pieces.push(text.get(start..).unwrap_or(""));
        if limit == 0 {
            while pieces.last().is_some_and(|p| p.is_empty()) {
                pieces.pop();
            }
        }
        Ok(pieces)
    }
}

#[cfg(test)]
#[path = "java_regex_tests.rs"]
mod tests;
