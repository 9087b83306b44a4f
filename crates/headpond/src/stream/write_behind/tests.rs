use super::*;
use headpond_state::encoding::prefix_end;
use headpond_state::{CodecId, Entry, KeyedBackendParams, OperatorClock, OperatorId, StateBackend, StateKind};
use headpond_state_memory::HashMapStateBackend;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

fn backend() -> Box<dyn KeyedStateBackend> {
    let max_parallelism = MaxParallelism::DEFAULT;
    let params = KeyedBackendParams {
        operator: OperatorId::new("held"),
        subtask: 0,
        key_groups: max_parallelism.range_of(0, 1),
        max_parallelism,
        clock: Arc::new(OperatorClock::default()),
        local_dir: std::env::temp_dir(),
    };
    HashMapStateBackend::new().open_keyed(params, &[]).expect("a backend")
}

/// Numbers that look random, the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u8) -> u8 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(end)) as u8
    }

    fn key(&mut self) -> [u8; 3] {
        [self.below(2), 7, self.below(6)]
    }
}

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

fn scan(backend: &mut dyn KeyedStateBackend, state: StateId, prefix: &[u8]) -> Entries {
    let mut entries = Vec::new();
    let visit = &mut |entry: Entry<'_>| {
        entries.push((entry.key.to_vec(), entry.value.to_vec()));
        Ok(ControlFlow::Continue(()))
    };
    backend.scan(state, &ScanRange::prefix(prefix), visit).expect("readable");
    entries
}

#[test]
fn what_is_read_is_what_was_written_whether_held_or_not() {
    for (seed, enabled) in (0..300).map(|seed| (seed, seed % 3 > 0)) {
        let mut random = Random(seed);
        let mut backend = backend();
        let states = ["one", "two"].map(|name| {
            let descriptor = StateDescriptor::new(name, StateKind::Map, CodecId::new("bytes", 1));
            backend.register(&descriptor).expect("registered")
        });
        let mut held = WriteBehind::new(enabled);
        let mut models: [BTreeMap<Vec<u8>, Vec<u8>>; 2] = Default::default();
        for _ in 0..20 {
            let record_keys: Vec<_> = (0..8).map(|_| random.key()).collect();
            held.begin_batch(backend.as_mut(), record_keys.iter().map(<[u8; 3]>::as_slice)).expect("readable");
            for record_key in &record_keys {
                let mut over = held.over(backend.as_mut(), record_key);
                for (state, model) in states.into_iter().zip(&mut models) {
                    let mut found = None;
                    over.read(state, record_key, &mut |value| {
                        found = Some(value.to_vec());
                        Ok(())
                    })
                    .expect("readable");
                    assert_eq!(found.as_ref(), model.get(record_key.as_slice()), "seed {seed}");
                    let key = random.key();
                    let mut batch = WriteBatch::new();
                    match random.below(12) {
                        0..4 => {
                            let value = vec![random.below(250)];
                            batch.put(state, &key, &value);
                            model.insert(key.to_vec(), value);
                        }
                        4..7 => {
                            batch.delete(state, &key);
                            model.remove(key.as_slice());
                        }
                        7 => {
                            let mut end = key[..2].to_vec();
                            assert!(prefix_end(&mut end));
                            batch.put(state, &key, b"gone");
                            batch.delete_range(state, &key[..2], &end);
                            model.retain(|other, _| !other.starts_with(&key[..2]));
                        }
                        8 => {
                            let expected = model.iter().filter(|(other, _)| other.starts_with(&key[..2]));
                            let expected: Entries = expected.map(|(k, v)| (k.clone(), v.clone())).collect();
                            assert_eq!(scan(&mut over, state, &key[..2]), expected, "seed {seed}");
                        }
                        9 => {
                            let mut keys = KeyBatch::new();
                            [random.key(), key].iter().for_each(|key| keys.push(key));
                            let visit = &mut |nth: usize, value: Option<&[u8]>| {
                                assert_eq!(value, model.get(keys.get(nth)).map(Vec::as_slice), "seed {seed}");
                                Ok(())
                            };
                            over.read_many(state, &keys, visit).expect("readable");
                        }
                        _ => continue,
                    }
                    over.write(&mut batch).expect("writable");
                    assert!(batch.is_empty());
                }
            }
            held.end_batch(backend.as_mut(), record_keys.len()).expect("writable");
            for (state, model) in states.into_iter().zip(&models) {
                let expected: Entries = model.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
                assert_eq!(scan(backend.as_mut(), state, &[]), expected, "seed {seed}: nothing is held any more");
            }
            assert!(!enabled || held.states.iter().all(|state| state.read_by_most));
        }
    }
}

#[test]
fn more_than_the_bound_is_not_held() {
    let mut backend = backend();
    let descriptor = StateDescriptor::new("large", StateKind::Value, CodecId::new("bytes", 1));
    let state = backend.register(&descriptor).expect("registered");
    let mut held = WriteBehind::new(true);
    let mut batch = WriteBatch::new();
    for key in 0..40_u8 {
        batch.put(state, &[0, key], &vec![key; 1 << 20]);
        held.over(backend.as_mut(), &[]).write(&mut batch).expect("writable");
        assert!(held.bytes <= HELD_BYTES);
    }
    assert!(
        backend
            .read(state, &[0, 0], &mut |value| {
                assert_eq!(value.len(), 1 << 20);
                Ok(())
            })
            .expect("readable")
    );
    held.end_batch(backend.as_mut(), 0).expect("writable");
    assert_eq!(backend.usage().entries, 40);
}
