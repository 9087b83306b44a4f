//! Streams of records by key.

use super::data_stream::{DataStream, ReadRecords};
use super::environment::StreamExecutionEnvironment;
use super::function::KeyedProcessFunction;
use super::key_columns::KeyColumns;
use super::operator::ProcessOperatorFactory;
use super::record::{Record, read_all};
use super::side_output::SideTags;
use super::stamp::{STAMPED_COLUMNS, StampedRecords, stamped_schema};
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
        let key = (STAMPED_COLUMNS..STAMPED_COLUMNS + self.key_len).collect();
        let side_tags = Arc::new(SideTags::default());
        let operator = Arc::new(ProcessOperatorFactory::new(function, side_tags.clone()));
        let kind = NodeKind::Keyed { inputs: vec![KeyedInput { node: self.node, key }], operator };
        let node = self.env.add("process", type_name::<F>(), stamped_schema([]), kind);
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
