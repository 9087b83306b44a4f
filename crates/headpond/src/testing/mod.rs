//! Functions tested without a job: records, watermarks and time go in by hand, what comes out is looked at, and the
//! state can be taken and given to another harness.
//!
//! ```
//! use headpond::prelude::*;
//! use headpond::testing::KeyedHarness;
//!
//! /// Gives a user's last word once an hour has passed without another.
//! struct LastWord;
//!
//! impl KeyedProcessFunction for LastWord {
//!     type Key = u32;
//!     type In = (u32, String);
//!     type Out = String;
//!     type States = ValueState<(i64, String)>;
//!
//!     fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<Self::States> {
//!         ctx.value_state(ValueStateDescriptor::new("last", SerdeCodec::new("last", 1)))
//!     }
//!
//!     fn process_element(
//!         &self,
//!         last: &mut Self::States,
//!         (_, word): Self::In,
//!         ctx: &mut Context<'_, u32>,
//!         _: &mut Collector<String>,
//!     ) -> Result<()> {
//!         let due = ctx.timestamp().unwrap_or(0) + 3_600_000;
//!         ctx.timers().register_event_time_timer(due)?;
//!         last.update(ctx, &(due, word))
//!     }
//!
//!     fn on_timer(
//!         &self,
//!         last: &mut Self::States,
//!         timestamp: i64,
//!         ctx: &mut Context<'_, u32>,
//!         out: &mut Collector<String>,
//!     ) -> Result<()> {
//!         if let Some((_, word)) = last.value(ctx)?.filter(|(due, _)| *due == timestamp) {
//!             out.collect(word);
//!         }
//!         Ok(())
//!     }
//! }
//!
//! let mut harness = KeyedHarness::new(LastWord, |(user, _): &(u32, String)| *user)?;
//! harness.push((7, "to be".to_owned()), 0)?;
//! let snapshot = harness.snapshot()?;
//! harness.watermark(3_600_000)?;
//! assert_eq!(harness.take_output(), ["to be"]);
//!
//! let mut restored = KeyedHarness::restore(LastWord, |(user, _): &(u32, String)| *user, &snapshot)?;
//! restored.push((7, "or not".to_owned()), 10)?;
//! restored.watermark(3_600_000)?;
//! assert!(restored.take_output().is_empty());
//! restored.watermark(3_600_010)?;
//! assert_eq!(restored.take_output(), ["or not"]);
//! # Ok::<(), headpond::Error>(())
//! ```

mod files;
mod harness;
mod keyed;

pub use files::HarnessSnapshot;
pub use keyed::{KeyedBroadcastHarness, KeyedCoProcessHarness, KeyedHarness};
