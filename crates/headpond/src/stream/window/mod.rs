//! Windows of event time over keyed streams.
//!
//! [`KeyedStream::window`](super::KeyedStream::window) cuts a key's records by their timestamps, and what is in a
//! window is folded: by [`reduce`](WindowedStream::reduce), by [`fold`](WindowedStream::fold), by
//! [`aggregate`](WindowedStream::aggregate). A window gives its result once event time has passed its end, as a
//! [`Windowed`]: the key, the window, the value.
//!
//! | windows | |
//! |---|---|
//! | [`TumblingWindows`] | of one size, one behind the other |
//! | [`HoppingWindows`] | of one size, one every so often: they overlap |
//! | [`SessionWindows`] | as long as a key's records are no more than a gap apart |
//!
//! A record that comes when its window has passed is *late*. It is left out and counted as one of the `late rows`, or
//! given to a [side output](WindowedStream::late_output); within the
//! [allowed lateness](WindowedStream::allowed_lateness) it is taken in, and the window gives its result again.
//!
//! ```
//! use headpond::prelude::*;
//! use headpond::stream::window::{TumblingWindows, Windowed};
//! use std::time::Duration;
//!
//! let env = StreamExecutionEnvironment::new();
//! env.set_state_backend(HashMapStateBackend::new());
//! let words = [("to", 1_000), ("be", 2_000), ("to", 9_000), ("be", 61_000)].map(|(word, ms)| (word.to_owned(), ms));
//! let counts = env
//!     .from_iter(words)
//!     .assign_timestamps_and_watermarks(
//!         WatermarkStrategy::monotonous_timestamps().with_timestamps(|(_, ms): &(String, i64)| *ms),
//!     )
//!     .key_by(|(word, _)| word.clone())
//!     .window(TumblingWindows::of(Duration::from_secs(60)))
//!     .fold(0_u64, |count, _| count + 1)
//!     .map(|Windowed { key, start_ms, value, .. }| (key, start_ms, value));
//! let mut counts = counts.execute_and_collect("counts")?;
//! counts.sort();
//! assert_eq!(counts, [("be".to_owned(), 0, 1), ("be".to_owned(), 60_000, 1), ("to".to_owned(), 0, 2)]);
//! # Ok::<(), headpond::Error>(())
//! ```

mod assigners;
mod fixed;
mod session;
mod windowed;
mod windowed_stream;

pub use assigners::{FixedWindows, HoppingWindows, SessionWindows, TumblingWindows};
pub use windowed::Windowed;
pub use windowed_stream::WindowedStream;

use super::function::{Collector, Context};
use super::side_output::OutputTag;
use headpond_runtime::operator::Counters;
use headpond_state::encoding::KeyComponent;
use headpond_state::{Error, Result};
use serde::{Deserialize, Serialize};

/// What a key's state has of a window, by the window's beginning.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Pane<A> {
    /// The first millisecond behind the window.
    end_ms: i64,
    /// Whether the window has given a result.
    fired: bool,
    accumulator: A,
}

/// What becomes of records that come late.
#[derive(Debug)]
struct Lateness<T> {
    allowed_ms: i64,
    side: Option<OutputTag<T>>,
}

impl<T: super::Record> Lateness<T> {
    /// Whether a window that ends before `end_ms` takes no more records.
    fn is_over(&self, end_ms: i64, watermark_ms: i64) -> bool {
        self.cleanup_ms(end_ms) <= watermark_ms
    }

    /// When a window goes.
    fn cleanup_ms(&self, end_ms: i64) -> i64 {
        last_ms(end_ms).saturating_add(self.allowed_ms)
    }

    fn late<K: KeyComponent>(&self, record: T, ctx: &mut Context<'_, K>) {
        match &self.side {
            Some(tag) => ctx.output(tag, record),
            None => ctx.count(Counters::LATE_ROWS, 1),
        }
    }
}

/// The last millisecond of a window: it has passed when event time has reached it.
fn last_ms(end_ms: i64) -> i64 {
    end_ms.saturating_sub(1)
}

/// The timestamp of the record at hand.
fn timestamp_ms<K: KeyComponent>(ctx: &Context<'_, K>) -> Result<i64> {
    ctx.timestamp().ok_or_else(|| {
        Error::invalid("a record without a timestamp comes to a window")
            .hint("call `assign_timestamps_and_watermarks` on the stream of the source")
    })
}

/// Gives a window's result, with the window's last millisecond as its timestamp.
fn give<K, R>(
    start_ms: i64,
    end_ms: i64,
    value: R,
    ctx: &Context<'_, K>,
    out: &mut Collector<Windowed<K, R>>,
) -> Result<()>
where
    K: KeyComponent + super::Record,
    R: super::Record,
{
    out.collect_at(Windowed { key: ctx.key()?, start_ms, end_ms, value }, last_ms(end_ms));
    Ok(())
}
