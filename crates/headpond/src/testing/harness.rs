//! One operator on one worker, driven by hand.

use super::files::{Files, HarnessSnapshot};
use crate::stream::OutputTag;
use crate::stream::internal::{
    KeyedFunction, ProcessOperatorFactory, Record, SideTags, Stamp, StampedRecords, Stamps, read, records,
    stamped_schema,
};
use headpond_runtime::batch::ChangeBatch;
use headpond_runtime::operator::{
    Counters, KeyedOperator, KeyedOperatorFactory, OperatorContext, OperatorSetup, Progress,
};
use headpond_runtime::output::{MAIN_PORT, Output};
use headpond_runtime::{KeyedBatch, Keys};
use headpond_state::encoding::{EntryKeys, KeyComponent, NO_NAMESPACE};
use headpond_state::{
    CheckpointId, KeyedBackendParams, KeyedStateBackend, MaxParallelism, OperatorClock, OperatorId, RestoredState,
    Result, SnapshotOptions, StateBackend,
};
use headpond_state_memory::HashMapStateBackend;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A record that came out, as bytes, and its timestamp.
type Given = (Vec<u8>, Option<i64>);

pub(super) struct Harness<F: KeyedFunction> {
    operator: Box<dyn KeyedOperator>,
    state: Box<dyn KeyedStateBackend>,
    clock: Arc<OperatorClock>,
    side_tags: Arc<SideTags>,
    counters: Counters,
    event_time_ms: i64,
    given: Vec<(usize, Given)>,
    function: std::marker::PhantomData<fn() -> F>,
}

impl<F: KeyedFunction> fmt::Debug for Harness<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Harness").field("operator", &self.operator).finish_non_exhaustive()
    }
}

impl<F: KeyedFunction> Harness<F> {
    pub(super) fn open(function: F, restored: Option<&HarnessSnapshot>) -> Result<Self> {
        let (max_parallelism, processing_time_ms) = (MaxParallelism::DEFAULT, 0);
        let clock = Arc::new(OperatorClock::new(restored.map_or(processing_time_ms, |it| it.processing_time_ms)));
        let event_time_ms = restored.map_or(i64::MIN, |it| it.event_time_ms);
        clock.advance_event_time_to(event_time_ms);
        let params = KeyedBackendParams {
            operator: OperatorId::new("harness"),
            subtask: 0,
            key_groups: max_parallelism.range_of(0, 1),
            max_parallelism,
            clock: Arc::clone(&clock),
            // Never made: this state is in memory.
            local_dir: PathBuf::new(),
        };
        let backend = HashMapStateBackend::new();
        let handles: Vec<_> =
            restored.iter().map(|it| RestoredState { handle: &it.handle, source: &it.files }).collect();
        let mut state = backend.open_keyed(params, &handles)?;
        let side_tags = Arc::new(SideTags::keeping_all());
        let factory = ProcessOperatorFactory::new(function, Arc::clone(&side_tags));
        let operator = factory.open(OperatorSetup {
            state: &mut *state,
            capabilities: backend.capabilities(),
            subtask: 0,
            parallelism: 1,
            max_parallelism,
            restored: &[],
            event_time_ms,
            clock: &clock,
        })?;
        Ok(Harness {
            operator,
            state,
            clock,
            side_tags,
            counters: Counters::default(),
            event_time_ms,
            given: Vec::new(),
            function: std::marker::PhantomData,
        })
    }

    pub(super) fn push<T: Record>(
        &mut self,
        input: usize,
        key: Option<&F::Key>,
        record: &T,
        timestamp_ms: Option<i64>,
    ) -> Result<()> {
        let mut rows = StampedRecords::default();
        rows.push(record, Stamp::at(timestamp_ms))?;
        let changes = ChangeBatch::inserts(rows.finish(&stamped_schema([]), Vec::new())?);
        let max_parallelism = self.state.max_parallelism();
        let (mut bytes, mut entry) = (Vec::new(), Vec::new());
        let mut group = self.state.key_groups().iter().next();
        if let Some(key) = key {
            key.encode(&mut bytes);
            group = Some(max_parallelism.key_group(&bytes));
        }
        if let Some(group) = group {
            EntryKeys::new(max_parallelism).entry(group, &bytes, NO_NAMESPACE, &mut entry);
        }
        let mut keys = Keys::new(max_parallelism);
        keys.push(&entry);
        let batch = KeyedBatch { changes, keys };
        self.call(false, |operator, cx| operator.process(input, &batch, cx))
    }

    pub(super) fn watermark(&mut self, watermark_ms: i64) -> Result<()> {
        self.event_time_ms = self.event_time_ms.max(watermark_ms);
        self.call(false, |operator, cx| operator.advance(cx))?;
        if self.event_time_ms != i64::MAX {
            self.clock.advance_event_time_to(self.event_time_ms);
        }
        Ok(())
    }

    pub(super) fn processing_time(&mut self, now_ms: i64) -> Result<()> {
        self.clock.advance_to(now_ms);
        self.call(false, |operator, cx| operator.advance(cx))
    }

    pub(super) fn end_of_input(&mut self) -> Result<()> {
        self.event_time_ms = i64::MAX;
        self.call(true, |operator, cx| operator.advance(cx))
    }

    fn call(
        &mut self,
        end_of_input: bool,
        call: impl FnOnce(&mut dyn KeyedOperator, &mut OperatorContext<'_>) -> Result<Progress>,
    ) -> Result<()> {
        let mut output = Output::default();
        let mut cx = OperatorContext {
            state: self.state.as_mut(),
            output: &mut output,
            event_time_ms: self.event_time_ms,
            processing_time_ms: self.clock.now_ms(),
            cut: false,
            end_of_input,
            counters: &mut self.counters,
        };
        let mut progress = call(self.operator.as_mut(), &mut cx)?;
        loop {
            for (port, batch) in cx.output.drain_ports() {
                let stamps = Stamps::of(batch.rows());
                for (row, bytes) in records(batch.rows())?.iter().enumerate() {
                    self.given.push((port, (bytes.unwrap_or_default().to_vec(), stamps.at(row).timestamp_ms)));
                }
            }
            if progress == Progress::Done {
                return Ok(());
            }
            progress = self.operator.resume(&mut cx)?;
        }
    }

    /// Takes what came out, with its timestamps.
    pub(super) fn take(&mut self) -> Vec<(F::Out, Option<i64>)> {
        self.take_port(MAIN_PORT)
    }

    /// Takes what came out at a side.
    pub(super) fn take_side<T: Record>(&mut self, tag: &OutputTag<T>) -> Result<Vec<T>> {
        let port = self.side_tags.port(tag)?;
        Ok(self.take_port(port).into_iter().map(|(record, _)| record).collect())
    }

    fn take_port<T: Record>(&mut self, port: usize) -> Vec<(T, Option<i64>)> {
        let taken = self.given.extract_if(.., |(of, _)| *of == port).map(|(_, given)| given);
        // What the function gave was written as this type.
        taken.filter_map(|(bytes, timestamp_ms)| Some((read(&bytes).ok()?, timestamp_ms))).collect()
    }

    pub(super) fn counter(&self, name: &str) -> u64 {
        self.counters.get(name)
    }

    pub(super) fn entries(&self) -> u64 {
        self.state.usage().entries
    }

    pub(super) fn snapshot(&mut self) -> Result<HarnessSnapshot> {
        let files = Files::default();
        let snapshot = self.state.snapshot(CheckpointId(1), &SnapshotOptions::default())?;
        let handle = snapshot.upload(&files)?;
        Ok(HarnessSnapshot {
            handle,
            files,
            event_time_ms: self.event_time_ms,
            processing_time_ms: self.clock.now_ms(),
        })
    }
}
