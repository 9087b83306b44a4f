//! List states.

use crate::sorted_backend::SortedBackend;
use headpond_state::codec::{Codec, FixedWidth};
use headpond_state::typed::{KeyContext, ListState};
use headpond_state::{MaxParallelism, OperatorClock, Result};
use proptest::prelude::*;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Self-delimiting keys: none is the beginning of another.
const KEYS: [&[u8]; 3] = [b"a\0", b"ab\0", b"\xff\xff\0"];

fn at(key: &[u8]) -> KeyContext<'_> {
    KeyContext::new(MaxParallelism::DEFAULT, key)
}

fn list_state(backend: &mut SortedBackend) -> ListState<i64> {
    let codec: Arc<dyn Codec<i64>> = Arc::new(FixedWidth);
    let descriptor = ListState::descriptor("list", &*codec);
    ListState::register(backend, &Arc::new(OperatorClock::default()), &descriptor, codec).expect("the state registers")
}

#[test]
fn elements_keep_the_order_of_appending() -> Result<()> {
    let mut backend = SortedBackend::default();
    let mut list = list_state(&mut backend);
    backend.take_reads();
    for element in [3, 1, 2] {
        list.add(&mut backend, at(KEYS[0]), &element)?;
        list.add(&mut backend, at(KEYS[1]), &-element)?;
    }
    list.add_all(&mut backend, at(KEYS[0]), &[1, 1])?;
    assert_eq!(backend.take_reads(), 0, "appending is blind");
    assert_eq!(list.get(&mut backend, at(KEYS[0]))?, [3, 1, 2, 1, 1]);
    assert_eq!(list.get(&mut backend, at(KEYS[1]))?, [-3, -1, -2]);
    assert_eq!(list.get(&mut backend, at(KEYS[2]))?, Vec::<i64>::new());
    Ok(())
}

#[test]
fn a_list_is_replaced_cleared_and_read_in_pieces() -> Result<()> {
    let mut backend = SortedBackend::default();
    let mut list = list_state(&mut backend);
    list.add_all(&mut backend, at(KEYS[0]), &[1, 2])?;
    list.add_all(&mut backend, at(KEYS[1]), &[9])?;
    list.update(&mut backend, at(KEYS[0]), &[4, 5, 6])?;
    let (mut pieces, mut after) = (Vec::new(), None);
    loop {
        let before = pieces.len();
        list.scan(&mut backend, at(KEYS[0]), after, &mut |sequence, element| {
            pieces.push(element);
            after = Some(sequence);
            if pieces.len() == before + 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if pieces.len() < before + 2 {
            break;
        }
    }
    assert_eq!(pieces, [4, 5, 6]);
    list.clear(&mut backend, at(KEYS[0]))?;
    assert_eq!(list.get(&mut backend, at(KEYS[0]))?, Vec::<i64>::new());
    assert_eq!(list.get(&mut backend, at(KEYS[1]))?, [9]);
    Ok(())
}

#[test]
fn appending_to_a_restored_list_looks_once_and_overwrites_nothing() -> Result<()> {
    let mut backend = SortedBackend::default();
    let elements: Vec<i64> = (0..1000).collect();
    list_state(&mut backend).add_all(&mut backend, at(KEYS[0]), &elements)?;
    let mut backend = backend.restart();
    let mut list = list_state(&mut backend);
    backend.take_reads();
    list.add(&mut backend, at(KEYS[0]), &1000)?;
    let looked = backend.take_reads();
    assert!((1..=24).contains(&looked), "{looked} reads to find the end of 1000 elements");
    list.add(&mut backend, at(KEYS[0]), &1001)?;
    assert_eq!(backend.take_reads(), 0);
    assert_eq!(list.get(&mut backend, at(KEYS[0]))?, (0..1002).collect::<Vec<i64>>());
    Ok(())
}

#[derive(Debug, Clone)]
enum Op {
    Add(usize, i64),
    AddMany(usize, usize),
    Replace(usize, usize),
    Clear(usize),
    Restart,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        5 => (0..3usize, any::<i64>()).prop_map(|(key, element)| Op::Add(key, element)),
        2 => (0..3usize, 0..40usize).prop_map(|(key, count)| Op::AddMany(key, count)),
        1 => (0..3usize, 0..3usize).prop_map(|(key, count)| Op::Replace(key, count)),
        1 => (0..3usize).prop_map(Op::Clear),
        2 => Just(Op::Restart),
    ]
}

proptest! {
    #[test]
    fn lists_are_as_a_vector_would_be_through_restarts(ops in proptest::collection::vec(op(), 0..40)) {
        let mut model: HashMap<usize, Vec<i64>> = HashMap::new();
        let mut backend = SortedBackend::default();
        let mut list = list_state(&mut backend);
        for op in ops {
            match op {
                Op::Add(key, element) => {
                    list.add(&mut backend, at(KEYS[key]), &element)?;
                    model.entry(key).or_default().push(element);
                }
                Op::AddMany(key, count) => {
                    let elements: Vec<i64> = (0..count as i64).collect();
                    list.add_all(&mut backend, at(KEYS[key]), &elements)?;
                    model.entry(key).or_default().extend(elements);
                }
                Op::Replace(key, count) => {
                    list.update(&mut backend, at(KEYS[key]), &vec![7; count])?;
                    model.insert(key, vec![7; count]);
                }
                Op::Clear(key) => {
                    list.clear(&mut backend, at(KEYS[key]))?;
                    model.remove(&key);
                }
                Op::Restart => {
                    backend = backend.restart();
                    list = list_state(&mut backend);
                }
            }
            for (key, bytes) in KEYS.iter().enumerate() {
                prop_assert_eq!(list.get(&mut backend, at(bytes))?, model.get(&key).cloned().unwrap_or_default());
            }
        }
    }
}
