//! Puts stored rows together with the rows of a batch.

use super::candidates::Candidates;
use super::deltas::Delta;
use super::emission::{Emission, ROWS_PER_SLICE};
use super::plan::{Alone, JoinPlan};
use arrow_array::{Array, ArrayRef, BooleanArray, UInt32Array};
use headpond_runtime::batch::arrow_error;
use headpond_state::Result;
use std::collections::HashSet;

/// How far the pairs with the candidates have been looked at: for each stored row first the rows that go, then those
/// that come.
///
/// All pairs with rows that go are looked at before those with rows that come, and a stored row that is given alone is
/// taken back before its first pair, or given after its last.
#[derive(Debug, Default)]
pub(super) struct Matching {
    phase: Phase,
    entry: usize,
    /// How many of the entry's rows have been looked at.
    offset: u32,
    own: Vec<u32>,
    other: Vec<u32>,
    /// Stored rows that have been given for this batch: where each row of the batch has a range of its own, one may be
    /// read for several.
    given: HashSet<Box<[u8]>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    Going,
    Coming,
    /// Stored rows that have lost their last match.
    Left,
    #[default]
    Done,
}

impl Matching {
    /// Begins with new candidates.
    pub(super) fn begin(&mut self, insert_only: bool) {
        self.phase = if insert_only { Phase::Coming } else { Phase::Going };
        self.entry = 0;
        self.offset = 0;
    }

    /// Whether all pairs have been looked at.
    pub(super) fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// Looks at the next pairs, a few thousand. `side` is the batch's; `timed`: what is given is never taken back.
    pub(super) fn next(
        &mut self,
        plan: &JoinPlan,
        (side, own_columns): (usize, &[ArrayRef]),
        deltas: &mut [Delta],
        candidates: &mut Candidates,
        timed: bool,
        emission: &mut Emission,
    ) -> Result<()> {
        let alone = plan.kind.gives_alone(1 - side);
        if self.phase == Phase::Left {
            self.phase = Phase::Done;
            if let (Some(alone), false) = (alone, timed) {
                for (entry, kept) in candidates.kept.iter().enumerate() {
                    if kept.matches > 0 && candidates.matches[entry] == 0 {
                        let diff = if alone == Alone::WithoutMatch { kept.copies } else { -kept.copies };
                        emission.other(entry as u32, diff);
                    }
                }
            }
            return Ok(());
        }
        self.next_pairs(deltas, candidates);
        let holds = self.holds(plan, (side, own_columns), deltas, candidates)?;
        for (index, (own, other)) in self.own.iter().zip(&self.other).enumerate() {
            if let Some(holds) = &holds
                && !(holds.is_valid(index) && holds.value(index))
            {
                continue;
            }
            let delta = &mut deltas[*own as usize];
            let entry = *other as usize;
            let kept = candidates.kept[entry];
            delta.matches = delta.matches.saturating_add(kept.copies);
            if let Some(alone) = alone {
                let before = candidates.matches[entry];
                candidates.matches[entry] = before.saturating_add(delta.diff).max(0);
                // Its matches of before may just have gone; then it was not given alone in between.
                if before == 0 && kept.matches == 0 && delta.diff > 0 {
                    match alone {
                        Alone::WithoutMatch if !timed => emission.other(*other, -kept.copies),
                        Alone::WithoutMatch => {}
                        Alone::WithMatch if timed && !self.given.insert(candidates.keys.get(entry).into()) => {}
                        Alone::WithMatch => emission.other(*other, kept.copies),
                    }
                }
            }
            if plan.kind.gives_pairs() {
                emission.pair(delta.row, *other, delta.diff.saturating_mul(kept.copies));
            }
        }
        Ok(())
    }

    /// The next pairs of the phase: indices of deltas and of the candidates.
    fn next_pairs(&mut self, deltas: &[Delta], candidates: &Candidates) {
        self.own.clear();
        self.other.clear();
        while let Some((start, end)) = candidates.owners.get(self.entry) {
            let mut index = start + self.offset;
            while index < *end {
                if self.own.len() >= ROWS_PER_SLICE {
                    self.offset = index - start;
                    return;
                }
                if (deltas[index as usize].diff > 0) == (self.phase == Phase::Coming) {
                    self.own.push(index);
                    self.other.push(self.entry as u32);
                }
                index += 1;
            }
            self.offset = 0;
            self.entry += 1;
        }
        self.entry = 0;
        self.phase = match self.phase {
            Phase::Going => Phase::Coming,
            _ => Phase::Left,
        };
    }

    /// For which of the pairs the rest of the condition holds; `None`: there is no rest.
    fn holds(
        &self,
        plan: &JoinPlan,
        (side, own_columns): (usize, &[ArrayRef]),
        deltas: &[Delta],
        candidates: &Candidates,
    ) -> Result<Option<BooleanArray>> {
        let Some(condition) = plan.condition.as_ref().filter(|_| !self.own.is_empty()) else { return Ok(None) };
        let own: UInt32Array = self.own.iter().map(|index| deltas[*index as usize].row).collect::<Vec<_>>().into();
        let other: UInt32Array = self.other.clone().into();
        let holds = condition.holds(self.own.len(), |(of, column)| {
            let (from, rows) = if *of == side { (own_columns, &own) } else { (&candidates.columns[..], &other) };
            arrow_select::take::take(&from[*column], rows, None).map_err(arrow_error)
        })?;
        Ok(Some(holds))
    }
}
