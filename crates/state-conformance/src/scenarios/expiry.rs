//! What expires, and the space it takes. Whether it is read is for [`expiry_model`](super::expiry_model).

use crate::aging::{Aging, End};
use crate::subject::{as_in_manifest, point_state, register, scan_state, write};
use crate::{BackendFixture, Subject};
use headpond_state::codec::{Codec, FixedWidth};
use headpond_state::ttl::{self, TimeDomain, TtlConfig};
use headpond_state::typed::{KeyContext, ValueState};
use headpond_state::{
    CheckpointId, KeyedStateBackend, KeyedStateHandle, OperatorClock, ScanRange, SnapshotOptions, StateDescriptor,
};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A backend's instance restored at the time of a cut sees what had not expired then, though the files were made later:
/// event time is that of the cut, and rows that come again must find what they found the first time.
pub fn a_checkpoint_keeps_what_had_not_expired_at_its_cut(fixture: &dyn BackendFixture) {
    for (domain, descriptor) in [
        (TimeDomain::EventTime, point_state("s")),
        (TimeDomain::EventTime, scan_state("s")),
        (TimeDomain::ProcessingTime, point_state("s")),
    ] {
        let subject = Subject::new(fixture);
        let descriptor = descriptor.with_ttl(Some(TtlConfig { domain, ..TtlConfig::new(100) }));
        let mut keyed = subject.open();
        let state = register(&mut *keyed, &descriptor);
        let put = |keyed: &mut dyn KeyedStateBackend, index: u16, stamp_ms: i64| {
            let mut value = Vec::new();
            ttl::seal(stamp_ms, &mut value);
            write(keyed, |batch| batch.put(state, &subject.key(index % 128, index.to_be_bytes()), &value));
        };
        // Two rounds of files that could be merged, the first of which has expired at the cut.
        for (stamp_ms, id) in [(0, 1), (40, 2), (90, 3)] {
            (0..300).for_each(|index| put(&mut *keyed, index + 300 * id, stamp_ms));
            subject.checkpoint(&mut *keyed, u64::from(id));
        }
        let move_to = |now_ms| {
            subject.clock().advance_to(now_ms);
            subject.clock().advance_event_time_to(now_ms);
        };
        move_to(120);
        let options = SnapshotOptions { compact: true, ..SnapshotOptions::default() };
        let snapshot = keyed.snapshot(CheckpointId(9), &options).expect("a snapshot");
        move_to(1000);
        put(&mut *keyed, 1, 1000);
        (0..50).for_each(|_| keyed.time_passed().expect("an open instance"));
        let handle = as_in_manifest(&snapshot.upload(&subject.store().sink()).expect("the snapshot uploads"));
        keyed.close().expect("the instance closes");

        let clock = OperatorClock::new(120);
        clock.advance_event_time_to(120);
        subject.set_clock(clock);
        let mut keyed = subject.restore(&[handle]);
        let state = register(&mut *keyed, &descriptor);
        let mut live = 0;
        keyed
            .scan(state, &ScanRange::all(), &mut |entry| {
                live += u32::from(ttl::open(entry.value)?.stamp_ms >= 40);
                Ok(ControlFlow::Continue(()))
            })
            .expect("the state is scanned");
        assert_eq!(live, 600, "{domain:?}: entries that were live at the cut");
    }
}

/// Values of a state, restored with a TTL: those of the keys 0 to 99.
struct Restored {
    keyed: Box<dyn KeyedStateBackend>,
    values: ValueState<i64>,
}

impl Restored {
    fn open(subject: &Subject, ttl_ms: i64, handles: &[KeyedStateHandle]) -> Self {
        let codec: Arc<dyn Codec<i64>> = Arc::new(FixedWidth);
        let descriptor: StateDescriptor =
            ValueState::descriptor("value", &*codec).with_ttl(Some(TtlConfig::new(ttl_ms)));
        let mut keyed = subject.restore(handles);
        let values = ValueState::register(&mut *keyed, &subject.clock(), &descriptor, codec).expect("a state");
        Restored { keyed, values }
    }

    /// How many of the values are read.
    fn visible(&mut self, subject: &Subject) -> usize {
        let max = subject.max_parallelism();
        let mut visible = |key: u8| self.values.get(&mut *self.keyed, KeyContext::new(max, &[key])).expect("a read");
        (0..100).filter(|key| visible(*key).is_some()).count()
    }

    /// A checkpoint that merges all files, then the end.
    fn close(mut self, subject: &Subject, id: u64) -> KeyedStateHandle {
        let options = SnapshotOptions { compact: true, ..SnapshotOptions::default() };
        (0..20).for_each(|_| self.keyed.time_passed().expect("an open instance"));
        let (handle, _) = subject.checkpoint_on(&mut *self.keyed, id, &[], &options);
        self.keyed.close().expect("the instance closes");
        handle
    }
}

/// A TTL may be longer or shorter in the next run: entries live by the new one, from their last access on. What had
/// expired under the old one may be gone.
pub fn a_changed_ttl_takes_effect_at_restore(fixture: &dyn BackendFixture) {
    let subject = Subject::new(fixture);
    let mut run = Restored::open(&subject, 100, &[]);
    for key in 0..100u8 {
        let bytes = [key];
        let context = KeyContext::new(subject.max_parallelism(), &bytes);
        run.values.set(&mut *run.keyed, context, &i64::from(key)).expect("a write");
    }
    subject.clock().advance_to(99);
    let handle = run.close(&subject, 1);

    let mut run = Restored::open(&subject, 1000, std::slice::from_ref(&handle));
    subject.clock().advance_to(500);
    assert_eq!(run.visible(&subject), 100, "a longer TTL");
    let handle = run.close(&subject, 2);
    let mut run = Restored::open(&subject, 1000, std::slice::from_ref(&handle));
    subject.clock().advance_to(999);
    assert_eq!(run.visible(&subject), 100, "after files were merged under the longer TTL");
    let handle = run.close(&subject, 3);

    let mut run = Restored::open(&subject, 10, std::slice::from_ref(&handle));
    assert_eq!(run.visible(&subject), 0, "a shorter TTL");
    subject.clock().advance_to(1020);
    let handle = run.close(&subject, 4);
    let mut run = Restored::open(&subject, i64::MAX, std::slice::from_ref(&handle));
    assert_eq!(run.visible(&subject), 0, "what was given back does not return");
    run.keyed.close().expect("the instance closes");
}

/// With keys that come, expire or are deleted and never return, memory and local disk stay under 1.2 times what is
/// live, and a few megabytes: 12 of the 18 that are written here. What a backend holds in memory as a cache of its
/// files follows its own budget.
pub fn space_follows_what_is_live(fixture: &dyn BackendFixture) {
    for end in [End::Expiry(TimeDomain::EventTime), End::Deletion] {
        let subject = Subject::new(fixture);
        let on_disk = subject.capabilities().state_on_disk;
        let aging = Aging {
            end,
            ttl_ms: 60_000,
            ttls: 12,
            live: 750,
            writes_per_key: 1,
            value_len: 2_000,
            checkpoints_per_ttl: if on_disk { 4 } else { 0 },
        };
        let keyed = aging.run(&subject, &mut |moment| {
            let bound = moment.live_bytes * 12 / 10 + 12_000_000;
            let taken = if on_disk { moment.usage.disk_bytes } else { moment.usage.memory_bytes };
            assert!(taken <= bound, "{end:?}: {taken} bytes are more than {bound}: {moment:?}");
        });
        if matches!(end, End::Expiry(_)) {
            let reclaimed = keyed.usage().reclaimed_bytes;
            assert!(reclaimed >= 6_000_000, "{end:?}: {reclaimed} bytes of 16 MB that have expired were given back");
        }
        keyed.close().expect("the instance closes");
    }
}
