//! Programs of the stream API from beginning to end.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use headpond::stream::state::*;
use headpond::stream::*;
use headpond_checkpoint::show::Show;
use headpond_checkpoint::storage::{CheckpointStorage, StorageOptions};
use headpond_codecs::SerdeCodec;
use headpond_runtime::source::{ReadBatch, ReaderContext, Source, SourceSplit, SplitReader};
use headpond_runtime::{Ending, Error, ErrorKind, Restore, Result};
use headpond_state::codec::{FixedWidth, Utf8};
use headpond_state::{
    Capabilities, Context as Place, KeyedBackendParams, KeyedStateBackend, KeyedStateHandle, MaxParallelism,
    RestoredState, StateBackend, StateReader,
};
use headpond_state_memory::HashMapStateBackend;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The integers below `end`, in order.
#[derive(Clone)]
struct Integers {
    end: i64,
    failure: Option<Failure>,
}

/// A failure before the integer `at`, as soon as `may_fail` allows.
#[derive(Clone)]
struct Failure {
    at: i64,
    may_fail: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Integers {
    fn below(end: i64) -> Self {
        Integers { end, failure: None }
    }

    /// Fails before the integer `at`, once the sink has published something.
    fn failing<T: Clone + Send + 'static>(self, at: i64, sink: &CollectSink<T>) -> Self {
        let sink = sink.clone();
        Integers { failure: Some(Failure { at, may_fail: Arc::new(move || !sink.records().is_empty()) }), ..self }
    }
}

impl fmt::Debug for Integers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Integers").field("end", &self.end).finish_non_exhaustive()
    }
}

impl Source for Integers {
    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]))
    }
    fn is_bounded(&self) -> bool {
        true
    }
    fn splits(&self) -> Result<Vec<SourceSplit>> {
        Ok(vec![SourceSplit { id: "integers".to_owned() }])
    }
    fn open(&self, _: &SourceSplit, position: Option<&Value>, _: &ReaderContext) -> Result<Box<dyn SplitReader>> {
        let next = position.and_then(Value::as_i64).unwrap_or(0);
        Ok(Box::new(IntegersReader { of: self.clone(), next }))
    }
}

#[derive(Debug)]
struct IntegersReader {
    of: Integers,
    next: i64,
}

impl SplitReader for IntegersReader {
    fn next(&mut self, max_rows: usize) -> Result<Option<ReadBatch>> {
        let limit = self.of.failure.as_ref().map_or(self.of.end, |failure| failure.at);
        let end = (self.next + max_rows as i64).min(limit);
        if self.next == end {
            match &self.of.failure {
                None => return Ok(None),
                Some(failure) if (failure.may_fail)() => return Err(Error::invalid("a planted failure")),
                Some(_) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
        let column = Int64Array::from_iter_values(self.next..end);
        self.next = end;
        let rows = RecordBatch::try_new(self.of.schema(), vec![Arc::new(column)]).expect("the column fits");
        Ok(Some(ReadBatch::inserts(rows, end.into())))
    }
}

fn number(rows: &RecordBatch, row: usize) -> Result<i64> {
    Ok(rows.column(0).as_primitive::<Int64Type>().value(row))
}

fn environment(parallelism: usize) -> StreamExecutionEnvironment {
    let env = StreamExecutionEnvironment::new();
    env.set_state_backend(HashMapStateBackend::new()).set_parallelism(parallelism);
    env
}

fn checkpointed(dir: &Path, parallelism: usize) -> StreamExecutionEnvironment {
    let env = environment(parallelism);
    env.enable_checkpointing(Duration::from_millis(5)).set_checkpoint_dir(dir.to_str().expect("utf-8"));
    env
}

/// For every key its records' count and sum, after each of them.
struct Totals {
    ttl: Option<TtlConfig>,
}

impl KeyedProcessFunction for Totals {
    type Key = i64;
    type In = i64;
    type Out = (i64, u64, i64);
    type States = ValueState<(u64, i64)>;

    fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<Self::States> {
        assert!(ctx.subtask() < ctx.parallelism());
        let descriptor = ValueStateDescriptor::new("totals", SerdeCodec::new("Totals", 1));
        ctx.value_state(match self.ttl {
            Some(ttl) => descriptor.with_ttl(ttl),
            None => descriptor,
        })
    }

    fn process_element(
        &self,
        totals: &mut Self::States,
        value: i64,
        ctx: &mut Context<'_, i64>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()> {
        let (count, sum) = totals.value(ctx)?.unwrap_or_default();
        let after = (count + 1, sum + value);
        totals.update(ctx, &after)?;
        out.collect((ctx.key()?, after.0, after.1));
        Ok(())
    }
}

/// What [`Totals`] gives for the integers below `end`, sorted.
fn totals(end: i64, keys: i64) -> Vec<(i64, u64, i64)> {
    let mut totals = BTreeMap::new();
    let after = (0..end).map(|n| {
        let (count, sum) = totals.entry(n % keys).or_insert((0, 0));
        *count += 1;
        *sum += n;
        (n % keys, *count, *sum)
    });
    let mut after: Vec<_> = after.collect();
    after.sort_unstable();
    after
}

fn sorted<T: Ord + Clone>(sink: &CollectSink<T>) -> Vec<T> {
    let mut records = sink.records();
    records.sort();
    records
}

#[test]
fn totals_by_key_are_right_with_any_number_of_workers() {
    for parallelism in [1, 3] {
        let sink = CollectSink::new();
        let env = environment(parallelism);
        env.from_iter(0..30_000_i64).key_by(|n| n % 77).process(Totals { ttl: None }).sink_to(sink.clone());
        let result = env.execute("totals").expect("the job runs");
        assert_eq!((result.ending, result.restored_from), (Ending::Finished, None));
        assert_eq!(result.metrics.rows_read(), 30_000);
        assert_eq!(sorted(&sink), totals(30_000, 77), "{parallelism} workers");
    }
}

#[test]
fn a_program_that_failed_goes_on_from_its_last_checkpoint_and_gives_every_record_once() {
    for (before, after) in [(1, 1), (1, 3), (3, 1)] {
        let dir = tempfile::tempdir().expect("a directory");
        let sink = CollectSink::new();
        let program = |env: &StreamExecutionEnvironment, source| {
            env.from_rows(source, number).key_by(|n| n % 101).process(Totals { ttl: None }).sink_to(sink.clone());
        };
        let env = checkpointed(dir.path(), before);
        program(&env, Integers::below(60_000).failing(40_000, &sink));
        let error = env.execute("totals").expect_err("a failure is planted");
        assert_eq!(error.message(), "a planted failure");
        assert!(sink.records().len() < 60_000);
        let env = checkpointed(dir.path(), after);
        program(&env, Integers::below(60_000));
        let result = env.execute("totals").expect("the job runs");
        assert!(result.restored_from.is_some());
        assert_eq!(sorted(&sink), totals(60_000, 101), "{before} then {after} workers");
    }
}

/// A mean: an accumulator of another type than its inputs.
struct Mean;

impl AggregateFunction for Mean {
    type Input = i64;
    type Accumulator = (i64, i64);
    type Output = i64;
    fn create(&self) -> (i64, i64) {
        (0, 0)
    }
    fn add(&self, (count, sum): &mut (i64, i64), input: &i64) -> Result<()> {
        (*count, *sum) = (*count + 1, *sum + input);
        Ok(())
    }
    fn result(&self, (count, sum): &(i64, i64)) -> Result<i64> {
        Ok(sum / count)
    }
}

/// What every kind of state has after a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Seen {
    key: (String, i64),
    last: String,
    recent: Vec<i64>,
    by_tens: Vec<(i64, i64)>,
    greatest: i64,
    mean: i64,
}

struct EveryState;

struct States {
    last: ValueState<String>,
    recent: ListState<i64>,
    by_tens: MapState<i64, i64>,
    greatest: ReducingState<i64>,
    mean: AggregatingState<Mean>,
}

impl KeyedProcessFunction for EveryState {
    type Key = (String, i64);
    type In = i64;
    type Out = Seen;
    type States = States;

    fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<States> {
        let greater = |a: i64, b: &i64| Ok(a.max(*b));
        Ok(States {
            last: ctx.value_state(ValueStateDescriptor::new("last", Utf8))?,
            recent: ctx.list_state(ListStateDescriptor::new("recent", FixedWidth))?,
            by_tens: ctx.map_state(MapStateDescriptor::new("by tens", FixedWidth))?,
            greatest: ctx.reducing_state(ReducingStateDescriptor::new("greatest", FixedWidth, greater))?,
            mean: ctx.aggregating_state(AggregatingStateDescriptor::new("mean", SerdeCodec::new("Mean", 1), Mean))?,
        })
    }

    fn process_element(
        &self,
        states: &mut States,
        n: i64,
        ctx: &mut Context<'_, Self::Key>,
        out: &mut Collector<Seen>,
    ) -> Result<()> {
        let States { last, recent, by_tens, greatest, mean } = states;
        if n % 50 == 0 {
            recent.clear(ctx)?;
            by_tens.clear(ctx)?;
        }
        recent.add(ctx, &n)?;
        let tens = n / 10 % 3;
        let count = by_tens.get(ctx, &tens)?.unwrap_or(0);
        assert_eq!(by_tens.contains(ctx, &tens)?, count > 0);
        by_tens.put(ctx, &tens, &(count + 1))?;
        greatest.add(ctx, -n)?;
        mean.add(ctx, &n)?;
        out.collect(Seen {
            key: ctx.key()?,
            last: last.value(ctx)?.unwrap_or_default(),
            recent: recent.get(ctx)?,
            by_tens: by_tens.entries(ctx)?,
            greatest: greatest.get(ctx)?.unwrap_or_default(),
            mean: mean.get(ctx)?.unwrap_or_default(),
        });
        last.update(ctx, &n.to_string())
    }
}

/// What [`EveryState`] gives, computed with plain collections.
fn every_state(end: i64) -> Vec<Seen> {
    #[derive(Default)]
    struct OfKey {
        all: Vec<i64>,
        recent: Vec<i64>,
        by_tens: BTreeMap<i64, i64>,
    }
    let mut by_key: BTreeMap<i64, OfKey> = BTreeMap::new();
    let seen = (0..end).map(|n| {
        let OfKey { all, recent, by_tens } = by_key.entry(n % 7).or_default();
        let last = all.last().map(i64::to_string).unwrap_or_default();
        all.push(n);
        if n % 50 == 0 {
            recent.clear();
            by_tens.clear();
        }
        recent.push(n);
        *by_tens.entry(n / 10 % 3).or_default() += 1;
        Seen {
            key: ("k".to_owned(), n % 7),
            last,
            recent: recent.clone(),
            by_tens: by_tens.clone().into_iter().collect(),
            greatest: -all[0],
            mean: all.iter().sum::<i64>() / all.len() as i64,
        }
    });
    let mut seen: Vec<_> = seen.collect();
    seen.sort();
    seen
}

#[test]
fn every_kind_of_state_survives_a_failure() {
    let dir = tempfile::tempdir().expect("a directory");
    let sink = CollectSink::new();
    let program = |env: &StreamExecutionEnvironment, source| {
        env.from_rows(source, number)
            .key_by(|n| ("k".to_owned(), n % 7))
            .process(EveryState)
            .uid("every state")
            .sink_to(sink.clone())
            .uid("seen");
    };
    let env = checkpointed(dir.path(), 2);
    program(&env, Integers::below(3000).failing(1234, &sink));
    env.execute("states").expect_err("a failure is planted");
    let env = checkpointed(dir.path(), 1);
    // One that likes batches: what the function reads and writes is held for a while.
    let capabilities = Capabilities { single_entries_are_dear: true, ..HashMapStateBackend::new().capabilities() };
    env.set_state_backend(Claims { backend: HashMapStateBackend::new(), capabilities });
    program(&env, Integers::below(3000));
    assert!(env.execute("states").expect("the job runs").restored_from.is_some());
    let (found, expected) = (sorted(&sink), every_state(3000));
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
}

#[test]
fn a_state_that_lives_long_loses_nothing_between_ticks() {
    let sink = CollectSink::new();
    let env = environment(1);
    let ttl = Some(TtlConfig::new(3_600_000));
    env.from_iter(0..200_000_i64).key_by(|n| n % 3).process(Totals { ttl }).sink_to(sink.clone());
    env.execute("long-lived").expect("the job runs");
    assert_eq!(sorted(&sink), totals(200_000, 3));
}

#[test]
fn steps_without_a_key_are_applied_for_each_reader_of_their_stream() {
    let env = environment(2);
    let (texts, total) = (CollectSink::new(), Arc::new(AtomicU64::new(0)));
    let odd = env.from_iter(0..1000_u64).filter(|n| n % 2 == 1).map(|n| n * 10);
    odd.flat_map(|n| [n.to_string(), "x".to_owned()]).filter(|text| text != "30").sink_to(texts.clone());
    let counter = total.clone();
    odd.for_each(move |n| {
        counter.fetch_add(n, Ordering::SeqCst);
        Ok(())
    });
    env.execute("steps").expect("the job runs");
    assert_eq!(texts.records().len(), 999);
    assert_eq!(total.load(Ordering::SeqCst), 250_000 * 10);
}

/// Gives a record a thousand times.
struct Thousandfold;

impl KeyedProcessFunction for Thousandfold {
    type Key = Option<u64>;
    type In = (u64, String);
    type Out = (u64, String);
    type States = ();

    fn open(&self, _: &mut RuntimeContext<'_>) -> Result<()> {
        Ok(())
    }

    fn process_element(
        &self,
        _: &mut (),
        value: Self::In,
        ctx: &mut Context<'_, Self::Key>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()> {
        assert_eq!(ctx.key()?, Some(value.0).filter(|n| *n > 0));
        (0..1000).for_each(|_| out.collect(value.clone()));
        Ok(())
    }
}

#[test]
fn a_function_that_gives_very_much_is_interrupted_and_goes_on() {
    let env = environment(1);
    let counts = Arc::new(std::sync::Mutex::new(BTreeMap::new()));
    let counted = counts.clone();
    env.from_iter((0..100_u64).map(|n| (n, "long ".repeat(20))))
        .key_by(|(n, _)| Some(*n).filter(|n| *n > 0))
        .process(Thousandfold)
        .for_each(move |(n, _)| {
            *counted.lock().expect("no panic").entry(n).or_insert(0) += 1;
            Ok(())
        });
    env.execute("much").expect("the job runs");
    let counts = counts.lock().expect("no panic");
    assert_eq!(*counts, (0..100).map(|n| (n, 1000)).collect());
}

/// The backend in memory, under another's word about what it can do.
#[derive(Debug)]
struct Claims {
    backend: HashMapStateBackend,
    capabilities: Capabilities,
}

impl fmt::Display for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.backend.fmt(f)
    }
}

impl StateBackend for Claims {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }
    fn open_keyed(
        &self,
        params: KeyedBackendParams,
        restore: &[RestoredState<'_>],
    ) -> Result<Box<dyn KeyedStateBackend>> {
        self.backend.open_keyed(params, restore)
    }
    fn check_handle(&self, handle: &KeyedStateHandle, max_parallelism: MaxParallelism) -> Result<()> {
        self.backend.check_handle(handle, max_parallelism)
    }
    fn open_reader<'a>(
        &self,
        restored: RestoredState<'a>,
        max_parallelism: MaxParallelism,
        local_dir: &Path,
    ) -> Result<Box<dyn StateReader + 'a>> {
        self.backend.open_reader(restored, max_parallelism, local_dir)
    }
}

#[test]
fn the_backend_decides_whether_checkpoints_are_incremental() {
    for (incremental, shown) in [(true, "incremental, "), (false, "full")] {
        let dir = tempfile::tempdir().expect("a directory");
        let env = checkpointed(dir.path(), 1);
        let backend = HashMapStateBackend::new();
        let capabilities = Capabilities { incremental_checkpoints: incremental, ..backend.capabilities() };
        env.set_state_backend(Claims { backend, capabilities });
        let sink = CollectSink::new();
        env.from_iter(0..100_i64).key_by(|n| n % 7).process(Totals { ttl: None }).sink_to(sink);
        env.execute("totals").expect("the job runs");
        let location = dir.path().to_str().expect("utf-8");
        let storage = CheckpointStorage::open(location, "totals", StorageOptions::default()).expect("a good location");
        let last = storage.latest_verified().expect("readable").expect("there is a checkpoint");
        let text = Show::new(&last.manifest).to_string();
        assert!(text.contains(shown), "{text}");
    }
}

#[test]
fn a_program_that_ran_to_its_end_is_not_run_again_unless_it_starts_anew() {
    let dir = tempfile::tempdir().expect("a directory");
    let sink = CollectSink::new();
    let env = checkpointed(dir.path(), 1);
    env.from_iter(0..100_i64).key_by(|n| n % 7).process(Totals { ttl: None }).sink_to(sink.clone());
    env.execute("totals").expect("the job runs");
    let again = env.execute("totals").expect("nothing to do");
    assert_eq!((again.ending, again.metrics.rows_read()), (Ending::Finished, 0));
    assert_eq!(sorted(&sink), totals(100, 7));
    env.set_restore(Restore::None);
    assert_eq!(env.execute("totals").expect("the job runs").metrics.rows_read(), 100);
    assert_eq!(sorted(&sink), totals(100, 7));
}

#[test]
fn what_is_wrong_with_a_program_is_said_when_it_is_executed() {
    let fails = |describe: &dyn Fn(&StreamExecutionEnvironment), env: StreamExecutionEnvironment| {
        describe(&env);
        env.execute("wrong").expect_err("the program is wrong")
    };
    let ends = |env: &StreamExecutionEnvironment| {
        env.from_iter([1_i64]).sink_to(CollectSink::new());
    };

    let error = fails(&|_| (), environment(1));
    assert!(error.message().contains("no sink"), "{error}");
    assert!(error.way_out().is_some());

    let error = fails(&ends, StreamExecutionEnvironment::new());
    assert!(error.message().contains("no state backend"), "{error}");
    assert!(error.way_out().is_some());

    let env = environment(1);
    env.enable_checkpointing(Duration::from_secs(1));
    let error = fails(&ends, env);
    assert!(error.way_out().is_some_and(|way| way.contains("set_checkpoint_dir")), "{error}");

    let twice = |env: &StreamExecutionEnvironment| {
        env.from_iter([1_i64]).uid("input").sink_to(CollectSink::new()).uid("input");
    };
    assert_eq!(fails(&twice, environment(1)).place(Place::Operator), Some("input"));

    let nothing = |env: &StreamExecutionEnvironment| {
        env.from_iter([1_i64]).map(|n| n + 1).uid("plus").sink_to(CollectSink::new());
    };
    assert!(fails(&nothing, environment(1)).message().contains("`plus`"));
}

/// A type whose fields serde leaves out, which a form without names cannot bear.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct LeavesOut {
    #[serde(skip_serializing_if = "Option::is_none")]
    gone: Option<u64>,
    here: u64,
}

#[test]
fn a_record_that_cannot_travel_is_refused_with_its_type() {
    let env = environment(1);
    env.from_iter([LeavesOut { gone: None, here: 300 }]).sink_to(CollectSink::new());
    let error = env.execute("records").expect_err("the record cannot be read back");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.message().contains("LeavesOut"), "{error}");
    assert!(error.way_out().is_some_and(|way| way.contains("skip_serializing_if")));
}

#[test]
fn a_function_that_fails_is_named_by_its_operator() {
    struct Refuses;
    impl KeyedProcessFunction for Refuses {
        type Key = bool;
        type In = i64;
        type Out = ();
        type States = ();
        fn open(&self, _: &mut RuntimeContext<'_>) -> Result<()> {
            Ok(())
        }
        fn process_element(
            &self,
            _: &mut (),
            value: i64,
            _: &mut Context<'_, bool>,
            _: &mut Collector<()>,
        ) -> Result<()> {
            Err(Error::invalid(format!("{value} is not welcome")))
        }
    }
    let env = environment(2);
    env.from_iter([13_i64]).key_by(|n| *n > 0).process(Refuses).uid("door").sink_to(CollectSink::new());
    let error = env.execute("refusal").expect_err("the function refuses");
    assert_eq!((error.message(), error.place(Place::Operator)), ("13 is not welcome", Some("door")));
}
