//! Time in the stream API: timestamps and watermarks, timers by processing time, expiry by event time, unions, side
//! outputs.

mod support;

use headpond::stream::state::*;
use headpond::stream::*;
use headpond_runtime::{Ending, Error, ErrorKind, Result};
use headpond_state::Context as Place;
use headpond_state::codec::FixedWidth;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use support::*;

/// What a function saw: key, time, what, number.
type Seen = (i64, i64, String, i64);

/// A key and a time.
type Event = (i64, i64);

/// A closure as a function with one number of state.
struct Function<P, T> {
    ttl: Option<TtlConfig>,
    process: P,
    on_timer: T,
}

type Number = ValueState<i64>;
type Ctx<'a> = Context<'a, i64>;

impl<P, T> KeyedProcessFunction for Function<P, T>
where
    P: Fn(&mut Number, Event, &mut Ctx<'_>, &mut Collector<Seen>) -> Result<()> + Send + Sync + 'static,
    T: Fn(&mut Number, i64, &mut Ctx<'_>, &mut Collector<Seen>) -> Result<()> + Send + Sync + 'static,
{
    type Key = i64;
    type In = Event;
    type Out = Seen;
    type States = Number;

    fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<Number> {
        let descriptor = ValueStateDescriptor::new("number", FixedWidth);
        ctx.value_state(match self.ttl {
            Some(ttl) => descriptor.with_ttl(ttl),
            None => descriptor,
        })
    }

    fn process_element(
        &self,
        number: &mut Number,
        event: Event,
        ctx: &mut Ctx<'_>,
        out: &mut Collector<Seen>,
    ) -> Result<()> {
        (self.process)(number, event, ctx, out)
    }

    fn on_timer(&self, number: &mut Number, time: i64, ctx: &mut Ctx<'_>, out: &mut Collector<Seen>) -> Result<()> {
        (self.on_timer)(number, time, ctx, out)
    }
}

fn monotonous() -> WatermarkStrategy<Event> {
    WatermarkStrategy::monotonous_timestamps().with_timestamps(|(_, time): &Event| *time)
}

fn events(env: &StreamExecutionEnvironment, source: Script<Event>) -> DataStream<Event> {
    env.from_source(source).assign_timestamps_and_watermarks(monotonous())
}

const HOUR_MS: i64 = 3_600_000;

/// Sets a timer by processing time for each event, so much later; gives what fires.
fn delayed(
    delay_ms: i64,
    fired: Arc<AtomicU64>,
) -> impl KeyedProcessFunction<Key = i64, In = Event, Out = Seen, States = Number> {
    Function {
        ttl: None,
        process: move |number: &mut Number, (_, nth): Event, ctx: &mut Ctx<'_>, _: &mut Collector<Seen>| {
            let now = ctx.current_processing_time();
            assert!(now > 1_600_000_000_000 && ctx.timers().current_processing_time() == now);
            let count = number.value(ctx)?.unwrap_or(0) + 1;
            number.update(ctx, &count)?;
            // Times of one key differ.
            ctx.timers().register_processing_time_timer(now + delay_ms + nth)?;
            ctx.timers().register_processing_time_timer(now + delay_ms + nth)?;
            ctx.timers().register_processing_time_timer(now + delay_ms + nth + 1_000_000)?;
            ctx.timers().delete_processing_time_timer(now + delay_ms + nth + 1_000_000)
        },
        on_timer: move |number: &mut Number, time, ctx: &mut Ctx<'_>, out: &mut Collector<Seen>| {
            assert_eq!((ctx.time_domain(), ctx.timestamp()), (Some(TimeDomain::ProcessingTime), Some(time)));
            out.collect((ctx.key()?, 0, "fired".to_owned(), number.value(ctx)?.unwrap_or(0)));
            fired.fetch_add(1, Ordering::SeqCst);
            Ok(())
        },
    }
}

fn by_tens() -> impl Iterator<Item = Event> + Clone {
    (0..100).map(|n| (n % 10, n))
}

#[test]
fn processing_time_timers_fire_though_nothing_arrives() {
    for (parallelism, serialized) in SETUPS {
        let (env, fired, sink) = (environment(parallelism, serialized), Arc::default(), CollectSink::new());
        let function = delayed(30, Arc::clone(&fired));
        let source = Script::new(by_tens()).endless();
        env.from_source(source).key_by(|event| event.0).process(function).sink_to(sink.clone());
        let ending = execute_until(&env, "delayed", || fired.load(Ordering::SeqCst) == 100);
        assert_eq!(ending.expect("the job stops"), Ending::Stopped);
        let seen = sorted(&sink);
        assert_eq!(seen.len(), 100);
        assert!(seen.iter().all(|(_, _, _, count)| *count == 10), "each key had ten events when its timers fired");
    }
}

#[test]
fn processing_time_timers_survive_a_stop_and_fire_at_the_end_of_the_input() {
    for (before, after) in RESCALES {
        for delay_ms in [100, HOUR_MS] {
            let dir = tempfile::tempdir().expect("a directory");
            let (fired, sink) = (Arc::<AtomicU64>::default(), CollectSink::new());
            let env = checkpointed(dir.path(), before, false);
            let read = Arc::new(AtomicU64::new(0));
            let counted = read.clone();
            let program = |env: &StreamExecutionEnvironment, source: Script<Event>| {
                let events = env.from_source(source);
                events.key_by(|event| event.0).process(delayed(delay_ms, fired.clone())).sink_to(sink.clone());
                let counted = counted.clone();
                events.for_each(move |_| {
                    counted.fetch_add(1, Ordering::SeqCst);
                    Ok(())
                });
            };
            program(&env, Script::new(by_tens()).endless());
            let ending = execute_until(&env, "delayed", || read.load(Ordering::SeqCst) == 100);
            assert_eq!(ending.expect("the job stops"), Ending::Stopped);
            if delay_ms == HOUR_MS {
                assert_eq!(fired.load(Ordering::SeqCst), 0, "no timer fires because the job stops");
            }
            let env = checkpointed(dir.path(), after, false);
            program(&env, Script::new(by_tens()));
            let result = env.execute("delayed").expect("the job runs");
            assert!(result.restored_from.is_some());
            assert_eq!(sink.records().len(), 100, "{before} then {after} workers, {delay_ms} ms");
        }
    }
}

#[test]
fn timers_of_a_key_fire_in_order_and_those_set_meanwhile_among_them() {
    for (parallelism, serialized) in SETUPS {
        let (env, sink) = (environment(parallelism, serialized), CollectSink::new());
        let function = Function {
            ttl: None,
            process: |_: &mut Number, (_, time): Event, ctx: &mut Ctx<'_>, _: &mut Collector<Seen>| {
                assert_eq!(ctx.time_domain(), None);
                let mut timers = ctx.timers();
                [30, 10, 20, 40].into_iter().try_for_each(|after| timers.register_event_time_timer(time + after))
            },
            on_timer: |number: &mut Number, time, ctx: &mut Ctx<'_>, out: &mut Collector<Seen>| {
                let nth = number.value(ctx)?.unwrap_or(0);
                number.update(ctx, &(nth + 1))?;
                out.collect((ctx.key()?, nth, "fired".to_owned(), time));
                if time == 10 {
                    ctx.timers().register_event_time_timer(15)?;
                    ctx.timers().delete_event_time_timer(30)?;
                }
                Ok(())
            },
        };
        let source = Script::new((0..500).map(|key| (key, 0)));
        events(&env, source).key_by(|event| event.0).process(function).sink_to(sink.clone());
        env.execute("order").expect("the job runs");
        let of_key = |key| [10, 15, 20, 40].into_iter().enumerate().map(move |(nth, time)| (key, nth as i64, time));
        let expected: Vec<_> = (0..500).flat_map(of_key).collect();
        let seen: Vec<_> = sorted(&sink).into_iter().map(|(key, nth, _, time)| (key, nth, time)).collect();
        assert_eq!(seen, expected, "{parallelism} workers");
    }
}

#[test]
fn results_have_timestamps_for_the_next_function() {
    for (parallelism, serialized) in SETUPS {
        let (env, sink) = (environment(parallelism, serialized), CollectSink::new());
        let ends = Function {
            ttl: None,
            process: |_: &mut Number, (_, time): Event, ctx: &mut Ctx<'_>, out: &mut Collector<Seen>| {
                out.collect((ctx.key()?, time, "event".to_owned(), 0));
                ctx.timers().register_event_time_timer(time + 1000)
            },
            on_timer: |_: &mut Number, time, ctx: &mut Ctx<'_>, out: &mut Collector<Seen>| {
                out.collect((ctx.key()?, time, "timer".to_owned(), 0));
                Ok(())
            },
        };
        let checks = Function {
            ttl: None,
            process: |_: &mut Number, (key, time): Event, ctx: &mut Ctx<'_>, out: &mut Collector<Seen>| {
                assert_eq!(ctx.timestamp(), Some(time));
                out.collect((key, time, "checked".to_owned(), 0));
                Ok(())
            },
            on_timer: |_: &mut Number, _, _: &mut Ctx<'_>, _: &mut Collector<Seen>| Ok(()),
        };
        events(&env, Script::new((0..1000).map(|n| (n % 7, n))))
            .key_by(|event| event.0)
            .process(ends)
            .map(|(key, time, _, _)| (key, time))
            .key_by(|event| event.0)
            .process(checks)
            .sink_to(sink.clone());
        env.execute("chain").expect("the job runs");
        assert_eq!(sink.records().len(), 2000);
    }
}

/// Gives every event's number, or the event by itself where there is none, and sets it.
fn remembers(ttl: StateTtlConfig) -> impl KeyedProcessFunction<Key = i64, In = Event, Out = Seen, States = Number> {
    Function {
        ttl: Some(ttl.into()),
        process: |number: &mut Number, (key, time): Event, ctx: &mut Ctx<'_>, out: &mut Collector<Seen>| {
            out.collect((key, time, "event".to_owned(), number.value(ctx)?.unwrap_or(-1)));
            number.update(ctx, &time)?;
            ctx.timers().register_event_time_timer(time + 500)
        },
        on_timer: |number: &mut Number, time, ctx: &mut Ctx<'_>, out: &mut Collector<Seen>| {
            out.collect((ctx.key()?, time, "timer".to_owned(), number.value(ctx)?.unwrap_or(-1)));
            Ok(())
        },
    }
}

#[test]
fn a_value_expires_by_event_time_and_timers_find_what_was_there_when_time_moved() {
    let ttl = StateTtlConfig::new(Duration::from_millis(1000));
    let ttl = ttl.time_domain(TimeDomain::EventTime);
    for (parallelism, serialized) in SETUPS {
        let (env, sink) = (environment(parallelism, serialized), CollectSink::new());
        env.configure(small_ticks);
        // Event time jumps from 799 to 4999 at key 2's event; nothing is at hand at 4000 but key 1's value of 800.
        let script = Script::new([(1, 0), (1, 800), (2, 5000), (2, 5001), (1, 5002), (2, 9000)]).one_by_one();
        events(&env, script).key_by(|event| event.0).process(remembers(ttl)).sink_to(sink.clone());
        env.execute("expiry").expect("the job runs");
        let seen = sorted(&sink);
        let row = |key, time, what: &str, found| (key, time, what.to_owned(), found);
        let expected = [
            row(1, 0, "event", -1),
            row(1, 500, "timer", 800),
            row(1, 800, "event", 0),
            row(1, 1300, "timer", 800),
            row(1, 5002, "event", -1),
            row(1, 5502, "timer", 5002),
            row(2, 5000, "event", -1),
            row(2, 5001, "event", 5000),
            row(2, 5500, "timer", 9000),
            row(2, 5501, "timer", 9000),
            row(2, 9000, "event", 5001),
            row(2, 9500, "timer", 9000),
        ];
        assert_eq!(seen, expected, "{parallelism} workers");
    }
}

#[test]
fn a_union_has_the_records_of_both_with_their_timestamps_and_the_lesser_event_time() {
    for (parallelism, serialized) in SETUPS {
        let (env, sink) = (environment(parallelism, serialized), CollectSink::new());
        let fires = Arc::new(AtomicU64::new(0));
        let counted = fires.clone();
        let function = Function {
            ttl: None,
            process: |_: &mut Number, (key, time): Event, ctx: &mut Ctx<'_>, out: &mut Collector<Seen>| {
                assert_eq!(ctx.timestamp(), Some(time));
                ctx.timers().register_event_time_timer(time)?;
                out.collect((key, time, "event".to_owned(), 0));
                Ok(())
            },
            on_timer: move |_: &mut Number, time, _: &mut Ctx<'_>, _: &mut Collector<Seen>| {
                counted.fetch_max(time as u64, Ordering::SeqCst);
                Ok(())
            },
        };
        let ahead = events(&env, Script::new((0..1000).map(|n| (n % 7, n))).endless());
        let behind = events(&env, Script::new((0..600).map(|n| (n % 7, n))).endless());
        let stuck = behind.filter(|_| true).map(|event| event);
        let read = Arc::new(AtomicU64::new(0));
        let both = ahead.union(&stuck);
        both.key_by(|event| event.0).process(function).sink_to(sink.clone());
        let count = read.clone();
        both.for_each(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            Ok(())
        });
        let enough = || read.load(Ordering::SeqCst) == 1600 && fires.load(Ordering::SeqCst) >= 598;
        assert_eq!(execute_until(&env, "union", enough).expect("the job stops"), Ending::Stopped);
        assert_eq!(fires.load(Ordering::SeqCst), 598, "the watermark after 599 is 598");
        assert_eq!(sink.records().len(), 1600);
    }
}

#[test]
fn a_side_output_that_no_one_reads_is_dropped_and_one_of_another_type_is_refused() {
    const EVENTS: OutputTag<Event> = OutputTag::new("events");
    const OTHERS: OutputTag<String> = OutputTag::new("events");
    let side = || Function {
        ttl: None,
        process: |_: &mut Number, event: Event, ctx: &mut Ctx<'_>, _: &mut Collector<Seen>| {
            ctx.output(&EVENTS, event);
            Ok(())
        },
        on_timer: |_: &mut Number, _, _: &mut Ctx<'_>, _: &mut Collector<Seen>| Ok(()),
    };
    let (env, sink) = (environment(2, false), CollectSink::new());
    env.from_iter(by_tens()).key_by(|event| event.0).process(side()).sink_to(sink.clone());
    env.execute("dropped").expect("the job runs");
    assert!(sink.records().is_empty());

    let (env, sink) = (environment(2, false), CollectSink::new());
    let stream = env.from_iter(by_tens()).key_by(|event| event.0).process(side());
    stream.side_output(&EVENTS).map(|(_, nth)| nth).sink_to(sink.clone());
    env.execute("read").expect("the job runs");
    assert_eq!(sorted(&sink), (0..100).collect::<Vec<_>>());

    let env = environment(2, false);
    let stream = env.from_iter(by_tens()).key_by(|event| event.0).process(side());
    stream.side_output(&OTHERS).sink_to(CollectSink::new());
    let error = env.execute("wrong").expect_err("the types differ");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.message().contains("`events`") && error.way_out().is_some(), "{error}");
}

fn refused(program: impl Fn(&StreamExecutionEnvironment)) -> Error {
    let env = environment(1, false);
    program(&env);
    env.execute("refused").expect_err("the program is wrong")
}

#[test]
fn programs_that_mistake_time_are_refused() {
    let end = |stream: DataStream<Event>| {
        stream.sink_to(CollectSink::new());
    };
    let error = refused(|env| {
        end(env.from_iter(by_tens()).assign_timestamps_and_watermarks(WatermarkStrategy::monotonous_timestamps()));
    });
    assert!(error.way_out().is_some_and(|way| way.contains("with_timestamps")), "{error}");
    let error = refused(|env| end(events(env, Script::new(by_tens())).assign_timestamps_and_watermarks(monotonous())));
    assert!(error.message().contains("twice"), "{error}");
    assert_eq!(error.place(Place::Operator), Some("stream/source/0"));
    let error = refused(|env| {
        let (one, other) = (env.from_iter(by_tens()), env.from_iter(by_tens()));
        end(one.union(&other).assign_timestamps_and_watermarks(monotonous()));
    });
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let error = refused(|env| {
        const LATE: OutputTag<Event> = OutputTag::new("late");
        end(env.from_iter(by_tens()).side_output(&LATE));
    });
    assert!(error.way_out().is_some_and(|way| way.contains("process")), "{error}");
}

#[test]
fn timestamps_without_watermarks_and_a_generator_of_ones_own() {
    /// A watermark at every tenth event.
    struct Tenths;
    impl WatermarkGenerator<Event> for Tenths {
        fn on_event(&mut self, (_, nth): &Event, timestamp_ms: i64) -> Option<i64> {
            (nth % 10 == 9).then_some(timestamp_ms)
        }
    }
    let of_time = |(_, time): &Event| *time;
    let strategies = [
        WatermarkStrategy::none().with_timestamps(of_time),
        WatermarkStrategy::generator(|| Tenths).with_timestamps(of_time),
    ];
    for (strategy, watermarks) in strategies.into_iter().zip([vec![i64::MIN; 100], tenths()]) {
        let (env, sink) = (environment(1, false), CollectSink::new());
        let function = Function {
            ttl: None,
            process: |_: &mut Number, (_, nth): Event, ctx: &mut Ctx<'_>, out: &mut Collector<Seen>| {
                assert_eq!(ctx.timestamp(), Some(nth));
                assert_eq!(ctx.timers().current_watermark(), ctx.current_watermark());
                out.collect((nth, ctx.current_watermark(), String::new(), 0));
                Ok(())
            },
            on_timer: |_: &mut Number, _, _: &mut Ctx<'_>, _: &mut Collector<Seen>| Ok(()),
        };
        let events = env.from_iter(by_tens()).assign_timestamps_and_watermarks(strategy);
        events.key_by(|event| event.0).process(function).sink_to(sink.clone());
        env.execute("watermarks").expect("the job runs");
        assert_eq!(sorted(&sink).into_iter().map(|(_, watermark, _, _)| watermark).collect::<Vec<_>>(), watermarks);
    }
}

/// The watermark before each of a hundred events, when every tenth gives one.
fn tenths() -> Vec<i64> {
    (0..100).map(|nth| if nth < 10 { i64::MIN } else { nth / 10 * 10 - 1 }).collect()
}
