//! Random operations on states of every kind under a clock that moves, against a model that knows when each value was
//! last accessed.
//!
//! A run has one TTL, of either domain, update type and visibility, and its duration may change at a restart. Cleaners
//! run when they like, and are given every chance: time passes, files are merged. So the model does not know what they
//! have taken. But a value that has not expired must be read, one that has expired must not, or, where the state lets
//! it be seen, is either what it was or nothing.

use crate::{BackendFixture, Subject};
use headpond_state::codec::{Codec, FixedWidth};
use headpond_state::ttl::{StateVisibility, TimeDomain, TtlConfig, UpdateType};
use headpond_state::typed::{
    AggregateFunction, AggregatingState, KeyContext, ListState, MapState, ReducingState, ValueState,
};
use headpond_state::{KeyedStateBackend, KeyedStateHandle, OperatorClock, Result, SnapshotOptions};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

const CASES: u32 = 24;
const KINDS: [ModelKind; 5] =
    [ModelKind::Value, ModelKind::List, ModelKind::Map, ModelKind::Reducing, ModelKind::Aggregating];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ModelKind {
    Value,
    List,
    Map,
    Reducing,
    Aggregating,
}

#[derive(Debug, Clone)]
enum Step {
    /// Sets, appends, puts or adds, on behalf of a row so far from event time.
    Write(ModelKind, u8, i64, i64),
    Read(ModelKind, u8, i64),
    Clear(ModelKind, u8),
    Advance(TimeDomain, i64),
    TimePasses,
    /// A checkpoint that merges all files first.
    Compact,
    /// A checkpoint and a restart from it, with this duration of the TTL if it changes.
    Restart(Option<i64>),
}

fn any_ttl() -> impl Strategy<Value = TtlConfig> {
    (
        1..80i64,
        prop::sample::select(vec![UpdateType::OnCreateAndWrite, UpdateType::OnReadAndWrite]),
        prop::sample::select(vec![StateVisibility::NeverReturnExpired, StateVisibility::ReturnExpiredIfNotCleanedUp]),
        prop::sample::select(vec![TimeDomain::ProcessingTime, TimeDomain::EventTime]),
    )
        .prop_map(|(ttl_ms, update, visibility, domain)| TtlConfig { ttl_ms, update, visibility, domain })
}

fn any_step() -> impl Strategy<Value = Step> {
    let kind = || prop::sample::select(KINDS.to_vec());
    let row = -30..30i64;
    let domain = prop::sample::select(vec![TimeDomain::ProcessingTime, TimeDomain::EventTime]);
    prop_oneof![
        10 => (kind(), 0..4u8, 0..3i64, row.clone()).prop_map(|(kind, key, what, row)| Step::Write(kind, key, what, row)),
        8 => (kind(), 0..4u8, row).prop_map(|(kind, key, row)| Step::Read(kind, key, row)),
        1 => (kind(), 0..4u8).prop_map(|(kind, key)| Step::Clear(kind, key)),
        6 => (domain, 1..40i64).prop_map(|(domain, by_ms)| Step::Advance(domain, by_ms)),
        4 => Just(Step::TimePasses),
        1 => Just(Step::Compact),
        1 => option::of(1..200i64).prop_map(Step::Restart),
    ]
}

/// Random runs agree with the model. `PROPTEST_CASES` in the environment sets how many.
pub fn expired_values_are_never_read_and_refreshed_ones_never_lost(fixture: &dyn BackendFixture) {
    let from_environment = std::env::var_os("PROPTEST_CASES").is_some();
    let cases = if from_environment { Config::default().cases } else { CASES };
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 2000, ..Config::default() };
    let run = |(ttl, steps): (TtlConfig, Vec<Step>)| {
        let mut job = Job::start(Subject::new(fixture), ttl);
        steps.into_iter().for_each(|step| job.take(step));
        for (kind, key) in KINDS.iter().flat_map(|kind| (0..4).map(|key| (*kind, key))) {
            job.read(kind, key, 0);
        }
        job.keyed.close().expect("the instance closes");
        Ok(())
    };
    if let Err(failure) = TestRunner::new(config).run(&(any_ttl(), vec(any_step(), 1..80)), run) {
        panic!("{failure}");
    }
}

/// The sum of what was added.
#[derive(Debug)]
struct Sum;

impl AggregateFunction for Sum {
    type Input = i64;
    type Accumulator = i64;
    type Output = i64;

    fn create(&self) -> i64 {
        0
    }

    fn add(&self, accumulator: &mut i64, input: &i64) -> Result<()> {
        *accumulator += input;
        Ok(())
    }

    fn result(&self, accumulator: &i64) -> Result<i64> {
        Ok(*accumulator)
    }
}

type Fold = fn(i64, &i64) -> Result<i64>;

struct States {
    value: ValueState<i64>,
    list: ListState<i64>,
    map: MapState<i64, i64>,
    reducing: ReducingState<i64, Fold>,
    aggregating: AggregatingState<Sum>,
}

impl States {
    fn register(keyed: &mut dyn KeyedStateBackend, clock: &Arc<OperatorClock>, ttl: TtlConfig) -> Result<States> {
        let codec = || -> Arc<dyn Codec<i64>> { Arc::new(FixedWidth) };
        let ttl = Some(ttl);
        let add: Fold = |sum, value| Ok(sum + value);
        let of_value = ValueState::descriptor("value", &*codec()).with_ttl(ttl);
        let of_list = ListState::descriptor("list", &*codec()).with_ttl(ttl);
        let of_map = MapState::<i64, i64>::descriptor("map", &*codec()).with_ttl(ttl);
        let of_reducing = ReducingState::descriptor("reducing", &*codec()).with_ttl(ttl);
        let of_aggregating = AggregatingState::<Sum>::descriptor("aggregating", &*codec()).with_ttl(ttl);
        Ok(States {
            value: ValueState::register(keyed, clock, &of_value, codec())?,
            list: ListState::register(keyed, clock, &of_list, codec())?,
            map: MapState::register(keyed, clock, &of_map, codec())?,
            reducing: ReducingState::register(keyed, clock, &of_reducing, codec(), add)?,
            aggregating: AggregatingState::register(keyed, clock, &of_aggregating, codec(), Sum)?,
        })
    }
}

/// A value of a state: of a key, and in it of a user key or of an element, whose value is its number.
type Slot = (ModelKind, u8, i64);

/// What a slot should hold.
#[derive(Debug, Clone, Copy)]
struct Held {
    value: i64,
    stamp_ms: i64,
    /// It expired under an earlier TTL, and a cleaner may have taken it.
    doubtful: bool,
}

struct Job {
    subject: Subject,
    keyed: Box<dyn KeyedStateBackend>,
    states: States,
    ttl: TtlConfig,
    model: BTreeMap<Slot, Held>,
    /// Every value written is another one.
    written: i64,
    checkpoints: u64,
    base: Vec<KeyedStateHandle>,
}

impl Job {
    fn start(subject: Subject, ttl: TtlConfig) -> Self {
        let mut keyed = subject.open();
        let states = States::register(&mut *keyed, &subject.clock(), ttl).expect("the states register");
        Job { subject, keyed, states, ttl, model: BTreeMap::new(), written: 0, checkpoints: 0, base: Vec::new() }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Write(kind, key, what, row) => self.write(kind, key, what, row),
            Step::Read(kind, key, row) => self.read(kind, key, row),
            Step::Clear(kind, key) => self.clear(kind, key),
            Step::Advance(domain, by_ms) => {
                let clock = self.subject.clock();
                match domain {
                    TimeDomain::ProcessingTime => clock.advance_to(clock.now_ms() + by_ms),
                    TimeDomain::EventTime => clock.advance_event_time_to(clock.event_time_ms().max(0) + by_ms),
                }
            }
            Step::TimePasses => self.keyed.time_passed().expect("an open instance"),
            Step::Compact => self.checkpoint(true),
            Step::Restart(ttl_ms) => self.restart(ttl_ms),
        }
    }

    fn now_ms(&self) -> i64 {
        self.subject.clock().now_in(self.ttl.domain)
    }

    fn row_ms(&self, row: i64) -> i64 {
        self.subject.clock().event_time_ms().max(0) + row
    }

    fn write(&mut self, kind: ModelKind, key: u8, what: i64, row: i64) {
        self.written += 1;
        let row_ms = self.row_ms(row);
        let held =
            Held { value: self.written, stamp_ms: self.ttl.stamp_ms(self.now_ms(), Some(row_ms)), doubtful: false };
        let context = KeyContext::new(self.subject.max_parallelism(), std::slice::from_ref(&key)).at(row_ms);
        let keyed = &mut *self.keyed;
        let added = match kind {
            ModelKind::Value => self.states.value.set(keyed, context, &held.value),
            ModelKind::List => self.states.list.add(keyed, context, &held.value),
            ModelKind::Map => self.states.map.put(keyed, context, &what, &held.value),
            ModelKind::Reducing => self.states.reducing.add(keyed, context, held.value),
            ModelKind::Aggregating => self.states.aggregating.add(keyed, context, &held.value),
        };
        added.expect("the value is written");
        match kind {
            ModelKind::Value => self.model.insert((kind, key, 0), held),
            ModelKind::List => self.model.insert((kind, key, held.value), held),
            ModelKind::Map => self.model.insert((kind, key, what), held),
            ModelKind::Reducing | ModelKind::Aggregating => self.fold(kind, key, held, row),
        };
    }

    /// What a fold holds once `added` was added: with what was there, if it was there to see.
    fn fold(&mut self, kind: ModelKind, key: u8, added: Held, row: i64) -> Option<Held> {
        let slot = (kind, key, 0);
        let before = self.model.get(&slot).copied();
        let seen = self.look(kind, key, row).first().map(|(_, value)| *value);
        let alone = before.is_none_or(|old| old.doubtful || self.ttl.is_expired(old.stamp_ms, self.now_ms()));
        let with =
            before.filter(|old| self.ttl.is_visible(old.stamp_ms, self.now_ms())).map(|old| old.value + added.value);
        assert!(
            seen.is_some() && (seen == with || alone && seen == Some(added.value)),
            "{slot:?}: {seen:?} after {added:?} was added to {before:?}"
        );
        self.model.insert(slot, Held { value: seen.unwrap_or_default(), ..added })
    }

    fn read(&mut self, kind: ModelKind, key: u8, row: i64) {
        let seen: BTreeMap<i64, i64> = self.look(kind, key, row).into_iter().collect();
        let slots: Vec<Slot> =
            self.model.range((kind, key, i64::MIN)..=(kind, key, i64::MAX)).map(|(s, _)| *s).collect();
        for (part, value) in &seen {
            assert!(slots.contains(&(kind, key, *part)), "{kind:?} {key}: {value} was read, and is not there");
        }
        slots.into_iter().for_each(|slot| self.check(slot, seen.get(&slot.2).copied(), row));
    }

    /// Reads what there is of a key: the parts and their values, in order.
    fn look(&mut self, kind: ModelKind, key: u8, row: i64) -> Vec<(i64, i64)> {
        let context = KeyContext::new(self.subject.max_parallelism(), std::slice::from_ref(&key)).at(self.row_ms(row));
        let (keyed, states) = (&mut *self.keyed, &mut self.states);
        let one = |value: Result<Option<i64>>| value.expect("a read").map(|value| (0, value)).into_iter().collect();
        match kind {
            ModelKind::Value => one(states.value.get(keyed, context)),
            ModelKind::Reducing => one(states.reducing.get(keyed, context)),
            ModelKind::Aggregating => one(states.aggregating.get(keyed, context)),
            ModelKind::List => {
                let elements = states.list.get(keyed, context).expect("a read");
                assert!(elements.is_sorted(), "elements come in the order in which they were appended: {elements:?}");
                elements.into_iter().map(|element| (element, element)).collect()
            }
            ModelKind::Map => {
                let mut entries = Vec::new();
                let visit = &mut |user_key, value| {
                    entries.push((user_key, value));
                    ControlFlow::Continue(())
                };
                states.map.scan(keyed, context, None, visit).expect("a read");
                entries
            }
        }
    }

    /// Checks what was read of a slot, and notes what that says of it.
    fn check(&mut self, slot: Slot, seen: Option<i64>, row: i64) {
        let (ttl, now_ms, row_ms) = (self.ttl, self.now_ms(), self.row_ms(row));
        let Some(held) = self.model.get_mut(&slot) else { return };
        let expired = ttl.is_expired(held.stamp_ms, now_ms);
        let hidden = ttl.visibility == StateVisibility::NeverReturnExpired;
        match seen {
            Some(value) => {
                assert_eq!(value, held.value, "{slot:?}: another value than was written last");
                assert!(!(expired && hidden), "{slot:?}: an expired value was read at {now_ms}: {held:?}");
                held.doubtful &= expired;
                held.stamp_ms = ttl.refreshed(held.stamp_ms, now_ms, Some(row_ms)).unwrap_or(held.stamp_ms);
            }
            None => {
                assert!(expired || held.doubtful, "{slot:?}: a value was lost at {now_ms}: {held:?}");
                // Hidden, it may still be there for a longer TTL to show.
                if !(expired && hidden) {
                    self.model.remove(&slot);
                }
            }
        }
    }

    fn clear(&mut self, kind: ModelKind, key: u8) {
        let context = KeyContext::new(self.subject.max_parallelism(), std::slice::from_ref(&key));
        let (keyed, states) = (&mut *self.keyed, &mut self.states);
        let cleared = match kind {
            ModelKind::Value => states.value.clear(keyed, context),
            ModelKind::List => states.list.clear(keyed, context),
            ModelKind::Map => states.map.clear(keyed, context),
            ModelKind::Reducing => states.reducing.clear(keyed, context),
            ModelKind::Aggregating => states.aggregating.clear(keyed, context),
        };
        cleared.expect("the state is cleared");
        self.model.retain(|slot, _| (slot.0, slot.1) != (kind, key));
    }

    fn checkpoint(&mut self, compact: bool) {
        self.checkpoints += 1;
        let options = SnapshotOptions { incremental: true, compact };
        let (handle, _) = self.subject.checkpoint_on(&mut *self.keyed, self.checkpoints, &self.base, &options);
        self.base = vec![handle];
        self.subject.store().retain(&self.base);
    }

    fn restart(&mut self, ttl_ms: Option<i64>) {
        self.checkpoint(false);
        let (old, now_ms) = (self.ttl, self.now_ms());
        self.model.values_mut().for_each(|held| held.doubtful |= old.is_expired(held.stamp_ms, now_ms));
        self.ttl.ttl_ms = ttl_ms.unwrap_or(old.ttl_ms);
        let keyed = std::mem::replace(&mut self.keyed, self.subject.restore(&self.base));
        keyed.close().expect("the instance closes");
        let clock = self.subject.clock();
        self.states = States::register(&mut *self.keyed, &clock, self.ttl).expect("the states register");
    }
}
