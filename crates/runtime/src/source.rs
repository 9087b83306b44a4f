//! Sources: where rows come from, split by split, each from a position on.
//!
//! A source is cut into *splits* (a file, a partition), each read in order by one reader thread. A reader gives
//! batches and, with each, the *position* just behind it: any JSON value from which the split can be opened again to
//! give exactly the rows that follow. Positions at a checkpoint's cut are kept in its manifest.
//!
//! A thread reads several splits in turn, a batch of each, always the one that is furthest behind in event time. Each
//! split has its own watermark, and whether a row is late follows from that alone.

use crate::batch::ChangeBatch;
use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::SchemaRef;
use headpond_state::{CheckpointId, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// A source of rows. A third party's source implements this and [`SplitReader`].
///
/// # Contract
/// - [`splits`](Self::splits) is called at the start of a run and, if the source is [watched](Self::monitor_interval),
///   again and again on a thread of its own; ids are unique and stable across runs.
/// - Opening a split at a position gives exactly the rows behind it, in the same order, every time. A split that ends
///   may be opened, left and opened again any number of times: a look at its first row says when its turn is.
pub trait Source: Debug + Send + Sync {
    /// The columns of every batch.
    fn schema(&self) -> SchemaRef;

    /// Which changes its rows may be.
    fn changelog_mode(&self) -> ChangelogMode {
        ChangelogMode::InsertOnly
    }

    /// Whether the source ends.
    fn is_bounded(&self) -> bool;

    /// Whether each split ends, such as a file, although new ones may come.
    fn splits_end(&self) -> bool {
        self.is_bounded()
    }

    /// How often new splits are looked for while the job runs; `None`: those at the start are all. A source that is
    /// watched never ends, so it is not [bounded](Self::is_bounded), and [`splits`](Self::splits) may find none.
    fn monitor_interval(&self) -> Option<Duration> {
        None
    }

    /// The most rows to read in a second, by all readers together; `None`: as many as they can.
    fn rows_per_second(&self) -> Option<u64> {
        None
    }

    /// The splits as of now, in the order in which a single reader should take them if their rows have no event time.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) when there is nothing to read: it names the path and the way
    /// out.
    fn splits(&self) -> Result<Vec<SourceSplit>>;

    /// How much of a split lies behind a position, `None` for its beginning, and how much there is of it in all: for
    /// display only. `None` where that is not known. Called on the reader's thread, behind every batch: it must be
    /// quick.
    fn backlog(&self, _split: &SourceSplit, _position: Option<&Value>) -> Option<Backlog> {
        None
    }

    /// Hears that a checkpoint is durable and its output published, and where the splits stood in it: nothing before
    /// these positions is needed to go on. Called on the leader, for each checkpoint in order, the last one included,
    /// and after a restore for the restored checkpoint. Readers [hear it too](SplitReader::checkpoint_committed).
    ///
    /// # Errors
    /// Only what is to end the job: the checkpoint is committed all the same.
    fn checkpoint_committed(&self, _checkpoint: CheckpointId, _splits: &[CommittedSplit<'_>]) -> Result<()> {
        Ok(())
    }

    /// Opens a split at its beginning or behind a position given earlier. That position is of a committed checkpoint.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for a split that is gone,
    /// [`Incompatible`](headpond_state::ErrorKind::Incompatible) for one that is no longer what the position was taken
    /// in (a shorter file).
    fn open(
        &self,
        split: &SourceSplit,
        position: Option<&Value>,
        reader: &ReaderContext,
    ) -> Result<Box<dyn SplitReader>>;
}

/// Which of the source's readers opens a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReaderContext {
    /// The reader's index.
    pub subtask: usize,
    /// The number of readers that have a split to read.
    pub readers: usize,
}

/// A part of a source that is read in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceSplit {
    /// Its identity, unique within the source and stable across runs: a path, a partition.
    pub id: String,
}

/// Reads one split on a thread of its own.
pub trait SplitReader: Debug + Send {
    /// The next rows, at most `max_rows` of them; `None` at the end. Returns within about 100 ms, with an empty batch
    /// when there is nothing to read yet (an unbounded source), so that a stopping job and the reader's other splits
    /// need not wait.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for a row that does not parse, with path, line, column and text.
    fn next(&mut self, max_rows: usize) -> Result<Option<ReadBatch>>;

    /// Hears that a checkpoint is committed in which the split stood at `position`, between two calls of
    /// [`next`](Self::next): whoever keeps rows for a reader until it has confirmed them can let these go. Called in
    /// order, for the newest if several were committed meanwhile, and not for the last one of a run, whose readers have
    /// ended.
    ///
    /// # Errors
    /// Only what is to end the job.
    fn checkpoint_committed(&mut self, _checkpoint: CheckpointId, _position: &Value) -> Result<()> {
        Ok(())
    }
}

/// How much of a split, or of several, is left to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backlog {
    /// What is counted.
    pub unit: BacklogUnit,
    /// How much there is in all, as far as it is known.
    pub total: u64,
    /// How much of it is left.
    pub left: u64,
}

/// What a [`Backlog`] counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum BacklogUnit {
    /// Bytes as they are stored, compressed or not.
    Bytes,
    /// Rows, or messages.
    Rows,
}

impl Backlog {
    /// The backlog of both, if they count the same.
    #[must_use]
    pub fn plus(self, other: Backlog) -> Self {
        if self.unit != other.unit {
            return self;
        }
        Backlog {
            unit: self.unit,
            total: self.total.saturating_add(other.total),
            left: self.left.saturating_add(other.left),
        }
    }
}

/// Where a split stood in a committed checkpoint.
#[derive(Debug, Clone, Copy)]
pub struct CommittedSplit<'a> {
    /// The split's id.
    pub id: &'a str,
    /// Its position; NULL where nothing was read of it.
    pub position: &'a Value,
    /// Whether it was read to its end.
    pub finished: bool,
}

/// Which changes a source gives, as Flink's `ChangelogMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChangelogMode {
    /// New rows (`+I`) only.
    #[default]
    InsertOnly,
    /// The current row of a key (`+I` or `+U`), and keys whose row is gone (`-D`, where the columns that are not the
    /// key's may be NULL). The same may be said more than once. An operator that keeps the last row of each key makes
    /// [all](Self::All) changes of them.
    Upsert,
    /// Rows that come and rows that are taken back as they came: `+I`, `-U` before `+U`, `-D`. Each once.
    All,
}

/// What a reader gives.
#[derive(Debug, Clone)]
pub struct ReadBatch {
    /// The rows, of kinds that the source's [mode](Source::changelog_mode) allows.
    pub rows: ChangeBatch,
    /// The position behind the last of them.
    pub position: Value,
    /// Malformed rows that were left out in this batch, as the table's options allow.
    pub skipped: u64,
}

impl ReadBatch {
    /// New rows, of which none was malformed.
    pub fn inserts(rows: RecordBatch, position: Value) -> Self {
        ReadBatch { rows: ChangeBatch::inserts(rows), position, skipped: 0 }
    }
}

/// Computes the watermark that a split's rows imply: one for each split.
pub trait WatermarkStrategy: Debug + Send {
    /// For each row the watermark (milliseconds since the epoch) that holds once it was seen; NULL where the row says
    /// nothing.
    fn watermarks(&mut self, rows: &RecordBatch) -> Result<Int64Array>;

    /// How long a split may have nothing to read before event time goes on without it, until it has rows again.
    /// `None`: as the [job](crate::options::JobOptions::source_idle_timeout) says.
    fn idle_timeout(&self) -> Option<Duration> {
        None
    }
}

/// Makes a [`WatermarkStrategy`] for a split.
pub type WatermarkFactory = Arc<dyn Fn() -> Result<Box<dyn WatermarkStrategy>> + Send + Sync>;

/// The hidden last column of a source's rows when
/// [`SourceNode::row_watermark`](crate::graph::SourceNode::row_watermark) is set: `Int64`, the watermark of the row's
/// split just before the row, in milliseconds (`i64::MIN` for none yet). A row is late for a window whose last
/// millisecond is not beyond it; judged by the row's place in its split, lateness depends neither on timing nor on
/// other splits. Event time before the tick is never beyond it, unless the split was idle or found late: the later of
/// the two counts then.
pub const ROW_WATERMARK_COLUMN: &str = "$row_watermark";
