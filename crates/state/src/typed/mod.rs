//! Typed states: what an operator's code works with, written once over the bytes of any backend.
//!
//! Each state is a small object that knows its id, codec and expiry, and borrows the backend for each call. What a call
//! is about is a [`KeyContext`]: the key, its group, the namespace (of a window), and the timestamp of the row on whose
//! behalf it happens.
//!
//! | state | holds per key and namespace | stored as |
//! |---|---|---|
//! | [`ValueState`] | one value | one entry |
//! | [`ListState`] | values in the order of appending | an entry per element, numbered |
//! | [`MapState`] | values by user key, in the order of user keys | an entry per user key |
//! | [`ReducingState`] | the fold of values of one type | one entry |
//! | [`AggregatingState`] | an accumulator of values of another type | one entry |
//! | [`TimerService`] | timers, by event time and processing time | an entry per timer |
//!
//! A state with a TTL keeps the time of the last access before each value and hides what has expired, whether or not
//! the backend has removed it. States that hold one entry per key have `update_many`: many keys read, changed and
//! written together, which is how operators should work.
//!
//! ```
//! use headpond_state::codec::{Codec, FixedWidth};
//! use headpond_state::typed::{KeyContext, ValueState};
//! use headpond_state::{KeyedStateBackend, OperatorClock, Result};
//! use std::sync::Arc;
//!
//! fn count(backend: &mut dyn KeyedStateBackend, clock: &Arc<OperatorClock>, keys: &[&[u8]]) -> Result<()> {
//!     let codec: Arc<dyn Codec<i64>> = Arc::new(FixedWidth);
//!     let descriptor = ValueState::descriptor("count", &*codec).with_key_schema("utf8");
//!     let mut counts = ValueState::register(backend, clock, &descriptor, codec)?;
//!     for key in keys {
//!         let context = KeyContext::new(backend.max_parallelism(), key);
//!         let count = counts.get(backend, context)?.unwrap_or(0);
//!         counts.set(backend, context, &(count + 1))?;
//!     }
//!     Ok(())
//! }
//! ```

mod access;
mod aggregating;
mod context;
mod list;
mod map;
mod reducing;
mod single;
mod timer;
mod timer_service;
mod value;

pub use aggregating::{AggregateFunction, AggregatingState};
pub use context::KeyContext;
pub use list::ListState;
pub use map::MapState;
pub use reducing::ReducingState;
pub use timer::{DueTimer, Left, TimerCursor, Timers};
pub use timer_service::TimerService;
pub use value::ValueState;
