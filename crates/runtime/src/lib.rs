//! Jobs on Timely Dataflow: ticks, watermarks, keyed operators, checkpoints, exactly-once sinks.

pub mod batch;
pub mod checkpointing;
mod control;
mod coordinator;
mod dataflow;
pub mod datum;
pub mod graph;
mod in_flight;
pub mod job;
pub mod key;
mod message;
pub mod metrics;
pub mod numbers;
pub mod operator;
pub mod output;
mod reader;
pub mod restore;
mod shared;
pub mod sink;
pub mod source;
mod uploads;

pub use batch::{ChangeBatch, ChangeKind};
pub use checkpointing::Checkpointing;
pub use graph::{JobGraph, KeyedInput, Node, NodeId, NodeKind, SourceNode};
pub use headpond_state::{Error, ErrorKind, Result};
pub use job::{Ending, Job, JobOptions, Restore};
pub use key::{KeyedBatch, Keys};
pub use metrics::JobMetrics;
pub use output::Output;
pub use shared::{HeldCheckpoint, JobControl};
