//! What a keyed stream is processed with.

use super::record::{Record, RecordColumn, schema};
use super::state::{
    AggregatingState, AggregatingStateDescriptor, ListState, ListStateDescriptor, MapState, MapStateDescriptor,
    ReducingState, ReducingStateDescriptor, ValueState, ValueStateDescriptor,
};
use crate::batch::ChangeBatch;
use crate::output::Output;
use headpond_state::encoding::{KeyComponent, KeyReader, KeySchema};
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
}

/// What a function is opened with on one worker: it registers states from their descriptors.
///
/// # Errors
/// Registering fails with [`Incompatible`](headpond_state::ErrorKind::Incompatible) when the restored checkpoint has
/// a state of that name that does not match, and with [`Unsupported`](headpond_state::ErrorKind::Unsupported) for an
/// expiry by event time.
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
    pub fn get_state<T: 'static>(&mut self, descriptor: ValueStateDescriptor<T>) -> Result<ValueState<T>> {
        descriptor.register(self)
    }

    /// A list per key. A state must be registered only once.
    pub fn get_list_state<T: 'static>(&mut self, descriptor: ListStateDescriptor<T>) -> Result<ListState<T>> {
        descriptor.register(self)
    }

    /// A map per key.
    pub fn get_map_state<K: KeyComponent, V: 'static>(
        &mut self,
        descriptor: MapStateDescriptor<K, V>,
    ) -> Result<MapState<K, V>> {
        descriptor.register(self)
    }

    /// Per key the fold of what was added.
    pub fn get_reducing_state<T: 'static>(
        &mut self,
        descriptor: ReducingStateDescriptor<T>,
    ) -> Result<ReducingState<T>> {
        descriptor.register(self)
    }

    /// Per key an accumulator of what was added.
    pub fn get_aggregating_state<A: AggregateFunction>(
        &mut self,
        descriptor: AggregatingStateDescriptor<A>,
    ) -> Result<AggregatingState<A>> {
        descriptor.register(self)
    }

    /// The worker's index.
    pub fn get_index_of_this_subtask(&self) -> usize {
        self.subtask
    }

    /// The number of workers.
    pub fn get_number_of_parallel_subtasks(&self) -> usize {
        self.parallelism
    }
}

/// What a function has at hand for one record: the states of its key, and the time.
pub struct Context<'a, K> {
    pub(super) backend: &'a mut (dyn KeyedStateBackend + 'static),
    pub(super) key: KeyContext<'a>,
    pub(super) processing_time_ms: i64,
    pub(super) keys: PhantomData<fn() -> K>,
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
    pub fn get_current_key(&self) -> Result<K> {
        K::decode(&mut KeyReader::new(self.key.key))
            .map_err(|cause| Error::internal("a key cannot be read back").because(cause))
    }

    /// Processing time in milliseconds since the epoch: the same for all records of a tick.
    pub fn current_processing_time_ms(&self) -> i64 {
        self.processing_time_ms
    }
}

/// The records that go out in one batch, at most.
const RECORDS_PER_BATCH: usize = 8192;
/// The bytes of records after which a batch goes out.
const BYTES_PER_BATCH: usize = 128 << 10;

/// Takes the results of a function.
#[derive(Debug)]
pub struct Collector<T> {
    column: RecordColumn,
    /// The first record that could not be written fails the call it was collected in.
    failure: Option<Error>,
    records: PhantomData<fn(T)>,
}

impl<T: Record> Collector<T> {
    pub(super) fn new() -> Self {
        Collector { column: RecordColumn::default(), failure: None, records: PhantomData }
    }

    /// Gives a record.
    pub fn collect(&mut self, record: T) {
        if self.failure.is_none() {
            self.failure = self.column.push(&record).err();
        }
    }

    pub(super) fn check(&mut self) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    pub(super) fn is_full(&self) -> bool {
        self.column.len() >= RECORDS_PER_BATCH || self.column.byte_len() >= BYTES_PER_BATCH
    }

    /// Passes on what was collected.
    pub(super) fn flush(&mut self, output: &mut Output) -> Result<()> {
        if self.column.len() > 0 {
            output.give(ChangeBatch::inserts(self.column.finish(&schema([]), Vec::new())?));
        }
        Ok(())
    }
}
