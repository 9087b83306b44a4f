//! Pulling entries a batch at a time.

use crate::subject::{Entries, put, register, scan, scan_state, write};
use crate::{BackendFixture, Subject};
use headpond_state::{CursorLimits, EntryBatch, KeyedStateBackend, ScanRange, StateCursor, StateId};

/// Everything a cursor gives, and in how many batches.
fn pulled(
    keyed: &mut dyn KeyedStateBackend,
    state: StateId,
    range: &ScanRange<'_>,
    limits: CursorLimits,
    mut between: impl FnMut(&mut dyn KeyedStateBackend),
) -> (Entries, usize) {
    let mut cursor = StateCursor::open(state, range);
    let (mut batch, mut entries, mut batches) = (EntryBatch::new(), Entries::new(), 0);
    loop {
        let more = cursor.next_batch(keyed, limits, &mut batch).expect("the range is read");
        assert!(batch.len() <= limits.entries.max(1), "a batch is larger than its limit");
        let but_one: usize = batch.iter().rev().skip(1).map(|entry| entry.key.len() + entry.value.len()).sum();
        assert!(but_one < limits.bytes.max(1), "a batch went on after it was full");
        batches += usize::from(!batch.is_empty());
        entries.extend(batch.iter().map(|entry| (entry.key.to_vec(), entry.value.to_vec())));
        if !more {
            break;
        }
        between(keyed);
    }
    assert!(!cursor.next_batch(keyed, limits, &mut batch).expect("the end stays the end") && batch.is_empty());
    (entries, batches)
}

/// A cursor gives what a scan of its range visits, whatever the size of its batches, with writes behind it in between.
pub fn a_cursor_gives_what_a_scan_visits(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let state = register(&mut *keyed, &scan_state("s"));
    write(&mut *keyed, |batch| {
        for i in 0..600u16 {
            batch.put(state, &subject.key(i % 5, i.to_be_bytes()), &vec![i as u8; usize::from(i % 50)]);
        }
    });
    let first = subject.key(0, 0u16.to_be_bytes());
    let (prefix, from) = (subject.key(3, ""), subject.key(3, 100u16.to_be_bytes()));
    let (until, absent) = (subject.key(3, 500u16.to_be_bytes()), subject.key(9, ""));
    let ranges = [
        ScanRange::all(),
        ScanRange::prefix(&prefix),
        ScanRange::prefix(&prefix).at(&from).below(&until),
        ScanRange::prefix(&prefix).after(&from),
        ScanRange::all().limit(77),
        ScanRange::all().limit(0),
        ScanRange::prefix(&absent),
    ];
    let limits = [(1, usize::MAX), (7, usize::MAX), (usize::MAX, 1), (usize::MAX, 500), (0, 0), (11, 200)];
    for range in &ranges {
        let expected = scan(&mut *keyed, state, range);
        for (entries, bytes) in limits {
            let limits = CursorLimits { entries, bytes };
            let value = vec![0; 0];
            let (seen, batches) = pulled(&mut *keyed, state, range, limits, |keyed| put(keyed, state, &first, &value));
            assert_eq!(seen, expected, "{range:?} {limits:?}");
            assert!(batches >= expected.len().div_ceil(entries.max(1)), "{range:?} {limits:?}");
        }
    }
}

/// What is deleted in front of a cursor is not given, and what is written there is.
pub fn a_cursor_shows_the_state_as_it_is_at_each_batch(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut keyed = subject.open();
    let state = register(&mut *keyed, &scan_state("s"));
    let key = |i: u8| subject.key(2, [i]);
    write(&mut *keyed, |batch| (0..10).for_each(|i| batch.put(state, &key(2 * i), b"old")));
    let mut cursor = StateCursor::open(state, &ScanRange::all());
    let mut batch = EntryBatch::new();
    let limits = CursorLimits { entries: 4, bytes: usize::MAX };
    assert!(cursor.next_batch(&mut *keyed, limits, &mut batch).expect("the range is read"));
    write(&mut *keyed, |batch| {
        // Its own position, what lies before it, and what is to come.
        batch.delete(state, &key(6));
        batch.put(state, &key(1), b"new");
        batch.delete(state, &key(8));
        batch.put(state, &key(9), b"new");
    });
    assert!(cursor.next_batch(&mut *keyed, limits, &mut batch).expect("the range is read"));
    let seen: Entries = batch.iter().map(|entry| (entry.key.to_vec(), entry.value.to_vec())).collect();
    let expected = [(9, "new"), (10, "old"), (12, "old"), (14, "old")];
    assert_eq!(seen, expected.map(|(i, value)| (key(i), value.as_bytes().to_vec())));
}
