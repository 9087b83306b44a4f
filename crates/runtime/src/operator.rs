//! Operators: functions over batches, and keyed operators with state.

use crate::batch::ChangeBatch;
use crate::key::KeyedBatch;
use crate::output::Output;
use headpond_state::{
    Capabilities, Context, Error, KeyedStateBackend, MaxParallelism, Migration, OperatorClock, Result, StateDescriptor,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

/// A stateless step: filter, project, assign windows. One per worker.
pub trait BatchFunction: Debug + Send {
    /// The rows that come out of `batch`; `None` for none.
    fn process(&mut self, batch: ChangeBatch) -> Result<Option<ChangeBatch>>;
}

/// Makes a [`BatchFunction`] for a worker.
pub type BatchFunctionFactory = Arc<dyn Fn() -> Result<Box<dyn BatchFunction>> + Send + Sync>;

/// Makes the [`KeyedOperator`] of each worker.
pub trait KeyedOperatorFactory: Debug + Send + Sync {
    /// Opens the operator of one worker: registers its states and takes up what a restore brought. Has no effect
    /// outside: it is also called to learn which states there are.
    fn open(&self, setup: OperatorSetup<'_>) -> Result<Box<dyn KeyedOperator>>;

    /// How a restored state becomes the one declared now, where [they differ](StateDescriptor::check_restored) in more
    /// than the codec bears.
    ///
    /// # Errors
    /// [`Incompatible`](headpond_state::ErrorKind::Incompatible) for a difference that would make the state mean
    /// something else.
    fn migration(&self, restored: &StateDescriptor, declared: &StateDescriptor) -> Result<Migration> {
        no_migration(restored, declared)
    }
}

/// The refusal to convert a state.
pub(crate) fn no_migration(restored: &StateDescriptor, declared: &StateDescriptor) -> Result<Migration> {
    declared.check_restored(restored)?;
    Err(Error::incompatible("the state cannot be converted").with(Context::State, &declared.name))
}

/// What an operator is opened with.
#[derive(Debug)]
pub struct OperatorSetup<'a> {
    /// Its state, restored.
    pub state: &'a mut dyn KeyedStateBackend,
    /// What the backend likes.
    pub capabilities: Capabilities,
    /// The worker's index.
    pub subtask: usize,
    /// The number of workers.
    pub parallelism: usize,
    /// The number of key groups.
    pub max_parallelism: MaxParallelism,
    /// What [`KeyedOperator::details`] gave on the workers of the restored checkpoint, in their order; empty for a
    /// fresh start. Counters are the runtime's and not in it.
    pub restored: &'a [Value],
    /// The operator's event time at the restored cut, `i64::MIN` for none.
    pub event_time_ms: i64,
    /// The operator's clock, which the runtime moves on: what typed states are registered with. Its processing time is
    /// the tick's; its event time is that before the tick until the tick is done, and never `i64::MAX`: timers find the
    /// state that they were set for.
    pub clock: &'a Arc<OperatorClock>,
}

/// Whether a call has done its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// All of it.
    Done,
    /// The output is full: call [`KeyedOperator::resume`] once it has been passed on.
    More,
}

/// An operator with keyed state on one worker.
///
/// The runtime calls it for one tick after another: [`process`](Self::process) with the tick's rows, then, when the
/// tick is complete, [`advance`](Self::advance) with the event time reached, then, if the tick is a checkpoint's cut,
/// [`details`](Self::details), and it snapshots the state. Whenever a call returns [`Progress::More`] the runtime
/// passes the output on, lets other operators run, and calls [`resume`](Self::resume) until [`Progress::Done`] before
/// anything else.
pub trait KeyedOperator: Debug + Send {
    /// Takes rows of one input.
    fn process(&mut self, input: usize, batch: &KeyedBatch, cx: &mut OperatorContext<'_>) -> Result<Progress>;

    /// Goes on with the call that returned [`Progress::More`].
    fn resume(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress>;

    /// The tick is complete; event time is now [`OperatorContext::event_time_ms`]. Fires timers, closes windows, writes
    /// whatever is still buffered to the state.
    fn advance(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress>;

    /// The processing time at which the operator wants a tick even though nothing arrives: a processing-time timer's, a
    /// window's, that of rows held back. In milliseconds since the epoch; `None` for no such time. Asked after each
    /// activation, so it should be at hand. A tick whose processing time is no earlier follows, and the operator does
    /// in [`advance`](Self::advance) what is due at [`OperatorContext::processing_time_ms`]. No tick follows a
    /// request to stop, nor the [end of the input](OperatorContext::end_of_input).
    fn wake_at_ms(&self) -> Option<i64> {
        None
    }

    /// The watermark of the output, given the operator's event time.
    fn output_watermark_ms(&self, event_time_ms: i64) -> i64 {
        event_time_ms
    }

    /// What a checkpoint must remember besides the state, as JSON.
    fn details(&self) -> Value {
        Value::Null
    }
}

/// What an operator works with during a call.
#[derive(Debug)]
pub struct OperatorContext<'a> {
    /// The state.
    pub state: &'a mut (dyn KeyedStateBackend + 'static),
    /// Where rows go.
    pub output: &'a mut Output,
    /// Event time: before the tick's rows in [`KeyedOperator::process`], after them in [`KeyedOperator::advance`];
    /// milliseconds since the epoch, `i64::MIN` before the first watermark, `i64::MAX` at the end of a bounded input.
    pub event_time_ms: i64,
    /// Processing time, milliseconds since the epoch: one per tick and worker.
    pub processing_time_ms: i64,
    /// Whether the tick is a checkpoint's cut: what is held back must be given or be in the state when the tick ends.
    pub cut: bool,
    /// Whether all input has ended and no tick follows this one: what waits for processing time to pass is given in
    /// [`KeyedOperator::advance`], whatever the time. Event time is `i64::MAX` then.
    pub end_of_input: bool,
    /// The operator's counters.
    pub counters: &'a mut Counters,
}

/// An operator's named counters: part of every checkpoint, summed over workers in the summary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters(BTreeMap<String, u64>);

impl Counters {
    /// The name under which rows that came too late are counted.
    pub const LATE_ROWS: &'static str = "late rows";

    /// Adds `n` to the counter `name`.
    pub fn add(&mut self, name: &str, n: u64) {
        if n == 0 {
            return;
        }
        match self.0.get_mut(name) {
            Some(count) => *count += n,
            None => {
                self.0.insert(name.to_owned(), n);
            }
        }
    }

    /// The counters in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// The value of one counter.
    pub fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }
}
