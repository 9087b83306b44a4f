//! What a reader is told, and what it sends to its worker.

use crate::batch::ChangeBatch;
use crate::source::{Backlog, ReaderContext, Source, SourceSplit, WatermarkFactory};
use arrow_schema::SchemaRef;
use headpond_checkpoint::manifest::SplitState;
use headpond_state::Error;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// What a reader thread sends. Splits have the indices that their assignments gave them.
#[derive(Debug)]
pub(crate) enum FromReader {
    /// Rows of a split.
    Batch(usize, SplitBatch),
    /// No row of these splits, which were not read yet, has a watermark of this time or less. A row that is later
    /// than that is not late.
    NotBefore(Vec<(usize, i64)>),
    /// A split has ended.
    SplitEnded(usize),
    /// A split has had no rows for as long as the time-out.
    Idle(usize),
    /// How much is left to read of all splits, for display.
    Backlog(Backlog),
    /// All splits have ended, and there are no others to come.
    Ended,
    /// Reading failed; nothing follows.
    Failed(Error),
}

/// Rows of one split, in the columns of the source's node.
#[derive(Debug)]
pub(crate) struct SplitBatch {
    pub(crate) rows: ChangeBatch,
    /// The position behind them.
    pub(crate) position: Value,
    /// The split's watermark behind them; `i64::MIN` for none yet.
    pub(crate) watermark_ms: i64,
    /// Malformed rows that were left out.
    pub(crate) skipped: u64,
}

/// A split a reader is to read, with the index its worker knows it by.
#[derive(Debug)]
pub(crate) struct Assignment {
    pub(crate) index: usize,
    pub(crate) split: SourceSplit,
    pub(crate) position: Option<Value>,
    /// Rows past the position that are left out.
    pub(crate) rows_past_position: u64,
    /// The watermark of what was read of it before; `i64::MIN` for none.
    pub(crate) watermark_ms: i64,
    /// What its first row says of a split of which nothing was read, where that is known.
    pub(crate) not_before_ms: Option<i64>,
}

impl Assignment {
    /// A split that stands where a checkpoint says.
    pub(crate) fn new(index: usize, split: SourceSplit, state: &SplitState) -> Self {
        Assignment {
            index,
            split,
            position: (!state.position.is_null()).then(|| state.position.clone()),
            rows_past_position: state.rows_past_position,
            watermark_ms: state.watermark_ms.unwrap_or(i64::MIN),
            not_before_ms: state.not_before_ms,
        }
    }
}

/// What a reader reads, and how.
#[derive(Debug)]
pub(crate) struct ReaderSetup {
    pub(crate) source: Arc<dyn Source>,
    /// The columns of the source's node: the source's and, if `row_watermark`, the hidden one.
    pub(crate) schema: SchemaRef,
    pub(crate) row_watermark: bool,
    pub(crate) watermarks: Option<Watermarks>,
    pub(crate) context: ReaderContext,
    /// How long a split may have nothing to read before event time goes on without it.
    pub(crate) idle_timeout: Option<Duration>,
    /// Splits that were read to their ends before this run, with their positions.
    pub(crate) finished: Vec<(SourceSplit, Value)>,
}

/// Makes what computes a split's watermarks.
#[derive(Clone)]
pub(crate) struct Watermarks(pub(crate) WatermarkFactory);

impl std::fmt::Debug for Watermarks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watermarks")
    }
}
