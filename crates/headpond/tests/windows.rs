//! Windows of event time against the same windows computed from all records at once.

mod support;

use headpond::prelude::*;
use headpond::stream::window::{FixedWindows, Windowed};
use headpond::testing::KeyedHarness;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use support::*;

/// A key, a time, an amount.
type Event = (u32, i64, u64);

const DELAY: i64 = 50;
const LATE: OutputTag<Event> = OutputTag::new("late");

/// Events out of order within the delay, but for some that are very late.
fn events(count: i64) -> Vec<Event> {
    let scattered = |n: i64| (n * 7919 + 104_729) % 1009;
    let event = |n: i64| {
        let time = match n % 97 {
            96 if n > 2000 => n * 3 - 900,
            _ => n * 3 - scattered(n) % DELAY,
        };
        ((scattered(n * 31) % 23) as u32, time, (n % 10) as u64)
    };
    (0..count).map(event).collect()
}

/// The events with the watermark before each.
fn judged(events: &[Event]) -> Vec<(Event, i64)> {
    let mut watermark = i64::MIN;
    let judge = |event: &Event| {
        let before = watermark;
        watermark = watermark.max(event.1 - DELAY - 1);
        (*event, before)
    };
    events.iter().map(judge).collect()
}

fn strategy() -> WatermarkStrategy<Event> {
    WatermarkStrategy::bounded_out_of_orderness(Duration::from_millis(DELAY as u64))
        .with_timestamps(|event: &Event| event.1)
}

/// Sums of fixed windows and what is late for all of its windows.
fn expected(events: &[Event], windows: impl FixedWindows) -> (Vec<Windowed<u32, u64>>, Vec<Event>) {
    let (mut sums, mut late) = (BTreeMap::<(u32, i64), u64>::new(), Vec::new());
    for (event, watermark) in judged(events) {
        let (key, time, amount) = event;
        let all: Vec<i64> = windows.starts_ms(time).collect();
        let open: Vec<i64> = all.iter().copied().filter(|start| start + windows.size_ms() - 1 > watermark).collect();
        open.iter().for_each(|start| *sums.entry((key, *start)).or_default() += amount);
        if open.is_empty() && !all.is_empty() {
            late.push(event);
        }
    }
    let windowed = |((key, start_ms), value)| Windowed { key, start_ms, end_ms: start_ms + windows.size_ms(), value };
    late.sort();
    (sums.into_iter().map(windowed).collect(), late)
}

#[test]
fn tumbling_and_hopping_windows_have_the_records_of_their_time_and_late_ones_go_to_the_side() {
    fn check(windows: impl FixedWindows) {
        let events = events(20_000);
        let expected = expected(&events, windows);
        assert!(expected.0.len() > 500 && expected.1.len() > 20, "{} {}", expected.0.len(), expected.1.len());
        for (parallelism, serialized) in SETUPS {
            let env = environment(parallelism, serialized);
            let sums = env
                .from_source(Script::new(events.clone()))
                .assign_timestamps_and_watermarks(strategy())
                .key_by(|event| event.0)
                .window(windows)
                .late_output(&LATE)
                .fold(0_u64, |sum, event| sum + event.2);
            let late = sums.side_output(&LATE).collect();
            let sums = sums.collect();
            env.execute("windows").expect("the job runs");
            assert_eq!(sorted(&sums), expected.0, "{parallelism} workers, serialized {serialized}");
            assert_eq!(sorted(&late), expected.1, "{parallelism} workers, serialized {serialized}");
        }
    }
    check(TumblingWindows::of(Duration::from_millis(250)));
    check(HoppingWindows::of(Duration::from_millis(300), Duration::from_millis(100)));
    check(HoppingWindows::of(Duration::from_millis(100), Duration::from_millis(150)));
}

#[test]
fn windows_survive_a_failure_with_other_workers() {
    let events = events(20_000);
    let windows = TumblingWindows::of(Duration::from_millis(250));
    let expected = expected(&events, windows).0;
    for ((before, after), serialized) in RESCALES.into_iter().zip([false, true, true]) {
        let dir = tempfile::tempdir().expect("a directory");
        let (sums, once) = (CollectSink::new(), Arc::new(AtomicU64::new(0)));
        let describe = |env: &StreamExecutionEnvironment, source: Script<Event>| {
            env.from_source(source)
                .assign_timestamps_and_watermarks(strategy())
                .key_by(|event| event.0)
                .window(windows)
                .reduce(|(key, time, sum), (_, _, more)| (key, time, sum + more))
                .map(|Windowed { key, start_ms, end_ms, value }| Windowed { key, start_ms, end_ms, value: value.2 })
                .sink_to(sums.clone());
        };
        let env = checkpointed(dir.path(), before, serialized);
        describe(&env, Script::new(events.clone()).failing(12_000, &once));
        std::thread::scope(|scope| {
            let running = scope.spawn(|| env.execute("windows"));
            while sums.records().is_empty() && !running.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
            once.store(1, Ordering::SeqCst);
            running.join().expect("no panic").expect_err("a failure is planted");
        });
        let env = checkpointed(dir.path(), after, serialized);
        describe(&env, Script::new(events.clone()));
        assert!(env.execute("windows").expect("the job runs").restored_from.is_some());
        assert_eq!(sorted(&sums), expected, "{before} then {after} workers, serialized {serialized}");
    }
}

/// The mean of amounts.
struct Mean;

impl AggregateFunction for Mean {
    type Input = Event;
    type Accumulator = (u64, u64);
    type Output = u64;

    fn create(&self) -> (u64, u64) {
        (0, 0)
    }

    fn add(&self, (sum, count): &mut (u64, u64), event: &Event) -> Result<()> {
        (*sum, *count) = (*sum + event.2, *count + 1);
        Ok(())
    }

    fn result(&self, (sum, count): &(u64, u64)) -> Result<u64> {
        Ok(sum * 1000 / count)
    }
}

impl headpond::stream::MergingAggregate for Mean {
    fn merge(&self, earlier: &mut (u64, u64), later: (u64, u64)) -> Result<()> {
        *earlier = (earlier.0 + later.0, earlier.1 + later.1);
        Ok(())
    }
}

#[test]
fn sessions_join_records_that_are_no_more_than_a_gap_apart() {
    const GAP: i64 = 120;
    let events = events(20_000);
    let mut of_key = BTreeMap::<u32, Vec<(i64, u64)>>::new();
    for ((key, time, amount), watermark) in judged(&events) {
        if time + GAP - 1 > watermark {
            of_key.entry(key).or_default().push((time, amount));
        }
    }
    let mut expected = Vec::new();
    for (key, mut all) in of_key {
        all.sort_unstable();
        for session in all.chunk_by(|before, after| after.0 - before.0 <= GAP) {
            let sum: u64 = session.iter().map(|(_, amount)| amount).sum();
            expected.push(Windowed {
                key,
                start_ms: session[0].0,
                end_ms: session[session.len() - 1].0 + GAP,
                value: sum * 1000 / session.len() as u64,
            });
        }
    }
    assert!(expected.len() > 100, "{}", expected.len());
    for (parallelism, serialized) in SETUPS {
        let env = environment(parallelism, serialized);
        let mut means = env
            .from_source(Script::new(events.clone()))
            .assign_timestamps_and_watermarks(strategy())
            .key_by(|event| event.0)
            .window(SessionWindows::with_gap(Duration::from_millis(GAP as u64)))
            .aggregate(Mean)
            .execute_and_collect("sessions")
            .expect("the job runs");
        means.sort();
        assert_eq!(means, expected, "{parallelism} workers, serialized {serialized}");
    }
}

#[test]
fn a_window_within_the_allowed_lateness_gives_its_result_again_whatever_a_tick_is() {
    // In ticks of one record a window's timer fires before late records come, in one tick after all of them.
    for one_by_one in [false, true] {
        let env = environment(1, false);
        let records = [(1, 10, 1), (1, 150, 1), (1, 20, 5), (1, 30, 5), (1, 300, 1), (1, 40, 7)];
        let source = Script::new(records);
        let source = if one_by_one { source.one_by_one() } else { source };
        if one_by_one {
            env.configure(small_ticks);
        }
        let watermarks = WatermarkStrategy::monotonous_timestamps().with_timestamps(|event: &Event| event.1);
        let sums = env
            .from_source(source)
            .assign_timestamps_and_watermarks(watermarks)
            .key_by(|event| event.0)
            .window(TumblingWindows::of(Duration::from_millis(100)))
            .allowed_lateness(Duration::from_millis(100))
            .late_output(&LATE)
            .fold(0_u64, |sum, event| sum + event.2);
        let late = sums.side_output(&LATE).collect();
        let sums = sums.execute_and_collect("late").expect("the job runs");
        let first: Vec<u64> = sums.iter().filter(|sum| sum.start_ms == 0).map(|sum| sum.value).collect();
        assert_eq!(first, [1, 6, 11], "one by one: {one_by_one}");
        assert_eq!(late.records(), [(1, 40, 7)]);
    }
}

#[test]
fn state_of_windows_goes_with_them() {
    struct Count;
    impl KeyedProcessFunction for Count {
        type Key = u8;
        type In = u8;
        type Out = u64;
        type States = MapState<i64, u64>;
        fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<Self::States> {
            ctx.map_state(MapStateDescriptor::new("counts", FixedWidth))
        }
        fn process_element(
            &self,
            counts: &mut Self::States,
            _: u8,
            ctx: &mut Context<'_, u8>,
            out: &mut Collector<u64>,
        ) -> Result<()> {
            let hour = ctx.timestamp().unwrap_or_default() / 10;
            let count = counts.get(ctx, &hour)?.unwrap_or(0) + 1;
            counts.put(ctx, &hour, &count)?;
            ctx.timers().register_event_time_timer(hour * 10 + 9)?;
            out.collect(count);
            Ok(())
        }
        fn on_timer(
            &self,
            counts: &mut Self::States,
            timestamp: i64,
            ctx: &mut Context<'_, u8>,
            _: &mut Collector<u64>,
        ) -> Result<()> {
            ctx.count("hours", 1);
            counts.remove(ctx, &(timestamp / 10))
        }
    }
    let mut harness = KeyedHarness::new(Count, |key: &u8| *key).expect("it opens");
    for time in 0..30 {
        harness.push((time % 2) as u8, time).expect("it is taken");
    }
    assert_eq!(harness.state_entries(), 12, "three hours of two keys, each with a timer");
    harness.watermark(19).expect("timers fire");
    assert_eq!((harness.state_entries(), harness.counter("hours")), (4, 4));
    let snapshot = harness.snapshot().expect("a snapshot");
    let mut restored = KeyedHarness::restore(Count, |key: &u8| *key, &snapshot).expect("it opens");
    restored.push(0, 21).expect("it is taken");
    assert_eq!(restored.take_stamped_output(), [(6, Some(21))]);
    restored.end_of_input().expect("timers fire");
    assert_eq!(restored.state_entries(), 0);
}
