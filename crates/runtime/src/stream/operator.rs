//! The keyed operator that a function becomes.

use super::function::{Collector, Context, KeyedProcessFunction, RuntimeContext};
use super::record::{read, records};
use crate::key::KeyedBatch;
use crate::operator::{KeyedOperator, KeyedOperatorFactory, OperatorContext, OperatorSetup, Progress};
use headpond_state::Result;
use headpond_state::encoding::{KeySchema, NO_NAMESPACE};
use headpond_state::typed::KeyContext;
use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// Opens a function on every worker.
pub(super) struct ProcessOperatorFactory<F> {
    function: Arc<F>,
}

impl<F> ProcessOperatorFactory<F> {
    pub(super) fn new(function: F) -> Self {
        ProcessOperatorFactory { function: Arc::new(function) }
    }
}

impl<F> fmt::Debug for ProcessOperatorFactory<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(type_name::<F>())
    }
}

impl<F: KeyedProcessFunction> KeyedOperatorFactory for ProcessOperatorFactory<F> {
    fn open(&self, setup: OperatorSetup<'_>) -> Result<Box<dyn KeyedOperator>> {
        let states = self.function.open(&mut RuntimeContext {
            backend: setup.state,
            clock: setup.clock,
            key_schema: &KeySchema::of::<F::Key>(),
            subtask: setup.subtask,
            parallelism: setup.parallelism,
        })?;
        Ok(Box::new(ProcessOperator {
            function: self.function.clone(),
            states,
            collector: Collector::new(),
            pending: None,
        }))
    }
}

/// A function on one worker.
struct ProcessOperator<F: KeyedProcessFunction> {
    function: Arc<F>,
    states: F::States,
    collector: Collector<F::Out>,
    /// The batch that a full output interrupted, and its next row.
    pending: Option<(KeyedBatch, usize)>,
}

impl<F: KeyedProcessFunction> fmt::Debug for ProcessOperator<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(type_name::<F>()).field("pending", &self.pending).finish_non_exhaustive()
    }
}

impl<F: KeyedProcessFunction> ProcessOperator<F> {
    /// Processes rows until the output is full; then gives the row to go on with.
    fn run(&mut self, batch: &KeyedBatch, first: usize, cx: &mut OperatorContext<'_>) -> Result<Option<usize>> {
        let records = records(batch.changes.rows())?;
        let group_len = batch.keys.max_parallelism().prefix_len();
        for row in first..batch.changes.num_rows() {
            let key = KeyContext {
                key_group: batch.keys.key_group(row),
                key: &batch.keys.get(row)[group_len..],
                namespace: NO_NAMESPACE,
                row_ms: None,
            };
            let mut ctx =
                Context { backend: &mut *cx.state, key, processing_time_ms: cx.processing_time_ms, keys: PhantomData };
            let value = read(records.value(row))?;
            self.function.process_element(&mut self.states, value, &mut ctx, &mut self.collector)?;
            self.collector.check()?;
            if self.collector.is_full() {
                self.collector.flush(cx.output)?;
                if cx.output.is_full() {
                    return Ok(Some(row + 1));
                }
            }
        }
        self.collector.flush(cx.output)?;
        Ok(None)
    }
}

impl<F: KeyedProcessFunction> KeyedOperator for ProcessOperator<F> {
    fn process(&mut self, _: usize, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        let next = self.run(batch, 0, cx)?;
        self.pending = next.map(|next| (batch.clone(), next));
        Ok(self.progress())
    }

    fn resume(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        if let Some((batch, first)) = self.pending.take() {
            let next = self.run(&batch, first, cx)?;
            self.pending = next.map(|next| (batch, next));
        }
        Ok(self.progress())
    }

    fn advance(&mut self, _: &mut OperatorContext<'_>) -> Result<Progress> {
        Ok(Progress::Done)
    }
}

impl<F: KeyedProcessFunction> ProcessOperator<F> {
    fn progress(&self) -> Progress {
        if self.pending.is_some() { Progress::More } else { Progress::Done }
    }
}
