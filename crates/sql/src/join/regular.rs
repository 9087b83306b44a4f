//! A join whose rows match until they are taken back or expire.

use super::deltas::Deltas;
use super::plan::JoinPlan;
use super::rows::{Identity, Kept, SideRows, push_row};
use super::stored::Stored;
use super::work::{Buffers, Join, Work};
use headpond_runtime::KeyedBatch;
use headpond_runtime::key::KeyEncoder;
use headpond_runtime::operator::{KeyedOperator, KeyedOperatorFactory, OperatorContext, OperatorSetup, Progress};
use headpond_state::{Error, MaxParallelism, Migration, Result, StateDescriptor};
use serde_json::{Value, json};
use std::sync::Arc;

/// Rows taken back that are not kept any more: they have expired.
const WITHOUT_STATE: &str = "rows taken back without state";

/// Makes the operator of each worker.
#[derive(Debug)]
pub(crate) struct RegularJoinFactory {
    plan: Arc<JoinPlan>,
}

impl RegularJoinFactory {
    /// A factory of operators that follow `plan`.
    pub(crate) fn new(plan: JoinPlan) -> Self {
        RegularJoinFactory { plan: Arc::new(plan) }
    }

    /// For `EXPLAIN`: what a side keeps.
    ///
    /// # Errors
    /// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for a column that state cannot hold.
    pub(crate) fn described(&self, side: usize) -> Result<String> {
        Ok(SideRows::new(&self.plan, side, None)?.described())
    }
}

impl KeyedOperatorFactory for RegularJoinFactory {
    fn open(&self, setup: OperatorSetup<'_>) -> Result<Box<dyn KeyedOperator>> {
        let plan = &self.plan;
        let mut side = |side| Stored::register(setup.state, plan, side, SideRows::new(plan, side, None)?);
        let sides = [side(0)?, side(1)?];
        let encoder = |side: usize| {
            let columns: Vec<usize> = (0..plan.sides[side].columns).collect();
            KeyEncoder::new(&plan.sides[side].schema, &columns, MaxParallelism::DEFAULT)
        };
        let encoders = [encoder(0)?, encoder(1)?];
        Ok(Box::new(RegularJoin {
            changing: plan.is_changing(),
            sequence: restored_sequence(setup.restored),
            sides,
            encoders,
            stage: Stage::Begin,
            work: None,
            buffers: Buffers::default(),
            plan: Arc::clone(plan),
        }))
    }

    fn migration(&self, restored: &StateDescriptor, declared: &StateDescriptor) -> Result<Migration> {
        let side = |side| SideRows::new(&self.plan, side, None);
        SideRows::migration(&[side(0)?, side(1)?], restored, declared)
    }
}

/// The operator on a worker.
#[derive(Debug)]
struct RegularJoin {
    plan: Arc<JoinPlan>,
    sides: [Stored; 2],
    /// The encoders of whole rows, which tell them apart where they may be taken back.
    encoders: [KeyEncoder; 2],
    changing: bool,
    /// A number that no row has yet.
    sequence: u64,
    work: Option<Work>,
    stage: Stage,
    buffers: Buffers,
}

/// What is next for the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Rows of its own that go are taken back where they were given alone.
    Begin,
    /// Pairs.
    Pairs,
    /// Rows of its own that come are given alone where they have to be.
    End,
    /// Its rows are kept.
    Keep,
}

impl KeyedOperator for RegularJoin {
    fn process(&mut self, input: usize, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        let Some(side) = self.plan.sides.get(input) else {
            return Err(Error::internal("a join has two inputs"));
        };
        let now_ms = cx.processing_time_ms;
        let stored = &self.sides[input];
        let deltas = if side.changing {
            let state = (&mut *cx.state as &mut _, stored.state, now_ms);
            Deltas::of_changes(batch, &side.key_without_null, &self.encoders[input], &stored.rows, state)?
        } else if batch.changes.is_insert_only() {
            Deltas::of_inserts(batch, &side.key_without_null)
        } else {
            return Err(Error::internal("an input of a join takes rows back, and was not announced to"));
        };
        cx.counters.add(WITHOUT_STATE, deltas.lost);
        self.buffers.probe.clear();
        for (start, end) in &deltas.groups {
            let row = deltas.deltas[*start as usize].row as usize;
            self.buffers.probe.push(batch.keys.get(row), (*start, *end));
        }
        self.work = Some(Work::new(input, batch.clone(), deltas, now_ms));
        self.stage = Stage::Begin;
        self.resume(cx)
    }

    fn resume(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        let Some(mut work) = self.work.take() else { return Ok(Progress::Done) };
        let progress = self.run(&mut work, cx)?;
        if progress == Progress::More {
            self.work = Some(work);
        }
        Ok(progress)
    }

    fn advance(&mut self, _cx: &mut OperatorContext<'_>) -> Result<Progress> {
        Ok(Progress::Done)
    }

    fn details(&self) -> Value {
        json!({ SEQUENCE: self.sequence })
    }
}

impl RegularJoin {
    fn run(&mut self, work: &mut Work, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        let plan = Arc::clone(&self.plan);
        loop {
            let join = Join { plan: &plan, other: &self.sides[1 - work.side], timed: false, changing: self.changing };
            if work.give(join, &self.buffers.candidates, cx.output)? == Progress::More {
                return Ok(Progress::More);
            }
            self.stage = match self.stage {
                Stage::Begin => {
                    for delta in work.deltas.deltas.iter().filter(|delta| delta.diff < 0) {
                        if work.is_given_alone(&plan, delta.before.matches) {
                            work.emission.own(delta.row, delta.diff);
                        }
                    }
                    Stage::Pairs
                }
                Stage::Pairs => match work.pairs(join, &mut self.buffers, cx)? {
                    Progress::More => return Ok(Progress::More),
                    Progress::Done => Stage::End,
                },
                Stage::End => {
                    for delta in work.deltas.deltas.iter().filter(|delta| delta.diff > 0) {
                        if work.is_given_alone(&plan, delta.matches) {
                            work.emission.own(delta.row, delta.diff);
                        }
                    }
                    Stage::Keep
                }
                Stage::Keep => {
                    self.keep(work, cx)?;
                    return Ok(Progress::Done);
                }
            };
        }
    }

    /// Writes the batch's rows to their side.
    fn keep(&mut self, work: &Work, cx: &mut OperatorContext<'_>) -> Result<()> {
        let Stored { state, rows, .. } = &self.sides[work.side];
        let Buffers { writes, scratch, .. } = &mut self.buffers;
        let mut key = Vec::new();
        writes.clear();
        for delta in &work.deltas.deltas[..work.deltas.keyed()] {
            let row = delta.row as usize;
            key.clear();
            let kept = match rows.identity {
                Identity::Value(_) => {
                    key.extend_from_slice(work.deltas.entries.get(delta.entry as usize));
                    let matches = if delta.diff > 0 { delta.matches } else { delta.before.matches };
                    Kept { copies: delta.before.copies + delta.diff, matches }
                }
                Identity::Sequence | Identity::Timed => {
                    key.extend_from_slice(work.batch.keys.get(row));
                    key.extend_from_slice(&self.sequence.to_be_bytes());
                    self.sequence += 1;
                    Kept { copies: 1, matches: delta.matches }
                }
            };
            if kept.copies <= 0 {
                writes.delete(*state, &key);
                continue;
            }
            let mut result = Ok(());
            writes.put_with(*state, &key, |out| {
                let columns = |datums: &mut Vec<_>| push_row(work.batch.changes.rows(), rows.columns, row, datums);
                result = rows.put(kept, work.now_ms, scratch, columns, out);
            });
            result?;
        }
        cx.state.write(writes)
    }
}

/// The name of the next row's number in an operator's details.
pub(super) const SEQUENCE: &str = "next sequence";

/// A number that no row of the restored states has.
pub(super) fn restored_sequence(restored: &[Value]) -> u64 {
    restored.iter().filter_map(|details| details.get(SEQUENCE)?.as_u64()).max().unwrap_or(0)
}
