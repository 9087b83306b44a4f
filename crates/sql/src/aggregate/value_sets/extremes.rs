//! The extremes of groups: the first values of ordered sets.

use super::counts::read_counts;
use super::{Counts, GroupedBatch, Set, ValueSets};
use crate::aggregate::accumulators::Accumulators;
use crate::aggregate::layout::Feed;
use headpond_state::backend::{KeyBatch, ScanRange};
use headpond_state::encoding::put_i16;
use headpond_state::schema::Datum;
use headpond_state::{Error, KeyedStateBackend, Result};
use std::ops::ControlFlow;

/// The bytes of a set's number in an entry's key.
const SET_LEN: usize = 2;

/// A group's extreme as a batch finds it, as bytes that are less the further it is out.
#[derive(Debug, Clone)]
struct Extreme {
    value: Option<Vec<u8>>,
    /// The furthest value that came.
    candidate: Option<Vec<u8>>,
    is_gone: bool,
}

impl Extreme {
    fn of(set: &Set, datum: &Datum) -> Result<Self> {
        let value = if datum.is_null() { None } else { Some(set.encode(datum)?) };
        Ok(Extreme { value, candidate: None, is_gone: false })
    }
}

impl ValueSets {
    /// Puts the extremes of the groups into their cells.
    pub(super) fn settle_extremes(
        &self,
        index: usize,
        batch: GroupedBatch<'_>,
        first_rows: &[u32],
        counts: &Counts,
        accumulators: &mut Accumulators,
        state: &mut dyn KeyedStateBackend,
    ) -> Result<()> {
        let set = &self.sets[index];
        let cell = self.cells.iter().position(|cell| cell.feed == Feed::First { set: index });
        let cell = cell.ok_or_else(|| Error::internal("a set of values has no aggregate"))?;
        let mut extremes: Vec<Option<Extreme>> = vec![None; accumulators.len()];
        for (entry, key) in self.entries.keys().iter().enumerate() {
            let (came, went) = (counts.after[entry] > 0, counts.before[entry] > 0);
            if came == went {
                continue;
            }
            let group = batch.groups.groups()[first_rows[entry] as usize] as usize;
            let value = &key[batch.groups.keys().get(group).len() + SET_LEN..];
            let extreme = match &mut extremes[group] {
                Some(extreme) => extreme,
                unknown => unknown.insert(Extreme::of(set, &accumulators.cells[cell].datum(group))?),
            };
            if went && extreme.value.as_deref() == Some(value) {
                extreme.is_gone = true;
            }
            if came && extreme.candidate.as_deref().is_none_or(|candidate| value < candidate) {
                extreme.candidate = Some(value.to_vec());
            }
        }
        let mut sought = Vec::new();
        for (group, extreme) in extremes.iter().enumerate() {
            let Some(Extreme { value, candidate, is_gone }) = extreme else { continue };
            let is_beyond = match (value, candidate) {
                (_, None) => false,
                (None, Some(_)) => true,
                (Some(value), Some(candidate)) => candidate < value,
            };
            match candidate {
                Some(candidate) if is_beyond => accumulators.cells[cell].replace(group, set.decode(candidate)?)?,
                _ if *is_gone => sought.push(group),
                _ => {}
            }
        }
        self.seek(index, cell, batch, sought, accumulators, state)
    }

    /// Finds the first values of groups.
    fn seek(
        &self,
        index: usize,
        cell: usize,
        batch: GroupedBatch<'_>,
        mut groups: Vec<usize>,
        accumulators: &mut Accumulators,
        state: &mut dyn KeyedStateBackend,
    ) -> Result<()> {
        let keys = batch.groups.keys();
        groups.retain(|group| accumulators.rows[*group] > 0);
        groups.sort_unstable_by(|a, b| keys.get(*a).cmp(keys.get(*b)));
        let mut prefixes = KeyBatch::new();
        for group in &groups {
            accumulators.cells[cell].replace(*group, Datum::Null)?;
            prefixes.push_with(|out| {
                out.extend_from_slice(keys.get(*group));
                put_i16(index as i16, out);
            });
        }
        let ranges: Vec<ScanRange<'_>> = prefixes.iter().map(ScanRange::prefix).collect();
        state.scan_many(self.state, &ranges, &mut |range, entry| {
            let group = groups[range];
            let mut count = [0];
            let since_ms = self.ttl.map(|_| accumulators.since_ms[group]);
            read_counts(entry.value, since_ms, &mut count)?;
            if count[0] == 0 {
                return Ok(ControlFlow::Continue(()));
            }
            let value = self.sets[index].decode(&entry.key[prefixes.get(range).len()..])?;
            accumulators.cells[cell].replace(group, value)?;
            Ok(ControlFlow::Break(()))
        })
    }
}
