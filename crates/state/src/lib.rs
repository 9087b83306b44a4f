//! The state of a stream: its vocabulary, and the contract of a state backend.
//!
//! A stateful operator keeps something for every *key* it has seen: a running total, an open session, a row that waits
//! for its join partner. This crate says how such state is named ([`StateDescriptor`]), addressed ([`encoding`],
//! [`KeyGroup`]), typed ([`typed`], [`codec`]), expired ([`ttl`]) and made durable ([`Snapshot`]), and what a *backend*
//! must do to hold it ([`StateBackend`], [`KeyedStateBackend`]). It holds no state itself: see the crates
//! `headpond-state-memory` and `headpond-state-rocksdb`.
//!
//! The contract is about bytes. Everything typed is written once, here, over those bytes, so a backend needs to know
//! neither Protobuf nor SQL, and every backend understands every codec.
//!
//! In reading order: [`error`], [`id`], [`key_group`], [`encoding`], [`descriptor`], [`columns`], [`backend`],
//! [`write_batch`], [`values`], [`cursor`], [`registry`], [`poison`], [`snapshot`], [`canonical`], [`state_reader`],
//! [`migration`], [`clock`], [`ttl`], [`codec`], [`schema`], [`typed`], [`bytes`], [`names`], [`printable`],
//! [`remedy`].

pub mod backend;
pub mod bytes;
pub mod canonical;
pub mod clock;
pub mod codec;
pub mod columns;
pub mod cursor;
pub mod descriptor;
pub mod encoding;
mod entry;
pub mod error;
pub mod handle_details;
pub mod id;
pub mod key_group;
pub mod migration;
pub mod names;
pub mod poison;
pub mod printable;
pub mod registry;
pub mod remedy;
pub mod schema;
pub mod snapshot;
pub mod state_reader;
pub mod ttl;
pub mod typed;
pub mod values;
pub mod write_batch;

pub use backend::{
    Capabilities, Entry, KeyBatch, KeyedBackendParams, KeyedStateBackend, ReadManyVisitor, ReadVisitor, RestoredState,
    ScanManyVisitor, ScanRange, ScanVisitor, StateBackend, StateUsage,
};
pub use clock::OperatorClock;
pub use columns::StateColumns;
pub use cursor::{CursorLimits, EntryBatch, StateCursor};
pub use descriptor::{AccessPattern, CodecId, EntryOrder, MergeOperator, StateDescriptor, StateKind};
pub use error::{Context, Error, ErrorKind, Result};
pub use handle_details::{HandleDetails, StateSize};
pub use id::{AttemptId, CheckpointId, OperatorId, StateId};
pub use key_group::{KeyGroup, KeyGroupRange, MaxParallelism};
pub use migration::{EntryConversion, Migration};
pub use poison::PoisonGuard;
pub use registry::{Registration, StateRegistry};
pub use remedy::Remedy;
pub use snapshot::{
    CheckpointSink, CheckpointSource, ContentHash, KeyedStateHandle, Snapshot, SnapshotOptions, StateFile,
};
pub use state_reader::StateReader;
pub use values::ValueBatch;
pub use write_batch::{WriteBatch, WriteOp};
