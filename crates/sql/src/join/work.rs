//! A batch that is being joined, and the states it is joined with.

use super::candidates::Candidates;
use super::deltas::Deltas;
use super::emission::{Columns, Emission};
use super::matching::Matching;
use super::plan::{Alone, JoinPlan};
use super::probe::Probe;
use super::rows::Kept;
use super::stored::Stored;
use headpond_runtime::operator::{OperatorContext, Progress};
use headpond_runtime::{KeyedBatch, Output};
use headpond_state::schema::Datum;
use headpond_state::{KeyedStateBackend, Result, WriteBatch};

/// A batch of one side.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) side: usize,
    pub(super) batch: KeyedBatch,
    pub(super) deltas: Deltas,
    pub(super) emission: Emission,
    pub(super) now_ms: i64,
    /// Whether rows of the batch go.
    takes_back: bool,
    matching: Matching,
}

/// Buffers that are kept from batch to batch.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    pub(super) probe: Probe,
    pub(super) candidates: Candidates,
    pub(super) writes: WriteBatch,
    pub(super) scratch: Vec<Datum>,
    pub(super) numbers: Vec<Option<i64>>,
}

/// What is the same for all batches of a join.
#[derive(Debug, Clone, Copy)]
pub(super) struct Join<'a> {
    pub(super) plan: &'a JoinPlan,
    /// The side that is not the batch's.
    pub(super) other: &'a Stored,
    /// Whether rows are given alone only once their time is over.
    pub(super) timed: bool,
    /// Whether what is given may be taken back.
    pub(super) changing: bool,
}

impl Work {
    pub(super) fn new(side: usize, batch: KeyedBatch, deltas: Deltas, now_ms: i64) -> Self {
        let takes_back = deltas.deltas.iter().any(|delta| delta.diff < 0);
        Work { side, batch, deltas, emission: Emission::default(), now_ms, takes_back, matching: Matching::default() }
    }

    /// Puts the batch's rows together with the stored rows that `probe` finds, until there are none or the output is
    /// full.
    pub(super) fn pairs(
        &mut self,
        join: Join<'_>,
        buffers: &mut Buffers,
        cx: &mut OperatorContext<'_>,
    ) -> Result<Progress> {
        loop {
            if self.give(join, &buffers.candidates, cx.output)? == Progress::More {
                return Ok(Progress::More);
            }
            if !self.matching.is_done() {
                let own = (self.side, self.batch.changes.rows().columns());
                let Work { matching, deltas, emission, .. } = self;
                matching.next(join.plan, own, &mut deltas.deltas, &mut buffers.candidates, join.timed, emission)?;
                continue;
            }
            self.keep_matches(join, buffers, cx.state)?;
            let Buffers { probe, candidates, .. } = buffers;
            if !probe.read(cx.state, join.other, self.now_ms, candidates)? {
                return Ok(Progress::Done);
            }
            self.matching.begin(!self.takes_back);
        }
    }

    /// Gives what there is to give, until the output is full.
    pub(super) fn give(&mut self, join: Join<'_>, candidates: &Candidates, output: &mut Output) -> Result<Progress> {
        let columns = Columns { side: self.side, own: self.batch.changes.rows().columns(), other: &candidates.columns };
        self.emission.give(join.plan, join.changing, columns, output)
    }

    /// Writes the numbers of matches that have changed.
    fn keep_matches(&mut self, join: Join<'_>, buffers: &mut Buffers, state: &mut dyn KeyedStateBackend) -> Result<()> {
        let Buffers { candidates, writes, scratch, .. } = buffers;
        let Stored { state: id, rows, .. } = join.other;
        if !rows.tracked {
            return Ok(());
        }
        // Where no match ever goes, it is enough to know whether there is one.
        let counts = join.plan.sides[self.side].changing;
        writes.clear();
        for (entry, (kept, matches)) in candidates.kept.iter().zip(&candidates.matches).enumerate() {
            if kept.matches == *matches || !counts && kept.matches > 0 {
                continue;
            }
            let kept = Kept { copies: kept.copies, matches: *matches };
            let mut result = Ok(());
            writes.put_with(*id, candidates.keys.get(entry), |out| {
                let columns = |row: &mut Vec<Datum>| candidates.push_row(entry, row);
                result = rows.put(kept, self.now_ms, scratch, columns, out);
            });
            result?;
        }
        if writes.is_empty() { Ok(()) } else { state.write(writes) }
    }

    /// Whether a row of this side that has so many matches is given apart from its pairs.
    pub(super) fn is_given_alone(&self, plan: &JoinPlan, matches: i64) -> bool {
        match plan.kind.gives_alone(self.side) {
            None => false,
            Some(Alone::WithoutMatch) => matches == 0,
            Some(Alone::WithMatch) => matches > 0,
        }
    }
}
