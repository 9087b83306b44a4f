//! Hints: comments that begin with `+`, such as `/*+ STATE_TTL('orders' = '1 d', 'o' = '12 h') */` or
//! `/*+ STATE_UID('totals') */`.
//!
//! `sqlparser` drops comments, so hints are read from the words of the statement.

use super::refusal::not_supported;
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

/// The names under which the state of an `INSERT` is kept, whatever its table and its place are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StateUidHint {
    /// What the ids of its operators begin with, if not with the name of the table.
    pub(crate) name: Option<String>,
    /// Operators that keep another id than their place gives them: `kind/ordinal` by place, and the one kept.
    pub(crate) operators: Vec<(String, String)>,
    /// Where the hint stands.
    pub(crate) position: Position,
}

/// The hints of a statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hints {
    /// Times to live.
    pub(crate) ttls: Vec<StateTtlHint>,
    /// Names of state.
    pub(crate) uid: Option<StateUidHint>,
}

const TTL_USAGE: &str = "write /*+ STATE_TTL('name' = '1 d') */ behind SELECT, with the name or alias of a table";
const UID_USAGE: &str = "write /*+ STATE_UID('name') */ behind the SELECT of an INSERT, with the name that its operators' ids \
     begin with; /*+ STATE_UID('group-aggregate/1' = 'group-aggregate/0') */ renames single operators";

/// Fails at the first hint among the words of a statement that has no place for any.
pub(super) fn check_no_hint(tokens: &[TokenWithSpan]) -> Result<()> {
    let is_hint = |token: &&TokenWithSpan| matches!(&token.token, Token::Whitespace(Whitespace::MultiLineComment(text)) if text.starts_with('+'));
    match tokens.iter().find(is_hint) {
        None => Ok(()),
        Some(token) => {
            Err(not_supported("a hint here", Some("hints stand in queries, behind SELECT")).at(token.span.start.into()))
        }
    }
}

/// The hints among a statement's words.
pub(super) fn hints(tokens: &[TokenWithSpan]) -> Result<Hints> {
    let mut hints = Hints::default();
    for token in tokens {
        let Token::Whitespace(Whitespace::MultiLineComment(text)) = &token.token else { continue };
        let Some(text) = text.strip_prefix('+') else { continue };
        let position = token.span.start.into();
        hints_of(text, position, &mut hints).map_err(|error| error.at(position))?;
    }
    Ok(hints)
}

fn hints_of(text: &str, position: Position, hints: &mut Hints) -> Result<()> {
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, arguments) = rest.split_once('(').ok_or_else(|| malformed(rest, TTL_USAGE))?;
        let (arguments, behind) = arguments.split_once(')').ok_or_else(|| malformed(rest, TTL_USAGE))?;
        match name.trim().to_ascii_uppercase().as_str() {
            "STATE_TTL" => hints.ttls.extend(state_ttls(arguments, position)?),
            "STATE_UID" if hints.uid.is_some() => {
                return Err(Error::invalid("an INSERT has one hint STATE_UID").hint(UID_USAGE));
            }
            "STATE_UID" => hints.uid = Some(state_uid(arguments, position)?),
            _ => {
                let supported = Some("STATE_TTL and STATE_UID are supported");
                return Err(not_supported(&format!("the hint {}", name.trim()), supported));
            }
        }
        rest = behind.trim_start_matches([',', ' ', '\n', '\t', '\r']);
    }
    Ok(())
}

fn state_ttls(arguments: &str, position: Position) -> Result<Vec<StateTtlHint>> {
    let ttl = |argument: &str| {
        let (input, ttl) = argument.split_once('=').ok_or_else(|| malformed(argument, TTL_USAGE))?;
        let (input, ttl) = (unquoted(input, TTL_USAGE)?, unquoted(ttl, TTL_USAGE)?);
        let ttl = parse_duration(&ttl)
            .map_err(|reason| Error::invalid(format!("the STATE_TTL of `{input}`: {reason}")).hint(TTL_USAGE))?;
        let ttl_ms = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
        Ok(StateTtlHint { input, ttl_ms, position })
    };
    arguments.split(',').map(ttl).collect()
}

fn state_uid(arguments: &str, position: Position) -> Result<StateUidHint> {
    let mut hint = StateUidHint { name: None, operators: Vec::new(), position };
    for argument in arguments.split(',') {
        match argument.split_once('=') {
            Some((place, kept)) => {
                let (place, kept) = (unquoted(place, UID_USAGE)?, unquoted(kept, UID_USAGE)?);
                if !is_operator(&place) || !is_operator(&kept) {
                    return Err(malformed(argument, UID_USAGE));
                }
                hint.operators.push((place, kept));
            }
            None => {
                let name = unquoted(argument, UID_USAGE)?;
                if name.is_empty() || name.contains('/') || hint.name.replace(name).is_some() {
                    return Err(malformed(argument, UID_USAGE));
                }
            }
        }
    }
    Ok(hint)
}

/// Whether a text is an operator's place within its `INSERT`: `kind/ordinal`.
fn is_operator(text: &str) -> bool {
    text.split_once('/').is_some_and(|(kind, ordinal)| !kind.is_empty() && ordinal.parse::<usize>().is_ok())
}

/// What stands between quotes.
fn unquoted(text: &str, usage: &'static str) -> Result<String> {
    let text = text.trim();
    let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    inner.map(str::to_owned).ok_or_else(|| malformed(text, usage))
}

fn malformed(text: &str, usage: &'static str) -> Error {
    Error::invalid(format!("the hint is not readable at `{}`", text.trim())).hint(usage)
}
