//! A job that writes to a sink, as the runtime would run it.

use super::batch;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt8Array};
use headpond_connectors::{SinkInput, TableDescription};
use headpond_runtime::key::KeyEncoder;
use headpond_runtime::sink::{Committable, Sink, SinkContext, SinkJob, SinkSetup, SinkWriter};
use headpond_runtime::{ChangeBatch, ChangeKind, Result};
use headpond_state::{
    AttemptId, CheckpointId, KeyedBackendParams, KeyedStateBackend, MaxParallelism, OperatorClock, OperatorId,
    StateBackend,
};
use headpond_state_memory::MemoryStateBackend;
use std::path::Path;
use std::sync::Arc;

pub fn input(changelog: bool) -> SinkInput {
    SinkInput { insert: "t".to_owned(), changelog, upsert: true, bounded: true }
}

pub fn job(attempt: &str) -> SinkJob {
    SinkJob::new("test", AttemptId(attempt.to_owned()))
}

/// Changes of a table `k STRING, n BIGINT`: `+I a 1`.
pub fn changes(lines: &[&str]) -> ChangeBatch {
    let mut kinds = Vec::new();
    let (mut keys, mut numbers) = (Vec::new(), Vec::new());
    for line in lines {
        let [kind, key, number] = line.split(' ').collect::<Vec<_>>().try_into().expect("kind, key and number");
        let all = [ChangeKind::Insert, ChangeKind::UpdateBefore, ChangeKind::UpdateAfter, ChangeKind::Delete];
        kinds.push(all.into_iter().find(|known| known.short() == kind).expect("a kind") as u8);
        keys.push((key != "NULL").then_some(key));
        numbers.push(number.parse::<i64>().ok());
    }
    let rows = batch(vec![
        ("k", Arc::new(StringArray::from(keys)) as ArrayRef),
        ("n", Arc::new(Int64Array::from(numbers)) as ArrayRef),
    ]);
    if kinds.iter().all(|&kind| kind == 0) {
        return ChangeBatch::inserts(rows);
    }
    ChangeBatch::with_kinds(rows, UInt8Array::from(kinds)).expect("a kind each")
}

/// One run of a job with one sink.
#[derive(Debug)]
pub struct Run {
    job: SinkJob,
    sink: Arc<dyn Sink>,
    table: TableDescription,
    writers: Vec<Writer>,
}

#[derive(Debug)]
struct Writer {
    writer: Box<dyn SinkWriter>,
    state: Option<Box<dyn KeyedStateBackend>>,
}

impl Run {
    /// Starts a run from a checkpoint whose committables are given: takes back what is later, opens the writers with
    /// the state that `history` leads to, and repeats the commit.
    pub fn start(
        attempt: &str,
        table: &TableDescription,
        sink: &Arc<dyn Sink>,
        parallelism: usize,
        restored: Option<(u64, &[Committable])>,
        history: &[&str],
    ) -> Result<Run> {
        let job = job(attempt);
        sink.check(&job)?;
        sink.rewind(&job, restored.map(|(checkpoint, _)| CheckpointId(checkpoint)))?;
        let mut run = Run { job, sink: Arc::clone(sink), table: table.clone(), writers: Vec::new() };
        run.open(parallelism)?;
        if sink.is_stateful() && !history.is_empty() {
            // What the state was restored to, as earlier writers made it.
            run.write(&changes(history))?;
            let states: Vec<_> = run.writers.drain(..).map(|writer| writer.state).collect();
            for (subtask, state) in states.into_iter().enumerate() {
                run.open_one(subtask, parallelism, state)?;
            }
        }
        if let Some((checkpoint, committables)) = restored {
            run.commit(checkpoint, committables)?;
        }
        Ok(run)
    }

    /// Goes on with a run that has taken the output over.
    pub fn resume(job: &SinkJob, table: &TableDescription, sink: &Arc<dyn Sink>, parallelism: usize) -> Result<Run> {
        let mut run = Run { job: job.clone(), sink: Arc::clone(sink), table: table.clone(), writers: Vec::new() };
        run.open(parallelism)?;
        Ok(run)
    }

    fn open(&mut self, parallelism: usize) -> Result<()> {
        for subtask in 0..parallelism {
            let state = if self.sink.is_stateful() { Some(new_state(subtask, parallelism)?) } else { None };
            self.open_one(subtask, parallelism, state)?;
        }
        Ok(())
    }

    fn open_one(
        &mut self,
        subtask: usize,
        parallelism: usize,
        mut state: Option<Box<dyn KeyedStateBackend>>,
    ) -> Result<()> {
        let writer = self.sink.open(SinkSetup {
            job: &self.job,
            subtask,
            parallelism,
            max_parallelism: MaxParallelism::DEFAULT,
            schema: Arc::clone(&self.table.schema),
            state: state.as_mut().map(|state| &mut **state as &mut dyn KeyedStateBackend),
        })?;
        self.writers.push(Writer { writer, state });
        Ok(())
    }

    /// Writes changes: by key where the sink is stateful, else dealt in turn.
    pub fn write(&mut self, changes: &ChangeBatch) -> Result<()> {
        let parallelism = self.writers.len();
        let stateful = self.sink.is_stateful();
        let encoder = KeyEncoder::new(&self.table.schema, &self.table.primary_key, MaxParallelism::DEFAULT)?;
        for row in 0..changes.num_rows() {
            let change = changes.slice(row, 1);
            let keys = encoder.encode(&change)?;
            let subtask = if stateful {
                MaxParallelism::DEFAULT.subtask_of(keys.key_group(0), parallelism)
            } else {
                row % parallelism
            };
            let writer = &mut self.writers[subtask];
            let mut cx = SinkContext { state: writer.state.as_deref_mut() };
            writer.writer.write(&change, stateful.then_some(&keys), &mut cx)?;
        }
        Ok(())
    }

    /// Cuts: the committables of all writers.
    pub fn prepare(&mut self, checkpoint: u64, last: bool) -> Result<Vec<Committable>> {
        let checkpoint = CheckpointId(checkpoint);
        let mut committables = Vec::new();
        for (subtask, writer) in self.writers.iter_mut().enumerate() {
            let mut cx = SinkContext { state: writer.state.as_deref_mut() };
            let data = writer.writer.prepare(checkpoint, last, &mut cx)?;
            committables.extend(data.map(|data| Committable { subtask, checkpoint, data }));
        }
        Ok(committables)
    }

    pub fn commit(&self, checkpoint: u64, committables: &[Committable]) -> Result<()> {
        self.sink.commit(&self.job, CheckpointId(checkpoint), committables)
    }

    /// Cuts and commits.
    pub fn checkpoint(&mut self, checkpoint: u64) -> Result<Vec<Committable>> {
        let committables = self.prepare(checkpoint, false)?;
        self.commit(checkpoint, &committables)?;
        Ok(committables)
    }
}

/// The empty state of a writer.
pub fn new_state(subtask: usize, parallelism: usize) -> Result<Box<dyn KeyedStateBackend>> {
    let params = KeyedBackendParams {
        operator: OperatorId::new("t/sink/0"),
        subtask,
        key_groups: MaxParallelism::DEFAULT.range_of(subtask, parallelism),
        max_parallelism: MaxParallelism::DEFAULT,
        clock: Arc::new(OperatorClock::new(0)),
        local_dir: std::env::temp_dir(),
    };
    MemoryStateBackend::new().open_keyed(params, &[])
}

/// The lines of all files that readers see, sorted.
pub fn published(directory: &Path) -> Vec<String> {
    let mut lines: Vec<String> = visible(directory)
        .iter()
        .flat_map(|name| {
            let text = std::fs::read_to_string(directory.join(name)).expect("a published file");
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    lines.sort();
    lines
}

/// The names of all files that readers see, sorted.
pub fn visible(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("the sink's directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with(['.', '_'])).collect();
    names.sort();
    names
}

/// The number of files in staging.
pub fn staged(directory: &Path) -> usize {
    let Ok(attempts) = std::fs::read_dir(directory.join(".staging")) else { return 0 };
    attempts.map(|attempt| std::fs::read_dir(attempt.expect("an entry").path()).map_or(0, Iterator::count)).sum()
}

/// Rows of any table as one batch.
pub fn rows(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    batch(columns)
}
