//! Event time from the watermarks of all senders.

use crate::process::message::Watermark;

/// What one sender has said about event time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sender {
    /// Its watermark; when it has ended, the last one before.
    time_ms: i64,
    idle: bool,
    ended: bool,
}

impl Sender {
    /// A sender that has said nothing.
    pub(crate) const SILENT: Sender = Sender { time_ms: i64::MIN, idle: false, ended: false };

    /// A sender that may come.
    pub(crate) const TO_COME: Sender = Sender { time_ms: i64::MIN, idle: true, ended: false };

    pub(crate) fn observe(&mut self, time_ms: i64, idle: bool) {
        self.idle = idle;
        match time_ms {
            i64::MAX => self.ended = true,
            _ => self.time_ms = self.time_ms.max(time_ms),
        }
    }

    /// Its watermark, if it holds back event time.
    pub(crate) fn active_ms(self) -> Option<i64> {
        (!self.idle && !self.ended).then_some(self.time_ms)
    }
}

/// What all senders say together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CombinedWatermark {
    pub(crate) time_ms: i64,
    /// Whether nothing is to be expected but from idle senders.
    pub(crate) idle: bool,
}

impl CombinedWatermark {
    /// The least watermark of those that are neither idle nor have ended. Where none is left, the greatest of all:
    /// whoever is idle does not hold back what another had reached before. [`MAX`](i64::MAX) once all have ended, but
    /// not while one is idle, which may have rows again.
    pub(crate) fn of(senders: impl Iterator<Item = Sender> + Clone) -> Self {
        if let Some(least_ms) = senders.clone().filter_map(Sender::active_ms).min() {
            CombinedWatermark { time_ms: least_ms, idle: false }
        } else if senders.clone().all(|sender| sender.ended) {
            CombinedWatermark { time_ms: i64::MAX, idle: false }
        } else {
            CombinedWatermark { time_ms: greatest_ms(senders), idle: true }
        }
    }
}

/// The greatest watermark of any sender.
pub(super) fn greatest_ms(senders: impl Iterator<Item = Sender>) -> i64 {
    senders.map(|sender| sender.time_ms).max().unwrap_or(i64::MIN)
}

/// Event time, which never goes back, with what every sender of every input has said.
#[derive(Debug)]
pub(crate) struct EventTime {
    senders: Vec<Vec<Sender>>,
    now_ms: i64,
    idle: bool,
}

impl EventTime {
    /// For `inputs` inputs from `peers` workers each, standing at `restored_ms` (`i64::MIN` for a fresh start).
    pub(crate) fn new(inputs: usize, peers: usize, restored_ms: i64) -> Self {
        EventTime { senders: vec![vec![Sender::SILENT; peers]; inputs], now_ms: restored_ms, idle: false }
    }

    pub(crate) fn observe(&mut self, input: usize, watermark: Watermark) {
        self.senders[input][watermark.from].observe(watermark.time_ms, watermark.idle);
    }

    /// Moves event time on to what the senders say together, and returns it.
    pub(crate) fn advance(&mut self) -> i64 {
        let CombinedWatermark { time_ms, idle } = CombinedWatermark::of(self.senders.iter().flatten().copied());
        self.now_ms = self.now_ms.max(time_ms);
        self.idle = idle;
        self.now_ms
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.now_ms
    }

    /// Where event time stands, or stood before all senders ended.
    pub(crate) fn before_end_ms(&self) -> i64 {
        match self.now_ms {
            i64::MAX => greatest_ms(self.senders.iter().flatten().copied()),
            now_ms => now_ms,
        }
    }

    /// Whether nothing is to be expected but from idle senders.
    pub(crate) fn is_idle(&self) -> bool {
        self.idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event_time(senders: &[(usize, i64, bool)]) -> EventTime {
        let mut event_time = EventTime::new(1, 3, i64::MIN);
        tell(&mut event_time, senders);
        event_time
    }

    fn tell(event_time: &mut EventTime, senders: &[(usize, i64, bool)]) {
        for &(from, time_ms, idle) in senders {
            event_time.observe(0, Watermark { from, to: 0, time_ms, idle });
            event_time.advance();
        }
    }

    #[test]
    fn event_time_is_the_least_watermark_and_waits_for_everyone() {
        let mut event_time = event_time(&[(0, 5, false), (1, 3, false)]);
        assert_eq!(event_time.now_ms(), i64::MIN);
        tell(&mut event_time, &[(2, 4, false)]);
        assert_eq!((event_time.now_ms(), event_time.is_idle()), (3, false));
    }

    #[test]
    fn an_idle_sender_holds_nothing_back_until_it_is_active_again() {
        let mut event_time = event_time(&[(0, 5, false), (1, 3, false), (2, i64::MIN, true)]);
        assert_eq!((event_time.now_ms(), event_time.is_idle()), (3, false));
        tell(&mut event_time, &[(2, 1, false), (1, 9, false)]);
        assert_eq!(event_time.now_ms(), 3, "it never goes back, and waits");
        tell(&mut event_time, &[(2, 4, false)]);
        assert_eq!(event_time.now_ms(), 4);
    }

    #[test]
    fn when_all_are_idle_event_time_is_the_same_whoever_was_idle_first() {
        for order in [[0, 1, 2], [2, 1, 0]] {
            let mut event_time = event_time(&[(0, 5, false), (1, 3, false), (2, 1, false)]);
            tell(&mut event_time, &order.map(|from| (from, i64::MIN, true)));
            assert_eq!((event_time.now_ms(), event_time.is_idle()), (5, true));
        }
    }

    #[test]
    fn event_time_does_not_end_while_a_sender_is_idle() {
        let mut event_time = event_time(&[(0, 7, false), (0, i64::MAX, false), (1, i64::MAX, false), (2, 2, true)]);
        assert_eq!((event_time.now_ms(), event_time.is_idle()), (7, true));
        tell(&mut event_time, &[(2, 3, false)]);
        assert_eq!((event_time.now_ms(), event_time.is_idle()), (7, false));
        tell(&mut event_time, &[(2, i64::MAX, false)]);
        assert_eq!((event_time.now_ms(), event_time.before_end_ms()), (i64::MAX, 7));
    }
}
