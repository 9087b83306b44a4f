//! What a keyed stream is processed with.

use super::broadcast_state::BroadcastState;
use super::record::Record;
use super::side_output::{OutputTag, SideOutputs};
use super::stamp::{Stamp, StampedRecords, stamped_schema};
use super::state::{
    AggregatingState, AggregatingStateDescriptor, ListState, ListStateDescriptor, MapState, MapStateDescriptor,
    ReducingState, ReducingStateDescriptor, ValueState, ValueStateDescriptor,
};
use super::timers::{FunctionTimers, TimerService};
use headpond_runtime::batch::ChangeBatch;
use headpond_runtime::operator::Counters;
use headpond_runtime::output::Output;
use headpond_state::encoding::{KeyComponent, KeyReader, KeySchema};
use headpond_state::ttl::TimeDomain;
use headpond_state::typed::{AggregateFunction, KeyContext};
use headpond_state::{Error, KeyedStateBackend, OperatorClock, Result};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// What is done with each record of a keyed stream, with states that belong to the record's key.
///
/// The function itself is shared by all workers and never changes: whatever is to be remembered belongs in a state,
/// which checkpoints keep. Each worker has [`States`](Self::States) of its own for the keys that are its.
pub trait KeyedProcessFunction: Send + Sync + 'static {
    /// The stream's key.
    type Key: KeyComponent + 'static;
    /// The records that come in.
    type In: Record;
    /// The records that come out.
    type Out: Record;
    /// The states: one, a tuple or a struct of them, or `()`.
    type States: Send + 'static;

    /// Registers the states. Called on every worker before the first record.
    ///
    /// # Errors
    /// What registering a state fails with: [`Incompatible`](headpond_state::ErrorKind::Incompatible) when a
    /// checkpoint has another state of that name.
    fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<Self::States>;

    /// Takes a record. `ctx` is what states are read and written with, `out` takes the results.
    ///
    /// Records of a key come in the order in which their worker had them, which need not be that of their timestamps;
    /// and before timers that are due fire, there may be more records.
    ///
    /// # Errors
    /// Whatever states fail with, and whatever the function refuses; the job then fails, and can be restored from its
    /// last checkpoint.
    fn process_element(
        &self,
        states: &mut Self::States,
        value: Self::In,
        ctx: &mut Context<'_, Self::Key>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()>;

    /// A timer of `ctx`'s key fires, set for `timestamp` by [`Context::timers`]. [`Context::time_domain`] says by which
    /// time. Those of a key fire in the order of their times, each once, also after a restart.
    ///
    /// At the end of a bounded input event time is `i64::MAX`, so all event-time timers fire, also those that are set
    /// meanwhile; then those by processing time fire, whatever the time, and those set from then on never do. A job
    /// that is asked to stop fires nothing: the timers are in its last checkpoint.
    ///
    /// # Errors
    /// As [`process_element`](Self::process_element).
    fn on_timer(
        &self,
        _states: &mut Self::States,
        _timestamp: i64,
        _ctx: &mut Context<'_, Self::Key>,
        _out: &mut Collector<Self::Out>,
    ) -> Result<()> {
        Ok(())
    }
}

/// What a function is opened with on one worker: it registers states from their descriptors.
///
/// # Errors
/// Registering fails with [`Incompatible`](headpond_state::ErrorKind::Incompatible) when the restored checkpoint has
/// a state of that name that does not match.
#[derive(Debug)]
pub struct RuntimeContext<'a> {
    pub(super) backend: &'a mut (dyn KeyedStateBackend + 'a),
    pub(super) clock: &'a Arc<OperatorClock>,
    pub(super) key_schema: &'a KeySchema,
    pub(super) subtask: usize,
    pub(super) parallelism: usize,
}

impl RuntimeContext<'_> {
    /// One value per key.
    #[doc(alias = "getState")]
    pub fn value_state<T: 'static>(&mut self, descriptor: ValueStateDescriptor<T>) -> Result<ValueState<T>> {
        descriptor.register(self)
    }

    /// A list per key. A state must be registered only once.
    #[doc(alias = "getListState")]
    pub fn list_state<T: 'static>(&mut self, descriptor: ListStateDescriptor<T>) -> Result<ListState<T>> {
        descriptor.register(self)
    }

    /// A map per key.
    #[doc(alias = "getMapState")]
    pub fn map_state<K: KeyComponent, V: 'static>(
        &mut self,
        descriptor: MapStateDescriptor<K, V>,
    ) -> Result<MapState<K, V>> {
        descriptor.register(self)
    }

    /// A map that control records write and all records read; see [`BroadcastState`].
    pub fn broadcast_state<K: KeyComponent, V: 'static>(
        &mut self,
        descriptor: MapStateDescriptor<K, V>,
    ) -> Result<BroadcastState<K, V>> {
        BroadcastState::register(descriptor, self)
    }

    /// Per key the fold of what was added.
    #[doc(alias = "getReducingState")]
    pub fn reducing_state<T: 'static>(&mut self, descriptor: ReducingStateDescriptor<T>) -> Result<ReducingState<T>> {
        descriptor.register(self)
    }

    /// Per key an accumulator of what was added.
    #[doc(alias = "getAggregatingState")]
    pub fn aggregating_state<A: AggregateFunction>(
        &mut self,
        descriptor: AggregatingStateDescriptor<A>,
    ) -> Result<AggregatingState<A>> {
        descriptor.register(self)
    }

    /// The worker's index.
    #[doc(alias = "getIndexOfThisSubtask")]
    pub fn subtask(&self) -> usize {
        self.subtask
    }

    /// The number of workers.
    #[doc(alias = "getNumberOfParallelSubtasks")]
    pub fn parallelism(&self) -> usize {
        self.parallelism
    }
}

/// What a function has at hand for one record or timer: the states of its key, its timers, the time, the side outputs.
pub struct Context<'a, K> {
    pub(super) backend: &'a mut (dyn KeyedStateBackend + 'a),
    pub(super) key: KeyContext<'a>,
    pub(super) moment: CallTimes,
    pub(super) timers: &'a mut FunctionTimers,
    pub(super) sides: &'a mut SideOutputs,
    pub(super) counters: &'a mut Counters,
    pub(super) keys: PhantomData<fn() -> K>,
}

/// When a function is called.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallTimes {
    pub(super) timestamp_ms: Option<i64>,
    pub(super) watermark_ms: i64,
    pub(super) processing_time_ms: i64,
    /// By which time the timer was set that fires; `None` for a record.
    pub(super) timer: Option<TimeDomain>,
}

impl CallTimes {
    /// The timestamp of what the function gives: none, when a timer by processing time fires.
    pub(super) fn of_results(&self) -> Option<i64> {
        self.timestamp_ms.filter(|_| self.timer != Some(TimeDomain::ProcessingTime))
    }
}

impl<K> fmt::Debug for Context<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("key", &self.key).finish_non_exhaustive()
    }
}

impl<K: KeyComponent> Context<'_, K> {
    /// The record's key.
    ///
    /// # Errors
    /// [`Internal`](headpond_state::ErrorKind::Internal) when `K` does not read what it wrote.
    #[doc(alias = "getCurrentKey")]
    pub fn key(&self) -> Result<K> {
        K::decode(&mut KeyReader::new(self.key.key))
            .map_err(|cause| Error::internal("a key cannot be read back").because(cause))
    }

    /// The record's timestamp, if it [has one](super::DataStream::assign_timestamps_and_watermarks), or the time for
    /// which the timer was set; in milliseconds since the epoch.
    pub fn timestamp(&self) -> Option<i64> {
        self.moment.timestamp_ms
    }

    /// Event time: no record with this timestamp or an earlier one is expected any more, so one that comes is late. In
    /// milliseconds since the epoch, `i64::MIN` before the first watermark, `i64::MAX` at the end.
    ///
    /// A record directly from a source is judged by what its split gave before it, if that is later than the operator's
    /// event time: whether it is late depends on its place in the split, not on timing.
    pub fn current_watermark(&self) -> i64 {
        self.moment.watermark_ms
    }

    /// Processing time in milliseconds since the epoch: the same for all records of a tick.
    pub fn current_processing_time(&self) -> i64 {
        self.moment.processing_time_ms
    }

    /// By which time the timer was set that fires; `None` for a record.
    pub fn time_domain(&self) -> Option<TimeDomain> {
        self.moment.timer
    }

    /// Sets and removes timers of the key.
    #[doc(alias = "timerService")]
    pub fn timers(&mut self) -> TimerService<'_> {
        TimerService {
            backend: self.backend,
            timers: self.timers,
            key: self.key,
            watermark_ms: self.moment.watermark_ms,
            processing_time_ms: self.moment.processing_time_ms,
        }
    }

    /// Adds to a counter of this name: checkpoints keep it, and whoever looks at the job sees its sum over all workers.
    #[doc(alias = "getMetricGroup")]
    pub fn count(&mut self, counter: &str, n: u64) {
        self.counters.add(counter, n);
    }

    /// Gives a record to a side output. It gets the timestamp of the record or event-time timer at hand.
    pub fn output<T: Record>(&mut self, tag: &OutputTag<T>, record: T) {
        self.sides.output(tag, &record, self.moment.of_results());
    }
}

/// The records that go out in one batch, at most.
const RECORDS_PER_BATCH: usize = 8192;
/// The bytes of records after which a batch goes out.
const BYTES_PER_BATCH: usize = 128 << 10;

/// Takes the results of a function. They get the timestamp of the record or event-time timer at hand.
#[derive(Debug)]
pub struct Collector<T> {
    rows: StampedRecords,
    /// The timestamp of what is collected.
    timestamp_ms: Option<i64>,
    /// The first record that could not be written fails the call it was collected in.
    failure: Option<Error>,
    records: PhantomData<fn(T)>,
}

impl<T: Record> Collector<T> {
    pub(super) fn new() -> Self {
        Collector { rows: StampedRecords::default(), timestamp_ms: None, failure: None, records: PhantomData }
    }

    pub(super) fn set_timestamp(&mut self, timestamp_ms: Option<i64>) {
        self.timestamp_ms = timestamp_ms;
    }

    /// Gives a record.
    pub fn collect(&mut self, record: T) {
        if self.failure.is_none() {
            self.failure = self.rows.push(&record, Stamp::at(self.timestamp_ms)).err();
        }
    }

    /// Gives a record with a timestamp of its own.
    pub(super) fn collect_at(&mut self, record: T, timestamp_ms: i64) {
        let at_hand = self.timestamp_ms.replace(timestamp_ms);
        self.collect(record);
        self.timestamp_ms = at_hand;
    }

    pub(super) fn check(&mut self) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Whether this and the side outputs should be passed on.
    pub(super) fn is_full(&self, sides: &SideOutputs) -> bool {
        self.rows.len() + sides.len() >= RECORDS_PER_BATCH || self.rows.byte_len() + sides.byte_len() >= BYTES_PER_BATCH
    }

    /// Passes on what was collected.
    pub(super) fn flush(&mut self, output: &mut Output) -> Result<()> {
        if self.rows.len() > 0 {
            output.give(ChangeBatch::inserts(self.rows.finish(&stamped_schema([]), Vec::new())?));
        }
        Ok(())
    }
}
