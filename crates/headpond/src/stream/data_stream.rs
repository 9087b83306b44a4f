//! Streams of records.

use super::collect::CollectSink;
use super::environment::StreamExecutionEnvironment;
use super::keyed_stream::KeyedStream;
use super::record::{Record, read_all};
use super::side_output::{OutputTag, SideTags};
use super::sink::{ForEach, RecordSink, SinkAdapter};
use super::stamp::{Stamp, StampedRecords, stamped_schema};
use super::watermarks::WatermarkStrategy;
use arrow_array::RecordBatch;
use headpond_runtime::batch::ChangeBatch;
use headpond_runtime::graph::{NodeId, NodeKind};
use headpond_runtime::operator::BatchFunction;
use headpond_state::encoding::KeyComponent;
use headpond_state::{Error, Result};
use std::any::type_name;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

/// Gives the records that a batch of a node's rows stands for, one after another, with their stamps.
pub(super) type ReadRecords<T> = Arc<ReadRecordsFn<T>>;

type ReadRecordsFn<T> = dyn Fn(&RecordBatch, &mut dyn FnMut(T, Stamp) -> Result<()>) -> Result<()> + Send + Sync;

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
    /// The side outputs, where the stream is a function's results.
    side_tags: Option<Arc<SideTags>>,
}

impl<T> Clone for DataStream<T> {
    fn clone(&self) -> Self {
        DataStream {
            env: self.env.clone(),
            node: self.node,
            read: self.read.clone(),
            is_of_node: self.is_of_node,
            side_tags: self.side_tags.clone(),
        }
    }
}

impl<T> fmt::Debug for DataStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataStream").field("node", &self.node).finish_non_exhaustive()
    }
}

impl<T: 'static> DataStream<T> {
    pub(super) fn new(env: StreamExecutionEnvironment, node: NodeId, read: ReadRecords<T>) -> Self {
        DataStream { env, node, read, is_of_node: true, side_tags: None }
    }

    pub(super) fn env(&self) -> &StreamExecutionEnvironment {
        &self.env
    }

    pub(super) fn node(&self) -> NodeId {
        self.node
    }

    pub(super) fn reader(&self) -> ReadRecords<T> {
        self.read.clone()
    }

    pub(super) fn with_side_outputs(self, side_tags: Arc<SideTags>) -> Self {
        DataStream { side_tags: Some(side_tags), ..self }
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
        let read = move |rows: &RecordBatch, give: &mut dyn FnMut(U, Stamp) -> Result<()>| {
            read(rows, &mut |record, stamp| step(record, &mut |made| give(made, stamp)))
        };
        DataStream { env: self.env.clone(), node: self.node, read: Arc::new(read), is_of_node: false, side_tags: None }
    }

    /// The same records with timestamps, and their source with watermarks. The stream must come from a source, with
    /// nothing but `map`, `filter` and `flat_map` in between, and a source has one strategy.
    ///
    /// The steps before it run once more, to compute the watermarks: it is best applied near the source.
    pub fn assign_timestamps_and_watermarks(&self, strategy: WatermarkStrategy<T>) -> DataStream<T> {
        let Some(assigner) = strategy.assigner() else {
            let error = Error::invalid("a watermark strategy does not say which timestamp a record has");
            self.env.fail(error.hint("give it one with `with_timestamps`"));
            return self.clone();
        };
        if let Some(watermarks) = strategy.of_rows(self.read.clone(), assigner.clone()) {
            self.env.assign_watermarks(self.node, watermarks);
        }
        let read = self.read.clone();
        let read = move |rows: &RecordBatch, give: &mut dyn FnMut(T, Stamp) -> Result<()>| {
            read(rows, &mut |record, stamp| {
                let timestamp_ms = Some(assigner(&record));
                give(record, Stamp { timestamp_ms, ..stamp })
            })
        };
        DataStream { read: Arc::new(read), ..self.clone() }
    }

    /// The records of both streams. Event time is the lesser of theirs.
    pub fn union(&self, other: &DataStream<T>) -> DataStream<T>
    where
        T: Record,
    {
        let inputs = vec![self.as_rows(), other.as_rows()];
        let node = self.env.add("union", type_name::<T>(), stamped_schema([]), NodeKind::Union { inputs });
        DataStream { is_of_node: false, ..DataStream::new(self.env.clone(), node, Arc::new(read_all)) }
    }

    /// A node whose rows are the records with their stamps.
    pub(super) fn as_rows(&self) -> NodeId
    where
        T: Record,
    {
        let read = self.read.clone();
        let function = Arc::new(move || {
            let rows = StampedRecords::default();
            Ok(Box::new(RowsStep { read: read.clone(), rows }) as Box<dyn BatchFunction>)
        });
        self.env.add("rows", type_name::<T>(), stamped_schema([]), NodeKind::Map { input: self.node, function })
    }

    /// The records that the function whose results these are gives to a [side output](super::Context::output).
    #[doc(alias = "getSideOutput")]
    pub fn side_output<U: Record>(&self, tag: &OutputTag<U>) -> DataStream<U> {
        let Some(side_tags) = self.side_tags.as_ref().filter(|_| self.is_of_node) else {
            let error = Error::invalid("a side output is asked for of a stream that is not a function's results");
            self.env.fail(error.hint("call `side_output` on the stream that `process` gives"));
            return DataStream::new(self.env.clone(), self.node, Arc::new(read_all));
        };
        let port = side_tags.port(tag).unwrap_or_else(|error| {
            self.env.fail(error);
            1
        });
        let kind = NodeKind::SideOutput { input: self.node, port };
        let node = self.env.add("side-output", type_name::<U>(), stamped_schema([]), kind);
        DataStream { is_of_node: false, ..DataStream::new(self.env.clone(), node, Arc::new(read_all)) }
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

impl<T: Send + Clone + 'static> DataStream<T> {
    /// Keeps the records in memory, for the program to look at: while the job runs those of complete checkpoints, all
    /// of them once it has finished.
    pub fn collect(&self) -> CollectSink<T> {
        let sink = CollectSink::new();
        self.sink_to(sink.clone());
        sink
    }

    /// Executes the program, and gives the records of this stream: for tests and small results. Those of different
    /// workers come in any order.
    ///
    /// # Errors
    /// As [`StreamExecutionEnvironment::execute`].
    pub fn execute_and_collect(&self, job_name: &str) -> Result<Vec<T>> {
        let sink = self.collect();
        self.env.execute(job_name)?;
        Ok(sink.records())
    }
}

impl<T: fmt::Debug + 'static> DataStream<T> {
    /// Prints every record on a line of standard output, as `{:?}` writes it, as soon as it is there. What is printed
    /// stays, also when the job goes on from an earlier checkpoint.
    pub fn print(&self) -> DataStreamSink {
        self.for_each(|record| {
            let mut output = io::stdout().lock();
            writeln!(output, "{record:?}").map_err(|cause| match cause.kind() {
                io::ErrorKind::BrokenPipe => Error::closed("nobody reads the output any more").because(cause),
                _ => Error::io("cannot write the output", "standard output", cause),
            })
        })
    }
}

/// Applies what comes before, and gives records as rows.
struct RowsStep<T> {
    read: ReadRecords<T>,
    rows: StampedRecords,
}

impl<T> fmt::Debug for RowsStep<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowsStep").finish_non_exhaustive()
    }
}

impl<T: Record> BatchFunction for RowsStep<T> {
    fn process(&mut self, batch: ChangeBatch) -> Result<Option<ChangeBatch>> {
        let RowsStep { read, rows } = self;
        read(batch.rows(), &mut |record, stamp| rows.push(&record, stamp))?;
        if rows.len() == 0 {
            return Ok(None);
        }
        rows.finish(&stamped_schema([]), Vec::new()).map(ChangeBatch::inserts).map(Some)
    }
}

/// The end of a stream.
#[derive(Debug)]
pub struct DataStreamSink {
    env: StreamExecutionEnvironment,
    node: NodeId,
}

impl DataStreamSink {
    pub(super) fn new(env: StreamExecutionEnvironment, node: NodeId) -> Self {
        DataStreamSink { env, node }
    }

    /// Pins the id by which checkpoints know the sink, like [`DataStream::uid`].
    pub fn uid(self, uid: &str) {
        self.env.rename(self.node, uid);
    }
}
