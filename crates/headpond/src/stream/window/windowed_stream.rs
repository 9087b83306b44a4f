//! A keyed stream cut into windows.

use super::super::data_stream::DataStream;
use super::super::fold::{Aggregate, Fold, FoldInto, MergingAggregate, MergingFold, Reduce};
use super::super::keyed_function::OneInput;
use super::super::keyed_stream::KeyedStream;
use super::super::record::Record;
use super::super::side_output::OutputTag;
use super::super::state::AggregateFunction;
use super::assigners::milliseconds;
use super::fixed::FixedWindowFunction;
use super::session::SessionWindowFunction;
use super::windowed::Windowed;
use super::{FixedWindows, Lateness, SessionWindows};
use headpond_state::encoding::KeyComponent;
use std::any::type_name;
use std::marker::PhantomData;
use std::time::Duration;

/// A keyed stream cut into windows; see the [module](super).
#[derive(Debug)]
pub struct WindowedStream<T, K, W> {
    stream: KeyedStream<T, K>,
    windows: W,
    allowed_lateness_ms: i64,
    late_output: Option<&'static str>,
    state_version: u8,
}

impl<T: Record, K: KeyComponent + Record, W> WindowedStream<T, K, W> {
    pub(crate) fn new(stream: KeyedStream<T, K>, windows: W) -> Self {
        WindowedStream { stream, windows, allowed_lateness_ms: 0, late_output: None, state_version: 1 }
    }

    /// Keeps a window for this long, in event time, after it has passed. A record that comes meanwhile makes it give
    /// its result again.
    #[must_use]
    pub fn allowed_lateness(mut self, lateness: Duration) -> Self {
        self.allowed_lateness_ms = milliseconds(lateness);
        self
    }

    /// Gives records that come too late to a side output, which is read from the stream of results with
    /// [`side_output`](DataStream::side_output).
    #[doc(alias = "sideOutputLateData")]
    #[must_use]
    pub fn late_output(mut self, tag: &OutputTag<T>) -> Self {
        self.late_output = Some(tag.id());
        self
    }

    /// Sets the version of the accumulators' type, 1 otherwise. State holds accumulators in a form without names or
    /// types: a program whose type has changed says so by another version, and is refused the old state instead of
    /// misreading it.
    #[must_use]
    pub fn state_version(mut self, version: u8) -> Self {
        self.state_version = version;
        self
    }

    fn lateness(&self) -> Lateness<T> {
        Lateness { allowed_ms: self.allowed_lateness_ms, side: self.late_output.map(OutputTag::new) }
    }
}

impl<T: Record, K: KeyComponent + Record, W: FixedWindows> WindowedStream<T, K, W> {
    /// The fold of a window's records with each other, the first one being where it begins.
    pub fn reduce(&self, reduce: impl Fn(T, T) -> T + Send + Sync + 'static) -> DataStream<Windowed<K, T>>
    where
        T: Clone,
    {
        self.apply("reduce", Reduce { reduce, records: PhantomData })
    }

    /// The fold of a window's records into a value that begins as `initial`.
    pub fn fold<A: Record + Clone + Sync>(
        &self,
        initial: A,
        fold: impl Fn(A, T) -> A + Send + Sync + 'static,
    ) -> DataStream<Windowed<K, A>> {
        self.apply(type_name::<A>(), FoldInto { initial, fold, records: PhantomData })
    }

    /// What an aggregate function makes of a window's records.
    pub fn aggregate<A>(&self, function: A) -> DataStream<Windowed<K, A::Output>>
    where
        A: AggregateFunction<Input = T, Accumulator: Record, Output: Record> + Send + Sync + 'static,
    {
        self.apply(type_name::<A>(), Aggregate(function))
    }

    fn apply<F: Fold<In = T>>(&self, what: &str, fold: F) -> DataStream<Windowed<K, F::Out>> {
        let function = FixedWindowFunction {
            windows: self.windows,
            fold,
            lateness: self.lateness(),
            version: self.state_version,
            keys: PhantomData,
        };
        self.stream.apply("window", what, vec![self.stream.as_input()], OneInput(function))
    }
}

impl<T: Record, K: KeyComponent + Record> WindowedStream<T, K, SessionWindows> {
    /// The fold of a session's records with each other, the first one being where it begins. Sessions that become one
    /// are folded in the same way.
    pub fn reduce(&self, reduce: impl Fn(T, T) -> T + Send + Sync + 'static) -> DataStream<Windowed<K, T>>
    where
        T: Clone,
    {
        self.apply("reduce", Reduce { reduce, records: PhantomData })
    }

    /// What an aggregate function makes of a session's records.
    pub fn aggregate<A>(&self, function: A) -> DataStream<Windowed<K, A::Output>>
    where
        A: MergingAggregate<Input = T, Accumulator: Record, Output: Record> + Send + Sync + 'static,
    {
        self.apply(type_name::<A>(), Aggregate(function))
    }

    fn apply<F: MergingFold<In = T>>(&self, what: &str, fold: F) -> DataStream<Windowed<K, F::Out>> {
        let function = SessionWindowFunction {
            gap_ms: self.windows.gap_ms,
            fold,
            lateness: self.lateness(),
            version: self.state_version,
            keys: PhantomData,
        };
        self.stream.apply("window", what, vec![self.stream.as_input()], OneInput(function))
    }
}
