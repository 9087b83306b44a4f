//! Names and words at the place where a parser stands.

use super::tokens::{position, syntax_error};
use crate::position::{At, Position};
use datafusion_sql::sqlparser::parser::Parser;
use datafusion_sql::sqlparser::tokenizer::Token;
use headpond_state::{Error, Result};

/// Parses a name of one part.
pub(super) fn parse_name(parser: &mut Parser<'_>) -> Result<(String, Position)> {
    let at = position(parser);
    let name = parser.parse_identifier().map_err(syntax_error)?;
    if parser.peek_token_ref().token == Token::Period {
        return Err(Error::unsupported("names of catalogs and databases are not supported")
            .hint("use the name of the table alone")
            .at(at));
    }
    Ok((name.value, at))
}

/// Parses `(name, name, …)`.
pub(super) fn parse_names(parser: &mut Parser<'_>) -> Result<Vec<(String, Position)>> {
    parser.expect_token(&Token::LParen).map_err(syntax_error)?;
    let mut names = vec![parse_name(parser)?];
    while parser.consume_token(&Token::Comma) {
        names.push(parse_name(parser)?);
    }
    parser.expect_token(&Token::RParen).map_err(syntax_error)?;
    Ok(names)
}

/// Whether the next words are these; if so, they are taken. Compares without case.
pub(super) fn parse_words(parser: &mut Parser<'_>, words: &[&str]) -> bool {
    let matches = words.iter().enumerate().all(|(index, word)| word_at(parser, index) == *word);
    if matches {
        for _ in words {
            parser.next_token();
        }
    }
    matches
}

/// The word the parser stands at, in capitals; empty if it is none.
pub(super) fn word_here(parser: &Parser<'_>) -> String {
    word_at(parser, 0)
}

pub(super) fn word_at(parser: &Parser<'_>, index: usize) -> String {
    match &parser.peek_nth_token_ref(index).token {
        Token::Word(word) if word.quote_style.is_none() => word.value.to_ascii_uppercase(),
        _ => String::new(),
    }
}
