//! Windows whose bounds follow from a record's timestamp.

use super::super::fold::Fold;
use super::super::function::{Collector, Context, KeyedProcessFunction, RuntimeContext};
use super::super::record::Record;
use super::super::state::{MapState, MapStateDescriptor};
use super::windowed::Windowed;
use super::{FixedWindows, Lateness, Pane, give, last_ms, timestamp_ms};
use headpond_codecs::SerdeCodec;
use headpond_state::Result;
use headpond_state::encoding::KeyComponent;
use std::marker::PhantomData;

/// Folds the records of each window. A window has a timer for its last millisecond, and once it has fired one for its
/// removal.
pub(super) struct FixedWindowFunction<W, K, F: Fold> {
    pub(super) windows: W,
    pub(super) fold: F,
    pub(super) lateness: Lateness<F::In>,
    pub(super) version: u8,
    pub(super) keys: PhantomData<fn(K)>,
}

type Panes<F> = MapState<i64, Pane<<F as Fold>::Accumulator>>;

impl<W: FixedWindows, K: KeyComponent + Record, F: Fold> KeyedProcessFunction for FixedWindowFunction<W, K, F> {
    type Key = K;
    type In = F::In;
    type Out = Windowed<K, F::Out>;
    type States = Panes<F>;

    fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<Self::States> {
        ctx.map_state(MapStateDescriptor::new("windows", SerdeCodec::new("window", self.version)))
    }

    fn process_element(
        &self,
        panes: &mut Panes<F>,
        record: F::In,
        ctx: &mut Context<'_, K>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()> {
        let (at_ms, watermark_ms) = (timestamp_ms(ctx)?, ctx.current_watermark());
        let end_ms = |start_ms: i64| start_ms.saturating_add(self.windows.size_ms());
        let mut starts = self.windows.starts_ms(at_ms).peekable();
        if starts.peek().is_none() {
            return Ok(());
        }
        let open: Vec<i64> =
            starts.filter(|start_ms| !self.lateness.is_over(end_ms(*start_ms), watermark_ms)).collect();
        let Some((last, others)) = open.split_last() else {
            self.lateness.late(record, ctx);
            return Ok(());
        };
        for start_ms in others {
            // The format of records is the one way to copy one that every record has.
            let copy = super::super::record::copy(&record)?;
            self.add(panes, (*start_ms, end_ms(*start_ms)), copy, ctx, out)?;
        }
        self.add(panes, (*last, end_ms(*last)), record, ctx, out)
    }

    fn on_timer(
        &self,
        panes: &mut Panes<F>,
        timestamp: i64,
        ctx: &mut Context<'_, K>,
        out: &mut Collector<Self::Out>,
    ) -> Result<()> {
        if let Some(start_ms) = self.start_of(timestamp)
            && let Some(mut pane) = panes.get(ctx, &start_ms)?
            && !pane.fired
        {
            give(start_ms, pane.end_ms, self.fold.result(&pane.accumulator)?, ctx, out)?;
            if self.lateness.allowed_ms == 0 {
                return panes.remove(ctx, &start_ms);
            }
            pane.fired = true;
            panes.put(ctx, &start_ms, &pane)?;
            ctx.timers().register_event_time_timer(self.lateness.cleanup_ms(pane.end_ms))?;
        }
        if self.lateness.allowed_ms > 0
            && let Some(start_ms) = self.start_of(timestamp.saturating_sub(self.lateness.allowed_ms))
        {
            panes.remove(ctx, &start_ms)?;
        }
        Ok(())
    }
}

impl<W: FixedWindows, K: KeyComponent + Record, F: Fold> FixedWindowFunction<W, K, F> {
    /// The window that ends with this millisecond.
    fn start_of(&self, last_ms: i64) -> Option<i64> {
        let start_ms = last_ms.checked_add(1)?.checked_sub(self.windows.size_ms())?;
        self.windows.starts_ms(start_ms).next().filter(|start| *start == start_ms)
    }

    fn add(
        &self,
        panes: &mut Panes<F>,
        (start_ms, end_ms): (i64, i64),
        record: F::In,
        ctx: &mut Context<'_, K>,
        out: &mut Collector<Windowed<K, F::Out>>,
    ) -> Result<()> {
        let before = panes.get(ctx, &start_ms)?;
        let (fired, last_ms) = (before.as_ref().is_some_and(|pane| pane.fired), last_ms(end_ms));
        let passed = last_ms <= ctx.current_watermark();
        if passed && !fired {
            // What came in time is given first, whether or not the timer has fired in this tick.
            if let Some(pane) = &before {
                give(start_ms, end_ms, self.fold.result(&pane.accumulator)?, ctx, out)?;
                ctx.timers().delete_event_time_timer(last_ms)?;
            }
            ctx.timers().register_event_time_timer(self.lateness.cleanup_ms(end_ms))?;
        } else if before.is_none() {
            ctx.timers().register_event_time_timer(last_ms)?;
        }
        let accumulator = self.fold.add(before.map(|pane| pane.accumulator), record)?;
        if passed {
            give(start_ms, end_ms, self.fold.result(&accumulator)?, ctx, out)?;
        }
        panes.put(ctx, &start_ms, &Pane { end_ms, fired: passed, accumulator })
    }
}
