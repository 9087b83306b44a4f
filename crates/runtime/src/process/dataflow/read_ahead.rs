//! What was read of a source's splits and waits to be taken into a tick.
//!
//! The splits of an *aligned* source are released together: each up to the watermark that all of them, on all workers,
//! have been read up to. So what operators hold for event time is what they would hold if the splits were one. Rows
//! wait here meanwhile, in batches of which a tick may take a part.

use crate::batch::ChangeBatch;
use crate::process::reader::SplitBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use headpond_state::{Error, Result};
use serde_json::Value;
use std::collections::VecDeque;

/// Rows of one split to take into the tick.
#[derive(Debug)]
pub(super) struct Released {
    pub(super) rows: ChangeBatch,
    /// The split's watermark behind them.
    pub(super) watermark_ms: i64,
    /// Set with the last rows of a batch.
    pub(super) batch_end: Option<BatchEnd>,
}

/// What is known once a batch was taken to its end.
#[derive(Debug)]
pub(super) struct BatchEnd {
    /// The position behind it.
    pub(super) position: Value,
    /// Malformed rows that were left out.
    pub(super) skipped: u64,
}

/// What has come of a split and is not yet taken.
#[derive(Debug)]
enum Waiting {
    Batch(SplitBatch),
    Idle,
    Ended,
}

/// What happened to a split, besides rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SplitNews {
    /// It has had no rows for too long.
    Idle,
    /// It has ended.
    Ended,
}

/// What comes next of what waits.
#[derive(Debug)]
pub(super) enum Next {
    Rows(usize, Released),
    News(usize, SplitNews),
}

/// Batches that wait, by split.
#[derive(Debug, Default)]
pub(super) struct ReadAhead {
    splits: Vec<VecDeque<Waiting>>,
    /// The splits of which something waits, in the order in which it came.
    waiting: Vec<usize>,
    rows: usize,
    bytes: usize,
    /// Whether rows have the hidden column of their split's watermark.
    has_row_watermark: bool,
}

impl ReadAhead {
    pub(super) fn new(has_row_watermark: bool) -> Self {
        ReadAhead { has_row_watermark, ..ReadAhead::default() }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn push_batch(&mut self, split: usize, batch: SplitBatch) {
        self.rows += batch.rows.num_rows();
        self.bytes += batch.rows.byte_len();
        self.push(split, Waiting::Batch(batch));
    }

    pub(super) fn push_news(&mut self, split: usize, news: SplitNews) {
        self.push(split, if news == SplitNews::Idle { Waiting::Idle } else { Waiting::Ended });
    }

    fn push(&mut self, split: usize, waiting: Waiting) {
        if self.splits.len() <= split {
            self.splits.resize_with(split + 1, VecDeque::new);
        }
        if self.splits[split].is_empty() {
            self.waiting.push(split);
        }
        self.splits[split].push_back(waiting);
    }

    /// Up to which watermark a split was read; `None` when nothing of it waits.
    pub(super) fn read_ms(&self, split: usize) -> Option<i64> {
        match self.splits.get(split)?.back()? {
            Waiting::Batch(batch) => Some(batch.watermark_ms),
            Waiting::Idle | Waiting::Ended => Some(i64::MAX),
        }
    }

    /// The least watermark that a waiting row meets; `None` when nothing waits.
    pub(super) fn waiting_ms(&self) -> Option<i64> {
        self.waiting.iter().map(|&split| self.head_ms(split)).min()
    }

    /// The watermark that the first row which waits of a split meets. What is no row waits for nothing.
    fn head_ms(&self, split: usize) -> i64 {
        match self.splits[split].front() {
            Some(Waiting::Batch(batch)) if self.has_row_watermark => {
                row_watermarks(&batch.rows).and_then(|column| column.first().copied()).unwrap_or(i64::MIN)
            }
            _ => i64::MIN,
        }
    }

    /// Takes what is furthest behind in event time, if it does not lie beyond `align_ms`.
    pub(super) fn next(&mut self, align_ms: i64) -> Result<Option<Next>> {
        let Some(at) = (0..self.waiting.len()).min_by_key(|&at| self.head_ms(self.waiting[at])) else {
            return Ok(None);
        };
        let split = self.waiting[at];
        if self.head_ms(split) > align_ms {
            return Ok(None);
        }
        let queue = &mut self.splits[split];
        let next = match queue.front_mut() {
            Some(Waiting::Batch(batch)) => {
                let (count, watermark_ms) = match self.has_row_watermark {
                    true => released(batch, align_ms)?,
                    false => (batch.rows.num_rows(), batch.watermark_ms),
                };
                let rows = batch.rows.slice(0, count);
                self.rows -= count;
                let released = if count < batch.rows.num_rows() {
                    batch.rows = batch.rows.slice(count, batch.rows.num_rows() - count);
                    Released { rows, watermark_ms, batch_end: None }
                } else {
                    let end = BatchEnd { position: std::mem::take(&mut batch.position), skipped: batch.skipped };
                    queue.pop_front();
                    Released { rows, watermark_ms, batch_end: Some(end) }
                };
                self.bytes = self.bytes.saturating_sub(released.rows.byte_len());
                Next::Rows(split, released)
            }
            other => {
                let news = if matches!(other, Some(Waiting::Idle)) { SplitNews::Idle } else { SplitNews::Ended };
                queue.pop_front();
                Next::News(split, news)
            }
        };
        if self.splits[split].is_empty() {
            self.waiting.remove(at);
        }
        if self.waiting.is_empty() {
            self.bytes = 0;
        }
        Ok(Some(next))
    }
}

/// How many rows of a batch do not lie beyond `align_ms`, and the split's watermark behind them.
fn released(batch: &SplitBatch, align_ms: i64) -> Result<(usize, i64)> {
    let before = row_watermarks(&batch.rows)
        .ok_or_else(|| Error::internal("a source's rows have no column of their split's watermark"))?;
    // A split's watermark never goes back.
    let count = before.partition_point(|before_ms| *before_ms <= align_ms);
    Ok((count, before.get(count).copied().unwrap_or(batch.watermark_ms)))
}

/// The hidden last column.
fn row_watermarks(rows: &ChangeBatch) -> Option<&[i64]> {
    Some(rows.rows().columns().last()?.as_primitive_opt::<Int64Type>()?.values())
}
