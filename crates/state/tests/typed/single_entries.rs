//! Value, reducing and aggregating states.

use crate::sorted_backend::SortedBackend;
use headpond_state::codec::{Codec, Counter, FixedWidth, Utf8};
use headpond_state::encoding::{NO_NAMESPACE, window_namespace};
use headpond_state::ttl::TtlConfig;
use headpond_state::typed::{AggregateFunction, AggregatingState, KeyContext, ListState, ReducingState, ValueState};
use headpond_state::{CodecId, Context, Error, ErrorKind, MaxParallelism, MergeOperator, OperatorClock, Result};
use std::sync::Arc;

fn clock() -> Arc<OperatorClock> {
    Arc::new(OperatorClock::default())
}

fn at(key: &[u8]) -> KeyContext<'_> {
    KeyContext::new(MaxParallelism::DEFAULT, key)
}

fn value_state(backend: &mut SortedBackend) -> ValueState<i64> {
    let codec: Arc<dyn Codec<i64>> = Arc::new(FixedWidth);
    let descriptor = ValueState::descriptor("value", &*codec);
    ValueState::register(backend, &clock(), &descriptor, codec).expect("the state registers")
}

#[test]
fn values_belong_to_their_key_and_namespace() -> Result<()> {
    let mut backend = SortedBackend::default();
    let mut state = value_state(&mut backend);
    let mut window = Vec::new();
    window_namespace(0, 60_000, &mut window);
    state.set(&mut backend, at(b"a"), &1)?;
    state.set(&mut backend, at(b"a").in_namespace(&window), &2)?;
    state.set(&mut backend, at(b"b"), &3)?;
    state.clear(&mut backend, at(b"b"))?;
    assert_eq!(state.get(&mut backend, at(b"a").in_namespace(NO_NAMESPACE))?, Some(1));
    assert_eq!(state.get(&mut backend, at(b"a").in_namespace(&window))?, Some(2));
    assert_eq!(state.get(&mut backend, at(b"b"))?, None);

    let mut backend = backend.restart();
    assert_eq!(value_state(&mut backend).get(&mut backend, at(b"a"))?, Some(1));
    Ok(())
}

#[test]
fn many_values_are_read_and_written_together() -> Result<()> {
    let mut backend = SortedBackend::default();
    let mut state = value_state(&mut backend);
    state.set(&mut backend, at(b"a"), &10)?;
    state.set(&mut backend, at(b"b"), &20)?;
    backend.take_reads();
    state.update_many(&mut backend, &[at(b"a"), at(b"b"), at(b"c"), at(b"d")], |index, old| {
        Ok(match index {
            0 => old.map(|old| old + 1),
            2 => Some(30),
            _ => None,
        })
    })?;
    assert_eq!(backend.take_reads(), 1);
    let read: Vec<_> = [b"a", b"b", b"c", b"d"].map(|key| state.get(&mut backend, at(key)).expect("a value")).to_vec();
    assert_eq!(read, [Some(11), None, Some(30), None]);
    assert_eq!(backend.len(), 2);
    Ok(())
}

#[test]
fn a_failed_change_writes_nothing_and_names_the_state() -> Result<()> {
    let mut backend = SortedBackend::default();
    let mut state = value_state(&mut backend);
    let error = state
        .update_many(&mut backend, &[at(b"a"), at(b"b")], |index, _| {
            if index == 0 { Ok(Some(1)) } else { Err(Error::invalid("the sum overflows")) }
        })
        .expect_err("the second change fails");
    assert_eq!(error.place(Context::State), Some("value"));
    state.set(&mut backend, at(b"c"), &3)?;
    assert_eq!(state.get(&mut backend, at(b"a"))?, None);
    assert_eq!(backend.len(), 1);
    Ok(())
}

#[test]
fn damaged_values_are_errors_that_name_the_state() -> Result<()> {
    let mut backend = SortedBackend::default();
    let mut state = value_state(&mut backend);
    state.set(&mut backend, at(b"a"), &1)?;
    backend.overwrite(&[1, 2, 3]);
    let error = state.get(&mut backend, at(b"a")).expect_err("three bytes are no i64");
    assert_eq!((error.kind(), error.place(Context::State)), (ErrorKind::Corrupt, Some("value")));
    backend.overwrite(&[9; 9]);
    let error = state.get(&mut backend, at(b"a")).expect_err("version 9 is not known");
    assert_eq!(error.kind(), ErrorKind::Incompatible);
    Ok(())
}

#[test]
fn a_state_is_used_as_it_was_declared() {
    let mut backend = SortedBackend::default();
    let codec: Arc<dyn Codec<i64>> = Arc::new(FixedWidth);
    let declared = ListState::descriptor("list", &*codec);
    let error = ValueState::register(&mut backend, &clock(), &declared, Arc::clone(&codec)).expect_err("a list");
    assert_eq!((error.kind(), error.place(Context::State)), (ErrorKind::Invalid, Some("list")));
    let text = ValueState::descriptor("text", &Utf8);
    assert!(ValueState::register(&mut backend, &clock(), &text, Arc::clone(&codec)).is_err());
    let no_ttl = ValueState::descriptor("value", &*codec).with_ttl(Some(TtlConfig::new(0)));
    assert!(ValueState::register(&mut backend, &clock(), &no_ttl, codec).is_err());
}

#[test]
fn reducing_state_folds() -> Result<()> {
    let mut backend = SortedBackend::default();
    let codec: Arc<dyn Codec<i64>> = Arc::new(FixedWidth);
    let greatest = |old: i64, new: &i64| Ok(old.max(*new));
    let descriptor = ReducingState::descriptor("greatest", &*codec);
    let mut state = ReducingState::register(&mut backend, &clock(), &descriptor, codec, greatest)?;
    for value in [3, 7, 5] {
        state.add(&mut backend, at(b"a"), value)?;
    }
    state.add_many(&mut backend, &[at(b"a"), at(b"b")], |index| [9, 1][index])?;
    assert_eq!(state.get(&mut backend, at(b"a"))?, Some(9));
    assert_eq!(state.get(&mut backend, at(b"b"))?, Some(1));
    state.clear(&mut backend, at(b"a"))?;
    assert_eq!(state.get(&mut backend, at(b"a"))?, None);
    Ok(())
}

#[test]
fn a_merge_operator_makes_adding_blind() -> Result<()> {
    let mut backend = SortedBackend::default();
    let codec: Arc<dyn Codec<i64>> = Arc::new(Counter);
    let descriptor = ReducingState::descriptor("count", &*codec).with_merge(MergeOperator::AddI64);
    let sum = |old: i64, new: &i64| Ok(old.wrapping_add(*new));
    let mut state = ReducingState::register(&mut backend, &clock(), &descriptor, codec, sum)?;
    backend.take_reads();
    for value in [1, 2, 4] {
        state.add(&mut backend, at(b"a"), value)?;
    }
    assert_eq!(backend.take_reads(), 0);
    assert_eq!(state.get(&mut backend, at(b"a"))?, Some(7));
    Ok(())
}

#[test]
fn a_merge_operator_needs_its_codec_and_no_ttl() {
    let mut backend = SortedBackend::default();
    let sum: fn(i64, &i64) -> Result<i64> = |old, new| Ok(old + new);
    let wide: Arc<dyn Codec<i64>> = Arc::new(FixedWidth);
    let descriptor = ReducingState::descriptor("count", &*wide).with_merge(MergeOperator::AddI64);
    assert!(ReducingState::register(&mut backend, &clock(), &descriptor, wide, sum).is_err());
    let counter: Arc<dyn Codec<i64>> = Arc::new(Counter);
    let descriptor = ReducingState::descriptor("count", &*counter)
        .with_merge(MergeOperator::AddI64)
        .with_ttl(Some(TtlConfig::new(1)));
    let error = ReducingState::register(&mut backend, &clock(), &descriptor, counter, sum).expect_err("a TTL");
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[derive(Debug)]
struct Mean;

impl AggregateFunction for Mean {
    type Input = f64;
    type Accumulator = (u64, f64);
    type Output = f64;

    fn create(&self) -> (u64, f64) {
        (0, 0.0)
    }

    fn add(&self, (count, sum): &mut (u64, f64), input: &f64) -> Result<()> {
        *count += 1;
        *sum += input;
        Ok(())
    }

    fn result(&self, (count, sum): &(u64, f64)) -> Result<f64> {
        Ok(sum / *count as f64)
    }
}

#[test]
fn aggregating_state_keeps_an_accumulator() -> Result<()> {
    let mut backend = SortedBackend::default();
    let codec: Arc<dyn Codec<(u64, f64)>> = Arc::new(CountAndSum);
    let descriptor = AggregatingState::<Mean>::descriptor("mean", &*codec);
    let mut state = AggregatingState::register(&mut backend, &clock(), &descriptor, codec, Mean)?;
    assert_eq!(state.get(&mut backend, at(b"UA"))?, None);
    state.add(&mut backend, at(b"UA"), &1.0)?;
    let rows = [vec![2.0, 6.0], vec![5.0]];
    state.update_many(&mut backend, &[at(b"UA"), at(b"EV")], |index, mean, accumulator| {
        rows[index].iter().try_for_each(|input| mean.add(accumulator, input))
    })?;
    assert_eq!(state.get(&mut backend, at(b"UA"))?, Some(3.0));
    assert_eq!(state.get(&mut backend, at(b"EV"))?, Some(5.0));
    state.clear(&mut backend, at(b"EV"))?;
    assert_eq!(state.get(&mut backend, at(b"EV"))?, None);
    Ok(())
}

/// How many there were, and their sum.
#[derive(Debug)]
struct CountAndSum;

impl Codec<(u64, f64)> for CountAndSum {
    fn id(&self) -> CodecId {
        CodecId::new("count-and-sum", 1)
    }

    fn schema(&self) -> String {
        "count and sum".to_owned()
    }

    fn encode(&self, (count, sum): &(u64, f64), out: &mut Vec<u8>) -> Result<()> {
        FixedWidth.encode(count, out)?;
        FixedWidth.encode(sum, out)
    }

    fn decode(&self, bytes: &[u8]) -> Result<(u64, f64)> {
        let (count, sum) = bytes.split_at(bytes.len() / 2);
        Ok((FixedWidth.decode(count)?, FixedWidth.decode(sum)?))
    }
}
