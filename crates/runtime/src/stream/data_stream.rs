//! Streams of records.

use super::environment::StreamExecutionEnvironment;
use super::keyed_stream::KeyedStream;
use super::record::Record;
use super::sink::{ForEach, RecordSink, SinkAdapter};
use crate::graph::{NodeId, NodeKind};
use arrow_array::RecordBatch;
use headpond_state::encoding::KeyComponent;
use headpond_state::{Error, Result};
use std::any::type_name;
use std::fmt;
use std::sync::Arc;

/// Gives the records that a batch of a node's rows stands for, one after another.
pub(super) type ReadRecords<T> = Arc<dyn Fn(&RecordBatch, &mut dyn FnMut(T) -> Result<()>) -> Result<()> + Send + Sync>;

/// A stream of records.
///
/// [`map`](Self::map), [`filter`](Self::filter) and [`flat_map`](Self::flat_map) run where the stream is read: a
/// stream that is read twice runs them for each reader.
pub struct DataStream<T> {
    env: StreamExecutionEnvironment,
    node: NodeId,
    read: ReadRecords<T>,
    /// Whether the records are those of the node, without further steps.
    is_of_node: bool,
}

impl<T> Clone for DataStream<T> {
    fn clone(&self) -> Self {
        DataStream { env: self.env.clone(), node: self.node, read: self.read.clone(), is_of_node: self.is_of_node }
    }
}

impl<T> fmt::Debug for DataStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataStream").field("node", &self.node).finish_non_exhaustive()
    }
}

impl<T: 'static> DataStream<T> {
    pub(super) fn new(env: StreamExecutionEnvironment, node: NodeId, read: ReadRecords<T>) -> Self {
        DataStream { env, node, read, is_of_node: true }
    }

    /// Pins the id by which checkpoints know the step this stream comes from, a source or a
    /// [`process`](KeyedStream::process). Otherwise it is the step's kind and its place among the steps of that kind,
    /// which changes when a step is added before it.
    #[must_use]
    pub fn uid(self, uid: &str) -> Self {
        if self.is_of_node {
            self.env.rename(self.node, uid);
        } else {
            let error = Error::invalid(format!("the uid `{uid}` is given to a step that checkpoints know nothing of"));
            self.env.fail(error.hint("call `uid` on the stream that a source or `process` gives"));
        }
        self
    }

    /// What `f` makes of each record.
    pub fn map<U: 'static>(&self, f: impl Fn(T) -> U + Send + Sync + 'static) -> DataStream<U> {
        self.then(move |record, give| give(f(record)))
    }

    /// The records for which `keep` holds.
    pub fn filter(&self, keep: impl Fn(&T) -> bool + Send + Sync + 'static) -> DataStream<T> {
        self.then(move |record, give| if keep(&record) { give(record) } else { Ok(()) })
    }

    /// All that `f` makes of each record.
    pub fn flat_map<U: 'static, I: IntoIterator<Item = U>>(
        &self,
        f: impl Fn(T) -> I + Send + Sync + 'static,
    ) -> DataStream<U> {
        self.then(move |record, give| f(record).into_iter().try_for_each(give))
    }

    fn then<U: 'static>(
        &self,
        step: impl Fn(T, &mut dyn FnMut(U) -> Result<()>) -> Result<()> + Send + Sync + 'static,
    ) -> DataStream<U> {
        let read = self.read.clone();
        let read = move |rows: &RecordBatch, give: &mut dyn FnMut(U) -> Result<()>| {
            read(rows, &mut |record| step(record, &mut *give))
        };
        DataStream { env: self.env.clone(), node: self.node, read: Arc::new(read), is_of_node: false }
    }

    /// The same records by a key: those of equal keys meet on one worker, in the order in which their worker had them.
    pub fn key_by<K: KeyComponent + 'static>(&self, key: impl Fn(&T) -> K + Send + Sync + 'static) -> KeyedStream<T, K>
    where
        T: Record,
    {
        KeyedStream::new(self.env.clone(), self.node, self.read.clone(), key)
    }

    /// Writes the records to a sink.
    pub fn sink_to<S: RecordSink<T>>(&self, sink: S) -> DataStreamSink {
        let sink = Arc::new(SinkAdapter::new(sink, self.read.clone()));
        let kind = NodeKind::Sink { input: self.node, key: None, sink };
        let node = self.env.add("sink", type_name::<S>(), self.env.schema_of(self.node), kind);
        DataStreamSink { env: self.env.clone(), node }
    }

    /// Calls `f` with every record, as soon as it is there. After a failure it is called again with those that follow
    /// the last checkpoint: at least once, where a [`RecordSink`] can do better.
    pub fn for_each(&self, f: impl Fn(T) -> Result<()> + Send + Sync + 'static) -> DataStreamSink {
        self.sink_to(ForEach::new(f))
    }
}

/// The end of a stream.
#[derive(Debug)]
pub struct DataStreamSink {
    env: StreamExecutionEnvironment,
    node: NodeId,
}

impl DataStreamSink {
    /// Pins the id by which checkpoints know the sink, like [`DataStream::uid`].
    pub fn uid(self, uid: &str) {
        self.env.rename(self.node, uid);
    }
}
