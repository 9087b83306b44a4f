//! The timers of a function.
//!
//! Timers are entries of keyed state (see [`Timers`]), so checkpoints keep them and rescaling moves them. They are
//! taken from the state in pieces and fire one after another, in the order of their times within a key group. While
//! they fire, those taken are in memory; a call may remove one of them, or set another that belongs between them.

use headpond_state::encoding::{KeySchema, NO_NAMESPACE};
use headpond_state::ttl::TimeDomain;
use headpond_state::typed::{DueTimer, KeyContext, Left, TimerCursor, Timers};
use headpond_state::{KeyGroup, KeyedStateBackend, Result};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Timers that are taken from the state at once; few in tests, so that these reach every edge.
const TIMERS_AT_ONCE: usize = if cfg!(test) { 3 } else { 4096 };

/// Sets and removes the timers of the current key; see [`Context::timers`](super::Context::timers).
///
/// A key has at most one timer for each time and time domain: setting it again changes nothing.
///
/// # Errors
/// Calls fail as the state backend does.
#[derive(Debug)]
pub struct TimerService<'a> {
    pub(super) backend: &'a mut (dyn KeyedStateBackend + 'a),
    pub(super) timers: &'a mut FunctionTimers,
    pub(super) key: KeyContext<'a>,
    pub(super) watermark_ms: i64,
    pub(super) processing_time_ms: i64,
}

impl TimerService<'_> {
    /// See [`Context::current_watermark`](super::Context::current_watermark).
    pub fn current_watermark(&self) -> i64 {
        self.watermark_ms
    }

    /// See [`Context::current_processing_time`](super::Context::current_processing_time).
    pub fn current_processing_time(&self) -> i64 {
        self.processing_time_ms
    }

    /// Sets a timer that fires when event time reaches `time`, in milliseconds since the epoch; one that has passed
    /// fires when the records at hand are done.
    pub fn register_event_time_timer(&mut self, time: i64) -> Result<()> {
        self.timers.event_time.set(self.backend, &self.timers.key_schema, self.key, time)
    }

    /// Removes an event-time timer, if it is set.
    pub fn delete_event_time_timer(&mut self, time: i64) -> Result<()> {
        self.timers.event_time.remove(self.backend, self.key, time)
    }

    /// Sets a timer that fires when the machine's clock reaches `time`, in milliseconds since the epoch.
    pub fn register_processing_time_timer(&mut self, time: i64) -> Result<()> {
        self.timers.processing_time.set(self.backend, &self.timers.key_schema, self.key, time)
    }

    /// Removes a processing-time timer, if it is set.
    pub fn delete_processing_time_timer(&mut self, time: i64) -> Result<()> {
        self.timers.processing_time.remove(self.backend, self.key, time)
    }
}

/// The timers of a function on one worker, in both time domains.
#[derive(Debug)]
pub(super) struct FunctionTimers {
    key_schema: String,
    event_time: DomainTimers,
    processing_time: DomainTimers,
}

impl FunctionTimers {
    /// Takes up the timers of a restored checkpoint. A domain's state is registered only when it has a timer.
    pub(super) fn open(backend: &mut dyn KeyedStateBackend, key_schema: &KeySchema) -> Result<Self> {
        let mut timers = FunctionTimers {
            key_schema: key_schema.to_string(),
            event_time: DomainTimers::new("$timers.event-time"),
            processing_time: DomainTimers::new("$timers.processing-time"),
        };
        let restored = backend.unregistered();
        for domain in [&mut timers.event_time, &mut timers.processing_time] {
            if restored.iter().any(|descriptor| descriptor.name == domain.name) {
                domain.take_up(backend, &timers.key_schema)?;
            }
        }
        Ok(timers)
    }

    /// The next timer to fire. At the end of the input those by processing time are all due, but no more can be set.
    pub(super) fn next_due(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        event_time_ms: i64,
        processing_time_ms: i64,
        end_of_input: bool,
    ) -> Result<Option<(TimeDomain, DueTimer)>> {
        let FunctionTimers { event_time, processing_time, .. } = self;
        processing_time.set_until_ms = if end_of_input { processing_time_ms } else { i64::MAX };
        let processing_time_ms = if end_of_input { i64::MAX } else { processing_time_ms };
        loop {
            let (domain, timers) = if processing_time.firing.is_some() {
                (TimeDomain::ProcessingTime, &mut *processing_time)
            } else if event_time.firing.is_some() || event_time.begins_to_fire(event_time_ms) {
                (TimeDomain::EventTime, &mut *event_time)
            } else if processing_time.begins_to_fire(processing_time_ms) {
                (TimeDomain::ProcessingTime, &mut *processing_time)
            } else {
                return Ok(None);
            };
            if let Some(timer) = timers.next(backend)? {
                return Ok(Some((domain, timer)));
            }
        }
    }

    /// The keys of the timers that are about to fire, if they have been taken from the state since the last call.
    pub(super) fn newly_taken(&mut self) -> Option<impl Iterator<Item = KeyContext<'_>>> {
        let domains = [&mut self.event_time, &mut self.processing_time];
        let mut firing = domains.into_iter().filter_map(|domain| domain.firing.as_mut());
        let firing = firing.find(|firing| firing.newly_taken)?;
        firing.newly_taken = false;
        Some(firing.taken.iter().map(TimerKey::context))
    }

    /// When the earliest timer by processing time is due, or earlier.
    pub(super) fn wake_at_ms(&self) -> Option<i64> {
        self.processing_time.earliest_ms
    }
}

#[derive(Debug)]
struct DomainTimers {
    name: &'static str,
    timers: Option<Timers>,
    /// By key group that has timers: a time before which it has none.
    not_before_ms: BTreeMap<KeyGroup, i64>,
    /// The least of them.
    earliest_ms: Option<i64>,
    /// A timer beyond this time is not set: it could not fire.
    set_until_ms: i64,
    firing: Option<Firing>,
}

/// Timers that fire, up to a time.
#[derive(Debug)]
struct Firing {
    until_ms: i64,
    /// The key groups that may have such, those done left out.
    groups: VecDeque<KeyGroup>,
    /// Where the first of them goes on.
    cursor: TimerCursor,
    /// Those that were taken from the state.
    taken: BTreeSet<TimerKey>,
    newly_taken: bool,
    /// The last that was taken from the state; `None`: all that are due were.
    taken_to: Option<TimerKey>,
}

/// A timer, in the order in which timers fire.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct TimerKey {
    key_group: KeyGroup,
    time_ms: i64,
    key: Vec<u8>,
}

impl TimerKey {
    fn of(context: KeyContext<'_>, time_ms: i64) -> Self {
        TimerKey { key_group: context.key_group, time_ms, key: context.key.to_vec() }
    }

    fn context(&self) -> KeyContext<'_> {
        KeyContext { key_group: self.key_group, key: &self.key, namespace: NO_NAMESPACE, row_ms: None }
    }
}

impl DomainTimers {
    fn new(name: &'static str) -> Self {
        let not_before_ms = BTreeMap::new();
        DomainTimers { name, timers: None, not_before_ms, earliest_ms: None, set_until_ms: i64::MAX, firing: None }
    }

    /// Finds the timers that a restore brought.
    fn take_up(&mut self, backend: &mut dyn KeyedStateBackend, key_schema: &str) -> Result<()> {
        for group in backend.key_groups().iter() {
            if let Some(first_ms) = self.registered(backend, key_schema)?.earliest_in(backend, group)? {
                self.not_before_ms.insert(group, first_ms);
            }
        }
        self.earliest_ms = self.not_before_ms.values().copied().min();
        Ok(())
    }

    fn registered(&mut self, backend: &mut dyn KeyedStateBackend, key_schema: &str) -> Result<&mut Timers> {
        let timers = match self.timers.take() {
            Some(timers) => timers,
            None => Timers::register(backend, &Timers::descriptor(self.name).with_key_schema(key_schema))?,
        };
        Ok(self.timers.insert(timers))
    }

    fn set(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        key_schema: &str,
        context: KeyContext<'_>,
        time_ms: i64,
    ) -> Result<()> {
        if time_ms > self.set_until_ms {
            return Ok(());
        }
        if let Some(firing) = self.firing.as_mut().filter(|firing| time_ms <= firing.until_ms) {
            let place = TimerKey::of(context, time_ms);
            if firing.taken_to.as_ref().is_none_or(|end| place <= *end) {
                firing.taken.insert(place);
                return Ok(());
            }
        }
        self.registered(backend, key_schema)?.set(backend, context, time_ms)?;
        let of_group = self.not_before_ms.entry(context.key_group).or_insert(time_ms);
        *of_group = time_ms.min(*of_group);
        self.earliest_ms = Some(self.earliest_ms.map_or(time_ms, |earliest_ms| earliest_ms.min(time_ms)));
        Ok(())
    }

    fn remove(&mut self, backend: &mut dyn KeyedStateBackend, context: KeyContext<'_>, time_ms: i64) -> Result<()> {
        if let Some(firing) = &mut self.firing
            && firing.taken.remove(&TimerKey::of(context, time_ms))
        {
            return Ok(());
        }
        match &mut self.timers {
            Some(timers) => timers.remove(backend, context, time_ms),
            None => Ok(()),
        }
    }

    /// Whether a timer may be due; its firing then begins.
    fn begins_to_fire(&mut self, until_ms: i64) -> bool {
        let due = self.earliest_ms.is_some_and(|earliest_ms| earliest_ms <= until_ms);
        if due {
            let groups = self.not_before_ms.iter().filter(|(_, time_ms)| **time_ms <= until_ms);
            self.firing = Some(Firing {
                until_ms,
                groups: groups.map(|(group, _)| *group).collect(),
                cursor: TimerCursor::default(),
                taken: BTreeSet::new(),
                newly_taken: false,
                taken_to: None,
            });
        }
        due
    }

    /// The next timer; `None` when none is due any more, which ends the firing.
    fn next(&mut self, backend: &mut dyn KeyedStateBackend) -> Result<Option<DueTimer>> {
        if self.firing.as_ref().is_some_and(|firing| firing.taken.is_empty() && !firing.groups.is_empty()) {
            self.take_due(backend)?;
        }
        if let Some(TimerKey { key_group, time_ms, key }) =
            self.firing.as_mut().and_then(|firing| firing.taken.pop_first())
        {
            return Ok(Some(DueTimer { time_ms, key_group, key, namespace: Vec::new() }));
        }
        self.firing = None;
        self.earliest_ms = self.not_before_ms.values().copied().min();
        Ok(None)
    }

    /// Takes timers that are due from the state.
    fn take_due(&mut self, backend: &mut dyn KeyedStateBackend) -> Result<()> {
        let (Some(timers), Some(firing)) = (&mut self.timers, &mut self.firing) else { return Ok(()) };
        let mut due = Vec::new();
        while let Some(&group) = firing.groups.front()
            && due.len() < TIMERS_AT_ONCE
        {
            let limit = TIMERS_AT_ONCE - due.len();
            match timers.due_in(backend, group, firing.until_ms, limit, &mut firing.cursor, &mut due)? {
                Left::More => break,
                Left::Next(next_ms) => {
                    firing.groups.pop_front();
                    match next_ms {
                        Some(next_ms) => self.not_before_ms.insert(group, next_ms),
                        None => self.not_before_ms.remove(&group),
                    };
                }
            }
        }
        timers.remove_all(backend, &due)?;
        let last = due.last().filter(|_| !firing.groups.is_empty());
        firing.taken_to = last.map(|timer| TimerKey::of(timer.context(), timer.time_ms));
        firing.taken.extend(due.iter().map(|timer| TimerKey::of(timer.context(), timer.time_ms)));
        firing.newly_taken = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
