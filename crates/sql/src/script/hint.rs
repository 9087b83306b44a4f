//! Hints: comments that begin with `+`, such as `/*+ STATE_TTL('orders' = '1 d', 'o' = '12 h') */`.
//!
//! `sqlparser` drops comments, so hints are read from the words of the statement.

use super::not_supported;
use crate::position::{At, Position};
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};
use headpond_config::units::parse_duration;
use headpond_state::{Error, Result};

/// The time to live of what an operator keeps of one of its inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StateTtlHint {
    /// The input: the name or the alias of a table or view.
    pub(crate) input: String,
    /// The time in milliseconds; 0 keeps state for ever.
    pub(crate) ttl_ms: i64,
    /// Where the hint stands.
    pub(crate) position: Position,
}

const USAGE: &str = "write /*+ STATE_TTL('name' = '1 d') */ behind SELECT, with the name or alias of a table";

/// The hints among a statement's words.
pub(super) fn hints(tokens: &[TokenWithSpan]) -> Result<Vec<StateTtlHint>> {
    let mut hints = Vec::new();
    for token in tokens {
        let Token::Whitespace(Whitespace::MultiLineComment(text)) = &token.token else { continue };
        let Some(text) = text.strip_prefix('+') else { continue };
        let position = token.span.start.into();
        hints_of(text, position, &mut hints).map_err(|error| error.at(position))?;
    }
    Ok(hints)
}

fn hints_of(text: &str, position: Position, hints: &mut Vec<StateTtlHint>) -> Result<()> {
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, arguments) = rest.split_once('(').ok_or_else(|| malformed(rest))?;
        let (arguments, behind) = arguments.split_once(')').ok_or_else(|| malformed(rest))?;
        if !name.trim().eq_ignore_ascii_case("STATE_TTL") {
            return Err(not_supported(&format!("the hint {}", name.trim()), Some("STATE_TTL is supported")));
        }
        for argument in arguments.split(',') {
            let (input, ttl) = argument.split_once('=').ok_or_else(|| malformed(argument))?;
            let (input, ttl) = (unquoted(input)?, unquoted(ttl)?);
            let ttl = parse_duration(&ttl)
                .map_err(|reason| Error::invalid(format!("the STATE_TTL of `{input}`: {reason}")).hint(USAGE))?;
            let ttl_ms = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
            hints.push(StateTtlHint { input, ttl_ms, position });
        }
        rest = behind.trim_start_matches([',', ' ', '\n', '\t', '\r']);
    }
    Ok(())
}

/// What stands between quotes.
fn unquoted(text: &str) -> Result<String> {
    let text = text.trim();
    let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    inner.map(str::to_owned).ok_or_else(|| malformed(text))
}

fn malformed(text: &str) -> Error {
    Error::invalid(format!("the hint is not readable at `{}`", text.trim())).hint(USAGE)
}
