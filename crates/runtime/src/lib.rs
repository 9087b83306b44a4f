//! Jobs on Timely Dataflow: ticks, watermarks, keyed operators, checkpoints, exactly-once sinks.

pub mod batch;
pub mod checkpointing;
mod control;
pub mod datum;
pub mod graph;
pub mod job;
pub mod key;
mod leader;
mod lock;
pub mod metrics;
pub mod numbers;
pub mod operator;
pub mod options;
pub mod output;
mod process;
pub mod sink;
pub mod source;

pub use batch::{ChangeBatch, ChangeKind};
pub use checkpointing::Checkpointing;
pub use graph::{JobGraph, KeyedInput, Node, NodeId, NodeKind, SourceNode};
pub use headpond_state::{Error, ErrorKind, Result};
pub use job::{Ending, Job};
pub use key::{KeyedBatch, Keys};
pub use leader::job_control::{HeldCheckpoint, JobControl};
pub use leader::restore;
pub use metrics::JobMetrics;
pub use options::{JobOptions, Restore};
pub use output::Output;
