//! Changes buffered by key before they are emitted.
//!
//! State is written at once; only what is told about it waits. For each key that a batch touches the buffer knows
//! the row from before the first change and the row after the last one. When it is emptied, a key whose rows differ
//! gives its changes: what came and went in between nobody sees. A mini-batch goes over several ticks
//! ([`MiniBatch`]); otherwise each batch's changes are given at once.

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use headpond_runtime::Output;
use headpond_runtime::batch::{ChangeBatch, ChangeKind, arrow_error};
use headpond_runtime::operator::{OperatorContext, Progress};
use headpond_state::Result;
use std::collections::HashMap;
use std::sync::Arc;

/// How many rows are given at a time.
const ROWS_PER_SLICE: usize = 8192;

/// How long changes are buffered (`table.exec.mini-batch.*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MiniBatch {
    /// How long at most, in milliseconds of processing time.
    pub(crate) latency_ms: i64,
    /// How many rows at most.
    pub(crate) rows: u64,
}

impl MiniBatch {
    /// Whether what is buffered is to be given at the end of a tick.
    pub(crate) fn is_due(&self, changelog: &ChangelogBuffer, cx: &OperatorContext<'_>) -> bool {
        let Some(due_ms) = self.due_ms(changelog) else { return false };
        cx.cut || cx.end_of_input || changelog.rows >= self.rows || cx.processing_time_ms >= due_ms
    }

    /// When what is buffered must be given at the latest, in milliseconds of processing time.
    pub(crate) fn due_ms(&self, changelog: &ChangelogBuffer) -> Option<i64> {
        changelog.since_ms.map(|since_ms| since_ms.saturating_add(self.latency_ms))
    }
}

/// A row of one of the batches of a [`ChangelogBuffer`].
pub(crate) type Pick = (usize, usize);

/// The changes of keys.
#[derive(Debug)]
pub(crate) struct ChangelogBuffer {
    schema: SchemaRef,
    /// Whether an update needs no `-U`.
    overwrites: bool,
    batches: Vec<RecordBatch>,
    keys: HashMap<Box<[u8]>, usize>,
    pairs: Vec<Pair>,
    rows: u64,
    since_ms: Option<i64>,
}

/// A key's rows before and after.
#[derive(Debug, Clone, Copy)]
struct Pair {
    before: Option<Pick>,
    after: Option<Pick>,
}

impl ChangelogBuffer {
    /// No changes yet of rows with these columns.
    pub(crate) fn new(schema: SchemaRef, overwrites: bool) -> Self {
        ChangelogBuffer {
            schema,
            overwrites,
            batches: Vec::new(),
            keys: HashMap::new(),
            pairs: Vec::new(),
            rows: 0,
            since_ms: None,
        }
    }

    /// Takes rows that changes refer to: their batch in [`Pick`]s.
    pub(crate) fn add_rows(&mut self, rows: RecordBatch) -> usize {
        self.batches.push(rows);
        self.batches.len() - 1
    }

    /// Counts rows of the input.
    pub(crate) fn count(&mut self, rows: usize, now_ms: i64) {
        self.rows += rows as u64;
        self.since_ms.get_or_insert(now_ms);
    }

    /// Takes a change of a key: the row before and after it, `None` where there is none.
    pub(crate) fn change(&mut self, key: &[u8], before: Option<Pick>, after: Option<Pick>) {
        match self.keys.get(key) {
            Some(pair) => self.pairs[*pair].after = after,
            None => {
                self.keys.insert(key.into(), self.pairs.len());
                self.pairs.push(Pair { before, after });
            }
        }
    }

    /// The changes so far; the buffer is empty then. Rows are taken back before others come: in whatever key a
    /// reader sees them, no row that has come is taken away again.
    pub(crate) fn take(&mut self) -> Result<Option<ChangeBatch>> {
        let changed = self.differing()?;
        let mut kinds = Vec::with_capacity(2 * self.pairs.len());
        let mut picks = Vec::with_capacity(2 * self.pairs.len());
        let mut push = |kind: ChangeKind, pick: Pick| {
            kinds.push(kind as u8);
            picks.push(pick);
        };
        for pair in &self.pairs {
            if let (Some(before), None) = (pair.before, pair.after) {
                push(ChangeKind::Delete, before);
            }
        }
        for (pair, is_changed) in self.pairs.iter().zip(changed) {
            match (pair.before, pair.after) {
                (Some(before), Some(after)) if is_changed => {
                    if !self.overwrites {
                        push(ChangeKind::UpdateBefore, before);
                    }
                    push(ChangeKind::UpdateAfter, after);
                }
                (None, Some(after)) => push(ChangeKind::Insert, after),
                _ => {}
            }
        }
        let given = if picks.is_empty() {
            None
        } else {
            let columns = (0..self.schema.fields().len()).map(|column| self.column(column, &picks));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(picks.len()));
            let rows =
                RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(arrow_error)?;
            Some(ChangeBatch::with_kinds(rows, kinds.into())?)
        };
        self.batches.clear();
        self.keys.clear();
        self.pairs.clear();
        self.rows = 0;
        self.since_ms = None;
        Ok(given)
    }

    fn column(&self, column: usize, picks: &[Pick]) -> Result<ArrayRef> {
        let sources: Vec<&dyn Array> = self.batches.iter().map(|batch| batch.column(column).as_ref()).collect();
        arrow_select::interleave::interleave(&sources, picks).map_err(arrow_error)
    }

    /// For each pair, whether it has two rows and they differ.
    fn differing(&self) -> Result<Vec<bool>> {
        let mut both = Vec::new();
        let (mut befores, mut afters) = (Vec::new(), Vec::new());
        for (index, pair) in self.pairs.iter().enumerate() {
            if let (Some(before), Some(after)) = (pair.before, pair.after) {
                both.push(index);
                befores.push(before);
                afters.push(after);
            }
        }
        let mut differing = vec![false; self.pairs.len()];
        for column in 0..self.schema.fields().len() {
            if both.is_empty() {
                break;
            }
            let distinct = differing_rows(&self.column(column, &befores)?, &self.column(column, &afters)?)?;
            for (pair, distinct) in both.iter().zip(distinct.values()) {
                differing[*pair] |= distinct;
            }
        }
        Ok(differing)
    }
}

/// What an operator gives of its changes: those of each batch at once, or of a mini-batch.
#[derive(Debug)]
pub(crate) struct ChangelogOutput {
    /// Where changes are put.
    pub(crate) buffer: ChangelogBuffer,
    mini_batch: Option<MiniBatch>,
    /// What is computed and not yet given.
    pending: Option<ChangeBatch>,
}

impl ChangelogOutput {
    /// Changes of rows with these columns; `overwrites`: an update needs no `-U`.
    pub(crate) fn new(schema: SchemaRef, overwrites: bool, mini_batch: Option<MiniBatch>) -> Self {
        ChangelogOutput { buffer: ChangelogBuffer::new(schema, overwrites), mini_batch, pending: None }
    }

    /// Gives a batch's changes, unless a mini-batch gathers them.
    pub(crate) fn end_batch(&mut self, output: &mut Output) -> Result<Progress> {
        if self.mini_batch.is_none() {
            self.pending = self.buffer.take()?;
        }
        Ok(self.resume(output))
    }

    /// Gives what is pending.
    pub(crate) fn resume(&mut self, output: &mut Output) -> Progress {
        give_slices(&mut self.pending, output)
    }

    /// Gives a mini-batch that is due.
    pub(crate) fn advance(&mut self, cx: &mut OperatorContext<'_>) -> Result<Progress> {
        if self.mini_batch.is_some_and(|mini_batch| mini_batch.is_due(&self.buffer, cx)) {
            self.pending = self.buffer.take()?;
        }
        Ok(self.resume(cx.output))
    }

    /// When a mini-batch is due at the latest, in milliseconds of processing time.
    pub(crate) fn due_ms(&self) -> Option<i64> {
        self.mini_batch?.due_ms(&self.buffer)
    }
}

/// The rows in which two columns differ; two NULLs do not.
pub(crate) fn differing_rows(before: &ArrayRef, after: &ArrayRef) -> Result<BooleanArray> {
    if !before.data_type().is_nested() {
        return arrow_ord::cmp::distinct(before, after).map_err(arrow_error);
    }
    let differ = |row: usize| before.slice(row, 1).to_data() != after.slice(row, 1).to_data();
    Ok((0..before.len()).map(|row| Some(differ(row))).collect())
}

/// Gives what is pending until the output is full. An update's two rows are never given apart.
pub(crate) fn give_slices(pending: &mut Option<ChangeBatch>, output: &mut Output) -> Progress {
    while let Some(batch) = pending.take() {
        if output.is_full() {
            *pending = Some(batch);
            return Progress::More;
        }
        let mut length = batch.num_rows().min(ROWS_PER_SLICE);
        if length < batch.num_rows() && batch.kind(length - 1) == ChangeKind::UpdateBefore {
            length += 1;
        }
        let rest = batch.num_rows() - length;
        if rest > 0 {
            *pending = Some(batch.slice(length, rest));
        }
        output.give(batch.slice(0, length));
    }
    Progress::Done
}
