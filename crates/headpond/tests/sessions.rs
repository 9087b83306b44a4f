//! Sessions of clicks with event-time timers: late clicks, failures and rescaling included, against sorting all clicks.

mod support;

use headpond::stream::state::*;
use headpond::stream::*;
use headpond_codecs::SerdeCodec;
use headpond_runtime::{Ending, Result};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use support::*;

/// A user's click at a time.
type Click = (i64, i64);
/// A user's session: its first and last click, and how many it has.
type Session = (i64, i64, i64, u64);

const GAP: i64 = 300;
const DELAY: i64 = 100;
const LATE: OutputTag<Click> = OutputTag::new("late");

struct Sessions;

impl KeyedProcessFunction for Sessions {
    type Key = i64;
    type In = Click;
    type Out = Session;
    /// The open sessions: first click, last click, count.
    type States = ValueState<Vec<(i64, i64, u64)>>;

    fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<Self::States> {
        ctx.value_state(ValueStateDescriptor::new("open", SerdeCodec::new("Open", 1)))
    }

    fn process_element(
        &self,
        states: &mut Self::States,
        click: Click,
        ctx: &mut Context<'_, i64>,
        out: &mut Collector<Session>,
    ) -> Result<()> {
        let (_, time) = click;
        assert_eq!(ctx.timestamp(), Some(time));
        let watermark = ctx.current_watermark();
        if time + GAP <= watermark {
            ctx.output(&LATE, click);
            return Ok(());
        }
        let mut open = self.close(states, watermark, ctx, out)?;
        let (mut first, mut last, mut count) = (time, time, 1);
        open.retain(|&(of_first, of_last, of_count)| {
            let apart = time > of_last + GAP || time + GAP < of_first;
            if !apart {
                (first, last, count) = (first.min(of_first), last.max(of_last), count + of_count);
            }
            if !apart && last != of_last {
                ctx.timers().delete_event_time_timer(of_last + GAP).expect("the state can be written");
            }
            apart
        });
        open.push((first, last, count));
        ctx.timers().register_event_time_timer(last + GAP)?;
        states.update(ctx, &open)
    }

    fn on_timer(
        &self,
        states: &mut Self::States,
        timestamp: i64,
        ctx: &mut Context<'_, i64>,
        out: &mut Collector<Session>,
    ) -> Result<()> {
        assert_eq!((ctx.time_domain(), ctx.timestamp()), (Some(TimeDomain::EventTime), Some(timestamp)));
        assert!(ctx.current_watermark() >= timestamp);
        let open = self.close(states, timestamp, ctx, out)?;
        if open.is_empty() { states.clear(ctx) } else { states.update(ctx, &open) }
    }
}

impl Sessions {
    /// Gives the sessions that are over at `time`; returns the others.
    fn close(
        &self,
        states: &mut ValueState<Vec<(i64, i64, u64)>>,
        time: i64,
        ctx: &mut Context<'_, i64>,
        out: &mut Collector<Session>,
    ) -> Result<Vec<(i64, i64, u64)>> {
        let user = ctx.key()?;
        let (over, open): (Vec<_>, Vec<_>) =
            states.value(ctx)?.unwrap_or_default().into_iter().partition(|(_, last, _)| last + GAP <= time);
        over.into_iter().for_each(|(first, last, count)| out.collect((user, first, last, count)));
        Ok(open)
    }
}

/// Clicks out of order within the delay, but for some that are very late.
fn clicks(count: i64) -> Vec<Click> {
    let scattered = |n: i64| (n * 7919 + 104_729) % 1009;
    let click = |n: i64| {
        let time = match n % 97 {
            96 if n > 2000 => n * 3 - 5000,
            _ => n * 3 - scattered(n) % DELAY,
        };
        (scattered(n * 31) % 211, time)
    };
    (0..count).map(click).collect()
}

/// Sessions and late clicks, from all clicks at once.
fn expected(clicks: &[Click]) -> (Vec<Session>, Vec<Click>) {
    let (mut on_time, mut late) = (BTreeMap::<i64, Vec<i64>>::new(), Vec::new());
    let mut watermark = i64::MIN;
    for &(user, time) in clicks {
        if time + GAP <= watermark {
            late.push((user, time));
        } else {
            on_time.entry(user).or_default().push(time);
        }
        watermark = watermark.max(time - DELAY - 1);
    }
    let mut sessions: Vec<Session> = Vec::new();
    for (user, mut times) in on_time {
        times.sort_unstable();
        for time in times {
            match sessions.last_mut().filter(|(of, _, last, _)| *of == user && time <= last + GAP) {
                Some((_, _, last, count)) => (*last, *count) = (time, *count + 1),
                None => sessions.push((user, time, time, 1)),
            }
        }
    }
    sessions.sort_unstable();
    late.sort_unstable();
    (sessions, late)
}

fn program(
    env: &StreamExecutionEnvironment,
    source: Script<Click>,
    sinks: &(CollectSink<Session>, CollectSink<Click>),
) {
    let strategy = WatermarkStrategy::bounded_out_of_orderness(Duration::from_millis(DELAY as u64))
        .with_timestamps(|(_, time): &Click| *time);
    let sessions =
        env.from_source(source).assign_timestamps_and_watermarks(strategy).key_by(|(user, _)| *user).process(Sessions);
    sessions.sink_to(sinks.0.clone());
    sessions.side_output(&LATE).sink_to(sinks.1.clone());
}

#[test]
fn sessions_close_by_event_time_and_late_clicks_go_to_the_side() {
    let clicks = clicks(20_000);
    let expected = expected(&clicks);
    assert!(expected.0.len() > 2000 && expected.1.len() > 100, "{} {}", expected.0.len(), expected.1.len());
    for (parallelism, serialized) in SETUPS {
        let sinks = (CollectSink::new(), CollectSink::new());
        let env = environment(parallelism, serialized);
        program(&env, Script::new(clicks.clone()), &sinks);
        assert_eq!(env.execute("sessions").expect("the job runs").ending, Ending::Finished);
        let how = format!("{parallelism} workers, serialized {serialized}");
        assert_eq!(sorted(&sinks.0), expected.0, "{how}");
        assert_eq!(sorted(&sinks.1), expected.1, "{how}");
    }
}

#[test]
fn open_sessions_and_their_timers_survive_a_failure_with_other_workers() {
    let clicks = clicks(20_000);
    let expected = expected(&clicks);
    for ((before, after), serialized) in RESCALES.into_iter().zip([false, true, true]) {
        let dir = tempfile::tempdir().expect("a directory");
        let sinks = (CollectSink::new(), CollectSink::new());
        let once = Arc::new(AtomicU64::new(0));
        let env = checkpointed(dir.path(), before, serialized);
        program(&env, Script::new(clicks.clone()).failing(12_000, &once), &sinks);
        let published = sinks.0.clone();
        let failed = std::thread::scope(|scope| {
            let running = scope.spawn(|| env.execute("sessions"));
            while published.records().is_empty() && !running.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
            once.store(1, Ordering::SeqCst);
            running.join().expect("no panic")
        });
        let failure = failed.expect_err("a failure is planted");
        assert!(failure.message().starts_with("a planted failure"), "{failure}");
        let env = checkpointed(dir.path(), after, serialized);
        program(&env, Script::new(clicks.clone()), &sinks);
        let result = env.execute("sessions").expect("the job runs");
        assert!(result.restored_from.is_some());
        let how = format!("{before} then {after} workers, serialized {serialized}");
        assert_eq!(sorted(&sinks.0), expected.0, "{how}");
        assert_eq!(sorted(&sinks.1), expected.1, "{how}");
    }
}

#[test]
fn a_job_that_is_stopped_closes_no_session_and_goes_on() {
    let clicks = clicks(10_000);
    let expected = expected(&clicks);
    let dir = tempfile::tempdir().expect("a directory");
    let sinks = (CollectSink::new(), CollectSink::new());
    let env = checkpointed(dir.path(), 3, false);
    let half = Script::new(clicks[..5000].to_vec()).endless();
    program(&env, half, &sinks);
    let late = self::expected(&clicks[..5000]).1.len();
    // The last late click is among the last clicks of the half.
    let ending = execute_until(&env, "sessions", || sinks.1.records().len() == late);
    assert_eq!(ending.expect("the job stops"), Ending::Stopped);
    let given = sinks.0.records();
    assert!(given.iter().all(|session| expected.0.contains(session)), "only sessions that are over");
    let env = checkpointed(dir.path(), 1, false);
    program(&env, Script::new(clicks), &sinks);
    assert_eq!(env.execute("sessions").expect("the job runs").ending, Ending::Finished);
    assert_eq!(sorted(&sinks.0), expected.0);
    assert_eq!(sorted(&sinks.1), expected.1);
}
