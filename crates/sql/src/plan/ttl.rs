//! When the state of an operator expires: the hint for its input, else `table.exec.state.ttl`.

use super::session::Session;
use super::source::scanned;
use crate::position::At;
use crate::script::{SourceQuery, StateTtlHint};
use datafusion_expr::LogicalPlan;
use headpond_state::names::listed;
use headpond_state::ttl::TtlConfig;
use headpond_state::{Error, Result};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// The times to live of one query.
#[derive(Debug, Default)]
pub(super) struct StateTtls {
    default: Option<TtlConfig>,
    hints: BTreeMap<String, StateTtlHint>,
    /// The hints that an operator has followed.
    followed: RefCell<BTreeSet<String>>,
}

impl StateTtls {
    /// The hints of a query over what holds without.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for two hints for one name.
    pub(super) fn new(default: Option<TtlConfig>, query: &SourceQuery, session: &Session) -> Result<Self> {
        let mut hints: BTreeMap<String, StateTtlHint> = BTreeMap::new();
        for hint in query.hints.ttls.iter().chain(session.hints()) {
            match hints.get(&hint.input) {
                Some(other) if other.ttl_ms != hint.ttl_ms => {
                    return Err(Error::invalid(format!("`{}` has two hints STATE_TTL that differ", hint.input))
                        .hint("give one of the inputs an alias of its own")
                        .at(hint.position));
                }
                _ => hints.insert(hint.input.clone(), hint.clone()),
            };
        }
        Ok(StateTtls { default, hints, followed: RefCell::default() })
    }

    /// When what is kept of an operator's input expires.
    pub(super) fn of(&self, input: &LogicalPlan) -> Option<TtlConfig> {
        let mut input = input;
        loop {
            let (name, within) = match input {
                LogicalPlan::Projection(projection) => (None, &*projection.input),
                LogicalPlan::Filter(filter) => (None, &*filter.input),
                LogicalPlan::Extension(extension) => match extension.node.inputs()[..] {
                    [within] => (None, within),
                    _ => return self.default,
                },
                LogicalPlan::SubqueryAlias(alias) => (Some(alias.alias.table()), &*alias.input),
                LogicalPlan::TableScan(scan) => {
                    let hint = scanned(scan).ok().and_then(|table| self.hint(&table.name));
                    return hint.unwrap_or(self.default);
                }
                _ => return self.default,
            };
            if let Some(ttl) = name.and_then(|name| self.hint(name)) {
                return ttl;
            }
            input = within;
        }
    }

    fn hint(&self, name: &str) -> Option<Option<TtlConfig>> {
        let hint = self.hints.get(name)?;
        self.followed.borrow_mut().insert(name.to_owned());
        Some((hint.ttl_ms > 0).then(|| TtlConfig::new(hint.ttl_ms)))
    }

    /// Fails if a hint of the query names nothing that an operator keeps state of.
    pub(super) fn check_followed(&self, query: &SourceQuery) -> Result<()> {
        let followed = self.followed.borrow();
        let Some(lost) = query.hints.ttls.iter().find(|hint| !followed.contains(&hint.input)) else { return Ok(()) };
        let error =
            Error::invalid(format!("the hint STATE_TTL('{}') fits no input of an operator with state", lost.input));
        let error = match followed.is_empty() {
            true => error.hint("name the table, view or alias that is grouped or joined"),
            false => error.hint(format!("these are followed: {}", listed(followed.iter().map(String::as_str)))),
        };
        Err(error.at(lost.position))
    }
}
