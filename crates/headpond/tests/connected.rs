//! Two streams together: by key, and with one that every worker knows.

mod support;

use headpond::prelude::*;
use headpond::stream::{BroadcastContext, BroadcastState};
use headpond::testing::{KeyedBroadcastHarness, KeyedCoProcessHarness};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use support::*;

/// An order's number and customer; a payment's order and amount.
type Order = (u64, String);
type Payment = (u64, u64);

/// Joins each order with its payment, whichever comes first.
struct Paid;

impl KeyedCoProcessFunction for Paid {
    type Key = u64;
    type In1 = Order;
    type In2 = Payment;
    type Out = (u64, String, u64);
    type States = (ValueState<Order>, ValueState<Payment>);

    fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<Self::States> {
        let orders = ctx.value_state(ValueStateDescriptor::new("order", SerdeCodec::new("order", 1)))?;
        let payments = ctx.value_state(ValueStateDescriptor::new("payment", SerdeCodec::new("payment", 1)))?;
        Ok((orders, payments))
    }

    fn process_element1(
        &self,
        (orders, payments): &mut Self::States,
        order: Order,
        ctx: &mut Context<'_, u64>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()> {
        match payments.value(ctx)? {
            Some((number, amount)) => {
                payments.clear(ctx)?;
                out.collect((number, order.1, amount));
                Ok(())
            }
            None => orders.update(ctx, &order),
        }
    }

    fn process_element2(
        &self,
        (orders, payments): &mut Self::States,
        payment: Payment,
        ctx: &mut Context<'_, u64>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()> {
        match orders.value(ctx)? {
            Some((number, customer)) => {
                orders.clear(ctx)?;
                out.collect((number, customer, payment.1));
                Ok(())
            }
            None => payments.update(ctx, &payment),
        }
    }
}

const ORDERS: u64 = 20_000;

fn orders() -> Vec<Order> {
    (0..ORDERS).map(|n| (n, format!("customer {}", n % 100))).collect()
}

fn payments() -> Vec<Payment> {
    (0..ORDERS).map(|n| (n * 7919 % ORDERS, n % 50)).filter(|(order, _)| order % 5 > 0).collect()
}

fn paid() -> Vec<(u64, String, u64)> {
    let mut paid: Vec<_> =
        payments().into_iter().map(|(order, amount)| (order, format!("customer {}", order % 100), amount)).collect();
    paid.sort();
    paid
}

#[test]
fn connected_streams_share_the_states_of_their_key() {
    for (parallelism, serialized) in SETUPS {
        let env = environment(parallelism, serialized);
        let orders = env.from_source(Script::new(orders())).key_by(|order| order.0);
        let payments = env.from_source(Script::new(payments())).key_by(|payment| payment.0);
        let mut joined = orders.connect(&payments).process(Paid).execute_and_collect("paid").expect("the job runs");
        joined.sort();
        assert_eq!(joined, paid(), "{parallelism} workers, serialized {serialized}");
    }
}

#[test]
fn a_join_survives_a_failure_with_other_workers() {
    for ((before, after), serialized) in RESCALES.into_iter().zip([false, true, true]) {
        let dir = tempfile::tempdir().expect("a directory");
        let (sink, once) = (CollectSink::new(), Arc::new(AtomicU64::new(0)));
        let describe = |env: &StreamExecutionEnvironment, payments: Script<Payment>| {
            let orders = env.from_source(Script::new(orders())).key_by(|order| order.0);
            let payments = env.from_source(payments).key_by(|payment| payment.0);
            orders.connect(&payments).process(Paid).sink_to(sink.clone());
        };
        let env = checkpointed(dir.path(), before, serialized);
        describe(&env, Script::new(payments()).failing(10_000, &once));
        std::thread::scope(|scope| {
            let running = scope.spawn(|| env.execute("paid"));
            while sink.records().is_empty() && !running.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
            once.store(1, Ordering::SeqCst);
            running.join().expect("no panic").expect_err("a failure is planted");
        });
        let env = checkpointed(dir.path(), after, serialized);
        describe(&env, Script::new(payments()));
        assert!(env.execute("paid").expect("the job runs").restored_from.is_some());
        assert_eq!(sorted(&sink), paid(), "{before} then {after} workers, serialized {serialized}");
    }
}

#[test]
fn a_harness_gives_records_of_both_streams() {
    let mut harness =
        KeyedCoProcessHarness::new(Paid, |order: &Order| order.0, |payment: &Payment| payment.0).expect("it opens");
    harness.push2((1, 30), None).expect("it is taken");
    harness.push1((2, "Bob".to_owned()), None).expect("it is taken");
    harness.push1((1, "Ada".to_owned()), None).expect("it is taken");
    assert_eq!(harness.take_output(), [(1, "Ada".to_owned(), 30)]);
    assert_eq!(harness.state_entries(), 1);
}

/// Gives what a record's kind is worth by the newest rule for it, and 0 without one.
struct Rated;

impl KeyedBroadcastProcessFunction for Rated {
    type Key = u32;
    type In = (u32, String);
    type Control = (String, u64);
    type Out = (u32, u64);
    type States = (BroadcastState<String, u64>, ValueState<u64>);

    fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<Self::States> {
        let rules = ctx.broadcast_state(MapStateDescriptor::new("rules", FixedWidth))?;
        Ok((rules, ctx.value_state(ValueStateDescriptor::new("total", FixedWidth))?))
    }

    fn process_element(
        &self,
        (rules, totals): &mut Self::States,
        (key, kind): Self::In,
        ctx: &mut Context<'_, u32>,
        out: &mut Collector<(u32, u64)>,
    ) -> Result<()> {
        assert_eq!(rules.entries(ctx)?.iter().any(|(of, _)| *of == kind), rules.get(ctx, &kind)?.is_some());
        let total = totals.value(ctx)?.unwrap_or(0) + rules.get(ctx, &kind)?.unwrap_or(0);
        totals.update(ctx, &total)?;
        out.collect((key, total));
        Ok(())
    }

    fn process_broadcast_element(
        &self,
        (rules, _): &mut Self::States,
        (kind, worth): Self::Control,
        ctx: &mut BroadcastContext<'_>,
        _: &mut Collector<(u32, u64)>,
    ) -> Result<()> {
        match worth {
            0 => rules.remove(ctx, &kind),
            worth => {
                let known = rules.known(ctx, &kind)?.unwrap_or(0);
                rules.put(ctx, &kind, &worth.max(known))
            }
        }
    }
}

#[test]
fn every_worker_knows_the_control_stream_also_after_a_restart_with_others() {
    let rules = [("a", 1), ("b", 20), ("c", 300), ("b", 10), ("c", 0)].map(|(kind, worth)| (kind.to_owned(), worth));
    let records: Vec<(u32, String)> = (0..600).map(|n| (n % 50, ["a", "b", "c"][n as usize % 3].to_owned())).collect();
    for ((before, after), serialized) in RESCALES.into_iter().zip([false, true, true]) {
        let dir = tempfile::tempdir().expect("a directory");
        let (sink, seen) = (CollectSink::new(), CollectSink::new());
        let describe = |env: &StreamExecutionEnvironment, records: Script<(u32, String)>| {
            let rules = env.from_iter(rules.clone());
            rules.sink_to(seen.clone());
            env.from_source(records)
                .key_by(|record| record.0)
                .connect_broadcast(&rules)
                .process(Rated)
                .sink_to(sink.clone());
        };
        // All rules are in the checkpoint at which the first run stops, and no record.
        let env = checkpointed(dir.path(), before, serialized);
        describe(&env, Script::new(records.clone()).failing(0, &Arc::new(AtomicU64::new(0))));
        execute_until(&env, "rated", || seen.records().len() == rules.len()).expect("the job stops");
        assert!(sink.records().is_empty());
        let env = checkpointed(dir.path(), after, serialized);
        describe(&env, Script::new(records.clone()));
        assert!(env.execute("rated").expect("the job runs").restored_from.is_some());
        let last = |key: u32| sink.records().into_iter().filter(|(of, _)| *of == key).map(|(_, total)| total).max();
        for key in 0..50 {
            let worth = |kind: &String| {
                if kind == "a" {
                    1
                } else if kind == "b" {
                    20
                } else {
                    0
                }
            };
            let total: u64 = records.iter().filter(|(of, _)| *of == key).map(|(_, kind)| worth(kind)).sum();
            assert_eq!(last(key), Some(total), "key {key}, {before} then {after} workers, serialized {serialized}");
        }
    }
}

#[test]
fn event_time_does_not_wait_for_the_control_stream() {
    struct Due;
    impl KeyedBroadcastProcessFunction for Due {
        type Key = i64;
        type In = i64;
        type Control = i64;
        type Out = i64;
        type States = ();
        fn open(&self, _: &mut RuntimeContext<'_>) -> Result<()> {
            Ok(())
        }
        fn process_element(
            &self,
            (): &mut (),
            time: i64,
            ctx: &mut Context<'_, i64>,
            _: &mut Collector<i64>,
        ) -> Result<()> {
            ctx.timers().register_event_time_timer(time + 10)
        }
        fn process_broadcast_element(
            &self,
            (): &mut (),
            _: i64,
            _: &mut BroadcastContext<'_>,
            _: &mut Collector<i64>,
        ) -> Result<()> {
            Ok(())
        }
        fn on_timer(&self, (): &mut (), time: i64, _: &mut Context<'_, i64>, out: &mut Collector<i64>) -> Result<()> {
            out.collect(time);
            Ok(())
        }
    }
    for (parallelism, serialized) in SETUPS {
        let dir = tempfile::tempdir().expect("a directory");
        let env = checkpointed(dir.path(), parallelism, serialized);
        let control = env.from_source(Script::new([1_i64]).endless());
        let watermarks = WatermarkStrategy::monotonous_timestamps().with_timestamps(|time: &i64| *time);
        let times = env.from_source(Script::new((0..100_i64).map(|n| n * 10)).endless());
        let fired = times
            .assign_timestamps_and_watermarks(watermarks)
            .key_by(|_| 0_i64)
            .connect_broadcast(&control)
            .process(Due)
            .collect();
        // The watermark is 989: all timers but the last two have fired.
        execute_until(&env, "due", || fired.records().len() == 98).expect("the job stops");
        assert_eq!(sorted(&fired), (1..=98).map(|n| n * 10).collect::<Vec<i64>>());
    }
}

#[test]
fn a_harness_gives_control_records() {
    let mut harness = KeyedBroadcastHarness::new(Rated, |record: &(u32, String)| record.0).expect("it opens");
    harness.push((1, "a".to_owned()), None).expect("it is taken");
    harness.push_control(("a".to_owned(), 5), None).expect("it is taken");
    harness.push((1, "a".to_owned()), None).expect("it is taken");
    let snapshot = harness.snapshot().expect("a snapshot");
    assert_eq!(harness.take_output(), [(1, 0), (1, 5)]);
    let mut restored =
        KeyedBroadcastHarness::restore(Rated, |record: &(u32, String)| record.0, &snapshot).expect("it opens");
    restored.push((1, "a".to_owned()), None).expect("it is taken");
    assert_eq!(restored.take_output(), [(1, 10)]);
}
