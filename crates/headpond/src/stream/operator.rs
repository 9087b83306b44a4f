//! The keyed operator that a function becomes.

use super::function::{CallTimes, Collector, Context, RuntimeContext};
use super::keyed_function::KeyedFunction;
use super::record::records;
use super::side_output::{SideOutputs, SideTags};
use super::stamp::Stamps;
use super::timers::FunctionTimers;
use super::write_behind::WriteBehind;
use headpond_runtime::key::KeyedBatch;
use headpond_runtime::operator::{KeyedOperator, KeyedOperatorFactory, OperatorContext, OperatorSetup, Progress};
use headpond_state::encoding::{EntryKeys, KeySchema, NO_NAMESPACE};
use headpond_state::ttl::TimeDomain;
use headpond_state::typed::{DueTimer, KeyContext};
use headpond_state::{MaxParallelism, Result};
use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::mem::take;
use std::sync::Arc;

/// The most records whose state is read and written together.
const RECORDS_TOGETHER_MAX: usize = 65_536;

/// Opens a function on every worker.
pub(crate) struct ProcessOperatorFactory<F> {
    function: Arc<F>,
    side_tags: Arc<SideTags>,
}

impl<F> ProcessOperatorFactory<F> {
    pub(crate) fn new(function: F, side_tags: Arc<SideTags>) -> Self {
        ProcessOperatorFactory { function: Arc::new(function), side_tags }
    }
}

impl<F> fmt::Debug for ProcessOperatorFactory<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(type_name::<F>())
    }
}

impl<F: KeyedFunction> KeyedOperatorFactory for ProcessOperatorFactory<F> {
    fn open(&self, setup: OperatorSetup<'_>) -> Result<Box<dyn KeyedOperator>> {
        let key_schema = KeySchema::of::<F::Key>();
        let states = self.function.open(&mut RuntimeContext {
            backend: &mut *setup.state,
            clock: setup.clock,
            key_schema: &key_schema,
            subtask: setup.subtask,
            parallelism: setup.parallelism,
        })?;
        Ok(Box::new(ProcessOperator {
            function: self.function.clone(),
            states,
            timers: FunctionTimers::open(setup.state, &key_schema)?,
            held: WriteBehind::new(setup.capabilities.single_entries_are_dear),
            records_together: RECORDS_TOGETHER_MAX,
            collector: Collector::new(),
            sides: self.side_tags.open(),
            interrupted: None,
        }))
    }
}

/// A function on one worker.
struct ProcessOperator<F: KeyedFunction> {
    function: Arc<F>,
    states: F::States,
    timers: FunctionTimers,
    held: WriteBehind,
    /// The records whose state is read and written together.
    records_together: usize,
    collector: Collector<F::Out>,
    sides: SideOutputs,
    interrupted: Option<Interrupted>,
}

/// What a full output has interrupted.
#[derive(Debug)]
enum Interrupted {
    /// A batch of an input, before this row.
    Rows(usize, Box<KeyedBatch>, usize),
    /// Timers that fire.
    Timers,
}

impl<F: KeyedFunction> fmt::Debug for ProcessOperator<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(type_name::<F>()).field("interrupted", &self.interrupted).finish_non_exhaustive()
    }
}

impl<F: KeyedFunction> ProcessOperator<F> {
    /// Processes rows until the output is full; then gives the row to go on with.
    fn run(
        &mut self,
        input: usize,
        batch: &KeyedBatch,
        first: usize,
        cx: &mut OperatorContext<'_>,
    ) -> Result<Option<usize>> {
        let rows = batch.changes.num_rows();
        let mut begin = first;
        while begin < rows {
            let end = rows.min(begin + self.records_together);
            self.held.begin_batch(cx.state, (begin..end).map(|row| batch.keys.get(row)))?;
            let next = self.run_together(input, batch, (begin, end), cx)?;
            let done = next.unwrap_or(end) - begin;
            self.held.end_batch(cx.state, done)?;
            // Where a full output interrupts, little is read ahead that would have to be read again.
            self.records_together = (done * 2).clamp(1, RECORDS_TOGETHER_MAX);
            if next.is_some() {
                return Ok(next);
            }
            begin = end;
        }
        self.flush(cx)?;
        Ok(None)
    }

    fn run_together(
        &mut self,
        input: usize,
        batch: &KeyedBatch,
        (begin, end): (usize, usize),
        cx: &mut OperatorContext<'_>,
    ) -> Result<Option<usize>> {
        let rows = batch.changes.rows();
        let (records, stamps) = (records(rows)?, Stamps::of(rows));
        let group_len = batch.keys.max_parallelism().prefix_len();
        for row in begin..end {
            let stamp = stamps.at(row);
            let record_key = batch.keys.get(row);
            let key = KeyContext {
                key_group: batch.keys.key_group(row),
                key: &record_key[group_len..],
                namespace: NO_NAMESPACE,
                row_ms: stamp.timestamp_ms,
            };
            let moment = CallTimes {
                timestamp_ms: stamp.timestamp_ms,
                watermark_ms: cx.event_time_ms.max(stamp.watermark_ms),
                processing_time_ms: cx.processing_time_ms,
                timer: None,
            };
            let record = records.value(row);
            self.call((key, record_key), moment, cx, |function, states, ctx, out| {
                function.element(input, record, states, ctx, out)
            })?;
            if self.passes_on(cx)? {
                return Ok(Some(row + 1));
            }
        }
        Ok(None)
    }

    /// Fires timers that are due until the output is full; then gives true.
    fn fire(&mut self, cx: &mut OperatorContext<'_>) -> Result<bool> {
        let mut fired = 0;
        let full = loop {
            let Some((domain, timer)) = self.next_due(cx, &mut fired)? else { break false };
            let row_ms = (domain == TimeDomain::EventTime).then_some(timer.time_ms);
            let moment = CallTimes {
                timestamp_ms: Some(timer.time_ms),
                watermark_ms: cx.event_time_ms,
                processing_time_ms: cx.processing_time_ms,
                timer: Some(domain),
            };
            let key = KeyContext { row_ms, ..timer.context() };
            let entry_key = entry_key(key, cx.state.max_parallelism());
            self.call((key, &entry_key), moment, cx, |function, states, ctx, out| {
                function.on_timer(states, timer.time_ms, ctx, out)
            })?;
            fired += 1;
            if self.passes_on(cx)? {
                break true;
            }
        };
        self.held.end_batch(cx.state, fired)?;
        self.flush(cx)?;
        Ok(full)
    }

    /// The next timer to fire. Those that are taken from the state together are a batch; `fired` counts those of the
    /// last one.
    fn next_due(&mut self, cx: &mut OperatorContext<'_>, fired: &mut usize) -> Result<Option<(TimeDomain, DueTimer)>> {
        let mut state = self.held.over(cx.state, &[]);
        let due = self.timers.next_due(&mut state, cx.event_time_ms, cx.processing_time_ms, cx.end_of_input)?;
        if let Some((_, timer)) = &due
            && let Some(taken) = self.timers.newly_taken()
        {
            self.held.end_batch(cx.state, take(fired))?;
            let max_parallelism = cx.state.max_parallelism();
            let keys: Vec<_> = taken.chain([timer.context()]).map(|key| entry_key(key, max_parallelism)).collect();
            self.held.begin_batch(cx.state, keys.iter().map(Vec::as_slice))?;
        }
        Ok(due)
    }

    /// Calls the function on behalf of a key, which is given without and with its key group.
    fn call(
        &mut self,
        (key, entry_key): (KeyContext<'_>, &[u8]),
        moment: CallTimes,
        cx: &mut OperatorContext<'_>,
        call: impl FnOnce(&F, &mut F::States, &mut Context<'_, F::Key>, &mut Collector<F::Out>) -> Result<()>,
    ) -> Result<()> {
        let mut state = self.held.over(cx.state, entry_key);
        let mut ctx = Context {
            backend: &mut state,
            key,
            moment,
            timers: &mut self.timers,
            sides: &mut self.sides,
            counters: cx.counters,
            keys: PhantomData,
        };
        self.collector.set_timestamp(moment.of_results());
        call(&self.function, &mut self.states, &mut ctx, &mut self.collector)?;
        self.collector.check()?;
        self.sides.check()
    }

    /// Passes on what was given if it is much. True when the operator should yield.
    fn passes_on(&mut self, cx: &mut OperatorContext<'_>) -> Result<bool> {
        if !self.collector.is_full(&self.sides) {
            return Ok(false);
        }
        self.flush(cx)?;
        Ok(cx.output.is_full())
    }

    fn flush(&mut self, cx: &mut OperatorContext<'_>) -> Result<()> {
        self.collector.flush(cx.output)?;
        self.sides.flush(cx.output)
    }

    fn progress(&self) -> Progress {
        if self.interrupted.is_some() { Progress::More } else { Progress::Done }
    }
}

/// The key of an entry without namespace and user key.
fn entry_key(key: KeyContext<'_>, max_parallelism: MaxParallelism) -> Vec<u8> {
    let mut entry = Vec::with_capacity(max_parallelism.prefix_len() + key.key.len());
    EntryKeys::new(max_parallelism).entry(key.key_group, key.key, NO_NAMESPACE, &mut entry);
    entry
}

impl<F: KeyedFunction> KeyedOperator for ProcessOperator<F> {
    fn process(&mut self, input: usize, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        let next = self.run(input, batch, 0, cx)?;
        self.interrupted = next.map(|next| Interrupted::Rows(input, Box::new(batch.clone()), next));
        Ok(self.progress())
    }

    fn resume(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        match self.interrupted.take() {
            Some(Interrupted::Rows(input, batch, first)) => {
                let next = self.run(input, &batch, first, cx)?;
                self.interrupted = next.map(|next| Interrupted::Rows(input, batch, next));
            }
            Some(Interrupted::Timers) => return self.advance(cx),
            None => {}
        }
        Ok(self.progress())
    }

    fn advance(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        self.interrupted = self.fire(cx)?.then_some(Interrupted::Timers);
        Ok(self.progress())
    }

    fn wake_at_ms(&self) -> Option<i64> {
        self.timers.wake_at_ms()
    }
}
