//! Which split a reader reads next.
//!
//! Of splits with event time it is the one that is furthest behind: what an operator keeps open lies between the split
//! that is furthest behind and the one that is furthest ahead, so this keeps state small. Where a split stands is its
//! *bound*: the watermark of what was read of it or, before that, what its first row says. Files that follow one
//! another in time are thereby read one after another. Without event time splits are read in order if they end, else
//! in turn.

use std::time::{Duration, Instant};

/// Every so many batches one goes to the split that was not read for the longest time, if splits do not end: one that
/// is far ahead in event time has rows for others than windows, too.
const FAIR_EVERY: u64 = 8;
/// Time in which a split has nothing to read is taken from the others: at most one part of so many.
const WAITING_SHARE: u32 = 4;

/// What kind of splits there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SplitKind {
    /// Whether rows tell event time.
    pub(crate) event_time: bool,
    /// Whether each split ends.
    pub(crate) ends: bool,
}

/// The choice among a reader's splits, which are known by their places in its list.
#[derive(Debug)]
pub(crate) struct Choice {
    kind: SplitKind,
    splits: Vec<Candidate>,
    /// The places of those that have not ended.
    left: Vec<usize>,
    batches: u64,
    /// Before this no split that waits is asked again while another has rows.
    ask_again_at: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Candidate {
    /// `None`: nothing is known of it.
    bound_ms: Option<i64>,
    /// It had nothing to read when it was asked last.
    waits: bool,
    /// When it was asked last, counted in batches.
    asked: u64,
}

impl Choice {
    pub(crate) fn new(kind: SplitKind) -> Self {
        Choice { kind, splits: Vec::new(), left: Vec::new(), batches: 0, ask_again_at: None }
    }

    /// Adds a split that stands at `bound_ms`, where it is known.
    pub(crate) fn add(&mut self, bound_ms: Option<i64>) {
        // A split that does not end is opened anyway, and what it says is soon known.
        let known = !(self.kind.event_time && self.kind.ends);
        let bound_ms = bound_ms.or(known.then_some(i64::MIN));
        self.left.push(self.splits.len());
        self.splits.push(Candidate { bound_ms, waits: false, asked: 0 });
    }

    /// Splits that have not ended.
    pub(crate) fn left(&self) -> usize {
        self.left.len()
    }

    /// A split whose first row must be looked at before others may be read: where it stands is not known. The only one
    /// is read without that.
    pub(crate) fn unknown(&mut self) -> Option<usize> {
        let unknown = self.left.iter().copied().find(|&place| self.splits[place].bound_ms.is_none())?;
        if self.left.len() > 1 {
            return Some(unknown);
        }
        self.splits[unknown].bound_ms = Some(i64::MIN);
        None
    }

    /// The split to read a batch from, among those of which something is known.
    pub(crate) fn next(&mut self, now: Instant) -> Option<usize> {
        self.batches += 1;
        let may_ask = self.known(false).next().is_none() || self.ask_again_at.is_none_or(|at| now >= at);
        if may_ask && let Some(waiting) = self.longest_not_asked(true) {
            return Some(waiting);
        }
        let in_turn = !self.kind.ends && (!self.kind.event_time || self.batches.is_multiple_of(FAIR_EVERY));
        if in_turn {
            return self.longest_not_asked(false);
        }
        self.known(false).min_by_key(|&place| {
            let Candidate { bound_ms, asked, .. } = self.splits[place];
            (bound_ms, if self.kind.ends { 0 } else { asked })
        })
    }

    /// Splits of which something is known, that wait or do not.
    fn known(&self, waits: bool) -> impl Iterator<Item = usize> + '_ {
        let left = self.left.iter().copied();
        left.filter(move |&place| self.splits[place].bound_ms.is_some() && self.splits[place].waits == waits)
    }

    fn longest_not_asked(&self, waits: bool) -> Option<usize> {
        self.known(waits).min_by_key(|&place| self.splits[place].asked)
    }

    /// A split's first row was looked at, or it gave rows: it stands at `bound_ms`.
    pub(crate) fn stands(&mut self, place: usize, bound_ms: i64) {
        self.splits[place] = Candidate { bound_ms: Some(bound_ms), waits: false, asked: self.batches };
    }

    /// A split had nothing to read, and took this long to say so.
    pub(crate) fn waits(&mut self, place: usize, now: Instant, took: Duration) {
        let split = &mut self.splits[place];
        (split.waits, split.asked) = (true, self.batches);
        split.bound_ms = split.bound_ms.or(Some(i64::MIN));
        self.ask_again_at = Some(now + took * (WAITING_SHARE - 1));
    }

    /// A split has ended.
    pub(crate) fn ended(&mut self, place: usize) {
        self.left.retain(|left| *left != place);
    }

    /// Of these splits the one that will be read last.
    pub(crate) fn last_of(&self, places: impl Iterator<Item = usize>) -> Option<usize> {
        places.max_by_key(|&place| (self.splits[place].bound_ms, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(event_time: bool, ends: bool, bounds: &[Option<i64>]) -> Choice {
        let mut choice = Choice::new(SplitKind { event_time, ends });
        bounds.iter().for_each(|bound| choice.add(*bound));
        choice
    }

    #[test]
    fn the_split_furthest_behind_is_next_once_something_is_known_of_all() {
        let now = Instant::now();
        let mut choice = choice(true, true, &[None, Some(30), None]);
        assert_eq!(choice.unknown(), Some(0));
        choice.stands(0, 20);
        assert_eq!(choice.unknown(), Some(2));
        choice.stands(2, 20);
        assert_eq!((choice.unknown(), choice.next(now)), (None, Some(0)));
        choice.stands(0, 25);
        assert_eq!(choice.next(now), Some(2));
        choice.stands(2, 40);
        choice.ended(0);
        assert_eq!((choice.next(now), choice.left()), (Some(1), 2));
        choice.ended(1);
        choice.ended(2);
        assert_eq!((choice.next(now), choice.left()), (None, 0));
    }

    #[test]
    fn a_single_split_is_read_without_a_look_at_it() {
        let mut choice = choice(true, true, &[None]);
        assert_eq!((choice.unknown(), choice.next(Instant::now())), (None, Some(0)));
    }

    #[test]
    fn a_split_that_waits_costs_the_others_a_quarter_of_the_time_at_most_and_is_not_forgotten() {
        let now = Instant::now();
        let mut choice = choice(true, false, &[Some(0), Some(10)]);
        assert_eq!(choice.next(now), Some(0));
        choice.waits(0, now, Duration::from_millis(20));
        assert_eq!(choice.next(now + Duration::from_millis(59)), Some(1));
        choice.stands(1, 11);
        assert_eq!(choice.next(now + Duration::from_millis(60)), Some(0));
        choice.waits(1, now, Duration::from_millis(20));
        choice.waits(0, now, Duration::from_millis(20));
        assert!(choice.next(now).is_some(), "where all wait, somebody is asked");
    }

    #[test]
    fn splits_without_end_take_turns_however_far_ahead_one_is() {
        for event_time in [false, true] {
            let mut choice = choice(event_time, false, &[Some(1_000_000), Some(0)]);
            let mut turns = [0; 2];
            for step in 0..80 {
                let place = choice.next(Instant::now()).expect("a split");
                turns[place] += 1;
                choice.stands(place, if place == 0 { 1_000_000 + step } else { step });
            }
            assert!(turns[0] >= 10 && turns[1] >= 40, "{turns:?}");
        }
    }
}
