//! The harnesses of each kind of function.

use super::files::HarnessSnapshot;
use super::harness::Harness;
use crate::stream::internal::{OneInput, TwoInputs, WithBroadcast};
use crate::stream::{KeyedBroadcastProcessFunction, KeyedCoProcessFunction, KeyedProcessFunction, OutputTag, Record};
use headpond_state::Result;
use std::fmt;

type KeyOf<T, K> = dyn Fn(&T) -> K + Send;

/// Drives a [`KeyedProcessFunction`] by hand; see the [module](super).
#[doc(alias = "KeyedOneInputStreamOperatorTestHarness")]
pub struct KeyedHarness<F: KeyedProcessFunction> {
    harness: Harness<OneInput<F>>,
    key: Box<KeyOf<F::In, F::Key>>,
}

impl<F: KeyedProcessFunction> fmt::Debug for KeyedHarness<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedHarness").field("harness", &self.harness).finish_non_exhaustive()
    }
}

impl<F: KeyedProcessFunction> KeyedHarness<F> {
    /// A function without state, whose records have the key that `key` gives.
    ///
    /// # Errors
    /// What [`open`](KeyedProcessFunction::open) fails with.
    pub fn new(function: F, key: impl Fn(&F::In) -> F::Key + Send + 'static) -> Result<Self> {
        Ok(KeyedHarness { harness: Harness::open(OneInput(function), None)?, key: Box::new(key) })
    }

    /// A function with the state of a snapshot.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Incompatible`](crate::ErrorKind::Incompatible) when the snapshot is of another
    /// function.
    pub fn restore(
        function: F,
        key: impl Fn(&F::In) -> F::Key + Send + 'static,
        snapshot: &HarnessSnapshot,
    ) -> Result<Self> {
        Ok(KeyedHarness { harness: Harness::open(OneInput(function), Some(snapshot))?, key: Box::new(key) })
    }

    /// Gives the function a record with this timestamp in milliseconds, or `None`.
    ///
    /// # Errors
    /// The function's.
    pub fn push(&mut self, record: F::In, timestamp_ms: impl Into<Option<i64>>) -> Result<()> {
        let key = (self.key)(&record);
        self.harness.push(0, Some(&key), &record, timestamp_ms.into())
    }

    /// Moves event time on to this watermark: timers that are due fire.
    ///
    /// # Errors
    /// The function's.
    pub fn watermark(&mut self, watermark_ms: i64) -> Result<()> {
        self.harness.watermark(watermark_ms)
    }

    /// Moves processing time on, which begins at 0: timers that are due fire.
    ///
    /// # Errors
    /// The function's.
    pub fn processing_time(&mut self, now_ms: i64) -> Result<()> {
        self.harness.processing_time(now_ms)
    }

    /// Ends the input: all timers fire.
    ///
    /// # Errors
    /// The function's.
    pub fn end_of_input(&mut self) -> Result<()> {
        self.harness.end_of_input()
    }

    /// Takes what has come out since the last call.
    pub fn take_output(&mut self) -> Vec<F::Out> {
        self.harness.take().into_iter().map(|(record, _)| record).collect()
    }

    /// Takes what has come out since the last call, each record with its timestamp if it has one.
    pub fn take_stamped_output(&mut self) -> Vec<(F::Out, Option<i64>)> {
        self.harness.take()
    }

    /// Takes what has come out at a side output since the last call.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a tag of another type than the function's.
    pub fn take_side_output<T: Record>(&mut self, tag: &OutputTag<T>) -> Result<Vec<T>> {
        self.harness.take_side(tag)
    }

    /// The value of a counter that the function [adds to](crate::stream::Context::count).
    pub fn counter(&self, name: &str) -> u64 {
        self.harness.counter(name)
    }

    /// How many entries the state has, timers included.
    pub fn state_entries(&self) -> u64 {
        self.harness.entries()
    }

    /// Takes the state, as a checkpoint would.
    ///
    /// # Errors
    /// As the state's.
    pub fn snapshot(&mut self) -> Result<HarnessSnapshot> {
        self.harness.snapshot()
    }
}

/// Drives a [`KeyedCoProcessFunction`] by hand; see the [module](super).
#[doc(alias = "KeyedTwoInputStreamOperatorTestHarness")]
pub struct KeyedCoProcessHarness<F: KeyedCoProcessFunction> {
    harness: Harness<TwoInputs<F>>,
    key1: Box<KeyOf<F::In1, F::Key>>,
    key2: Box<KeyOf<F::In2, F::Key>>,
}

impl<F: KeyedCoProcessFunction> fmt::Debug for KeyedCoProcessHarness<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedCoProcessHarness").field("harness", &self.harness).finish_non_exhaustive()
    }
}

impl<F: KeyedCoProcessFunction> KeyedCoProcessHarness<F> {
    /// A function without state, whose records have the key that `key1` and `key2` give.
    ///
    /// # Errors
    /// What [`open`](KeyedCoProcessFunction::open) fails with.
    pub fn new(
        function: F,
        key1: impl Fn(&F::In1) -> F::Key + Send + 'static,
        key2: impl Fn(&F::In2) -> F::Key + Send + 'static,
    ) -> Result<Self> {
        Ok(KeyedCoProcessHarness {
            harness: Harness::open(TwoInputs(function), None)?,
            key1: Box::new(key1),
            key2: Box::new(key2),
        })
    }

    /// A function with the state of a snapshot.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Incompatible`](crate::ErrorKind::Incompatible) when the snapshot is of another
    /// function.
    pub fn restore(
        function: F,
        key1: impl Fn(&F::In1) -> F::Key + Send + 'static,
        key2: impl Fn(&F::In2) -> F::Key + Send + 'static,
        snapshot: &HarnessSnapshot,
    ) -> Result<Self> {
        Ok(KeyedCoProcessHarness {
            harness: Harness::open(TwoInputs(function), Some(snapshot))?,
            key1: Box::new(key1),
            key2: Box::new(key2),
        })
    }

    /// Gives the function a record of the first stream with this timestamp in milliseconds, or `None`.
    ///
    /// # Errors
    /// The function's.
    pub fn push1(&mut self, record: F::In1, timestamp_ms: impl Into<Option<i64>>) -> Result<()> {
        let key = (self.key1)(&record);
        self.harness.push(0, Some(&key), &record, timestamp_ms.into())
    }

    /// Gives the function a record of the second stream with this timestamp in milliseconds, or `None`.
    ///
    /// # Errors
    /// The function's.
    pub fn push2(&mut self, record: F::In2, timestamp_ms: impl Into<Option<i64>>) -> Result<()> {
        let key = (self.key2)(&record);
        self.harness.push(1, Some(&key), &record, timestamp_ms.into())
    }

    /// Moves event time on to this watermark: timers that are due fire.
    ///
    /// # Errors
    /// The function's.
    pub fn watermark(&mut self, watermark_ms: i64) -> Result<()> {
        self.harness.watermark(watermark_ms)
    }

    /// Moves processing time on, which begins at 0: timers that are due fire.
    ///
    /// # Errors
    /// The function's.
    pub fn processing_time(&mut self, now_ms: i64) -> Result<()> {
        self.harness.processing_time(now_ms)
    }

    /// Ends the input: all timers fire.
    ///
    /// # Errors
    /// The function's.
    pub fn end_of_input(&mut self) -> Result<()> {
        self.harness.end_of_input()
    }

    /// Takes what has come out since the last call.
    pub fn take_output(&mut self) -> Vec<F::Out> {
        self.harness.take().into_iter().map(|(record, _)| record).collect()
    }

    /// Takes what has come out since the last call, each record with its timestamp if it has one.
    pub fn take_stamped_output(&mut self) -> Vec<(F::Out, Option<i64>)> {
        self.harness.take()
    }

    /// Takes what has come out at a side output since the last call.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a tag of another type than the function's.
    pub fn take_side_output<T: Record>(&mut self, tag: &OutputTag<T>) -> Result<Vec<T>> {
        self.harness.take_side(tag)
    }

    /// The value of a counter that the function [adds to](crate::stream::Context::count).
    pub fn counter(&self, name: &str) -> u64 {
        self.harness.counter(name)
    }

    /// How many entries the state has, timers included.
    pub fn state_entries(&self) -> u64 {
        self.harness.entries()
    }

    /// Takes the state, as a checkpoint would.
    ///
    /// # Errors
    /// As the state's.
    pub fn snapshot(&mut self) -> Result<HarnessSnapshot> {
        self.harness.snapshot()
    }
}

/// Drives a [`KeyedBroadcastProcessFunction`] by hand; see the [module](super).
pub struct KeyedBroadcastHarness<F: KeyedBroadcastProcessFunction> {
    harness: Harness<WithBroadcast<F>>,
    key: Box<KeyOf<F::In, F::Key>>,
}

impl<F: KeyedBroadcastProcessFunction> fmt::Debug for KeyedBroadcastHarness<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedBroadcastHarness").field("harness", &self.harness).finish_non_exhaustive()
    }
}

impl<F: KeyedBroadcastProcessFunction> KeyedBroadcastHarness<F> {
    /// A function without state, whose records have the key that `key` gives.
    ///
    /// # Errors
    /// What [`open`](KeyedBroadcastProcessFunction::open) fails with.
    pub fn new(function: F, key: impl Fn(&F::In) -> F::Key + Send + 'static) -> Result<Self> {
        Ok(KeyedBroadcastHarness { harness: Harness::open(WithBroadcast(function), None)?, key: Box::new(key) })
    }

    /// A function with the state of a snapshot.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Incompatible`](crate::ErrorKind::Incompatible) when the snapshot is of another
    /// function.
    pub fn restore(
        function: F,
        key: impl Fn(&F::In) -> F::Key + Send + 'static,
        snapshot: &HarnessSnapshot,
    ) -> Result<Self> {
        Ok(KeyedBroadcastHarness {
            harness: Harness::open(WithBroadcast(function), Some(snapshot))?,
            key: Box::new(key),
        })
    }

    /// Gives the function a record of the keyed stream with this timestamp in milliseconds, or `None`.
    ///
    /// # Errors
    /// The function's.
    pub fn push(&mut self, record: F::In, timestamp_ms: impl Into<Option<i64>>) -> Result<()> {
        let key = (self.key)(&record);
        self.harness.push(0, Some(&key), &record, timestamp_ms.into())
    }

    /// Gives the function a control record with this timestamp in milliseconds, or `None`.
    ///
    /// # Errors
    /// The function's.
    pub fn push_control(&mut self, record: F::Control, timestamp_ms: impl Into<Option<i64>>) -> Result<()> {
        self.harness.push(1, None, &record, timestamp_ms.into())
    }

    /// Moves event time on to this watermark: timers that are due fire.
    ///
    /// # Errors
    /// The function's.
    pub fn watermark(&mut self, watermark_ms: i64) -> Result<()> {
        self.harness.watermark(watermark_ms)
    }

    /// Moves processing time on, which begins at 0: timers that are due fire.
    ///
    /// # Errors
    /// The function's.
    pub fn processing_time(&mut self, now_ms: i64) -> Result<()> {
        self.harness.processing_time(now_ms)
    }

    /// Ends the input: all timers fire.
    ///
    /// # Errors
    /// The function's.
    pub fn end_of_input(&mut self) -> Result<()> {
        self.harness.end_of_input()
    }

    /// Takes what has come out since the last call.
    pub fn take_output(&mut self) -> Vec<F::Out> {
        self.harness.take().into_iter().map(|(record, _)| record).collect()
    }

    /// Takes what has come out since the last call, each record with its timestamp if it has one.
    pub fn take_stamped_output(&mut self) -> Vec<(F::Out, Option<i64>)> {
        self.harness.take()
    }

    /// Takes what has come out at a side output since the last call.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for a tag of another type than the function's.
    pub fn take_side_output<T: Record>(&mut self, tag: &OutputTag<T>) -> Result<Vec<T>> {
        self.harness.take_side(tag)
    }

    /// The value of a counter that the function [adds to](crate::stream::Context::count).
    pub fn counter(&self, name: &str) -> u64 {
        self.harness.counter(name)
    }

    /// How many entries the state has, timers included.
    pub fn state_entries(&self) -> u64 {
        self.harness.entries()
    }

    /// Takes the state, as a checkpoint would.
    ///
    /// # Errors
    /// As the state's.
    pub fn snapshot(&mut self) -> Result<HarnessSnapshot> {
        self.harness.snapshot()
    }
}
