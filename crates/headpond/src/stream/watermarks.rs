//! Event time of a stream: which timestamp a record has, and what it says about those to come.

use super::data_stream::ReadRecords;
use arrow_array::{Int64Array, RecordBatch};
use headpond_runtime::source;
use headpond_state::Result;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How records get timestamps, and watermarks follow from them.
///
/// A watermark *t* says that no more records with a timestamp of *t* or less are expected: event-time timers up to *t*
/// fire.
///
/// ```
/// use headpond::stream::WatermarkStrategy;
/// use std::time::Duration;
///
/// struct Click { user: u64, time_ms: i64 }
///
/// let strategy = WatermarkStrategy::bounded_out_of_orderness(Duration::from_secs(5))
///     .with_timestamps(|click: &Click| click.time_ms)
///     .with_idleness(Duration::from_secs(60));
/// ```
pub struct WatermarkStrategy<T> {
    generator: Option<MakeGenerator<T>>,
    assigner: Option<TimestampAssigner<T>>,
    idleness: Option<Duration>,
}

type MakeGenerator<T> = Arc<dyn Fn() -> Box<dyn WatermarkGenerator<T>> + Send + Sync>;

/// Gives a record's timestamp in milliseconds since the epoch.
pub(super) type TimestampAssigner<T> = Arc<dyn Fn(&T) -> i64 + Send + Sync>;

/// Computes watermarks from the records of one split, in their order.
pub trait WatermarkGenerator<T>: Send {
    /// The watermark in milliseconds since the epoch that holds once the record was seen; `None` when the record says
    /// nothing. One below an earlier one is ignored.
    fn on_event(&mut self, record: &T, timestamp_ms: i64) -> Option<i64>;
}

impl<T> Clone for WatermarkStrategy<T> {
    fn clone(&self) -> Self {
        WatermarkStrategy {
            generator: self.generator.clone(),
            assigner: self.assigner.clone(),
            idleness: self.idleness,
        }
    }
}

impl<T> fmt::Debug for WatermarkStrategy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatermarkStrategy").field("idleness", &self.idleness).finish_non_exhaustive()
    }
}

impl<T: 'static> WatermarkStrategy<T> {
    /// Watermarks that trail the greatest timestamp so far: no record comes more than `max_out_of_orderness` later
    /// than one with a greater timestamp.
    #[doc(alias = "forBoundedOutOfOrderness")]
    pub fn bounded_out_of_orderness(max_out_of_orderness: Duration) -> Self {
        let delay_ms = i64::try_from(max_out_of_orderness.as_millis()).unwrap_or(i64::MAX);
        // A record with the same timestamp as the greatest may still come.
        Self::generator(move || Trailing { behind_ms: delay_ms.saturating_add(1) })
    }

    /// Watermarks of records whose timestamps never fall.
    #[doc(alias = "forMonotonousTimestamps")]
    pub fn monotonous_timestamps() -> Self {
        Self::bounded_out_of_orderness(Duration::ZERO)
    }

    /// Timestamps without watermarks: event-time timers fire at the end of the input.
    #[doc(alias = "noWatermarks")]
    pub fn none() -> Self {
        WatermarkStrategy { generator: None, assigner: None, idleness: None }
    }

    /// Watermarks of a generator of your own, one for each split.
    #[doc(alias = "forGenerator")]
    pub fn generator<G: WatermarkGenerator<T> + 'static>(make: impl Fn() -> G + Send + Sync + 'static) -> Self {
        WatermarkStrategy { generator: Some(Arc::new(move || Box::new(make()))), ..Self::none() }
    }

    /// Sets what gives a record's timestamp, in milliseconds since the epoch.
    #[doc(alias = "withTimestampAssigner")]
    #[must_use]
    pub fn with_timestamps(mut self, assigner: impl Fn(&T) -> i64 + Send + Sync + 'static) -> Self {
        self.assigner = Some(Arc::new(assigner));
        self
    }

    /// Sets how long a split may have nothing to read before event time goes on without it, until it has records again.
    #[must_use]
    pub fn with_idleness(mut self, timeout: Duration) -> Self {
        self.idleness = Some(timeout);
        self
    }

    pub(super) fn assigner(&self) -> Option<TimestampAssigner<T>> {
        self.assigner.clone()
    }

    /// The strategy for the rows of a source, given how records are read from them.
    pub(super) fn of_rows(
        &self,
        read: ReadRecords<T>,
        assigner: TimestampAssigner<T>,
    ) -> Option<source::WatermarkFactory> {
        let make = self.generator.clone()?;
        let idleness = self.idleness;
        Some(Arc::new(move || {
            let (read, assigner) = (read.clone(), assigner.clone());
            Ok(Box::new(OfRows { read, assigner, generator: make(), idleness }))
        }))
    }
}

struct Trailing {
    behind_ms: i64,
}

impl<T> WatermarkGenerator<T> for Trailing {
    fn on_event(&mut self, _: &T, timestamp_ms: i64) -> Option<i64> {
        Some(timestamp_ms.saturating_sub(self.behind_ms))
    }
}

struct OfRows<T> {
    read: ReadRecords<T>,
    assigner: TimestampAssigner<T>,
    generator: Box<dyn WatermarkGenerator<T>>,
    idleness: Option<Duration>,
}

impl<T> fmt::Debug for OfRows<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OfRows").field("idleness", &self.idleness).finish_non_exhaustive()
    }
}

impl<T> source::WatermarkStrategy for OfRows<T> {
    fn watermarks(&mut self, rows: &RecordBatch) -> Result<Int64Array> {
        let mut watermarks: Vec<Option<i64>> = vec![None; rows.num_rows()];
        let OfRows { read, assigner, generator, .. } = self;
        read(rows, &mut |record, stamp| {
            let watermark_ms = generator.on_event(&record, assigner(&record));
            let of_row = &mut watermarks[stamp.row];
            *of_row = (*of_row).max(watermark_ms);
            Ok(())
        })?;
        Ok(watermarks.into())
    }

    fn idle_timeout(&self) -> Option<Duration> {
        self.idleness
    }
}
