//! The words of a statement, with their places in the file.

use super::scan::StatementText;
use crate::dialect::HeadpondDialect;
use crate::position::{At, Position};
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer};
use headpond_state::{Error, Result};

/// The words of a statement; places are those in the file.
pub(super) fn tokenize(source: &StatementText<'_>) -> Result<Vec<TokenWithSpan>> {
    let mut tokens = Tokenizer::new(&HeadpondDialect, source.text).tokenize_with_location().map_err(|error| {
        let position = in_file(error.location, source.position).into();
        Error::invalid(error.message).at(position)
    })?;
    for token in &mut tokens {
        token.span.start = in_file(token.span.start, source.position);
        token.span.end = in_file(token.span.end, source.position);
    }
    Ok(tokens)
}

/// How deep the parser goes into parentheses, CASE and subqueries, each of which takes it a few levels.
const LEVELS_MAX: usize = 600;

/// A parser of these words. Their end has a place as they have, for errors about what is missing there.
pub(super) fn parser(mut tokens: Vec<TokenWithSpan>) -> Parser<'static> {
    if let Some(last) = tokens.last() {
        let end = last.span.end;
        tokens.push(TokenWithSpan::new(Token::EOF, Span::new(end, end)));
    }
    Parser::new(&HeadpondDialect).with_recursion_limit(LEVELS_MAX).with_tokens_with_locations(tokens)
}

/// Where the parser stands.
pub(super) fn position(parser: &Parser<'_>) -> Position {
    parser.peek_token_ref().span.start.into()
}

/// The error for a word that does not belong here.
pub(super) fn unexpected(parser: &Parser<'_>, expected: &str) -> Error {
    let found = parser.peek_token_ref();
    let found = if found.token == Token::EOF { "the end of the statement".to_owned() } else { format!("`{found}`") };
    Error::invalid(format!("expected {expected}, found {found}")).at(position(parser))
}

/// An error of `sqlparser`, which writes the place into the message.
pub(super) fn syntax_error(error: ParserError) -> Error {
    let message = match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
        ParserError::RecursionLimitExceeded => {
            let error =
                Error::unsupported(format!("a statement that nests more than {LEVELS_MAX} levels is not supported"));
            return error.hint("compute parts of it in subqueries or views: FROM (SELECT …)");
        }
    };
    let Some((text, place)) = message.rsplit_once(" at Line: ") else { return Error::invalid(lower_first(&message)) };
    let place = place.split_once(", Column: ").and_then(|(line, column)| {
        Some(Position { line: line.trim().parse().ok()?, column: column.trim().parse().ok()? })
    });
    match place {
        Some(place) => Error::invalid(lower_first(text)).at(place),
        None => Error::invalid(message),
    }
}

fn lower_first(text: &str) -> String {
    match text.strip_prefix("Expected") {
        Some(rest) => format!("expected {}", rest.trim_start_matches([':', ' ']))
            .replace("found: EOF", "found the end of the statement"),
        None => text.to_owned(),
    }
}

fn in_file(location: Location, begin: Position) -> Location {
    let (line, column) = (begin.line as u64, begin.column as u64);
    let column = if location.line <= 1 { location.column.max(1) - 1 + column } else { location.column };
    Location { line: location.line.max(1) - 1 + line, column }
}
