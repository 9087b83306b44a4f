//! Checkpoints on a store: what is written, what is kept, and what a restart may trust.
//!
//! A checkpoint is a set of state files and one *manifest* that names them. The files come first, under the hash of
//! their bytes; the manifest comes last and is created exclusively: **its existence is the commit**. Everything else
//! follows from that sentence. A crash before it leaves files nobody names, a crash after it a complete checkpoint.
//!
//! ```text
//! <checkpoint dir>/<job>/chk-<n>/manifest.json     the commit
//! <checkpoint dir>/<job>/shared/<blake3>.<ext>     state files, shared by checkpoints
//! <checkpoint dir>/<job>/staging/…                 bytes on their way, without a name yet
//! <checkpoint dir>/<job>/owner.lock                held by the one running attempt, or naming the newest
//! <checkpoint dir>/<job>/rewind.json               where the newest attempt began that left checkpoints behind
//! ```
//!
//! The parts, in reading order: [`manifest`] (the durable description), [`layout`] (every key), [`location`] and
//! [`target`] (where users say it is), [`store`] (all I/O, behind one trait), [`decisions`] (pure functions over
//! observed facts: next id, reuse, retention, deletion, recovery, fencing), [`storage`] (one job's checkpoints: the
//! decisions carried out), [`savepoint`] (copies that stand by themselves), [`verify`] and [`show`] (for people),
//! [`failpoints`] (for crash tests).
//!
//! ```
//! use headpond_checkpoint::{CheckpointStorage, Manifest, StorageOptions};
//! use headpond_state::{AttemptId, MaxParallelism};
//!
//! # fn main() -> headpond_state::Result<()> {
//! # let dir = std::env::temp_dir().join(format!("headpond-checkpoint-doc-{}", std::process::id()));
//! # let dir = dir.to_str().expect("a temporary directory has a UTF-8 path");
//! let storage = CheckpointStorage::open(dir, "totals", StorageOptions::default())?;
//! let attempt = AttemptId("attempt-1".into());
//! storage.own(&attempt)?;
//! assert!(storage.latest_verified()?.is_none());
//!
//! let id = storage.next_id()?;
//! let pending = storage.begin(id, &attempt, None, true)?;
//! let file = pending.sink().put_stream("totals.state", &mut &b"the state"[..])?;
//! let mut manifest = Manifest::new("totals", attempt, id, 1, MaxParallelism::DEFAULT);
//! # use headpond_checkpoint::manifest::{OperatorState, SubtaskState};
//! # use headpond_state::{KeyedStateHandle, KeyGroupRange, OperatorId};
//! # let all = KeyGroupRange { start: 0, end: 128 };
//! manifest.operators.push(OperatorState {
//! #   operator: OperatorId::new("totals/aggregate/0"),
//! #   kind: "aggregate".into(),
//! #   description: String::new(),
//! #   event_time_ms: None,
//! #   subtasks: vec![SubtaskState { subtask: 0, key_groups: all, details: serde_json::Value::Null,
//! #   state: Some(KeyedStateHandle { format: "doc".into(), format_version: 1, key_groups: all, states: vec![],
//! #       files: vec![file], entries: 1, details: Default::default(), parts: vec![] }) }],
//!     // …the operator and the handle its snapshot left
//! });
//! storage.commit(pending, manifest)?;
//! storage.collect(1)?;
//! assert_eq!(storage.latest_verified()?.map(|found| found.manifest.checkpoint), Some(id));
//! # std::fs::remove_dir_all(dir).ok();
//! # Ok(())
//! # }
//! ```

pub mod decisions;
pub mod failpoints;
pub mod layout;
pub mod location;
pub mod manifest;
mod parallel;
pub mod savepoint;
pub mod show;
pub mod storage;
pub mod store;
pub mod target;
pub mod verify;

pub use failpoints::Failpoints;
pub use location::Location;
pub use manifest::{Manifest, OperatorState, SavepointOrigin, SinkState, SourceState, SplitState, Stats, SubtaskState};
pub use storage::{
    CheckpointStorage, CheckpointSummary, Collected, Found, PendingCheckpoint, Recovered, Resume, StorageOptions,
    find_checkpoints, open_checkpoint,
};
pub use store::{CheckpointStore, DirectoryStore, LocalStores, Stores};
