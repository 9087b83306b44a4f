//! Jobs on Timely Dataflow: ticks, watermarks, keyed operators, checkpoints, exactly-once sinks.
//!
//! A job has one [`Leader`] and one or several [`Process`]es, which send each other messages over [`link`]s and share
//! nothing. [`Job`] is both in one program.

pub mod batch;
pub mod checkpointing;
mod control;
mod ending;
mod failure;
pub mod graph;
mod io_threads;
pub mod job;
pub mod key;
mod leader;
pub mod link;
mod message;
pub mod metrics;
pub mod numbers;
pub mod operator;
pub mod options;
pub mod output;
mod panics;
mod plan;
mod process;
pub mod sink;
pub mod source;

pub use batch::{ChangeBatch, ChangeKind};
pub use checkpointing::Checkpointing;
pub use ending::Ending;
pub use graph::{JobGraph, KeyedInput, Node, NodeId, NodeKind, SourceNode};
pub use headpond_state::{Error, ErrorKind, Result};
pub use job::Job;
pub use key::{KeyedBatch, Keys};
pub use leader::job_control::{HeldCheckpoint, JobControl};
pub use leader::{Leader, restore};
pub use message::{ToLeader, ToProcess};
pub use metrics::JobMetrics;
pub use options::{JobOptions, Restore};
pub use output::Output;
pub use plan::Plan;
pub use process::{Connections, Process, ProcessOptions};
