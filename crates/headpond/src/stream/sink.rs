//! Sinks for records.

use super::data_stream::ReadRecords;
use headpond_runtime::batch::ChangeBatch;
use headpond_runtime::key::Keys;
use headpond_runtime::sink::{Committable, OutputClaim, Sink, SinkContext, SinkJob, SinkSetup, SinkWriter, Unclaimed};
use headpond_state::{CheckpointId, Result};
use serde_json::Value;
use std::any::type_name;
use std::fmt;
use std::sync::Arc;

/// A sink for records: [`Sink`] without columns. Its writers stage what they get; a
/// [`commit`](Self::commit) publishes it once a checkpoint that holds its committables is durable.
pub trait RecordSink<T>: Send + Sync + 'static {
    /// Looks who owns the output, and changes nothing, as [`Sink::claim`]. The default is for sinks whose output any
    /// number of runs may write to.
    ///
    /// # Errors
    /// [`Fenced`](headpond_state::ErrorKind::Fenced) when another run writes to it, naming that run.
    fn claim(&self, _job: &SinkJob) -> Result<Box<dyn OutputClaim>> {
        Ok(Box::new(Unclaimed))
    }

    /// Checks what was staged for a checkpoint and may not be published yet, as [`Sink::check_staged`]. Changes
    /// nothing.
    ///
    /// # Errors
    /// As there.
    fn check_staged(&self, _job: &SinkJob, _checkpoint: CheckpointId, _committables: &[Committable]) -> Result<()> {
        Ok(())
    }

    /// Whether [`rewind`](Self::rewind) takes back what was published.
    fn can_rewind(&self) -> bool;

    /// Checks that the sink can be written, before the job starts.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for a place that cannot be written: where, and the way out.
    fn check(&self, job: &SinkJob) -> Result<()>;

    /// Takes back whatever was staged after `checkpoint` (`None`: by any run), and what was published after it if the
    /// sink can. Called once, before any writer opens.
    ///
    /// # Errors
    /// Whatever keeps the sink from it.
    fn rewind(&self, job: &SinkJob, checkpoint: Option<CheckpointId>) -> Result<()>;

    /// Opens the writer of one worker.
    ///
    /// # Errors
    /// Whatever keeps the sink from it.
    fn open(&self, job: &SinkJob, subtask: usize) -> Result<Box<dyn RecordWriter<T>>>;

    /// Publishes what writers have prepared. Idempotent: it is repeated after a restore.
    ///
    /// # Errors
    /// Whatever keeps the sink from it; the job then fails, and a restart repeats the call.
    fn commit(&self, job: &SinkJob, checkpoint: CheckpointId, committables: &[Committable]) -> Result<()>;
}

/// Takes the records of one worker.
pub trait RecordWriter<T>: Send {
    /// Takes a record.
    ///
    /// # Errors
    /// Whatever keeps the sink from it; the job then fails.
    fn write(&mut self, record: T) -> Result<()>;

    /// Makes the records since the last call as durable as the sink can without showing them, and returns by what
    /// [`RecordSink::commit`] knows them; `None` if there is nothing to commit.
    ///
    /// # Errors
    /// Whatever keeps the sink from it; the checkpoint then fails.
    fn prepare(&mut self, checkpoint: CheckpointId) -> Result<Option<Value>>;
}

/// A record sink as a sink of rows.
pub(super) struct SinkAdapter<S, T> {
    sink: S,
    read: ReadRecords<T>,
}

impl<S, T> SinkAdapter<S, T> {
    pub(super) fn new(sink: S, read: ReadRecords<T>) -> Self {
        SinkAdapter { sink, read }
    }
}

impl<S, T> fmt::Debug for SinkAdapter<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(type_name::<S>())
    }
}

impl<S: RecordSink<T>, T: 'static> Sink for SinkAdapter<S, T> {
    fn claim(&self, job: &SinkJob) -> Result<Box<dyn OutputClaim>> {
        self.sink.claim(job)
    }

    fn check_staged(&self, job: &SinkJob, checkpoint: CheckpointId, committables: &[Committable]) -> Result<()> {
        self.sink.check_staged(job, checkpoint, committables)
    }

    fn can_rewind(&self) -> bool {
        self.sink.can_rewind()
    }

    fn check(&self, job: &SinkJob) -> Result<()> {
        self.sink.check(job)
    }

    fn rewind(&self, job: &SinkJob, checkpoint: Option<CheckpointId>) -> Result<()> {
        self.sink.rewind(job, checkpoint)
    }

    fn open(&self, setup: SinkSetup<'_>) -> Result<Box<dyn SinkWriter>> {
        let writer = self.sink.open(setup.job, setup.subtask)?;
        Ok(Box::new(WriterAdapter { writer, read: self.read.clone() }))
    }

    fn commit(&self, job: &SinkJob, checkpoint: CheckpointId, committables: &[Committable]) -> Result<()> {
        self.sink.commit(job, checkpoint, committables)
    }
}

struct WriterAdapter<T> {
    writer: Box<dyn RecordWriter<T>>,
    read: ReadRecords<T>,
}

impl<T> fmt::Debug for WriterAdapter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriterAdapter").finish_non_exhaustive()
    }
}

impl<T> SinkWriter for WriterAdapter<T> {
    fn write(&mut self, batch: &ChangeBatch, _: Option<&Keys>, _: &mut SinkContext<'_>) -> Result<()> {
        let WriterAdapter { writer, read } = self;
        read(batch.rows(), &mut |record, _| writer.write(record))
    }

    fn prepare(&mut self, checkpoint: CheckpointId, _: bool, _: &mut SinkContext<'_>) -> Result<Option<Value>> {
        self.writer.prepare(checkpoint)
    }
}

/// Calls a function with every record: nothing is staged, nothing can be taken back.
pub(super) struct ForEach<F> {
    function: Arc<F>,
}

impl<F> ForEach<F> {
    pub(super) fn new(function: F) -> Self {
        ForEach { function: Arc::new(function) }
    }
}

impl<T: 'static, F: Fn(T) -> Result<()> + Send + Sync + 'static> RecordSink<T> for ForEach<F> {
    fn can_rewind(&self) -> bool {
        false
    }

    fn check(&self, _: &SinkJob) -> Result<()> {
        Ok(())
    }

    fn rewind(&self, _: &SinkJob, _: Option<CheckpointId>) -> Result<()> {
        Ok(())
    }

    fn open(&self, _: &SinkJob, _: usize) -> Result<Box<dyn RecordWriter<T>>> {
        Ok(Box::new(ForEach { function: self.function.clone() }))
    }

    fn commit(&self, _: &SinkJob, _: CheckpointId, _: &[Committable]) -> Result<()> {
        Ok(())
    }
}

impl<T, F: Fn(T) -> Result<()> + Send + Sync> RecordWriter<T> for ForEach<F> {
    fn write(&mut self, record: T) -> Result<()> {
        (self.function)(record)
    }

    fn prepare(&mut self, _: CheckpointId) -> Result<Option<Value>> {
        Ok(None)
    }
}
