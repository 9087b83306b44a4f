//! Jobs whose checkpoints are on S3.

use crate::server::Server;
use headpond::stream::state::{ValueState, ValueStateDescriptor};
use headpond::stream::{
    CollectSink, Collector, Context, KeyedProcessFunction, RecordReader, RecordSource, RuntimeContext,
    StreamExecutionEnvironment,
};
use headpond_codecs::SerdeCodec;
use headpond_object_store::{ObjectStoreOptions, ObjectStores};
use headpond_runtime::source::{ReaderContext, SourceSplit};
use headpond_runtime::{Ending, Result};
use headpond_state_memory::HashMapStateBackend;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const NUMBERS: i64 = 40_000;
const KEYS: i64 = 300;
/// Numbers that are read at once.
const STEP: i64 = 100;

/// The numbers from 0, in some haste. What is to happen at a number happens in between.
#[derive(Clone)]
struct Numbers {
    at: Arc<dyn Fn(i64) + Send + Sync>,
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
        Ok(Box::new(Reader { next: position.and_then(Value::as_i64).unwrap_or(0), at: Arc::clone(&self.at) }))
    }
}

struct Reader {
    next: i64,
    at: Arc<dyn Fn(i64) + Send + Sync>,
}

impl RecordReader<i64> for Reader {
    fn read(&mut self, _: usize, records: &mut Vec<i64>) -> Result<Option<Value>> {
        if self.next == NUMBERS {
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(2));
        (self.at)(self.next);
        records.extend(self.next..self.next + STEP);
        self.next += STEP;
        Ok(Some(self.next.into()))
    }
}

/// For every key its records' count, after each of them.
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

fn expected() -> Vec<(i64, u64)> {
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

/// A job that checkpoints often and gives up on its store soon.
fn environment(server: &Server, parallelism: usize) -> StreamExecutionEnvironment {
    let options = ObjectStoreOptions {
        request_timeout: Duration::from_millis(500),
        retry_timeout: Duration::from_millis(50),
        ..server.options()
    };
    let env = StreamExecutionEnvironment::new();
    env.set_state_backend(HashMapStateBackend::new()).set_parallelism(parallelism);
    env.set_checkpoint_stores(Arc::new(ObjectStores::new(options))).set_checkpoint_dir("s3://checkpoints/jobs");
    env.enable_checkpointing(Duration::from_millis(20));
    env
}

fn describe(
    env: &StreamExecutionEnvironment,
    sink: &CollectSink<(i64, u64)>,
    at: impl Fn(i64) + Send + Sync + 'static,
) {
    let numbers = env.from_source(Numbers { at: Arc::new(at) });
    numbers.key_by(|n| n % KEYS).process(Counts).sink_to(sink.clone());
}

fn sorted(sink: &CollectSink<(i64, u64)>) -> Vec<(i64, u64)> {
    let mut records = sink.records();
    records.sort_unstable();
    records
}

#[test]
fn a_job_goes_on_while_its_store_is_down_and_loses_nothing() {
    let server = Server::start();
    let sink = CollectSink::new();
    let env = environment(&server, 2);
    // If the job waited for the store, the second would never come.
    let of_job = Arc::clone(&server);
    describe(&env, &sink, move |number| match number {
        10_000 => of_job.stop(),
        30_000 => of_job.start_again(),
        _ => {}
    });
    let ended = env.execute("counts").unwrap();
    assert_eq!(ended.ending, Ending::Finished);
    assert!(ended.metrics.checkpoints().failed > 0, "{:?}", ended.metrics.checkpoints());
    assert_eq!(sorted(&sink), expected());
}

#[test]
fn a_job_goes_on_elsewhere_with_nothing_but_its_store() {
    let server = Server::start();
    let sink = CollectSink::new();
    let env = environment(&server, 1);
    let control = env.job_control();
    describe(&env, &sink, move |number| {
        if number == 20_000 {
            control.stop();
        }
    });
    assert_eq!(env.execute("counts").unwrap().ending, Ending::Stopped);
    server.stop();
    server.start_again();
    let env = environment(&server, 3);
    describe(&env, &sink, |_| {});
    let ended = env.execute("counts").unwrap();
    assert_eq!(ended.ending, Ending::Finished);
    assert!(ended.restored_from.is_some() && ended.metrics.rows_read() < NUMBERS as u64);
    assert_eq!(sorted(&sink), expected());
}
