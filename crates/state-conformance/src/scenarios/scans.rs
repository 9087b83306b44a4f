//! Scans.

use crate::subject::{Entries, contents, point_state, register, scan, scan_state, write};
use crate::{BackendFixture, Subject};
use headpond_state::{Flow, KeyedStateBackend, ScanRange, StateDescriptor, StateId};

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
            if visited == 17 { Flow::Stop } else { Flow::Continue }
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
