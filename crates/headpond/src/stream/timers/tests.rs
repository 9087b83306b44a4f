use super::*;
use headpond_state::encoding::KeySchema;
use headpond_state::{KeyedBackendParams, MaxParallelism, OperatorClock, OperatorId, StateBackend};
use headpond_state_memory::HashMapStateBackend;
use std::sync::Arc;

fn backend() -> Box<dyn KeyedStateBackend> {
    let max_parallelism = MaxParallelism::DEFAULT;
    let params = KeyedBackendParams {
        operator: OperatorId::new("timers"),
        subtask: 0,
        key_groups: max_parallelism.range_of(0, 1),
        max_parallelism,
        clock: Arc::new(OperatorClock::default()),
        local_dir: std::env::temp_dir(),
    };
    HashMapStateBackend::new().open_keyed(params, &[]).expect("a backend")
}

fn timers(backend: &mut dyn KeyedStateBackend) -> FunctionTimers {
    FunctionTimers::open(backend, &KeySchema::of::<i8>()).expect("timers")
}

fn service<'a>(
    backend: &'a mut (dyn KeyedStateBackend + 'a),
    timers: &'a mut FunctionTimers,
    key: &'a [u8],
) -> TimerService<'a> {
    let key = KeyContext::new(MaxParallelism::DEFAULT, key);
    TimerService { backend, timers, key, watermark_ms: 0, processing_time_ms: 0 }
}

/// Numbers that look random, the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// What should be set: (key, time).
type Model = BTreeSet<(u8, i64)>;

fn change(
    random: &mut Random,
    model: &mut Model,
    backend: &mut dyn KeyedStateBackend,
    timers: &mut FunctionTimers,
    key: u8,
) {
    let time = random.below(100) as i64;
    let bytes = [key];
    let mut service = service(backend, timers, &bytes);
    if random.below(3) > 0 {
        service.register_event_time_timer(time).expect("set");
        model.insert((key, time));
    } else {
        service.delete_event_time_timer(time).expect("removed");
        model.remove(&(key, time));
    }
}

#[test]
fn timers_fire_once_each_in_the_order_of_a_keys_times_unless_they_are_removed() {
    for seed in 0..200 {
        let mut random = Random(seed);
        let (mut backend, mut model) = (backend(), Model::new());
        let mut timers = timers(backend.as_mut());
        let mut now_ms = 0;
        for _ in 0..20 {
            for _ in 0..random.below(20) {
                let key = random.below(5) as u8;
                change(&mut random, &mut model, backend.as_mut(), &mut timers, key);
            }
            now_ms += random.below(20) as i64;
            let mut calls = 0;
            while let Some((domain, timer)) = timers.next_due(backend.as_mut(), now_ms, 0, false).expect("due") {
                assert_eq!(domain, TimeDomain::EventTime);
                let key = timer.key[0];
                let earliest = model.iter().find(|(of, _)| *of == key).copied();
                assert_eq!(
                    earliest,
                    Some((key, timer.time_ms)),
                    "seed {seed}: it is set, and none of its key is earlier"
                );
                assert!(model.remove(&(key, timer.time_ms)) && timer.time_ms <= now_ms);
                calls += 1;
                // What fires may set and remove timers of its key, also such that are due.
                for _ in 0..random.below(3).min(50_u64.saturating_sub(calls)) {
                    change(&mut random, &mut model, backend.as_mut(), &mut timers, key);
                }
            }
            assert_eq!(model.iter().find(|(_, time)| *time <= now_ms), None, "seed {seed}: none is left");
        }
        let all = std::iter::from_fn(|| timers.next_due(backend.as_mut(), i64::MAX, 0, true).expect("due"));
        assert_eq!(all.map(|(_, timer)| (timer.key[0], timer.time_ms)).collect::<Model>(), model, "seed {seed}");
    }
}

#[test]
fn at_the_end_of_the_input_processing_time_timers_fire_but_no_more_are_set() {
    let mut backend = backend();
    let mut timers = timers(backend.as_mut());
    assert_eq!(timers.wake_at_ms(), None);
    for time in [500, 300] {
        service(backend.as_mut(), &mut timers, b"k").register_processing_time_timer(time).expect("set");
    }
    assert_eq!(timers.wake_at_ms(), Some(300));
    assert_eq!(timers.next_due(backend.as_mut(), i64::MAX, 299, false).expect("due"), None);
    let mut fired = Vec::new();
    while let Some((domain, timer)) = timers.next_due(backend.as_mut(), i64::MAX, 299, true).expect("due") {
        fired.push((domain, timer.time_ms));
        let mut service = service(backend.as_mut(), &mut timers, b"k");
        service.register_processing_time_timer(timer.time_ms + 1000).expect("ignored");
        if domain == TimeDomain::ProcessingTime {
            service.register_event_time_timer(timer.time_ms + 1).expect("set, and due");
        }
    }
    let (by_event_time, by_processing_time) = (TimeDomain::EventTime, TimeDomain::ProcessingTime);
    let expected = [(by_processing_time, 300), (by_processing_time, 500), (by_event_time, 301), (by_event_time, 501)];
    assert_eq!(fired, expected);
    assert_eq!(timers.wake_at_ms(), None);
}

#[test]
fn the_time_to_wake_up_is_that_of_the_earliest_timer_left() {
    let mut backend = backend();
    let mut timers = timers(backend.as_mut());
    for (key, time) in [(b"a", 10), (b"b", 30), (b"c", 20)] {
        service(backend.as_mut(), &mut timers, key).register_processing_time_timer(time).expect("set");
    }
    assert_eq!(timers.next_due(backend.as_mut(), 0, 10, false).expect("due").map(|(_, timer)| timer.time_ms), Some(10));
    assert_eq!(timers.next_due(backend.as_mut(), 0, 10, false).expect("due"), None);
    assert_eq!(timers.wake_at_ms(), Some(20));
}

#[test]
fn a_function_without_timers_has_no_state_of_them() {
    let mut backend = backend();
    let mut timers = timers(backend.as_mut());
    service(backend.as_mut(), &mut timers, b"k").delete_event_time_timer(5).expect("nothing to remove");
    assert_eq!(timers.next_due(backend.as_mut(), i64::MAX, i64::MAX, true).expect("due"), None);
    assert!(timers.event_time.timers.is_none() && timers.processing_time.timers.is_none());
}
