//! A short job with many checkpoints: how often each key has come so far.

use headpond::stream::state::{ValueState, ValueStateDescriptor};
use headpond::stream::{
    CollectSink, Collector, Context, KeyedProcessFunction, RecordReader, RecordSource, RuntimeContext,
    StreamExecutionEnvironment,
};
use headpond_checkpoint::{CheckpointStore, Location, Stores};
use headpond_codecs::SerdeCodec;
use headpond_runtime::source::{ReaderContext, SourceSplit};
use headpond_runtime::{Ending, Restore, Result};
use headpond_state::StateBackend;
use headpond_state_memory::HashMapStateBackend;
use headpond_state_rocksdb::EmbeddedRocksDbStateBackend;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The job's name.
pub(crate) const JOB: &str = "counts";
const NUMBERS: i64 = 400;
const KEYS: i64 = 37;
/// Numbers that are read at once.
const STEP: i64 = 20;

/// Where the state is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Backend {
    Memory,
    RocksDb,
}

impl Backend {
    pub(crate) fn open(self) -> Box<dyn StateBackend> {
        match self {
            Backend::Memory => Box::new(HashMapStateBackend::new()),
            Backend::RocksDb => Box::new(EmbeddedRocksDbStateBackend::new(true)),
        }
    }
}

/// A job through all its attempts.
pub(crate) struct Run {
    backend: Backend,
    local: PathBuf,
    sink: CollectSink<(i64, u64)>,
}

impl Run {
    pub(crate) fn new(backend: Backend, dir: &Path) -> Self {
        Run { backend, local: dir.join("local"), sink: CollectSink::new() }
    }

    /// Runs the job with checkpoints in `store` until it ends.
    pub(crate) fn attempt(&self, store: Arc<dyn CheckpointStore>, tolerable: Option<u32>) -> Result<Ending> {
        let env = self.environment(self.backend, tolerable, NUMBERS);
        env.set_checkpoint_stores(Arc::new(One(store))).set_checkpoint_dir("/anywhere");
        env.execute(JOB).map(|ended| ended.ending)
    }

    /// Runs the job to its middle and stops it with a last checkpoint.
    pub(crate) fn to_the_middle(&self, store: Arc<dyn CheckpointStore>) {
        let env = self.environment(self.backend, Some(0), NUMBERS / 2);
        env.set_checkpoint_stores(Arc::new(One(store))).set_checkpoint_dir("/anywhere");
        let control = env.job_control();
        let ending = thread::scope(|scope| {
            let running = scope.spawn(|| env.execute(JOB).map(|ended| ended.ending));
            while (self.sink.records().len() as i64) < NUMBERS / 2 && !running.is_finished() {
                thread::sleep(Duration::from_millis(1));
            }
            control.stop();
            running.join().expect("no panic")
        });
        assert_eq!(ending.expect("nothing fails"), Ending::Stopped);
    }

    /// Goes on from a savepoint with another backend, with checkpoints in `dir`.
    pub(crate) fn go_on_from(&self, savepoint: &Path, backend: Backend, dir: &Path) -> Result<Ending> {
        let env = self.environment(backend, Some(0), NUMBERS);
        env.set_checkpoint_dir(utf8(dir)).set_restore(Restore::From(utf8(savepoint)));
        env.execute(JOB).map(|ended| ended.ending)
    }

    fn environment(&self, backend: Backend, tolerable: Option<u32>, pause_at: i64) -> StreamExecutionEnvironment {
        let env = StreamExecutionEnvironment::new();
        match backend {
            Backend::Memory => env.set_state_backend(HashMapStateBackend::new()),
            Backend::RocksDb => env.set_state_backend(EmbeddedRocksDbStateBackend::new(true)),
        };
        env.set_local_dir(&self.local).enable_checkpointing(Duration::from_millis(1));
        env.configure(move |job| {
            if let Some(checkpointing) = &mut job.checkpointing {
                checkpointing.tolerable_failures = tolerable;
                checkpointing.retained = 1;
            }
        });
        env.from_source(Numbers { pause_at }).key_by(|n| n % KEYS).process(Counts).sink_to(self.sink.clone());
        env
    }

    /// What has been published so far.
    pub(crate) fn published(&self) -> Vec<(i64, u64)> {
        let mut records = self.sink.records();
        records.sort_unstable();
        records
    }
}

/// What an uninterrupted run publishes.
pub(crate) fn expected() -> Vec<(i64, u64)> {
    let mut counts = BTreeMap::new();
    let after = (0..NUMBERS).map(|n| {
        let count = counts.entry(n % KEYS).or_insert(0);
        *count += 1;
        (n % KEYS, *count)
    });
    let mut after: Vec<_> = after.collect();
    after.sort_unstable();
    after
}

fn utf8(path: &Path) -> String {
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// The same store for every location.
#[derive(Debug)]
struct One(Arc<dyn CheckpointStore>);

impl Stores for One {
    fn open(&self, _: &Location) -> Result<Arc<dyn CheckpointStore>> {
        Ok(Arc::clone(&self.0))
    }
}

/// The numbers from 0.
#[derive(Clone)]
struct Numbers {
    /// No number comes from this one on, except at the end of all.
    pause_at: i64,
}

impl RecordSource for Numbers {
    type Record = i64;

    fn is_bounded(&self) -> bool {
        true
    }

    fn splits(&self) -> Result<Vec<SourceSplit>> {
        Ok(vec![SourceSplit { id: "numbers".to_owned() }])
    }

    fn open(&self, _: &SourceSplit, position: Option<&Value>, _: &ReaderContext) -> Result<Box<dyn RecordReader<i64>>> {
        Ok(Box::new(Reader { next: position.and_then(Value::as_i64).unwrap_or(0), pause_at: self.pause_at }))
    }
}

struct Reader {
    next: i64,
    pause_at: i64,
}

impl RecordReader<i64> for Reader {
    fn read(&mut self, _: usize, records: &mut Vec<i64>) -> Result<Option<Value>> {
        if self.next == NUMBERS {
            return Ok(None);
        }
        // Time for checkpoints in between.
        thread::sleep(Duration::from_millis(1));
        if self.next < self.pause_at {
            records.extend(self.next..self.next + STEP);
            self.next += STEP;
        }
        Ok(Some(self.next.into()))
    }
}

struct Counts;

impl KeyedProcessFunction for Counts {
    type Key = i64;
    type In = i64;
    type Out = (i64, u64);
    type States = ValueState<u64>;

    fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<Self::States> {
        ctx.value_state(ValueStateDescriptor::new("counts", SerdeCodec::new("Counts", 1)))
    }

    fn process_element(
        &self,
        counts: &mut Self::States,
        _: i64,
        ctx: &mut Context<'_, i64>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()> {
        let count = counts.value(ctx)?.unwrap_or_default() + 1;
        counts.update(ctx, &count)?;
        out.collect((ctx.key()?, count));
        Ok(())
    }
}
