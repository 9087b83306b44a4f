//! The ids of an insert's operators, by which their state is found again.
//!
//! An id is `<sink table>/<kind>/<ordinal>`: where the operator is. A table that is renamed, an operator that another
//! one is put in front of, have another place; the hint `STATE_UID` says which id they keep.

use crate::position::At;
use crate::script::StateUidHint;
use headpond_state::names::listed;
use headpond_state::{Error, OperatorId, Result};
use std::collections::BTreeMap;

/// Gives operators their ids.
#[derive(Debug)]
pub(super) struct OperatorIds {
    name: String,
    uid: Option<StateUidHint>,
    ordinals: BTreeMap<&'static str, usize>,
    /// The places of the operators so far, with what their ids end with.
    given: Vec<(String, String)>,
}

impl OperatorIds {
    /// Ids that begin with `name`, but for what the hint says.
    pub(super) fn new(name: &str, uid: Option<&StateUidHint>) -> Self {
        OperatorIds { name: name.to_owned(), uid: uid.cloned(), ordinals: BTreeMap::new(), given: Vec::new() }
    }

    /// The id of the next operator of a kind.
    pub(super) fn next(&mut self, kind: &'static str) -> OperatorId {
        let ordinal = self.ordinals.entry(kind).or_insert(0);
        let place = format!("{kind}/{ordinal}");
        *ordinal += 1;
        let kept = self.uid.iter().flat_map(|uid| &uid.operators).find(|(of, _)| *of == place);
        let ending = kept.map_or_else(|| place.clone(), |(_, kept)| kept.clone());
        let id = OperatorId::new(format!("{}/{ending}", self.name));
        self.given.push((place, ending));
        id
    }

    /// Fails unless all operators that the hint names are there, each with an id of its own.
    pub(super) fn check(&self) -> Result<()> {
        let Some(uid) = &self.uid else { return Ok(()) };
        let is_given = |place: &str| self.given.iter().any(|(given, _)| given == place);
        if let Some((place, _)) = uid.operators.iter().find(|(place, _)| !is_given(place)) {
            let places = self.given.iter().map(|(place, _)| place.as_str());
            return Err(Error::invalid(format!("the hint STATE_UID names '{place}', which the query has not"))
                .hint(format!("its operators are {}", listed(places)))
                .at(uid.position));
        }
        for (index, (place, ending)) in self.given.iter().enumerate() {
            if let Some((other, _)) = self.given[..index].iter().find(|(_, other)| other == ending) {
                return Err(Error::invalid(format!(
                    "by the hint STATE_UID, '{other}' and '{place}' are both '{ending}'"
                ))
                .hint("give each operator an id of its own: rename the other one, too")
                .at(uid.position));
            }
        }
        Ok(())
    }
}
