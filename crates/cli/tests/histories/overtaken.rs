//! A run is held at some point of its start while another one takes over. Let go, it touches nothing.

use crate::job::{Input, JOB, Output};
use crate::place::{Attempt, Backend, Directory, Place, checkpointing, told};
use crate::server::Server;
use headpond_checkpoint::store::{CheckpointStore, Creation, Incoming, Opened, Ownership, Staged};
use headpond_checkpoint::{CheckpointStorage, StorageOptions};
use headpond_runtime::{Ending, ErrorKind, Job, JobControl, Restore, Result};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// A gate that the caller of a certain number waits at.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    calls: u32,
    holds: u32,
    waiting: bool,
    open: bool,
}

impl Gate {
    fn at(call: u32) -> Arc<Self> {
        Arc::new(Gate { state: Mutex::new(GateState { holds: call, ..GateState::default() }), changed: Condvar::new() })
    }

    fn pass(&self) {
        let mut state = self.state.lock().expect("no panic");
        state.calls += 1;
        if state.calls == state.holds {
            state.waiting = true;
            self.changed.notify_all();
            while !state.open {
                state = self.changed.wait(state).expect("no panic");
            }
        }
    }

    /// Whether somebody waits before the run has `ended`.
    fn is_reached(&self, ended: impl Fn() -> bool) -> bool {
        let mut state = self.state.lock().expect("no panic");
        while !state.waiting && !ended() {
            state = self.changed.wait_timeout(state, Duration::from_millis(5)).expect("no panic").0;
        }
        state.waiting
    }

    fn open(&self) {
        self.state.lock().expect("no panic").open = true;
        self.changed.notify_all();
    }
}

/// A store whose calls pass a gate.
#[derive(Debug)]
struct Held {
    store: Arc<dyn CheckpointStore>,
    gate: Arc<Gate>,
}

impl CheckpointStore for Held {
    fn locate(&self, key: &str) -> String {
        self.store.locate(key)
    }
    fn stage(&self, job: &str, content: &mut dyn Incoming) -> Result<Staged> {
        self.gate.pass();
        self.store.stage(job, content)
    }
    fn sync(&self, staged: &[&Staged]) -> Result<()> {
        self.gate.pass();
        self.store.sync(staged)
    }
    fn publish(&self, batch: Vec<(Staged, String)>) -> Result<()> {
        self.gate.pass();
        self.store.publish(batch)
    }
    fn discard(&self, staged: Staged) {
        self.store.discard(staged);
    }
    fn clear_staging(&self, job: &str) -> Result<()> {
        self.gate.pass();
        self.store.clear_staging(job)
    }
    fn put_exclusive(&self, staged: Staged, key: &str) -> Result<Creation> {
        self.gate.pass();
        self.store.put_exclusive(staged, key)
    }
    fn open(&self, key: &str) -> Result<Option<Opened>> {
        self.gate.pass();
        self.store.open(key)
    }
    fn length(&self, key: &str) -> Result<Option<u64>> {
        self.gate.pass();
        self.store.length(key)
    }
    fn readers(&self) -> usize {
        self.store.readers()
    }
    fn list(&self, directory: &str) -> Result<Vec<String>> {
        self.gate.pass();
        self.store.list(directory)
    }
    fn delete(&self, keys: &[String]) -> Result<()> {
        self.gate.pass();
        self.store.delete(keys)
    }
    fn remove_directory(&self, directory: &str) -> Result<()> {
        self.gate.pass();
        self.store.remove_directory(directory)
    }
    fn has_locks(&self) -> bool {
        self.store.has_locks()
    }
    fn acquire(&self, key: &str, owner: &str, patience: Duration) -> Result<Box<dyn Ownership>> {
        self.gate.pass();
        self.store.acquire(key, owner, patience)
    }
}

fn held(place: &Place, attempt: &Attempt, gate: &Arc<Gate>) -> Result<Job> {
    let store = place.store(attempt.directory).expect("a directory");
    let store = Arc::new(Held { store, gate: Arc::clone(gate) });
    let options = StorageOptions { ownership_patience: Duration::from_millis(50), ..StorageOptions::default() };
    let mut options = headpond_runtime::JobOptions {
        checkpointing: Some(checkpointing(CheckpointStorage::over(store, JOB, options)?)),
        ..place.options(attempt.backend, attempt.workers)
    };
    options.restore = attempt.restore.clone();
    Job::prepare(crate::job::graph(place.path(), attempt)?, options)
}

fn names(dir: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for table in ["copies", "totals"] {
        let entries = std::fs::read_dir(dir.join("out").join(table)).into_iter().flatten();
        names.extend(entries.map(|entry| entry.expect("an entry").path().display().to_string()));
    }
    names.sort();
    names
}

/// Holds a run at each call of its store until it has begun, and runs another one meanwhile. Gives at how many calls
/// the other one took over.
fn hold_everywhere(directory: Directory, restore: &Restore) -> u32 {
    let server = Server::start();
    let mut overtaken = 0;
    for call in 1.. {
        let place = Place::new(&server, &format!("held-{call}"));
        let mut input = Input::default();
        input.grow(place.path(), "a.csv", 800);
        let attempt = Attempt {
            directory,
            backend: Backend::Memory,
            workers: 2,
            restore: Restore::Latest,
            dies_at: None,
            stops_after: Some(Duration::from_millis(40)),
            rows_per_second: 10_000,
            files: "",
        };
        let stopped = place.prepare(&attempt).and_then(|ready| ready.run());
        assert_eq!(stopped.unwrap_or_else(|error| panic!("{}", told(&error))), Ending::Stopped);
        let storage = place.checkpoints(directory).expect("a directory");
        let restore = match restore {
            // The oldest that is left.
            Restore::From(_) => Restore::From(storage.locate(storage.list().expect("a list")[0].id)),
            other => other.clone(),
        };
        drop(storage);
        let (first, other) = (
            Attempt { restore, stops_after: None, ..attempt.clone() },
            Attempt { stops_after: None, rows_per_second: 1_000_000, ..attempt.clone() },
        );
        let gate = Gate::at(call);
        let reached = std::thread::scope(|scope| {
            let starting = scope.spawn(|| held(&place, &first, &gate));
            let reached = gate.is_reached(|| starting.is_finished());
            if reached {
                let taken_over = place.prepare(&other).and_then(|ready| ready.run());
                let before = names(place.path());
                gate.open();
                let started = starting.join().expect("no panic");
                match (taken_over, started) {
                    (Ok(ending), Err(error)) => {
                        assert_eq!(ending, Ending::Finished, "call {call}");
                        // Invalid: the checkpoint to go back to has been collected since.
                        let kind = error.kind();
                        assert!(matches!(kind, ErrorKind::Fenced | ErrorKind::Invalid), "call {call}: {error}");
                        assert_eq!(names(place.path()), before, "call {call}: something was touched");
                        overtaken += 1;
                    }
                    // It owned the job: the other one was refused.
                    (Err(error), Ok(job)) => {
                        assert_eq!(error.kind(), ErrorKind::Fenced, "call {call}: {error}");
                        let ended = job.run(JobControl::new(), Arc::default());
                        assert_eq!(ended.unwrap_or_else(|error| panic!("{}", told(&error))), Ending::Finished);
                    }
                    // Before it had looked at anything it is only late.
                    (Ok(_), Ok(job)) => {
                        let ended = job.run(JobControl::new(), Arc::default());
                        assert_eq!(ended.unwrap_or_else(|error| panic!("{}", told(&error))), Ending::Finished);
                    }
                    (Err(one), Err(other)) => panic!("call {call}: both are refused: {}, {}", told(&one), told(&other)),
                }
            }
            reached
        });
        if !reached {
            return overtaken;
        }
        assert_eq!(Output::read(place.path()).difference(&input.all()), None, "call {call}");
        let again = place.prepare(&other).and_then(|ready| ready.run());
        assert_eq!(again.unwrap_or_else(|error| panic!("call {call}: {}", told(&error))), Ending::Finished);
        assert_eq!(Output::read(place.path()).difference(&input.all()), None, "call {call}");
    }
    unreachable!("a start has an end")
}

#[test]
fn a_run_held_anywhere_in_its_start_and_overtaken_on_a_store_without_locks_touches_nothing() {
    let overtaken = hold_everywhere(Directory::S3, &Restore::Latest);
    assert!(overtaken >= 8, "only {overtaken} points");
}

#[test]
fn a_run_that_goes_back_held_anywhere_in_its_start_and_overtaken_touches_nothing() {
    let overtaken = hold_everywhere(Directory::S3, &Restore::From(String::new()));
    assert!(overtaken >= 5, "only {overtaken} points: every call of such a start");
}

#[test]
fn a_run_held_anywhere_in_its_start_keeps_a_local_directory_to_itself() {
    hold_everywhere(Directory::One, &Restore::Latest);
}
