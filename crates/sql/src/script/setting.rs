//! `SET` and `RESET`, quoted or not, broken over lines or not.
//!
//! `SET 'a.b' = 'c'`, `SET a.b=c`, `SET a.b = 10 s` and `SET a.b = "c"` are one and the same. White space within a key,
//! and line breaks within a value next to a dot or inside quotes, come from pasting and are dropped.

use super::scan::{Cursor, StatementText};
use super::statement_kind::StatementKind;
use crate::position::At;
use headpond_state::{Error, Result};

/// Parses a `SET`.
pub(super) fn parse_set(source: &StatementText<'_>) -> Result<StatementKind> {
    let mut cursor = after_first_word(source);
    let Some(key) = parse_key(&mut cursor)? else { return Ok(StatementKind::Show { key: None }) };
    cursor.skip_blank()?;
    match cursor.peek() {
        None => return Ok(StatementKind::Show { key: Some(key) }),
        Some('=') => cursor.bump(),
        Some(_) => return Err(expected("`=` behind the option's key", &cursor)),
    };
    cursor.skip_blank()?;
    let begin = cursor.position;
    let value = match cursor.quoted()? {
        Some(quoted) => {
            cursor.skip_blank()?;
            if cursor.peek().is_some() {
                return Err(expected("nothing behind the option's value", &cursor));
            }
            without_line_breaks(&quoted)
        }
        None => parse_bare_value(&mut cursor)?,
    };
    if value.is_empty() {
        return Err(Error::invalid(format!("option '{key}' is set to nothing"))
            .hint(format!("give it a value, or go back to its default with RESET '{key}'"))
            .at(begin));
    }
    Ok(StatementKind::Set { key, value })
}

/// Parses a `RESET`.
pub(super) fn parse_reset(source: &StatementText<'_>) -> Result<StatementKind> {
    let mut cursor = after_first_word(source);
    let key = parse_key(&mut cursor)?;
    cursor.skip_blank()?;
    match cursor.peek() {
        None => Ok(StatementKind::Reset { key }),
        Some(_) => Err(expected("nothing behind the option's key", &cursor)),
    }
}

fn after_first_word<'a>(source: &StatementText<'a>) -> Cursor<'a> {
    let mut cursor = Cursor::new(source.text, source.position);
    for _ in source.first_word().chars() {
        cursor.bump();
    }
    cursor
}

fn parse_key(cursor: &mut Cursor<'_>) -> Result<Option<String>> {
    cursor.skip_blank()?;
    if let Some(quoted) = cursor.quoted()? {
        return Ok(Some(quoted.split_whitespace().collect()));
    }
    let mut key = String::new();
    loop {
        cursor.skip_blank()?;
        match cursor.peek() {
            None | Some('=') => break,
            Some('\'' | '"' | '`') => return Err(expected("`=` behind the option's key", cursor)),
            Some(c) => key.push(c),
        }
        cursor.bump();
    }
    Ok((!key.is_empty()).then_some(key))
}

fn parse_bare_value(cursor: &mut Cursor<'_>) -> Result<String> {
    let mut value = String::new();
    while let Some(c) = cursor.peek() {
        if cursor.skip_comment()? {
            value.push(' ');
        } else {
            value.push(c);
            cursor.bump();
        }
    }
    Ok(without_line_breaks(&value))
}

/// The text with every line break and the white space around it as one space, or as nothing next to a dot.
fn without_line_breaks(text: &str) -> String {
    let mut joined = String::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if !(joined.is_empty() || joined.ends_with('.') || line.starts_with('.')) {
            joined.push(' ');
        }
        joined.push_str(line);
    }
    joined
}

fn expected(what: &str, cursor: &Cursor<'_>) -> Error {
    let found: String = cursor.rest().split_whitespace().next().unwrap_or_default().chars().take(20).collect();
    Error::invalid(format!("expected {what}, found `{found}`")).hint("write SET 'key' = 'value';").at(cursor.position)
}
