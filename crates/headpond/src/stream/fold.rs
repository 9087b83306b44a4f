//! Folding records into accumulators: what `reduce`, `fold` and `aggregate` have in common.

use super::function::{Collector, Context, KeyedProcessFunction, RuntimeContext};
use super::record::Record;
use super::state::{AggregateFunction, ValueState, ValueStateDescriptor};
use headpond_codecs::SerdeCodec;
use headpond_state::Result;
use headpond_state::encoding::KeyComponent;
use std::marker::PhantomData;

/// An aggregate whose accumulators can be put together, as those of sessions that become one.
pub trait MergingAggregate: AggregateFunction {
    /// Puts what `later` has into `earlier`.
    ///
    /// # Errors
    /// As [`AggregateFunction::add`].
    fn merge(&self, earlier: &mut Self::Accumulator, later: Self::Accumulator) -> Result<()>;
}

/// How records become an accumulator, and that a result.
pub(super) trait Fold: Send + Sync + 'static {
    type In: Record;
    type Accumulator: Record;
    type Out: Record;

    /// Adds a record to what the records before it have made, if there were any.
    fn add(&self, before: Option<Self::Accumulator>, record: Self::In) -> Result<Self::Accumulator>;

    fn result(&self, accumulator: &Self::Accumulator) -> Result<Self::Out>;
}

/// A fold whose accumulators can be put together.
pub(super) trait MergingFold: Fold {
    fn merge(&self, earlier: Self::Accumulator, later: Self::Accumulator) -> Result<Self::Accumulator>;
}

/// The fold of records with each other.
pub(super) struct Reduce<T, F> {
    pub(super) reduce: F,
    pub(super) records: PhantomData<fn(T)>,
}

impl<T: Record + Clone, F: Fn(T, T) -> T + Send + Sync + 'static> Fold for Reduce<T, F> {
    type In = T;
    type Accumulator = T;
    type Out = T;

    fn add(&self, before: Option<T>, record: T) -> Result<T> {
        Ok(match before {
            Some(before) => (self.reduce)(before, record),
            None => record,
        })
    }

    fn result(&self, accumulator: &T) -> Result<T> {
        Ok(accumulator.clone())
    }
}

impl<T: Record + Clone, F: Fn(T, T) -> T + Send + Sync + 'static> MergingFold for Reduce<T, F> {
    fn merge(&self, earlier: T, later: T) -> Result<T> {
        Ok((self.reduce)(earlier, later))
    }
}

/// The fold of records into a value that begins as `initial`.
pub(super) struct FoldInto<T, A, F> {
    pub(super) initial: A,
    pub(super) fold: F,
    pub(super) records: PhantomData<fn(T)>,
}

impl<T, A, F> Fold for FoldInto<T, A, F>
where
    T: Record,
    A: Record + Clone + Sync,
    F: Fn(A, T) -> A + Send + Sync + 'static,
{
    type In = T;
    type Accumulator = A;
    type Out = A;

    fn add(&self, before: Option<A>, record: T) -> Result<A> {
        Ok((self.fold)(before.unwrap_or_else(|| self.initial.clone()), record))
    }

    fn result(&self, accumulator: &A) -> Result<A> {
        Ok(accumulator.clone())
    }
}

/// An aggregate function's fold.
pub(super) struct Aggregate<F>(pub(super) F);

impl<F> Fold for Aggregate<F>
where
    F: AggregateFunction<Input: Record, Accumulator: Record, Output: Record> + Send + Sync + 'static,
{
    type In = F::Input;
    type Accumulator = F::Accumulator;
    type Out = F::Output;

    fn add(&self, before: Option<F::Accumulator>, record: F::Input) -> Result<F::Accumulator> {
        let mut accumulator = before.unwrap_or_else(|| self.0.create());
        self.0.add(&mut accumulator, &record).map(|()| accumulator)
    }

    fn result(&self, accumulator: &F::Accumulator) -> Result<F::Output> {
        self.0.result(accumulator)
    }
}

impl<F> MergingFold for Aggregate<F>
where
    F: MergingAggregate<Input: Record, Accumulator: Record, Output: Record> + Send + Sync + 'static,
{
    fn merge(&self, mut earlier: F::Accumulator, later: F::Accumulator) -> Result<F::Accumulator> {
        self.0.merge(&mut earlier, later).map(|()| earlier)
    }
}

/// The version of accumulators' types; where a program cares, it uses a state with a codec of its own.
pub(super) const ACCUMULATOR_VERSION: u8 = 1;

/// Folds all records of a key, and gives what `emit` makes of key and result after each.
pub(super) struct RunningFold<K, O, F, E> {
    pub(super) fold: F,
    pub(super) emit: E,
    pub(super) types: PhantomData<fn(K) -> O>,
}

impl<K, O, F, E> KeyedProcessFunction for RunningFold<K, O, F, E>
where
    K: KeyComponent + 'static,
    O: Record,
    F: Fold,
    E: Fn(&Context<'_, K>, F::Out) -> Result<O> + Send + Sync + 'static,
{
    type Key = K;
    type In = F::In;
    type Out = O;
    type States = ValueState<F::Accumulator>;

    fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<Self::States> {
        ctx.value_state(ValueStateDescriptor::new("accumulator", SerdeCodec::new("accumulator", ACCUMULATOR_VERSION)))
    }

    fn process_element(
        &self,
        state: &mut Self::States,
        record: F::In,
        ctx: &mut Context<'_, K>,
        out: &mut Collector<O>,
    ) -> Result<()> {
        let accumulator = self.fold.add(state.value(ctx)?, record)?;
        state.update(ctx, &accumulator)?;
        out.collect((self.emit)(ctx, self.fold.result(&accumulator)?)?);
        Ok(())
    }
}

/// Calls a closure with every record and a value of its key.
pub(super) struct FlatMapWithState<T, S, K, F> {
    pub(super) function: F,
    pub(super) types: PhantomData<fn(T, K) -> S>,
}

impl<T, S, K, I, F> KeyedProcessFunction for FlatMapWithState<T, S, K, F>
where
    T: Record,
    S: Record,
    K: KeyComponent + 'static,
    I: IntoIterator<Item: Record>,
    F: Fn(T, &mut Option<S>) -> I + Send + Sync + 'static,
{
    type Key = K;
    type In = T;
    type Out = I::Item;
    type States = ValueState<S>;

    fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<Self::States> {
        ctx.value_state(ValueStateDescriptor::new("value", SerdeCodec::new("value", ACCUMULATOR_VERSION)))
    }

    fn process_element(
        &self,
        state: &mut Self::States,
        record: T,
        ctx: &mut Context<'_, K>,
        out: &mut Collector<I::Item>,
    ) -> Result<()> {
        let before = state.value(ctx)?;
        let there = before.is_some();
        let mut value = before;
        for made in (self.function)(record, &mut value) {
            out.collect(made);
        }
        match value {
            Some(value) => state.update(ctx, &value),
            None if there => state.clear(ctx),
            None => Ok(()),
        }
    }
}
