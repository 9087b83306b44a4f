//! Sources of records.

use super::record::{Record, RecordColumn, schema};
use arrow_schema::SchemaRef;
use headpond_runtime::source::{CommittedSplit, ReadBatch, ReaderContext, Source, SourceSplit, SplitReader};
use headpond_state::{CheckpointId, Result};
use serde_json::Value;
use std::any::type_name;
use std::fmt;

/// A source of records: [`Source`] without columns, for
/// [`from_source`](super::StreamExecutionEnvironment::from_source).
///
/// It is cut into *splits* (a file, a partition), each read in order, on threads of their own. With its records a
/// reader gives the *position* behind them: any JSON value. Checkpoints keep positions, and a restored job opens splits
/// at them.
///
/// # Contract
/// - [`splits`](Self::splits) is called once per run; ids are unique and stable across runs.
/// - Opening a split at a position gives exactly the records behind it, in the same order, every time: that is what
///   makes results exactly once.
pub trait RecordSource: Send + Sync + 'static {
    /// The records.
    type Record: Record;

    /// Whether the source ends.
    fn is_bounded(&self) -> bool;

    /// The splits as of now, in the order in which a single reader should take them.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) when there is nothing to read: where, and the way out.
    fn splits(&self) -> Result<Vec<SourceSplit>>;

    /// Hears that a checkpoint is committed, and where the splits stood in it, as
    /// [`Source::checkpoint_committed`].
    ///
    /// # Errors
    /// Only what is to end the job.
    fn checkpoint_committed(&self, _checkpoint: CheckpointId, _splits: &[CommittedSplit<'_>]) -> Result<()> {
        Ok(())
    }

    /// Opens a split at its beginning or behind a position given earlier.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for a split that is gone,
    /// [`Incompatible`](headpond_state::ErrorKind::Incompatible) for one that is no longer what the position was taken
    /// in.
    fn open(
        &self,
        split: &SourceSplit,
        position: Option<&Value>,
        reader: &ReaderContext,
    ) -> Result<Box<dyn RecordReader<Self::Record>>>;
}

/// Reads one split.
pub trait RecordReader<T>: Send {
    /// Appends the next records to `records`, at most `max_records`, and returns the position behind them; `None` at
    /// the end of the split. Returns within about 100 ms, with the position as it was when there is nothing to read
    /// yet, so that a stopping job need not wait.
    ///
    /// # Errors
    /// Whatever keeps the reader from going on; the job then fails, and a restart opens the split again.
    fn read(&mut self, max_records: usize, records: &mut Vec<T>) -> Result<Option<Value>>;

    /// Hears that a checkpoint is committed in which the split stood at `position`, as
    /// [`SplitReader::checkpoint_committed`].
    ///
    /// # Errors
    /// Only what is to end the job.
    fn checkpoint_committed(&mut self, _checkpoint: CheckpointId, _position: &Value) -> Result<()> {
        Ok(())
    }
}

/// A record source as a source of rows.
pub(super) struct SourceAdapter<S>(pub(super) S);

impl<S> fmt::Debug for SourceAdapter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(type_name::<S>())
    }
}

impl<S: RecordSource> Source for SourceAdapter<S> {
    fn schema(&self) -> SchemaRef {
        schema([])
    }

    fn is_bounded(&self) -> bool {
        self.0.is_bounded()
    }

    fn splits(&self) -> Result<Vec<SourceSplit>> {
        self.0.splits()
    }

    fn checkpoint_committed(&self, checkpoint: CheckpointId, splits: &[CommittedSplit<'_>]) -> Result<()> {
        self.0.checkpoint_committed(checkpoint, splits)
    }

    fn open(
        &self,
        split: &SourceSplit,
        position: Option<&Value>,
        reader: &ReaderContext,
    ) -> Result<Box<dyn SplitReader>> {
        let reader = self.0.open(split, position, reader)?;
        Ok(Box::new(ReaderAdapter { reader, records: Vec::new(), column: RecordColumn::default() }))
    }
}

struct ReaderAdapter<T> {
    reader: Box<dyn RecordReader<T>>,
    records: Vec<T>,
    column: RecordColumn,
}

impl<T> fmt::Debug for ReaderAdapter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReaderAdapter").finish_non_exhaustive()
    }
}

impl<T: Record> SplitReader for ReaderAdapter<T> {
    fn next(&mut self, max_rows: usize) -> Result<Option<ReadBatch>> {
        let ReaderAdapter { reader, records, column } = self;
        let Some(position) = reader.read(max_rows, records)? else { return Ok(None) };
        records.drain(..).try_for_each(|record| column.push(&record))?;
        Ok(Some(ReadBatch::inserts(column.finish(&schema([]), Vec::new())?, position)))
    }

    fn checkpoint_committed(&mut self, checkpoint: CheckpointId, position: &Value) -> Result<()> {
        self.reader.checkpoint_committed(checkpoint, position)
    }
}
