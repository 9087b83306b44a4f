//! The timers of an operator: by event time and by processing time.

use super::context::KeyContext;
use super::timer::Timers;
use crate::backend::KeyedStateBackend;
use crate::error::Result;
use crate::ttl::TimeDomain;

/// The timers of an operator, of both time domains.
#[derive(Debug)]
pub struct TimerService {
    event_time: Timers,
    processing_time: Timers,
}

impl TimerService {
    /// Registers the states `<name>.event-time` and `<name>.processing-time` with keys of `key_schema`.
    ///
    /// # Errors
    /// As [`KeyedStateBackend::register`].
    pub fn register(backend: &mut dyn KeyedStateBackend, name: &str, key_schema: &str) -> Result<Self> {
        let mut register = |domain: &str| {
            let descriptor = Timers::descriptor(&format!("{name}.{domain}")).with_key_schema(key_schema);
            Timers::register(backend, &descriptor)
        };
        Ok(TimerService { event_time: register("event-time")?, processing_time: register("processing-time")? })
    }

    /// The timers of one domain.
    pub fn timers(&mut self, domain: TimeDomain) -> &mut Timers {
        match domain {
            TimeDomain::EventTime => &mut self.event_time,
            TimeDomain::ProcessingTime => &mut self.processing_time,
        }
    }

    /// Sets a timer that fires when the operator's event time reaches `time_ms`.
    ///
    /// # Errors
    /// As the backend does; so do the calls below.
    pub fn register_event_time_timer(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        context: KeyContext<'_>,
        time_ms: i64,
    ) -> Result<()> {
        self.event_time.set(backend, context, time_ms)
    }

    /// Sets a timer that fires when the machine's clock reaches `time_ms`.
    pub fn register_processing_time_timer(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        context: KeyContext<'_>,
        time_ms: i64,
    ) -> Result<()> {
        self.processing_time.set(backend, context, time_ms)
    }

    /// Removes an event-time timer, if it is set.
    pub fn delete_event_time_timer(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        context: KeyContext<'_>,
        time_ms: i64,
    ) -> Result<()> {
        self.event_time.remove(backend, context, time_ms)
    }

    /// Removes a processing-time timer, if it is set.
    pub fn delete_processing_time_timer(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        context: KeyContext<'_>,
        time_ms: i64,
    ) -> Result<()> {
        self.processing_time.remove(backend, context, time_ms)
    }
}
