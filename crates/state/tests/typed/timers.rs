//! Timers.

use crate::sorted_backend::SortedBackend;
use headpond_state::ttl::{TimeDomain, TtlConfig};
use headpond_state::typed::{KeyContext, Left, TimerCursor, TimerService, Timers};
use headpond_state::{ErrorKind, KeyedStateBackend, MaxParallelism, Result, WriteBatch};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn at(key: &[u8]) -> KeyContext<'_> {
    KeyContext::new(MaxParallelism::DEFAULT, key)
}

fn timers(backend: &mut SortedBackend) -> Timers {
    Timers::register(backend, &Timers::descriptor("timers")).expect("the state registers")
}

/// All timers due, as `(key group, time, key, namespace)`, a few at a time.
fn all_due(
    timers: &mut Timers,
    backend: &mut SortedBackend,
    now_ms: i64,
    limit: usize,
) -> Vec<(u16, i64, Vec<u8>, Vec<u8>)> {
    let (mut due, mut cursor) = (Vec::new(), TimerCursor::default());
    loop {
        let before = due.len();
        let more = timers.due(backend, now_ms, limit, &mut cursor, &mut due).expect("timers can be read");
        assert!(due.len() <= before + limit);
        if !more {
            return due
                .into_iter()
                .map(|timer| (timer.key_group.0, timer.time_ms, timer.key, timer.namespace))
                .collect();
        }
    }
}

proptest! {
    #[test]
    fn due_timers_come_by_group_and_time_however_few_at_once(
        set in proptest::collection::vec((0..20u8, -50..50i64, proptest::collection::vec(any::<u8>(), 0..3)), 0..60),
        now_ms in prop_oneof![-60..60i64, Just(i64::MAX), Just(i64::MIN)],
        limit in 1..9usize,
    ) {
        let mut backend = SortedBackend::default();
        let mut timers = timers(&mut backend);
        let mut model = BTreeSet::new();
        for (key, time_ms, namespace) in &set {
            let key = [*key, 0];
            timers.set(&mut backend, at(&key).in_namespace(namespace), *time_ms)?;
            if *time_ms <= now_ms {
                model.insert((at(&key).key_group.0, *time_ms, key.to_vec(), namespace.clone()));
            }
        }
        let due = all_due(&mut timers, &mut backend, now_ms, limit);
        prop_assert_eq!(due, model.into_iter().collect::<Vec<_>>());
        prop_assert_eq!(timers.earliest(&mut backend)?, set.iter().map(|(_, time_ms, _)| *time_ms).min());
    }

    #[test]
    fn timers_that_fired_go_by_ranges_and_others_stay(
        set in proptest::collection::vec((0..200u8, -50..50i64), 0..300),
        now_ms in -60..60i64,
        limit in 1..99usize,
    ) {
        let mut backend = SortedBackend::default();
        let mut timers = timers(&mut backend);
        let mut left = BTreeSet::new();
        for (key, time_ms) in &set {
            timers.set(&mut backend, at(&[*key]), *time_ms)?;
            if *time_ms > now_ms {
                left.insert((at(&[*key]).key_group.0, *time_ms, vec![*key], Vec::new()));
            }
        }
        let (mut cursor, mut writes) = (TimerCursor::default(), WriteBatch::new());
        loop {
            let mut due = Vec::new();
            let more = timers.due(&mut backend, now_ms, limit, &mut cursor, &mut due)?;
            timers.delete_fired(&mut writes, &due);
            backend.write(&mut writes)?;
            if !more {
                break;
            }
        }
        prop_assert_eq!(all_due(&mut timers, &mut backend, i64::MAX, 99), left.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn fired_timers_are_removed_and_others_stay() -> Result<()> {
    let mut backend = SortedBackend::default();
    let mut timers = timers(&mut backend);
    for time_ms in [10, 20, 30] {
        timers.set(&mut backend, at(b"a"), time_ms)?;
        timers.set(&mut backend, at(b"a"), time_ms)?;
    }
    timers.remove(&mut backend, at(b"a"), 10)?;
    timers.remove(&mut backend, at(b"a"), 11)?;
    let (mut due, mut cursor) = (Vec::new(), TimerCursor::default());
    assert!(!timers.due(&mut backend, 20, 100, &mut cursor, &mut due)?);
    assert_eq!(due.iter().map(|timer| timer.time_ms).collect::<Vec<_>>(), [20]);
    assert_eq!(due[0].context(), at(b"a"));
    timers.remove_all(&mut backend, &due)?;
    assert_eq!(timers.earliest(&mut backend)?, Some(30));

    // A timer that firing sets, due already, comes in the next pass.
    timers.set(&mut backend, at(b"a"), 15)?;
    assert_eq!(all_due(&mut timers, &mut backend, 20, 100).len(), 1);
    Ok(())
}

#[test]
fn one_key_group_is_asked_by_itself_and_says_what_it_has_left() -> Result<()> {
    let mut backend = SortedBackend::default();
    let mut timers = timers(&mut backend);
    for time_ms in [10, 20, 30, i64::MAX] {
        timers.set(&mut backend, at(b"a"), time_ms)?;
    }
    let group = at(b"a").key_group;
    let (mut due, mut cursor) = (Vec::new(), TimerCursor::default());
    assert_eq!(timers.earliest_in(&mut backend, group)?, Some(10));
    assert_eq!(timers.due_in(&mut backend, group, 25, 1, &mut cursor, &mut due)?, Left::More);
    assert_eq!(timers.due_in(&mut backend, group, 25, 1, &mut cursor, &mut due)?, Left::Next(Some(30)));
    assert_eq!(due.iter().map(|timer| timer.time_ms).collect::<Vec<_>>(), [10, 20]);
    assert_eq!(timers.due_in(&mut backend, group, i64::MAX, 9, &mut cursor, &mut due)?, Left::Next(None));
    assert_eq!(due.len(), 4);
    Ok(())
}

#[test]
fn timers_can_be_set_in_the_callers_batch() -> Result<()> {
    use headpond_state::KeyedStateBackend;
    let mut backend = SortedBackend::default();
    let mut timers = timers(&mut backend);
    let mut batch = WriteBatch::new();
    timers.put(&mut batch, at(b"a"), 10);
    assert_eq!(timers.earliest(&mut backend)?, None);
    backend.write(&mut batch)?;
    assert_eq!(timers.earliest(&mut backend)?, Some(10));
    Ok(())
}

#[test]
fn event_time_and_processing_time_are_apart() -> Result<()> {
    let mut backend = SortedBackend::default();
    let mut service = TimerService::register(&mut backend, "timers", "utf8")?;
    service.register_event_time_timer(&mut backend, at(b"a"), 10)?;
    service.register_processing_time_timer(&mut backend, at(b"a"), 20)?;
    service.register_processing_time_timer(&mut backend, at(b"a"), 5)?;
    service.delete_processing_time_timer(&mut backend, at(b"a"), 5)?;
    assert_eq!(service.timers(TimeDomain::EventTime).earliest(&mut backend)?, Some(10));
    assert_eq!(service.timers(TimeDomain::ProcessingTime).earliest(&mut backend)?, Some(20));
    service.delete_event_time_timer(&mut backend, at(b"a"), 10)?;
    assert_eq!(service.timers(TimeDomain::EventTime).earliest(&mut backend)?, None);
    Ok(())
}

#[test]
fn damaged_timers_are_errors() -> Result<()> {
    let mut backend = SortedBackend::default();
    let mut timers = timers(&mut backend);
    timers.set(&mut backend, at(b"a"), 10)?;
    let mut kind = |value: &[u8]| {
        backend.overwrite(value);
        let due = timers.due(&mut backend, 20, 1, &mut TimerCursor::default(), &mut Vec::new());
        due.expect_err("the timer is damaged").kind()
    };
    assert_eq!([kind(&[]), kind(&[1, 9]), kind(&[1])], [ErrorKind::Corrupt; 3]);
    assert_eq!(kind(&[2, 1]), ErrorKind::Incompatible);
    let expiring = Timers::descriptor("t").with_ttl(Some(TtlConfig::new(1)));
    assert_eq!(Timers::register(&mut backend, &expiring).expect_err("a TTL").kind(), ErrorKind::Invalid);
    Ok(())
}
