//! Windows that grow with their records.

use super::super::fold::MergingFold;
use super::super::function::{Collector, Context, KeyedProcessFunction, RuntimeContext};
use super::super::record::Record;
use super::super::state::{MapState, MapStateDescriptor};
use super::windowed::Windowed;
use super::{Lateness, Pane, give, last_ms, timestamp_ms};
use headpond_codecs::SerdeCodec;
use headpond_state::Result;
use headpond_state::encoding::KeyComponent;
use std::marker::PhantomData;

/// Folds the records of each session. A session is in the state under its beginning, and has a timer for its last
/// millisecond.
pub(super) struct SessionWindowFunction<K, F: MergingFold> {
    pub(super) gap_ms: i64,
    pub(super) fold: F,
    pub(super) lateness: Lateness<F::In>,
    pub(super) version: u8,
    pub(super) keys: PhantomData<fn(K)>,
}

type Sessions<A> = MapState<i64, Pane<A>>;

impl<K: KeyComponent + Record, F: MergingFold> KeyedProcessFunction for SessionWindowFunction<K, F> {
    type Key = K;
    type In = F::In;
    type Out = Windowed<K, F::Out>;
    type States = Sessions<F::Accumulator>;

    fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<Self::States> {
        ctx.map_state(MapStateDescriptor::new("sessions", SerdeCodec::new("session", self.version)))
    }

    fn process_element(
        &self,
        sessions: &mut Self::States,
        record: F::In,
        ctx: &mut Context<'_, K>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()> {
        let (at_ms, watermark_ms) = (timestamp_ms(ctx)?, ctx.current_watermark());
        let (mut start_ms, mut end_ms) = (at_ms, at_ms.saturating_add(self.gap_ms));
        if self.lateness.is_over(end_ms, watermark_ms) {
            self.lateness.late(record, ctx);
            return Ok(());
        }
        let mut accumulator = None;
        for (start, pane) in sessions.entries(ctx)? {
            // What is over by now takes no more records, though its timer may not have fired yet.
            let is_over = self.lateness.is_over(pane.end_ms, watermark_ms);
            if is_over || pane.end_ms < start_ms || start > end_ms {
                continue;
            }
            if !pane.fired {
                if last_ms(pane.end_ms) <= watermark_ms {
                    give(start, pane.end_ms, self.fold.result(&pane.accumulator)?, ctx, out)?;
                }
                ctx.timers().delete_event_time_timer(last_ms(pane.end_ms))?;
            }
            sessions.remove(ctx, &start)?;
            (start_ms, end_ms) = (start_ms.min(start), end_ms.max(pane.end_ms));
            accumulator = Some(match accumulator {
                None => pane.accumulator,
                Some(earlier) => self.fold.merge(earlier, pane.accumulator)?,
            });
        }
        let accumulator = self.fold.add(accumulator, record)?;
        let fired = last_ms(end_ms) <= watermark_ms;
        if fired {
            give(start_ms, end_ms, self.fold.result(&accumulator)?, ctx, out)?;
            ctx.timers().register_event_time_timer(self.lateness.cleanup_ms(end_ms))?;
        } else {
            ctx.timers().register_event_time_timer(last_ms(end_ms))?;
        }
        sessions.put(ctx, &start_ms, &Pane { end_ms, fired, accumulator })
    }

    fn on_timer(
        &self,
        sessions: &mut Self::States,
        timestamp: i64,
        ctx: &mut Context<'_, K>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()> {
        for (start_ms, mut pane) in sessions.entries(ctx)? {
            if !pane.fired && last_ms(pane.end_ms) <= timestamp {
                give(start_ms, pane.end_ms, self.fold.result(&pane.accumulator)?, ctx, out)?;
                pane.fired = true;
                if self.lateness.allowed_ms > 0 {
                    sessions.put(ctx, &start_ms, &pane)?;
                    ctx.timers().register_event_time_timer(self.lateness.cleanup_ms(pane.end_ms))?;
                }
            }
            if pane.fired && self.lateness.is_over(pane.end_ms, timestamp) {
                sessions.remove(ctx, &start_ms)?;
            }
        }
        Ok(())
    }
}
