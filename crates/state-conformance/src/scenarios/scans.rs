//! Scans.

use crate::subject::{Entries, contents, point_state, register, scan, scan_state, write};
use crate::{BackendFixture, Subject};
use headpond_state::{KeyedStateBackend, ScanRange, StateDescriptor, StateId};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::ops::ControlFlow;

/// 300 keys of three lengths in three key groups, in order.
fn filled(subject: &Subject, descriptor: &StateDescriptor) -> (Box<dyn KeyedStateBackend>, StateId, Entries) {
    let mut keyed = subject.open();
    let state = register(&mut *keyed, descriptor);
    let mut entries = Entries::new();
    for group in [4, 5, 127] {
        for i in 0..100u8 {
            let rest = [i / 10, i % 10, i];
            let key = subject.key(group, &rest[..1 + usize::from(i % 10 != 0) + usize::from(i % 10 > 5)]);
            entries.push((key, vec![i; usize::from(i % 7)]));
        }
    }
    write(&mut *keyed, |batch| entries.iter().rev().for_each(|(key, value)| batch.put(state, key, value)));
    entries.sort();
    (keyed, state, entries)
}

/// A prefix's entries come in the order of their keys' bytes, and no others.
pub fn a_scan_visits_a_prefix_in_order(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let (mut keyed, state, entries) = filled(&subject, &scan_state("scan"));
    for prefix in [subject.key(5, ""), subject.key(5, [3]), subject.key(127, [9, 9]), subject.key(6, ""), vec![]] {
        let expected: Entries = entries.iter().filter(|(key, _)| key.starts_with(&prefix)).cloned().collect();
        assert_eq!(scan(&mut *keyed, state, &ScanRange::prefix(&prefix)), expected, "of prefix {prefix:?}");
    }
}

/// A scan may begin at or after a key, end before one, and visit no more than its limit.
pub fn a_scan_honours_start_end_and_limit(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    for descriptor in [scan_state("scan"), point_state("point")] {
        let (mut keyed, state, entries) = filled(&subject, &descriptor);
        let prefix = subject.key(5, "");
        let group: Entries = entries.iter().filter(|(key, _)| key.starts_with(&prefix)).cloned().collect();
        let range = ScanRange::prefix(&prefix);
        let (from, to) = (&group[20].0, &group[70].0);
        assert_eq!(scan(&mut *keyed, state, &range.at(from)), group[20..]);
        assert_eq!(scan(&mut *keyed, state, &range.after(from)), group[21..]);
        assert_eq!(scan(&mut *keyed, state, &range.below(to)), group[..70]);
        assert_eq!(scan(&mut *keyed, state, &range.at(from).below(to)), group[20..70]);
        assert_eq!(scan(&mut *keyed, state, &range.after(from).below(to).limit(7)), group[21..28]);
        assert_eq!(scan(&mut *keyed, state, &range.limit(0)), []);
        assert_eq!(scan(&mut *keyed, state, &range.at(to).below(from)), []);
        // Starts that are no key of the state: before the prefix, between two keys, beyond it.
        assert_eq!(scan(&mut *keyed, state, &range.at(&subject.key(4, [200]))), group);
        let between = [from.as_slice(), &[0]].concat();
        let begun: Entries = group.iter().filter(|(key, _)| *key >= between).cloned().collect();
        assert_eq!(scan(&mut *keyed, state, &range.after(&between)), begun);
        assert_eq!(scan(&mut *keyed, state, &range.at(&subject.key(6, ""))), []);
        assert_eq!(scan(&mut *keyed, state, &range.below(&subject.key(4, ""))), []);
    }
}

fn resumes(subject: &Subject, descriptor: &StateDescriptor) {
    let (mut keyed, state, entries) = filled(subject, descriptor);
    let mut seen = Entries::new();
    loop {
        let last = seen.last().map(|(key, _)| key.clone());
        let mut range = ScanRange::all();
        if let Some(last) = &last {
            range = range.after(last);
        }
        let mut visited = 0;
        let visit = &mut |entry: headpond_state::Entry<'_>| {
            seen.push((entry.key.to_vec(), entry.value.to_vec()));
            visited += 1;
            Ok(if visited == 17 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        };
        keyed.scan(state, &range, visit).expect("the range is scanned");
        if visited == 0 {
            break;
        }
        assert!(visited <= 17, "the scan went on after it was told to stop");
        // What is written behind or before the position does not disturb the rest.
        write(&mut *keyed, |batch| batch.put(state, &entries[0].0, &entries[0].1));
    }
    assert_eq!(seen, entries);
}

/// A scan that was stopped resumes after the last key seen and skips and repeats nothing.
pub fn a_scan_stops_when_told_and_resumes_after_a_key(fixture: &dyn BackendFixture) {
    resumes(&Subject::new(fixture), &scan_state("scan"));
}

/// The access pattern is a hint: a point state can be scanned.
pub fn a_point_state_is_scanned_in_order_too(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let (mut keyed, state, entries) = filled(&subject, &point_state("point"));
    assert_eq!(contents(&mut *keyed, state), entries);
    let prefix = subject.key(4, [7]);
    let expected: Entries = entries.iter().filter(|(key, _)| key.starts_with(&prefix)).cloned().collect();
    assert_eq!(scan(&mut *keyed, state, &ScanRange::prefix(&prefix)), expected);
    resumes(&subject, &point_state("point"));
}

/// With two-byte key groups the order of groups is the order of their numbers, and a prefix may be half of one.
pub fn a_scan_of_all_crosses_key_groups(fixture: &dyn BackendFixture) {
    let subject = Subject::with_max_parallelism(fixture, 300);
    let mut keyed = subject.open();
    for descriptor in [point_state("point"), scan_state("scan")] {
        let state = register(&mut *keyed, &descriptor);
        let groups = [0u16, 1, 127, 128, 255, 256, 257, 299];
        let entries: Entries = groups.iter().map(|&g| (subject.key(g, "k"), g.to_string().into_bytes())).collect();
        write(&mut *keyed, |batch| entries.iter().rev().for_each(|(key, value)| batch.put(state, key, value)));
        assert_eq!(contents(&mut *keyed, state), entries);
        assert_eq!(scan(&mut *keyed, state, &ScanRange::prefix(&[1])), entries[5..]);
        assert_eq!(scan(&mut *keyed, state, &ScanRange::prefix(&[1, 0])), entries[5..6]);
    }
}

/// A range of a random case, over keys of few bytes: prefix, where it begins, where it ends, how much of it, and after
/// how many entries the visitor stops.
#[derive(Debug, Clone)]
struct Case {
    prefix: Vec<u8>,
    start: Option<(bool, Vec<u8>)>,
    end: Option<Vec<u8>>,
    limit: usize,
    stop_after: usize,
}

impl Case {
    fn range(&self) -> ScanRange<'_> {
        let mut range = ScanRange::prefix(&self.prefix).limit(self.limit);
        range = match &self.start {
            Some((true, key)) => range.after(key),
            Some((false, key)) => range.at(key),
            None => range,
        };
        self.end.iter().fold(range, |range, end| range.below(end))
    }
}

fn any_case() -> impl Strategy<Value = Case> {
    let rest = || vec(prop_oneof![Just(0u8), Just(1), Just(7), Just(0xff)], 0..4);
    let key = move || {
        (prop_oneof![Just(4u8), Just(5), Just(126)], rest()).prop_map(|(group, rest)| [vec![group], rest].concat())
    };
    let prefix = prop_oneof![6 => key(), 1 => Just(Vec::new())];
    let limit = prop_oneof![2 => Just(usize::MAX), 1 => 0..5usize];
    let stop_after = prop_oneof![3 => Just(usize::MAX), 1 => 1..4usize];
    (prefix, option::of((any::<bool>(), key())), option::of(key()), limit, stop_after)
        .prop_map(|(prefix, start, end, limit, stop_after)| Case { prefix, start, end, limit, stop_after })
}

/// Puts and deletions, then ranges, in ascending order or not.
type Round = (Vec<(Case, bool)>, Vec<Case>, bool);

/// Scans told together visit what they visit one by one, in whatever order they come, between writes that put and
/// delete.
pub fn scans_told_together_agree_with_scans_one_by_one(fixture: &dyn BackendFixture) {
    let write_step = vec((any_case(), any::<bool>()), 0..40);
    let steps = vec((write_step, vec(any_case(), 0..50), any::<bool>()), 1..4);
    let config = Config { cases: 12, failure_persistence: None, max_shrink_iters: 500, ..Config::default() };
    let run = |steps: Vec<Round>| {
        for descriptor in [scan_state("scan"), point_state("point")] {
            let subject = Subject::new(fixture);
            let (mut keyed, state, _) = filled(&subject, &descriptor);
            for (writes, mut cases, sort) in steps.clone() {
                write(&mut *keyed, |batch| {
                    for (case, put) in &writes {
                        let Some((_, key)) = &case.start else { continue };
                        match (put, &case.end) {
                            (true, _) => batch.put(state, key, &case.prefix),
                            (false, None) => batch.delete(state, key),
                            (false, Some(end)) => batch.delete_range(state, key, end),
                        }
                    }
                });
                if sort {
                    cases.sort_by(|a, b| a.range().prefix.cmp(b.range().prefix));
                }
                agree(&mut *keyed, state, &cases);
            }
            keyed.close().expect("the instance closes");
        }
        Ok(())
    };
    if let Err(failure) = TestRunner::new(config).run(&steps, run) {
        panic!("{failure}");
    }
}

fn agree(keyed: &mut dyn KeyedStateBackend, state: StateId, cases: &[Case]) {
    let mut expected = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        let of_one = scan(keyed, state, &case.range());
        expected.extend(of_one.into_iter().take(case.stop_after).map(|(key, value)| (index, key, value)));
    }
    let ranges: Vec<_> = cases.iter().map(Case::range).collect();
    let (mut seen, mut visits) = (Vec::new(), vec![0; cases.len()]);
    let visit = &mut |index: usize, entry: headpond_state::Entry<'_>| {
        seen.push((index, entry.key.to_vec(), entry.value.to_vec()));
        visits[index] += 1;
        Ok(if visits[index] >= cases[index].stop_after { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    keyed.scan_many(state, &ranges, visit).expect("the ranges are scanned");
    assert_eq!(seen, expected);
}
