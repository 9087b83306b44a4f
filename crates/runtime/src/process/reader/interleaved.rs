//! Reading several splits: which are open, whose turn it is, and what their rows say of event time.
//!
//! Splits that end, such as files, may be many. Each is opened once for its first row, which says where in event time
//! it lies, and closed again until its time has come. Of those that are being read at most [`OPEN_MAX`] are open; the
//! others are opened again at their positions.

use super::backlog::ReaderBacklog;
use super::choice::{Choice, SplitKind};
use super::idleness::Idleness;
use super::messages::{Assignment, FromReader, ReaderSetup, SplitBatch};
use super::pace::Pace;
use crate::source::{ChangelogMode, ReadBatch, SourceSplit, SplitReader, WatermarkStrategy};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use headpond_state::{CheckpointId, Context, Error, Result};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rows that are read at once of a single split, and of each of several at least.
const ROWS_PER_BATCH: usize = 8192;
const ROWS_PER_BATCH_MIN: usize = 1024;
/// The most splits that are open: each has buffers.
const OPEN_MAX: usize = 32;
/// Splits whose first rows are looked at in one step.
const LOOKS_AT_ONCE: usize = 64;
/// A split that was opened again is read for so many times as long as that took: a compressed file must be read from
/// its beginning.
const READS_PER_OPENING: u32 = 4;

/// The splits of one reader.
#[derive(Debug)]
pub(super) struct Interleaved {
    setup: ReaderSetup,
    choice: Choice,
    splits: Vec<Split>,
    /// The places of those that are open.
    open: Vec<usize>,
    pace: Option<Pace>,
    /// The split to stay with, and how long.
    stay: Option<(usize, Duration)>,
    backlog: ReaderBacklog,
}

#[derive(Debug)]
struct Split {
    /// What its worker knows it by.
    index: usize,
    split: SourceSplit,
    position: Option<Value>,
    /// Rows past the position that are left out when it is opened next.
    rows_past_position: u64,
    /// Malformed rows among those, of which nobody was told.
    skipped: u64,
    watermark_ms: i64,
    /// Whether rows of it were read in this run.
    begun: bool,
    /// Made when it is begun, dropped when it has ended.
    strategy: Option<Box<dyn WatermarkStrategy>>,
    reader: Option<Box<dyn SplitReader>>,
    idleness: Idleness,
}

impl Interleaved {
    pub(super) fn new(setup: ReaderSetup) -> Self {
        let kind = SplitKind { event_time: setup.watermarks.is_some(), ends: setup.source.splits_end() };
        let pace = setup.source.rows_per_second().map(|rate| Pace::new(rate, setup.context.readers));
        let (splits, open) = (Vec::new(), Vec::new());
        let backlog = ReaderBacklog::of_finished(&setup);
        Interleaved { setup, choice: Choice::new(kind), splits, open, pace, stay: None, backlog }
    }

    pub(super) fn add(&mut self, assignments: Vec<Assignment>) {
        for assignment in assignments {
            let Assignment { index, split, position, rows_past_position, watermark_ms, not_before_ms } = assignment;
            let begun = (watermark_ms != i64::MIN).then_some(watermark_ms);
            self.choice.add(begun.or(not_before_ms));
            let idleness = Idleness::default();
            self.backlog.add(self.setup.source.backlog(&split, position.as_ref()));
            self.splits.push(Split {
                index,
                split,
                position,
                rows_past_position,
                skipped: 0,
                watermark_ms,
                begun: false,
                strategy: None,
                reader: None,
                idleness,
            });
        }
    }

    /// Tells the splits that are open where they stood in a committed checkpoint.
    pub(super) fn committed(&mut self, checkpoint: CheckpointId, positions: &[(usize, Value)]) -> Result<()> {
        for &place in &self.open {
            let Split { index, split, reader, .. } = &mut self.splits[place];
            let position = positions.iter().find(|(of, _)| of == index);
            if let (Some((_, position)), Some(reader)) = (position, reader) {
                reader.checkpoint_committed(checkpoint, position).map_err(|error| located(error, split))?;
            }
        }
        Ok(())
    }

    /// Whether there is a split that has not ended.
    pub(super) fn has_any(&self) -> bool {
        self.choice.left() > 0
    }

    /// Looks at splits of which nothing is known or, where there are none, reads a batch of one.
    pub(super) fn step(&mut self, send: &mut dyn FnMut(FromReader)) -> Result<()> {
        self.read_next(send)?;
        if let Some(backlog) = self.backlog.news(self.choice.left() == 0) {
            send(FromReader::Backlog(backlog));
        }
        Ok(())
    }

    fn read_next(&mut self, send: &mut dyn FnMut(FromReader)) -> Result<()> {
        if self.look(send)? {
            return Ok(());
        }
        if self.pace.as_mut().is_some_and(|pace| pace.allow(1) == 0) {
            return Ok(());
        }
        let Some(place) = self.next() else { return Ok(()) };
        let rows = self.rows_per_batch(place);
        let rows = self.pace.as_mut().map_or(rows, |pace| pace.allow(rows));
        self.read(place, rows, send)
    }

    /// True when there were such splits.
    fn look(&mut self, send: &mut dyn FnMut(FromReader)) -> Result<bool> {
        let (mut looked, mut not_before) = (false, Vec::new());
        for _ in 0..LOOKS_AT_ONCE {
            let Some(place) = self.choice.unknown() else { break };
            looked = true;
            match self.first_watermark(place)? {
                First::Watermark(first_ms) => {
                    // A row with that watermark is not earlier than it, and is not to meet event time that has reached
                    // it.
                    let bound_ms = first_ms.saturating_sub(1);
                    self.choice.stands(place, bound_ms);
                    not_before.push((self.splits[place].index, bound_ms));
                }
                First::Unknown => self.choice.stands(place, i64::MIN),
                First::Waits(took) => self.choice.waits(place, Instant::now(), took),
                First::Ended => self.ended(place, send),
            }
        }
        if !not_before.is_empty() {
            send(FromReader::NotBefore(not_before));
        }
        Ok(looked)
    }

    /// What the first row says. The split is read from its beginning later on, whatever was read of it here.
    fn first_watermark(&self, place: usize) -> Result<First> {
        let split = &self.splits[place];
        let mut reader = self.opened(split)?;
        let asked = Instant::now();
        let Some(batch) = reader.next(1).map_err(|error| located(error, &split.split))? else {
            return Ok(First::Ended);
        };
        if batch.rows.num_rows() == 0 && batch.skipped == 0 {
            return Ok(First::Waits(asked.elapsed()));
        }
        let Some(mut strategy) = self.strategy()? else { return Ok(First::Unknown) };
        let watermarks = strategy.watermarks(batch.rows.rows())?;
        Ok(watermarks.iter().flatten().next().map_or(First::Unknown, First::Watermark))
    }

    fn next(&mut self) -> Option<usize> {
        if let Some((place, left)) = self.stay
            && !left.is_zero()
        {
            return Some(place);
        }
        self.choice.next(Instant::now())
    }

    /// Several splits that are being read take turns after fewer rows each, so that none is far ahead of the others.
    fn rows_per_batch(&self, place: usize) -> usize {
        if self.setup.watermarks.is_none() || self.choice.left() == 1 {
            return ROWS_PER_BATCH;
        }
        match self.splits[place].begun {
            true => (ROWS_PER_BATCH / self.open.len().max(1)).max(ROWS_PER_BATCH_MIN),
            // Others may begin right behind its first rows.
            false => ROWS_PER_BATCH_MIN,
        }
    }

    fn read(&mut self, place: usize, rows: usize, send: &mut dyn FnMut(FromReader)) -> Result<()> {
        self.open(place)?;
        let began = Instant::now();
        let Split { reader, split, index, idleness, .. } = &mut self.splits[place];
        let Some(reader) = reader else { return Err(Error::internal("a split that is read is not open")) };
        let batch = reader.next(rows).map_err(|error| located(error, split))?;
        let took = began.elapsed();
        if let Some((_, left)) = &mut self.stay {
            *left = left.saturating_sub(took);
        }
        match batch {
            None => self.ended(place, send),
            Some(batch) if batch.rows.num_rows() == 0 && batch.skipped == 0 => {
                self.stay = None;
                self.choice.waits(place, Instant::now(), took);
                if idleness.waits(self.setup.idle_timeout) {
                    send(FromReader::Idle(*index));
                }
            }
            Some(batch) => {
                if let Some(pace) = &mut self.pace {
                    pace.given(batch.rows.num_rows());
                }
                let index = *index;
                let batch = self.take(place, batch)?;
                self.choice.stands(place, batch.watermark_ms);
                send(FromReader::Batch(index, batch));
            }
        }
        Ok(())
    }

    fn ended(&mut self, place: usize, send: &mut dyn FnMut(FromReader)) {
        self.close(place);
        self.splits[place].strategy = None;
        self.backlog.ended(place);
        self.choice.ended(place);
        send(FromReader::SplitEnded(self.splits[place].index));
    }

    /// Finds what a batch's rows say of event time, and gives them their hidden column.
    fn take(&mut self, place: usize, batch: ReadBatch) -> Result<SplitBatch> {
        let ReadBatch { rows, position, skipped } = batch;
        if self.setup.source.changelog_mode() == ChangelogMode::InsertOnly && !rows.is_insert_only() {
            return Err(Error::internal("a source that says it gives new rows only gave rows that are taken back"));
        }
        let strategy = match self.splits[place].strategy.take() {
            None => self.strategy()?,
            made => made,
        };
        let split = &mut self.splits[place];
        split.strategy = strategy;
        split.idleness.has_rows();
        split.begun = true;
        split.position = Some(position.clone());
        self.backlog.stands(place, self.setup.source.backlog(&split.split, Some(&position)));
        let mut before = Vec::new();
        if let Some(strategy) = &mut split.strategy {
            let watermarks = strategy.watermarks(rows.rows())?;
            split.watermark_ms =
                follow(split.watermark_ms, &watermarks, self.setup.row_watermark.then_some(&mut before));
        } else if self.setup.row_watermark {
            before.resize(rows.num_rows(), i64::MIN);
        }
        let mut columns: Vec<ArrayRef> = rows.rows().columns().to_vec();
        if self.setup.row_watermark {
            columns.push(Arc::new(Int64Array::from(before)));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let columns = RecordBatch::try_new_with_options(self.setup.schema.clone(), columns, &options)
            .map_err(|error| Error::internal("a source's rows are not of its schema").because(error))?;
        let rows = rows.with_rows(columns)?;
        let skipped = skipped + std::mem::take(&mut split.skipped);
        Ok(SplitBatch { rows, position, watermark_ms: split.watermark_ms, skipped })
    }

    /// Opens a split that is not, and closes another one where there are too many.
    fn open(&mut self, place: usize) -> Result<()> {
        if self.splits[place].reader.is_some() {
            return Ok(());
        }
        if self.setup.source.splits_end()
            && self.open.len() >= OPEN_MAX
            && let Some(last) = self.choice.last_of(self.open.iter().copied())
        {
            self.close(last);
        }
        let began = Instant::now();
        let mut reader = self.opened(&self.splits[place])?;
        let split = &mut self.splits[place];
        split.leave_out(&mut *reader)?;
        split.reader = Some(reader);
        self.open.push(place);
        self.stay = split.begun.then(|| (place, began.elapsed() * READS_PER_OPENING));
        Ok(())
    }

    fn close(&mut self, place: usize) {
        self.splits[place].reader = None;
        self.open.retain(|open| *open != place);
        self.stay = self.stay.filter(|(stay, _)| *stay != place);
    }

    fn opened(&self, split: &Split) -> Result<Box<dyn SplitReader>> {
        let opened = self.setup.source.open(&split.split, split.position.as_ref(), &self.setup.context);
        opened.map_err(|error| located(error, &split.split))
    }

    fn strategy(&self) -> Result<Option<Box<dyn WatermarkStrategy>>> {
        self.setup.watermarks.as_ref().map(|make| (make.0)()).transpose()
    }
}

impl Split {
    /// Reads over the rows that were taken before.
    fn leave_out(&mut self, reader: &mut dyn SplitReader) -> Result<()> {
        while self.rows_past_position > 0 {
            let most = usize::try_from(self.rows_past_position).unwrap_or(usize::MAX).min(ROWS_PER_BATCH);
            let Some(batch) = reader.next(most).map_err(|error| located(error, &self.split))? else { break };
            self.rows_past_position = self.rows_past_position.saturating_sub(batch.rows.num_rows() as u64);
            self.skipped += batch.skipped;
            self.position = Some(batch.position);
        }
        Ok(())
    }
}

/// What is found at a split's beginning.
enum First {
    /// The watermark of the first row that has one.
    Watermark(i64),
    /// Rows that say nothing of event time.
    Unknown,
    /// Nothing yet, and how long that took.
    Waits(Duration),
    /// Its end.
    Ended,
}

fn located(error: Error, split: &SourceSplit) -> Error {
    match error.place(Context::Path) {
        Some(_) => error,
        None => error.with(Context::Path, &split.id),
    }
}

/// The watermark after a batch, given the one before it; `before` collects the one each row meets. [`MAX`](i64::MAX)
/// is the end, which no row's watermark is.
fn follow(mut watermark_ms: i64, watermarks: &Int64Array, before: Option<&mut Vec<i64>>) -> i64 {
    match before {
        None => watermark_ms.max(watermarks.iter().flatten().max().unwrap_or(i64::MIN)),
        Some(before) => {
            before.reserve(watermarks.len());
            for row in 0..watermarks.len() {
                before.push(watermark_ms);
                if watermarks.is_valid(row) {
                    watermark_ms = watermark_ms.max(watermarks.value(row));
                }
            }
            watermark_ms
        }
    }
    .min(i64::MAX - 1)
}
