//! A source of records for tests of the stream API, and environments in which it is read.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]

use headpond::stream::*;
use headpond_runtime::source::{ReaderContext, SourceSplit};
use headpond_runtime::{Ending, Error, JobOptions, Result};
use headpond_state::{
    Capabilities, KeyedBackendParams, KeyedStateBackend, KeyedStateHandle, MaxParallelism, RestoredState, StateBackend,
    StateReader,
};
use headpond_state_memory::HashMapStateBackend;
use serde_json::Value;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Records in one split. A position is the index of the next.
#[derive(Clone)]
pub struct Script<T> {
    records: Arc<Vec<T>>,
    /// Fails before the record of this index once this is above zero.
    failure: Option<(usize, Arc<AtomicU64>)>,
    /// Gives so many records at once.
    at_once: usize,
    endless: bool,
}

impl<T> Script<T> {
    pub fn new(records: impl IntoIterator<Item = T>) -> Self {
        Script { records: Arc::new(records.into_iter().collect()), failure: None, at_once: 500, endless: false }
    }

    pub fn failing(self, at: usize, once: &Arc<AtomicU64>) -> Self {
        Script { failure: Some((at, once.clone())), ..self }
    }

    pub fn one_by_one(self) -> Self {
        Script { at_once: 1, ..self }
    }

    pub fn endless(self) -> Self {
        Script { endless: true, ..self }
    }
}

impl<T: Record + Clone + Sync> RecordSource for Script<T> {
    type Record = T;
    fn is_bounded(&self) -> bool {
        !self.endless
    }
    fn splits(&self) -> Result<Vec<SourceSplit>> {
        Ok(vec![SourceSplit { id: "script".to_owned() }])
    }
    fn open(&self, _: &SourceSplit, position: Option<&Value>, _: &ReaderContext) -> Result<Box<dyn RecordReader<T>>> {
        let next = position.and_then(Value::as_u64).unwrap_or(0) as usize;
        Ok(Box::new(ScriptReader { script: self.clone(), next }))
    }
}

struct ScriptReader<T> {
    script: Script<T>,
    next: usize,
}

impl<T: Record + Clone + Sync> RecordReader<T> for ScriptReader<T> {
    fn read(&mut self, max_records: usize, records: &mut Vec<T>) -> Result<Option<Value>> {
        let Script { records: all, failure, at_once, endless } = &self.script;
        let end = (self.next + max_records.min(*at_once)).min(all.len());
        let end = failure.as_ref().map_or(end, |(at, _)| end.min(*at));
        if self.next == end {
            match failure {
                Some((_, once)) if once.load(Ordering::SeqCst) > 0 => return Err(Error::invalid("a planted failure")),
                None if !endless => return Ok(None),
                _ => std::thread::sleep(Duration::from_millis(2)),
            }
        }
        records.extend_from_slice(&all[self.next..end]);
        self.next = end;
        Ok(Some(end.into()))
    }
}

/// The backend in memory, saying that it likes batches: what functions read and write is then held for a while.
#[derive(Debug)]
struct LikesBatches(HashMapStateBackend);

impl fmt::Display for LikesBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StateBackend for LikesBatches {
    fn capabilities(&self) -> Capabilities {
        Capabilities { single_entries_are_dear: true, ..self.0.capabilities() }
    }
    fn open_keyed(
        &self,
        params: KeyedBackendParams,
        restore: &[RestoredState<'_>],
    ) -> Result<Box<dyn KeyedStateBackend>> {
        self.0.open_keyed(params, restore)
    }
    fn check_handle(&self, handle: &KeyedStateHandle, max_parallelism: MaxParallelism) -> Result<()> {
        self.0.check_handle(handle, max_parallelism)
    }
    fn open_reader<'a>(
        &self,
        restored: RestoredState<'a>,
        max_parallelism: MaxParallelism,
        local_dir: &Path,
    ) -> Result<Box<dyn StateReader + 'a>> {
        self.0.open_reader(restored, max_parallelism, local_dir)
    }
}

/// An environment; with serialized channels, also with a backend that likes batches.
pub fn environment(parallelism: usize, serialized_channels: bool) -> StreamExecutionEnvironment {
    let env = StreamExecutionEnvironment::new();
    env.set_state_backend(HashMapStateBackend::new()).set_parallelism(parallelism);
    if serialized_channels {
        env.set_state_backend(LikesBatches(HashMapStateBackend::new()));
    }
    env.configure(move |options| options.serialized_channels = serialized_channels);
    env
}

pub fn checkpointed(dir: &Path, parallelism: usize, serialized_channels: bool) -> StreamExecutionEnvironment {
    let env = environment(parallelism, serialized_channels);
    env.enable_checkpointing(Duration::from_millis(5)).set_checkpoint_dir(dir.to_str().expect("utf-8"));
    env
}

/// Makes every tick read one batch of the source.
pub fn small_ticks(options: &mut JobOptions) {
    options.rows_per_tick = 1;
    options.tick_interval = Duration::ZERO;
}

/// The workers, and whether what travels between them is serialized.
pub const SETUPS: [(usize, bool); 3] = [(1, false), (3, false), (3, true)];

/// The workers before a failure and after it.
pub const RESCALES: [(usize, usize); 3] = [(1, 3), (3, 1), (3, 3)];

pub fn sorted<T: Ord + Clone>(sink: &CollectSink<T>) -> Vec<T> {
    let mut records = sink.records();
    records.sort();
    records
}

/// Executes a program until `enough`, then stops it.
pub fn execute_until(env: &StreamExecutionEnvironment, name: &str, enough: impl Fn() -> bool) -> Result<Ending> {
    let control = env.job_control();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| env.execute(name).map(|result| result.ending));
        while !enough() && !running.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        control.stop();
        running.join().expect("no panic")
    })
}
