//! Streams of records by key.

use super::broadcast::BroadcastConnectedStream;
use super::connected::ConnectedStreams;
use super::data_stream::{DataStream, ReadRecords};
use super::environment::StreamExecutionEnvironment;
use super::fold::{Aggregate, FlatMapWithState, Fold, FoldInto, Reduce, RunningFold};
use super::function::{Context, KeyedProcessFunction};
use super::key_columns::KeyColumns;
use super::keyed_function::{KeyedFunction, OneInput};
use super::operator::ProcessOperatorFactory;
use super::record::{Record, read_all};
use super::side_output::SideTags;
use super::stamp::{STAMPED_COLUMNS, StampedRecords, stamped_schema};
use super::state::AggregateFunction;
use super::window::WindowedStream;
use arrow_schema::SchemaRef;
use headpond_runtime::batch::ChangeBatch;
use headpond_runtime::graph::{KeyedInput, NodeId, NodeKind};
use headpond_runtime::operator::BatchFunction;
use headpond_state::Result;
use headpond_state::encoding::KeyComponent;
use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// A stream of records by key.
pub struct KeyedStream<T, K> {
    env: StreamExecutionEnvironment,
    node: NodeId,
    key_len: usize,
    types: PhantomData<fn() -> (T, K)>,
}

impl<T, K> Clone for KeyedStream<T, K> {
    fn clone(&self) -> Self {
        KeyedStream { env: self.env.clone(), node: self.node, key_len: self.key_len, types: PhantomData }
    }
}

impl<T, K> fmt::Debug for KeyedStream<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedStream").field("node", &self.node).finish_non_exhaustive()
    }
}

impl<T: Record, K: KeyComponent + 'static> KeyedStream<T, K> {
    pub(super) fn new(
        env: StreamExecutionEnvironment,
        input: NodeId,
        read: ReadRecords<T>,
        key: impl Fn(&T) -> K + Send + Sync + 'static,
    ) -> Self {
        let fields: Vec<_> = KeyColumns::of::<K>().fields().collect();
        let key_len = fields.len();
        let schema = stamped_schema(fields);
        let key: Arc<KeyOf<T, K>> = Arc::new(key);
        let function = {
            let schema = schema.clone();
            Arc::new(move || {
                Ok(Box::new(KeyStep {
                    read: read.clone(),
                    key: key.clone(),
                    schema: schema.clone(),
                    rows: StampedRecords::default(),
                    keys: KeyColumns::of::<K>(),
                }) as Box<dyn BatchFunction>)
            })
        };
        let node = env.add("key", type_name::<K>(), schema, NodeKind::Map { input, function });
        KeyedStream { env, node, key_len, types: PhantomData }
    }

    /// What `function` makes of the records.
    pub fn process<F: KeyedProcessFunction<Key = K, In = T>>(&self, function: F) -> DataStream<F::Out> {
        self.apply("process", type_name::<F>(), vec![self.as_input()], OneInput(function))
    }

    /// The fold of a key's records so far, after each: the first record, then what `reduce` makes of that and the next.
    pub fn reduce(&self, reduce: impl Fn(T, T) -> T + Send + Sync + 'static) -> DataStream<T>
    where
        T: Clone,
    {
        let fold = Reduce { reduce, records: PhantomData };
        self.running("reduce", type_name::<T>(), fold, |_, result| Ok(result))
    }

    /// The fold of a key's records so far into a value that begins as `initial`: the key with the value, after each
    /// record.
    pub fn fold<A: Record + Clone + Sync>(
        &self,
        initial: A,
        fold: impl Fn(A, T) -> A + Send + Sync + 'static,
    ) -> DataStream<(K, A)>
    where
        K: Record,
    {
        let fold = FoldInto { initial, fold, records: PhantomData };
        self.running("fold", type_name::<A>(), fold, |ctx, result| Ok((ctx.key()?, result)))
    }

    /// What an aggregate function makes of a key's records so far: the key with the result, after each record.
    pub fn aggregate<A>(&self, function: A) -> DataStream<(K, A::Output)>
    where
        K: Record,
        A: AggregateFunction<Input = T, Accumulator: Record, Output: Record> + Send + Sync + 'static,
    {
        self.running("aggregate", type_name::<A>(), Aggregate(function), |ctx, result| Ok((ctx.key()?, result)))
    }

    /// All that `f` makes of each record and a value of its key, which it may read, set and remove.
    #[doc(alias = "scan")]
    pub fn flat_map_with_state<S, I>(
        &self,
        f: impl Fn(T, &mut Option<S>) -> I + Send + Sync + 'static,
    ) -> DataStream<I::Item>
    where
        S: Record,
        I: IntoIterator<Item: Record> + 'static,
    {
        let function: FlatMapWithState<T, S, K, _> = FlatMapWithState { function: f, types: PhantomData };
        self.apply("flat-map", type_name::<S>(), vec![self.as_input()], OneInput(function))
    }

    /// The records by windows of event time.
    pub fn window<W>(&self, windows: W) -> WindowedStream<T, K, W>
    where
        K: Record,
    {
        WindowedStream::new(self.clone(), windows)
    }

    fn running<F: Fold<In = T>, O: Record>(
        &self,
        step: &'static str,
        what: &str,
        fold: F,
        emit: impl Fn(&Context<'_, K>, F::Out) -> Result<O> + Send + Sync + 'static,
    ) -> DataStream<O> {
        let function = RunningFold { fold, emit, types: PhantomData };
        self.apply(step, what, vec![self.as_input()], OneInput(function))
    }

    /// This stream and another by the same key, for a function that sees the records of both and shares their states: a
    /// join, for example.
    pub fn connect<U: Record>(&self, other: &KeyedStream<U, K>) -> ConnectedStreams<T, U, K> {
        ConnectedStreams { first: self.clone(), second: other.clone() }
    }

    /// This stream and a control stream whose records reach every worker.
    #[doc(alias = "broadcast")]
    pub fn connect_broadcast<C: Record>(&self, control: &DataStream<C>) -> BroadcastConnectedStream<T, C, K> {
        BroadcastConnectedStream { keyed: self.clone(), control: control.clone() }
    }

    /// The records as an input of a keyed operator.
    pub(super) fn as_input(&self) -> KeyedInput {
        KeyedInput::by_key(self.node, (STAMPED_COLUMNS..STAMPED_COLUMNS + self.key_len).collect())
    }

    /// Adds a step of this kind that runs `function` over the inputs; `what` describes it to people.
    pub(super) fn apply<F: KeyedFunction>(
        &self,
        step: &'static str,
        what: &str,
        inputs: Vec<KeyedInput>,
        function: F,
    ) -> DataStream<F::Out> {
        let side_tags = Arc::new(SideTags::default());
        let operator = Arc::new(ProcessOperatorFactory::new(function, side_tags.clone()));
        let node = self.env.add(step, what, stamped_schema([]), NodeKind::Keyed { inputs, operator });
        DataStream::new(self.env.clone(), node, Arc::new(read_all)).with_side_outputs(side_tags)
    }
}

type KeyOf<T, K> = dyn Fn(&T) -> K + Send + Sync;

/// Applies what comes before the key, and gives every record its key's columns.
struct KeyStep<T, K> {
    read: ReadRecords<T>,
    key: Arc<KeyOf<T, K>>,
    schema: SchemaRef,
    rows: StampedRecords,
    keys: KeyColumns,
}

impl<T, K> fmt::Debug for KeyStep<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyStep").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl<T: Record, K: KeyComponent> BatchFunction for KeyStep<T, K> {
    fn process(&mut self, batch: ChangeBatch) -> Result<Option<ChangeBatch>> {
        let KeyStep { read, key, rows, keys, .. } = self;
        read(batch.rows(), &mut |record, stamp| {
            keys.push(&key(&record))?;
            rows.push(&record, stamp)
        })?;
        if rows.len() == 0 {
            return Ok(None);
        }
        let keys = keys.finish()?;
        rows.finish(&self.schema, keys).map(ChangeBatch::inserts).map(Some)
    }
}
