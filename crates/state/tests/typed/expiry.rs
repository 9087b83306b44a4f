//! States with a TTL, under a clock that the test moves.

use crate::sorted_backend::SortedBackend;
use headpond_state::codec::{Codec, FixedWidth};
use headpond_state::ttl::{self, StateVisibility, TimeDomain, TtlConfig, UpdateType};
use headpond_state::typed::{KeyContext, ListState, MapState, ReducingState, ValueState};
use headpond_state::{ErrorKind, MaxParallelism, OperatorClock, Result};
use proptest::prelude::*;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

fn at(key: &[u8]) -> KeyContext<'_> {
    KeyContext::new(MaxParallelism::DEFAULT, key)
}

fn any_config() -> impl Strategy<Value = TtlConfig> {
    (
        1..60i64,
        prop::sample::select(vec![UpdateType::OnCreateAndWrite, UpdateType::OnReadAndWrite]),
        prop::sample::select(vec![StateVisibility::NeverReturnExpired, StateVisibility::ReturnExpiredIfNotCleanedUp]),
        prop::sample::select(vec![TimeDomain::ProcessingTime, TimeDomain::EventTime]),
    )
        .prop_map(|(ttl_ms, update, visibility, domain)| TtlConfig { ttl_ms, update, visibility, domain })
}

#[derive(Debug, Clone)]
enum Op {
    Advance(i64),
    Set(u8, i64, i64),
    Get(u8, i64),
    Increment(u8, i64),
    Clear(u8),
    Clean,
}

fn op() -> impl Strategy<Value = Op> {
    // Rows are up to 20 ms behind the clock or before it.
    let behind = -20..20i64;
    prop_oneof![
        3 => (1..40i64).prop_map(Op::Advance),
        3 => (0..3u8, any::<i32>(), behind.clone()).prop_map(|(key, value, row)| Op::Set(key, value.into(), row)),
        4 => (0..3u8, behind.clone()).prop_map(|(key, row)| Op::Get(key, row)),
        2 => (0..3u8, behind).prop_map(|(key, row)| Op::Increment(key, row)),
        1 => (0..3u8).prop_map(Op::Clear),
        1 => Just(Op::Clean),
    ]
}

/// What a state with a TTL should hold: the stamp and the value of each key.
#[derive(Debug, Default)]
struct Model(HashMap<u8, (i64, i64)>);

impl Model {
    fn get(&mut self, config: &TtlConfig, key: u8, now_ms: i64, row_ms: i64) -> Option<i64> {
        let (stamp_ms, value) = self.0.get_mut(&key)?;
        let expired = *stamp_ms + config.ttl_ms <= now_ms;
        if !expired && config.update == UpdateType::OnReadAndWrite {
            *stamp_ms = (*stamp_ms).max(stamp(config, now_ms, row_ms));
        }
        (!expired || config.visibility == StateVisibility::ReturnExpiredIfNotCleanedUp).then_some(*value)
    }
}

fn stamp(config: &TtlConfig, now_ms: i64, row_ms: i64) -> i64 {
    if config.domain == TimeDomain::EventTime { now_ms.max(row_ms) } else { now_ms }
}

proptest! {
    #[test]
    fn values_live_as_long_as_their_ttl_says(config in any_config(), ops in proptest::collection::vec(op(), 0..60)) {
        let mut backend = SortedBackend::default();
        let clock = Arc::new(OperatorClock::new(1000));
        clock.advance_event_time_to(1000);
        let codec: Arc<dyn Codec<i64>> = Arc::new(FixedWidth);
        let descriptor = ValueState::descriptor("value", &*codec).with_ttl(Some(config));
        let mut state = ValueState::register(&mut backend, &clock, &descriptor, codec)?;
        let mut model = Model::default();
        for op in ops {
            let now_ms = clock.now_ms();
            match op {
                Op::Advance(by_ms) => {
                    clock.advance_to(now_ms + by_ms);
                    clock.advance_event_time_to(now_ms + by_ms);
                }
                Op::Set(key, value, row) => {
                    state.set(&mut backend, at(&[key]).at(now_ms + row), &value)?;
                    model.0.insert(key, (stamp(&config, now_ms, now_ms + row), value));
                }
                Op::Get(key, row) => {
                    let read = state.get(&mut backend, at(&[key]).at(now_ms + row))?;
                    prop_assert_eq!(read, model.get(&config, key, now_ms, now_ms + row));
                }
                Op::Increment(key, row) => {
                    let mut read = None;
                    state.update_many(&mut backend, &[at(&[key]).at(now_ms + row)], |_, old| {
                        read = old;
                        Ok(Some(old.unwrap_or(0) + 1))
                    })?;
                    let old = model.get(&config, key, now_ms, now_ms + row);
                    prop_assert_eq!(read, old);
                    model.0.insert(key, (stamp(&config, now_ms, now_ms + row), old.unwrap_or(0) + 1));
                }
                Op::Clear(key) => {
                    state.clear(&mut backend, at(&[key]))?;
                    model.0.remove(&key);
                }
                Op::Clean => {
                    backend.retain(|stored| {
                        ttl::open(stored).is_ok_and(|opened| !config.is_expired(opened.stamp_ms, now_ms))
                    });
                    model.0.retain(|_, (stamp_ms, _)| *stamp_ms + config.ttl_ms > now_ms);
                }
            }
            prop_assert_eq!(backend.len(), model.0.len());
        }
    }
}

#[test]
fn elements_and_entries_expire_one_by_one() -> Result<()> {
    let mut backend = SortedBackend::default();
    let clock = Arc::new(OperatorClock::new(0));
    let codec: Arc<dyn Codec<i64>> = Arc::new(FixedWidth);
    let ttl = Some(TtlConfig::new(100));
    let descriptor = ListState::descriptor("list", &*codec).with_ttl(ttl);
    let mut list = ListState::register(&mut backend, &clock, &descriptor, Arc::clone(&codec))?;
    let descriptor = MapState::<i64, i64>::descriptor("map", &*codec).with_ttl(ttl);
    let mut map = MapState::register(&mut backend, &clock, &descriptor, codec)?;
    for time_ms in [0, 50, 120] {
        clock.advance_to(time_ms);
        list.add(&mut backend, at(b"a"), &time_ms)?;
        map.put(&mut backend, at(b"a"), &time_ms, &time_ms)?;
    }
    let mut user_keys = Vec::new();
    map.scan(&mut backend, at(b"a"), None, &mut |user_key, _| {
        user_keys.push(user_key);
        ControlFlow::Continue(())
    })?;
    assert_eq!(user_keys, [50, 120]);
    assert_eq!(map.get(&mut backend, at(b"a"), &0)?, None);
    assert_eq!(list.get(&mut backend, at(b"a"))?, [50, 120]);
    clock.advance_to(150);
    assert_eq!(list.get(&mut backend, at(b"a"))?, [120]);
    Ok(())
}

#[test]
fn reading_a_list_prolongs_the_life_of_its_elements_if_reads_count() -> Result<()> {
    let mut backend = SortedBackend::default();
    let clock = Arc::new(OperatorClock::new(0));
    let codec: Arc<dyn Codec<i64>> = Arc::new(FixedWidth);
    let ttl = TtlConfig { update: UpdateType::OnReadAndWrite, ..TtlConfig::new(100) };
    let descriptor = ListState::descriptor("list", &*codec).with_ttl(Some(ttl));
    let mut list = ListState::register(&mut backend, &clock, &descriptor, codec)?;
    list.add_all(&mut backend, at(b"a"), &[1, 2])?;
    for time_ms in [90, 180, 270] {
        clock.advance_to(time_ms);
        assert_eq!(list.get(&mut backend, at(b"a"))?, [1, 2]);
    }
    clock.advance_to(370);
    assert_eq!(list.get(&mut backend, at(b"a"))?, Vec::<i64>::new());
    Ok(())
}

#[test]
fn a_total_starts_anew_when_it_has_expired() -> Result<()> {
    let mut backend = SortedBackend::default();
    let clock = Arc::new(OperatorClock::new(0));
    let codec: Arc<dyn Codec<i64>> = Arc::new(FixedWidth);
    let sum = |old: i64, new: &i64| Ok(old + new);
    let descriptor = ReducingState::descriptor("sum", &*codec).with_ttl(Some(TtlConfig::new(100)));
    let mut total = ReducingState::register(&mut backend, &clock, &descriptor, codec, sum)?;
    total.add(&mut backend, at(b"a"), 5)?;
    clock.advance_to(99);
    total.add(&mut backend, at(b"a"), 6)?;
    clock.advance_to(198);
    assert_eq!(total.get(&mut backend, at(b"a"))?, Some(11));
    clock.advance_to(199);
    total.add(&mut backend, at(b"a"), 1)?;
    assert_eq!(total.get(&mut backend, at(b"a"))?, Some(1));
    Ok(())
}

#[test]
fn expiry_saturates_at_the_ends_of_time() {
    let forever = TtlConfig::new(i64::MAX);
    assert!(!forever.is_expired(5, i64::MAX - 1));
    assert!(!TtlConfig::new(1).is_expired(i64::MIN, i64::MIN));
    assert!(TtlConfig::new(1).is_expired(i64::MIN, 0));
    let mut stored = Vec::new();
    ttl::seal(-2, &mut stored);
    assert_eq!(ttl::open(&stored).expect("a stamp"), ttl::Stamped { stamp_ms: -2, value: &[] });
    assert_eq!(ttl::open(&stored[1..]).expect_err("too short").kind(), ErrorKind::Corrupt);
}
