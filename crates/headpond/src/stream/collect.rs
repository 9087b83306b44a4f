//! A sink that keeps records in memory.

use super::sink::{RecordSink, RecordWriter};
use headpond_runtime::sink::{Committable, SinkJob};
use headpond_state::{CheckpointId, Context, Error, Result};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Keeps records in memory, exactly once: those of a checkpoint can be seen once it is complete. For tests, and for
/// results that are small.
///
/// Clones are the same sink. It outlives a job that fails, so the job can go on with it, but not its process.
#[derive(Debug)]
pub struct CollectSink<T> {
    collected: Arc<Mutex<Collected<T>>>,
}

/// Records by the checkpoint they were prepared for and the worker that had them.
type ByCheckpoint<T> = BTreeMap<(CheckpointId, usize), Vec<T>>;

#[derive(Debug)]
struct Collected<T> {
    staged: ByCheckpoint<T>,
    published: ByCheckpoint<T>,
}

impl<T> CollectSink<T> {
    /// A sink without records.
    pub fn new() -> Self {
        let collected = Collected { staged: BTreeMap::new(), published: BTreeMap::new() };
        CollectSink { collected: Arc::new(Mutex::new(collected)) }
    }

    /// The records of all complete checkpoints, in their order; within one, worker by worker. Without checkpoints,
    /// all records once the job has ended.
    pub fn records(&self) -> Vec<T>
    where
        T: Clone,
    {
        self.collected.lock().published.values().flatten().cloned().collect()
    }
}

impl<T> Default for CollectSink<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Clone for CollectSink<T> {
    fn clone(&self) -> Self {
        CollectSink { collected: Arc::clone(&self.collected) }
    }
}

impl<T: Send + 'static> RecordSink<T> for CollectSink<T> {
    fn can_rewind(&self) -> bool {
        true
    }

    fn check(&self, _: &SinkJob) -> Result<()> {
        Ok(())
    }

    fn rewind(&self, _: &SinkJob, checkpoint: Option<CheckpointId>) -> Result<()> {
        let mut collected = self.collected.lock();
        let stays = |of: CheckpointId| checkpoint.is_some_and(|checkpoint| of <= checkpoint);
        collected.staged.retain(|(of, _), _| stays(*of));
        collected.published.retain(|(of, _), _| stays(*of));
        Ok(())
    }

    fn open(&self, _: &SinkJob, subtask: usize) -> Result<Box<dyn RecordWriter<T>>> {
        Ok(Box::new(CollectWriter { sink: self.clone(), subtask, records: Vec::new() }))
    }

    fn commit(&self, _: &SinkJob, checkpoint: CheckpointId, committables: &[Committable]) -> Result<()> {
        let mut collected = self.collected.lock();
        for committable in committables {
            let of = (committable.checkpoint, committable.subtask);
            if let Some(records) = collected.staged.remove(&of) {
                collected.published.insert(of, records);
            } else if !collected.published.contains_key(&of) {
                return Err(Error::invalid("a checkpoint's records were collected in memory that is gone")
                    .with(Context::Checkpoint, checkpoint)
                    .hint("go on with the `CollectSink` the job had, or start anew with `Restore::None`"));
            }
        }
        Ok(())
    }
}

struct CollectWriter<T> {
    sink: CollectSink<T>,
    subtask: usize,
    records: Vec<T>,
}

impl<T: Send> RecordWriter<T> for CollectWriter<T> {
    fn write(&mut self, record: T) -> Result<()> {
        self.records.push(record);
        Ok(())
    }

    fn prepare(&mut self, checkpoint: CheckpointId) -> Result<Option<Value>> {
        if self.records.is_empty() {
            return Ok(None);
        }
        let count = self.records.len();
        let records = std::mem::take(&mut self.records);
        self.sink.collected.lock().staged.insert((checkpoint, self.subtask), records);
        Ok(Some(count.into()))
    }
}
