//! How much a reader has left to read of all its splits.

use super::messages::ReaderSetup;
use crate::source::Backlog;
use std::time::{Duration, Instant};

/// How often it is told.
const INTERVAL: Duration = Duration::from_millis(500);

/// The backlog of a reader's splits, and when it was told.
#[derive(Debug)]
pub(super) struct ReaderBacklog {
    splits: Vec<Option<Backlog>>,
    /// That of all of them, and of those that had ended before.
    sum: Option<Backlog>,
    told: Option<Instant>,
    told_end: bool,
}

impl ReaderBacklog {
    /// That of the splits that were read to their ends before.
    pub(super) fn of_finished(setup: &ReaderSetup) -> Self {
        let known = setup.finished.iter().filter_map(|(split, position)| setup.source.backlog(split, Some(position)));
        let sum = known.map(|backlog| Backlog { left: 0, ..backlog }).reduce(Backlog::plus);
        ReaderBacklog { splits: Vec::new(), sum, told: None, told_end: false }
    }

    /// Adds a split.
    pub(super) fn add(&mut self, backlog: Option<Backlog>) {
        self.splits.push(backlog);
        self.sum = match (self.sum, backlog) {
            (Some(sum), Some(backlog)) => Some(sum.plus(backlog)),
            (sum, backlog) => sum.or(backlog),
        };
        (self.told, self.told_end) = (None, false);
    }

    /// Takes up what is left of a split now.
    pub(super) fn stands(&mut self, place: usize, now: Option<Backlog>) {
        let (Some(before), Some(now), Some(sum)) = (self.splits[place], now, &mut self.sum) else { return };
        sum.total = (sum.total + now.total).saturating_sub(before.total);
        sum.left = (sum.left + now.left).saturating_sub(before.left);
        self.splits[place] = Some(now);
    }

    /// Takes up that nothing is left of a split.
    pub(super) fn ended(&mut self, place: usize) {
        self.stands(place, self.splits[place].map(|backlog| Backlog { left: 0, ..backlog }));
    }

    /// The sum, when it is time to tell it: now and then, and at the end.
    pub(super) fn news(&mut self, at_end: bool) -> Option<Backlog> {
        let is_time = self.told.is_none_or(|told| told.elapsed() >= INTERVAL) || (at_end && !self.told_end);
        if !is_time {
            return None;
        }
        self.told = Some(Instant::now());
        self.told_end = at_end;
        self.sum
    }
}
