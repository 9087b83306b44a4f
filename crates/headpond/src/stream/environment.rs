//! The environment of a program: its settings, and the job it describes.

use super::data_stream::DataStream;
use super::items::{Items, NoItems};
use super::program_options::{ProgramOptions, ways_out};
use super::record::{Record, read_all};
use super::settings::{Configure, Settings};
use super::source::{RecordSource, SourceAdapter};
use super::stamp::{Stamp, Stamps};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use headpond_checkpoint::Stores;
use headpond_launch::backend::Backend;
use headpond_launch::control::{Endpoint, Served};
use headpond_launch::signals;
use headpond_runtime::graph::{JobGraph, Node, NodeId, NodeKind, SourceNode};
use headpond_runtime::metrics::JobMetrics;
use headpond_runtime::options::{JobOptions, Restore};
use headpond_runtime::source::{ROW_WATERMARK_COLUMN, Source, WatermarkFactory};
use headpond_runtime::{Ending, Job, JobControl};
use headpond_state::{CheckpointId, Context, Error, MaxParallelism, OperatorId, Result, StateBackend};
use parking_lot::Mutex;
use std::any::type_name;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Where a program begins: it makes streams from sources and, when all is described, executes the job.
///
/// Clones are the same environment.
#[derive(Debug, Clone)]
pub struct StreamExecutionEnvironment {
    program: Arc<Mutex<Program>>,
    control: JobControl,
}

#[derive(Debug)]
struct Program {
    graph: JobGraph,
    /// How many steps there are of each kind.
    steps: BTreeMap<&'static str, usize>,
    /// The first thing that went wrong while the program was described; it is what executing it gives.
    failure: Option<Error>,
    settings: Settings,
}

impl Default for StreamExecutionEnvironment {
    fn default() -> Self {
        Self::new()
    }
}

/// How an execution went.
#[derive(Debug)]
pub struct JobExecutionResult {
    /// How it ended.
    pub ending: Ending,
    /// The checkpoint it began from, if there was one.
    pub restored_from: Option<CheckpointId>,
    /// What it counted.
    pub metrics: Arc<JobMetrics>,
}

impl StreamExecutionEnvironment {
    /// An environment for a new program: one worker, no checkpoints, no state backend yet.
    #[doc(alias = "getExecutionEnvironment")]
    pub fn new() -> Self {
        Self::with_settings(Settings::default())
    }

    /// An environment for a new program that is run as its command line, the environment variables and the
    /// configuration file say: options as those of the binary `headpond`. They win over what the program sets.
    ///
    /// While it executes, SIGINT and SIGTERM make the job stop with a checkpoint (a second one ends the process at
    /// once), and `headpond jobs` and `headpond savepoint` find it.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for an option that is unknown or wrong, naming it and where it
    /// was set.
    pub fn with_options(options: &ProgramOptions) -> Result<Self> {
        Ok(Self::with_settings(Settings::of_program(options)?))
    }

    fn with_settings(settings: Settings) -> Self {
        let program = Program { graph: JobGraph::new(), steps: BTreeMap::new(), failure: None, settings };
        StreamExecutionEnvironment { program: Arc::new(Mutex::new(program)), control: JobControl::new() }
    }

    fn set(&self, set: impl FnOnce(&mut Settings)) -> &Self {
        set(&mut self.program.lock().settings);
        self
    }

    /// Sets where keyed state is held. The backend also says whether checkpoints are incremental.
    pub fn set_state_backend(&self, backend: impl StateBackend + 'static) -> &Self {
        self.set(|settings| settings.backend = Some(Arc::new(backend)))
    }

    /// Sets the number of workers.
    pub fn set_parallelism(&self, parallelism: usize) -> &Self {
        self.set(|settings| settings.parallelism = Some(parallelism))
    }

    /// Sets the number of key groups, the most workers the job can ever have. A restored job keeps the one it has.
    pub fn set_max_parallelism(&self, max_parallelism: MaxParallelism) -> &Self {
        self.set(|settings| settings.max_parallelism = Some(max_parallelism))
    }

    /// Makes the job take a checkpoint at this interval.
    pub fn enable_checkpointing(&self, interval: Duration) -> &Self {
        self.set(|settings| settings.checkpoint_interval = Some(interval))
    }

    /// Sets the directory of the checkpoints: `file:///…`, a path, or the URL of a
    /// [store](Self::set_checkpoint_stores). Without [an interval](Self::enable_checkpointing) there is one checkpoint,
    /// at the end.
    pub fn set_checkpoint_dir(&self, location: impl Into<String>) -> &Self {
        self.set(|settings| settings.checkpoint_dir = Some(location.into()))
    }

    /// Sets the stores that checkpoints may be on, beside local directories: `headpond_object_store::ObjectStores`
    /// knows `s3://…`.
    pub fn set_checkpoint_stores(&self, stores: Arc<dyn Stores>) -> &Self {
        self.set(|settings| settings.checkpoint_stores = Some(stores))
    }

    /// Sets what the job starts from; otherwise its last checkpoint, if it has one.
    pub fn set_restore(&self, restore: Restore) -> &Self {
        self.set(|settings| settings.restore = Some(restore))
    }

    /// Accepts that a sink that cannot take back what it has published publishes it again when the job goes back to
    /// an older checkpoint.
    pub fn set_allow_duplicates(&self, allow: bool) -> &Self {
        self.set(|settings| settings.allow_duplicates = allow)
    }

    /// Sets the directory on local disk for backends that need one; they remove what they put there. The default is
    /// `<job name>.local` in the current directory.
    pub fn set_local_dir(&self, dir: impl Into<PathBuf>) -> &Self {
        self.set(|settings| settings.local_dir = Some(dir.into()))
    }

    /// Changes options of the job that have no method of their own, after all others.
    pub fn configure(&self, change: impl Fn(&mut JobOptions) + Send + Sync + 'static) -> &Self {
        self.set(|settings| settings.configure.push(Configure(Arc::new(change))))
    }

    /// A handle by which another thread can stop the job. A program whose job was stopped cannot be executed again.
    pub fn job_control(&self) -> JobControl {
        self.control.clone()
    }

    /// A stream of an iterator's items, in order. They are made while the job runs, by a clone of the iterator. A job
    /// that is restored goes on where it was: the program must give it the same items.
    #[doc(alias = "fromCollection")]
    #[doc(alias = "fromElements")]
    #[doc(alias = "fromSequence")]
    pub fn from_iter<I>(&self, items: I) -> DataStream<I::Item>
    where
        I: IntoIterator<Item: Record, IntoIter: Clone + Send + Sync + 'static>,
    {
        self.from_source(Items(items.into_iter()))
    }

    /// A stream of what `record` makes of each row of a source. It is given a batch of the source's rows, and which
    /// of them.
    ///
    /// A restored job begins at the source's positions in the checkpoint.
    pub fn from_rows<T: 'static>(
        &self,
        source: impl Source + 'static,
        record: impl Fn(&RecordBatch, usize) -> Result<T> + Send + Sync + 'static,
    ) -> DataStream<T> {
        self.source(source, move |rows, give| {
            let stamps = Stamps::of(rows);
            (0..rows.num_rows()).try_for_each(|row| give(record(rows, row)?, stamps.at(row)))
        })
    }

    /// A stream of a source's records.
    ///
    /// A restored job begins at the source's positions in the checkpoint.
    pub fn from_source<S: RecordSource>(&self, source: S) -> DataStream<S::Record> {
        self.source(SourceAdapter(source), read_all)
    }

    fn source<T: 'static>(
        &self,
        source: impl Source + 'static,
        read: impl Fn(&RecordBatch, &mut dyn FnMut(T, Stamp) -> Result<()>) -> Result<()> + Send + Sync + 'static,
    ) -> DataStream<T> {
        let schema = source.schema();
        let node = SourceNode { source: Arc::new(source), watermarks: None, row_watermark: false };
        let node = self.add("source", type_name::<T>(), schema, NodeKind::Source(node));
        DataStream::new(self.clone(), node, Arc::new(read))
    }

    /// Runs the job to its end; blocks until then. With checkpoints, a job of this name that was run before goes on
    /// from its last one.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) when the program or a setting is wrong, otherwise as
    /// [`Job::prepare`] and [`Job::run`].
    pub fn execute(&self, job_name: &str) -> Result<JobExecutionResult> {
        let prepared = self.program.lock().job(job_name)?;
        let Prepared { graph, options, serves, backend } = prepared;
        let checkpoints = options.checkpointing.as_ref().map(|checkpointing| checkpointing.storage.location());
        if serves {
            let stopping = || tracing::info!("stopping with a last checkpoint");
            signals::watch(self.control.clone(), stopping, || ())?;
        }
        let job = Job::prepare(graph, options)?;
        let restored_from = job.restoration().map(|restored| restored.manifest.checkpoint);
        let rows_before = job.restoration().map_or(0, |restored| restored.rows_read());
        let metrics = Arc::new(JobMetrics::default());
        let endpoint = serves.then(|| {
            Endpoint::open(Served {
                job: job_name.to_owned(),
                checkpoints,
                rows_before,
                restored: restored_from,
                metrics: Arc::clone(&metrics),
                dropped_lines: || 0,
                ways_out,
                control: self.control.clone(),
            })
        });
        if let Some(Err(error)) = &endpoint {
            tracing::warn!(%error, "`headpond jobs` will not find this job");
        }
        let ended = job.run(self.control.clone(), metrics.clone());
        drop(endpoint);
        // RocksDB's directories on local disk go when no operator uses them any more.
        drop(backend);
        Ok(JobExecutionResult { ending: ended?, restored_from, metrics })
    }

    /// A stream that is never read, of a program that is wrong.
    pub(super) fn without_records<T: Record>(&self) -> DataStream<T> {
        self.from_source(Items(NoItems(PhantomData)))
    }

    /// Adds a step that is made of its id, which is as for [`add`](Self::add).
    pub(super) fn add_with(
        &self,
        step: &'static str,
        what: &str,
        schema: SchemaRef,
        kind: impl FnOnce(&OperatorId) -> Result<NodeKind>,
    ) -> Result<NodeId> {
        let ordinal = self.program.lock().steps.get(step).copied().unwrap_or_default();
        kind(&OperatorId::new(format!("stream/{step}/{ordinal}"))).map(|kind| self.add(step, what, schema, kind))
    }

    /// Adds a step. Its id is its kind and its ordinal among the steps of that kind; `what` describes it to people.
    pub(super) fn add(&self, step: &'static str, what: &str, schema: SchemaRef, kind: NodeKind) -> NodeId {
        let Program { graph, steps, .. } = &mut *self.program.lock();
        let ordinal = steps.entry(step).or_default();
        let id = OperatorId::new(format!("stream/{step}/{ordinal}"));
        *ordinal += 1;
        graph.add(Node { id, description: what.to_owned(), schema, kind })
    }

    /// Gives a source its watermarks, and its rows the watermark before each.
    pub(super) fn assign_watermarks(&self, node: NodeId, watermarks: WatermarkFactory) {
        let program = &mut *self.program.lock();
        let node = program.graph.node_mut(node);
        let error = match &mut node.kind {
            NodeKind::Source(source) if source.watermarks.is_none() => {
                let before = Field::new(ROW_WATERMARK_COLUMN, DataType::Int64, false);
                let fields = node.schema.fields().iter().cloned().chain([Arc::new(before)]);
                node.schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
                (source.watermarks, source.row_watermark) = (Some(watermarks), true);
                return;
            }
            NodeKind::Source(_) => Error::invalid("watermarks are assigned twice to one source"),
            _ => Error::unsupported("watermarks are assigned to a stream that does not come from a source directly"),
        };
        let error = error.with(Context::Operator, &node.id);
        let error = error.hint("call `assign_timestamps_and_watermarks` once, before the stream is keyed or united");
        program.failure.get_or_insert(error);
    }

    /// The columns of a step's rows.
    pub(super) fn schema_of(&self, node: NodeId) -> SchemaRef {
        self.program.lock().graph.node(node).schema.clone()
    }

    /// Gives a step an id of the program's choice.
    pub(super) fn rename(&self, node: NodeId, uid: &str) {
        let id = OperatorId::new(uid);
        let mut program = self.program.lock();
        if program.graph.nodes().any(|(other, of)| other != node && of.id == id) {
            let error = Error::invalid("two steps of the program have the same uid").with(Context::Operator, uid);
            program.failure.get_or_insert(error);
        }
        program.graph.node_mut(node).id = id;
    }

    /// Remembers what is wrong with the program, for whoever executes it.
    pub(super) fn fail(&self, error: Error) {
        self.program.lock().failure.get_or_insert(error);
    }
}

/// What a program is executed with.
struct Prepared {
    graph: JobGraph,
    options: JobOptions,
    /// Whether it listens to signals and to who asks after jobs.
    serves: bool,
    backend: Option<Backend>,
}

impl Program {
    fn job(&mut self, name: &str) -> Result<Prepared> {
        if let Some(error) = self.failure.take() {
            self.failure = Some(Error::invalid("the program is wrong, as its first execution said"));
            return Err(error);
        }
        if !self.graph.nodes().any(|(_, node)| matches!(node.kind, NodeKind::Sink { .. })) {
            return Err(Error::invalid("the program has no sink").hint("end a stream with `sink_to` or `for_each`"));
        }
        let (options, backend) = self.settings.options(name)?;
        Ok(Prepared { graph: self.graph.clone(), options, serves: self.settings.is_of_program(), backend })
    }
}
