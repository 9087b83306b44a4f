//! `GROUP BY` within tumbling windows: each window's result once, when event time has passed it.
//!
//! Accumulators are kept for key and window, the window as namespace, with a timer at the window's last millisecond. When event time
//! reaches it, the window's row is given and its state removed. A row whose window's last millisecond the watermark of its
//! split had reached before it came too late: it is counted and dropped.

use super::accumulators::Accumulators;
use super::group::{ACCUMULATORS, accumulators_descriptor, give_slices, overflow_error};
use super::grouping::Grouping;
use super::layout::{AggregatePlan, OutputColumn};
use super::results::{columns_of_rows, results};
use crate::expression::{WindowPart, window_start};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMillisecondType};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, TimestampMillisecondArray, UInt32Array};
use arrow_schema::DataType;
use headpond_runtime::KeyedBatch;
use headpond_runtime::batch::{ChangeBatch, arrow_error};
use headpond_runtime::operator::{
    Counters, KeyedOperator, KeyedOperatorFactory, OperatorContext, OperatorSetup, Progress,
};
use headpond_state::backend::KeyBatch;
use headpond_state::encoding::{EntryKeys, window_namespace, window_of_namespace};
use headpond_state::row::{Datum, RowCodec};
use headpond_state::typed::{DueTimer, KeyContext, TimerCursor, Timers};
use headpond_state::{Context, Error, KeyedStateBackend, MaxParallelism, Result, StateId, WriteBatch};
use std::sync::Arc;

/// The name of the state of timers.
const TIMERS: &str = "window ends";

/// Rows that have no time.
const WITHOUT_TIME: &str = "rows without event time";

/// How many windows are closed at a time.
const WINDOWS_PER_PASS: usize = 4096;

/// Which windows, and what tells a row's.
#[derive(Debug, Clone)]
pub(crate) struct WindowSpec {
    /// The window's size in milliseconds.
    pub(crate) size_ms: i64,
    /// Where windows begin, counted from the epoch, in milliseconds.
    pub(crate) offset_ms: i64,
    /// The input column of the rows' time.
    pub(crate) time: usize,
    /// The input column of the row watermarks.
    pub(crate) row_watermark: usize,
}

/// Makes the operator of each worker.
#[derive(Debug)]
pub(crate) struct WindowAggregateFactory {
    plan: Arc<AggregatePlan>,
    window: WindowSpec,
}

impl WindowAggregateFactory {
    /// A factory of operators that follow `plan` in windows.
    pub(crate) fn new(plan: AggregatePlan, window: WindowSpec) -> Self {
        WindowAggregateFactory { plan: Arc::new(plan), window }
    }
}

impl KeyedOperatorFactory for WindowAggregateFactory {
    fn open(&self, setup: OperatorSetup<'_>) -> Result<Box<dyn KeyedOperator>> {
        let state = setup.state.register(&accumulators_descriptor(&self.plan))?;
        let timers = Timers::descriptor(TIMERS).with_key_schema(self.plan.key_schema.to_string());
        let mut timers = Timers::register(setup.state, &timers)?;
        let earliest = timers.earliest(setup.state)?;
        let key_types = self.plan.input.fields()[..self.plan.key_columns].iter();
        Ok(Box::new(WindowAggregate {
            codec: self.plan.codec(),
            key_types: key_types.map(|field| field.data_type().clone()).collect(),
            sorted: setup.capabilities.prefers_sorted_batches,
            max_parallelism: setup.max_parallelism,
            accumulators: Accumulators::new(&self.plan.layout),
            grouping: Grouping::default(),
            keys: KeyBatch::new(),
            writes: WriteBatch::new(),
            row: Vec::new(),
            earliest_ms: earliest.unwrap_or(i64::MAX),
            closing: None,
            pending: None,
            plan: Arc::clone(&self.plan),
            window: self.window.clone(),
            state,
            timers,
        }))
    }
}

/// The operator on a worker.
#[derive(Debug)]
struct WindowAggregate {
    plan: Arc<AggregatePlan>,
    window: WindowSpec,
    state: StateId,
    timers: Timers,
    codec: RowCodec,
    key_types: Vec<DataType>,
    sorted: bool,
    max_parallelism: MaxParallelism,
    accumulators: Accumulators,
    grouping: Grouping,
    /// `key group | key | window` of the rows of a batch.
    keys: KeyBatch,
    writes: WriteBatch,
    row: Vec<Datum>,
    /// A time before which no timer is due.
    earliest_ms: i64,
    /// Where the closing of windows goes on, while it lasts.
    closing: Option<TimerCursor>,
    /// What is computed and not yet given.
    pending: Option<ChangeBatch>,
}

impl KeyedOperator for WindowAggregate {
    fn process(&mut self, _input: usize, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        if !batch.changes.is_insert_only() {
            return Err(Error::internal("a window got rows that may be taken back"));
        }
        self.fold(batch, cx)?;
        Ok(Progress::Done)
    }

    fn resume(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        self.close_windows(cx)
    }

    fn advance(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        if cx.event_time_ms < self.earliest_ms {
            return Ok(Progress::Done);
        }
        self.closing = Some(TimerCursor::default());
        self.resume(cx)
    }
}

impl WindowAggregate {
    fn fold(&mut self, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<()> {
        let in_time = self.in_time(batch, cx.counters);
        if in_time.is_empty() {
            return Ok(());
        }
        let everything = in_time.len() == batch.changes.num_rows();
        let in_time = UInt32Array::from(in_time);
        let changes = if everything { batch.changes.clone() } else { batch.changes.take(&in_time)? };
        self.locate(batch, &in_time);
        let WindowAggregate { grouping, keys, sorted, .. } = self;
        grouping.group(keys.len(), |row| keys.get(row), *sorted);
        self.load(cx.state)?;
        let folded = self.accumulators.fold(&self.plan.layout, &changes, self.grouping.groups(), None);
        folded.map_err(|overflow| {
            let row = in_time.value(overflow.row) as usize;
            overflow_error(&self.plan, &batch.keys.get(row)[self.max_parallelism.prefix_len()..])
        })?;
        self.store(cx.state)
    }

    /// The rows that are not late.
    fn in_time(&self, batch: &KeyedBatch, counters: &mut Counters) -> Vec<u32> {
        let rows = batch.changes.rows();
        let times = rows.column(self.window.time).as_primitive::<TimestampMillisecondType>();
        let watermarks = rows.column(self.window.row_watermark).as_primitive::<Int64Type>();
        let mut in_time = Vec::with_capacity(rows.num_rows());
        let (mut late, mut without_time) = (0, 0);
        for row in 0..rows.num_rows() {
            if times.is_null(row) {
                without_time += 1;
                continue;
            }
            let start = window_start(times.value(row), self.window.size_ms, self.window.offset_ms);
            if WindowPart::Time.of(start, self.window.size_ms) <= watermarks.value(row) {
                late += 1;
            } else {
                in_time.push(row as u32);
            }
        }
        counters.add(Counters::LATE_ROWS, late);
        counters.add(WITHOUT_TIME, without_time);
        in_time
    }

    /// Makes the keys with windows of the rows that are not late.
    fn locate(&mut self, batch: &KeyedBatch, in_time: &UInt32Array) {
        let times = batch.changes.rows().column(self.window.time).as_primitive::<TimestampMillisecondType>();
        self.keys.clear();
        for row in in_time.values() {
            let row = *row as usize;
            let start = window_start(times.value(row), self.window.size_ms, self.window.offset_ms);
            self.keys.push_with(|out| {
                out.extend_from_slice(batch.keys.get(row));
                window_namespace(start, WindowPart::End.of(start, self.window.size_ms), out);
            });
        }
    }

    fn load(&mut self, state: &mut dyn KeyedStateBackend) -> Result<()> {
        read_groups(state, self.state, self.grouping.keys(), &self.codec, &mut self.row, &mut self.accumulators)
    }

    fn store(&mut self, state: &mut dyn KeyedStateBackend) -> Result<()> {
        let WindowAggregate { accumulators, codec, row, writes, timers, .. } = self;
        writes.clear();
        let prefix_len = self.max_parallelism.prefix_len();
        let mut result = Ok(());
        for (group, entry) in self.grouping.keys().iter().enumerate() {
            accumulators.store(group, row);
            writes.put_with(self.state, entry, |out| {
                if let Err(error) = codec.encode(row, out) {
                    result = Err(error);
                }
            });
            if accumulators.existed[group] {
                continue;
            }
            let (key, namespace) = entry[prefix_len..].split_at(entry.len() - prefix_len - WINDOW_LEN);
            let (_, end_ms) = window_of_namespace(namespace)?;
            let due_ms = end_ms.saturating_sub(1);
            let key_group = self.max_parallelism.key_group_of_entry(entry);
            timers.put(writes, KeyContext { key_group, key, namespace, row_ms: None }, due_ms);
            self.earliest_ms = self.earliest_ms.min(due_ms);
        }
        result.map_err(|error| error.with(Context::State, ACCUMULATORS))?;
        state.write(writes)
    }

    /// Closes windows that are due until there are none, or the output is full.
    fn close_windows(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        loop {
            if give_slices(&mut self.pending, cx.output) == Progress::More {
                return Ok(Progress::More);
            }
            let Some(mut cursor) = self.closing.take() else { return Ok(Progress::Done) };
            let mut due = Vec::new();
            let more = self.timers.due(cx.state, cx.event_time_ms, WINDOWS_PER_PASS, &mut cursor, &mut due)?;
            self.pending = self.close(&due, cx.state)?;
            if more {
                self.closing = Some(cursor);
            } else {
                self.earliest_ms = self.timers.earliest(cx.state)?.unwrap_or(i64::MAX);
            }
        }
    }

    /// The rows of windows that are over; their state is removed.
    fn close(&mut self, due: &[DueTimer], state: &mut dyn KeyedStateBackend) -> Result<Option<ChangeBatch>> {
        if due.is_empty() {
            return Ok(None);
        }
        let entries = EntryKeys::new(self.max_parallelism);
        self.keys.clear();
        for timer in due {
            self.keys.push_with(|out| entries.entry(timer.key_group, &timer.key, &timer.namespace, out));
        }
        read_groups(state, self.state, &self.keys, &self.codec, &mut self.row, &mut self.accumulators)?;
        if let Some(lost) = self.accumulators.existed.iter().position(|existed| !existed) {
            return Err(Error::corrupt("a window has a timer and no accumulators")
                .with(Context::State, ACCUMULATORS)
                .with(Context::KeyGroup, due[lost].key_group.0));
        }
        let rows = self.rows(due)?;
        self.writes.clear();
        for entry in self.keys.iter() {
            self.writes.delete(self.state, entry);
        }
        state.write(&mut self.writes)?;
        self.timers.remove_all(state, due)?;
        Ok(Some(ChangeBatch::inserts(rows)))
    }

    fn rows(&self, due: &[DueTimer]) -> Result<RecordBatch> {
        let keys = due.iter().map(|timer| self.plan.key_schema.decode(&timer.key)).collect::<Result<Vec<_>>>()?;
        let keys = columns_of_rows(&self.key_types, &keys)?;
        let results = results(&self.plan, &self.accumulators)?;
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.plan.output_columns.len());
        for (column, field) in self.plan.output_columns.iter().zip(self.plan.output.fields()) {
            columns.push(match *column {
                OutputColumn::Key(index) => Arc::clone(&keys[index]),
                OutputColumn::Call(index) => Arc::clone(&results[index]),
                OutputColumn::Window(part) => {
                    let times = due.iter().map(|timer| match part {
                        WindowPart::Time => timer.time_ms,
                        WindowPart::End => timer.time_ms.saturating_add(1),
                        WindowPart::Start => timer.time_ms.saturating_add(1).saturating_sub(self.window.size_ms),
                    });
                    let times: TimestampMillisecondArray = times.collect::<Vec<i64>>().into();
                    Arc::new(times.with_data_type(field.data_type().clone()))
                }
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(due.len()));
        RecordBatch::try_new_with_options(Arc::clone(&self.plan.output), columns, &options).map_err(arrow_error)
    }
}

/// The bytes of a window's namespace.
const WINDOW_LEN: usize = 16;

/// Reads the accumulators of groups, new ones for those without state.
fn read_groups(
    backend: &mut dyn KeyedStateBackend,
    state: StateId,
    keys: &KeyBatch,
    codec: &RowCodec,
    row: &mut Vec<Datum>,
    accumulators: &mut Accumulators,
) -> Result<()> {
    accumulators.clear();
    let mut result = Ok(());
    backend.read_many(state, keys, &mut |_, stored| {
        if result.is_err() {
            return;
        }
        let Some(stored) = stored else { return accumulators.push_new() };
        row.clear();
        result = codec.decode(stored, row).and_then(|()| accumulators.push_stored(row));
    })?;
    result.map_err(|error| error.with(Context::State, ACCUMULATORS))
}
