//! Control and reports: how the leader and everyone else agree on ticks, cuts, commits and the end.
//!
//! Control goes to worker 0, and from there to all workers on a Timely stream, with the tick as its time. Reports go
//! from each process to the leader.

use crate::metrics::{OperatorFigures, Progress};
use crate::sink::Committable;
use headpond_checkpoint::manifest::SubtaskState;
use headpond_state::{Context, Error, ErrorKind};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::collections::BTreeMap;

/// What the leader tells every source, keyed operator and sink about one tick. The tick itself is the message's time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Control {
    /// Whether the tick is a checkpoint's cut.
    pub(crate) cut: Option<Cut>,
    /// Processing time, the same for all workers, in milliseconds since the epoch.
    pub(crate) now_ms: i64,
    /// Whether sources read in this tick.
    pub(crate) read: bool,
    /// For each source node whose workers are aligned: no row beyond this watermark of its split is taken in this tick.
    pub(crate) align_ms: BTreeMap<usize, i64>,
    /// Splits that were found since the last control message. Sources begin with them in this tick.
    pub(crate) splits: Vec<NewSplit>,
    /// Checkpoints that have become durable since the last control message.
    pub(crate) completed: Vec<u64>,
    /// Checkpoints that have come to nothing since.
    pub(crate) aborted: Vec<u64>,
}

/// A split that was found while the job runs, and who is to read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NewSplit {
    /// The source's node.
    pub(crate) node: usize,
    pub(crate) worker: usize,
    pub(crate) id: String,
}

/// A checkpoint's cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cut {
    pub(crate) checkpoint: u64,
    /// Whether state is snapshotted; without a checkpoint directory only sinks prepare.
    pub(crate) persist: bool,
    /// All sources have ended: event time becomes MAX, windows close, no tick follows.
    pub(crate) end_of_input: bool,
    /// No tick follows, for whatever reason.
    pub(crate) last: bool,
    /// The checkpoint whose files may be reused, if there is one.
    pub(crate) base: Option<u64>,
}

/// What an operator tells the leader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The node.
    pub(crate) node: usize,
    /// The worker that reports.
    pub(crate) worker: usize,
    pub(crate) body: ReportBody,
}

/// The kinds of report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ReportBody {
    /// A source has rows waiting, or none.
    Ready(bool),
    /// Where a source stands whose workers are aligned in event time.
    Aligned(Standing),
    /// A source has given its last row.
    Ended,
    /// A keyed operator wants a tick at this processing time, in milliseconds, or at none.
    WakeAt(Option<i64>),
    /// A participant's part of a checkpoint, as JSON (what is inside depends on the node's kind).
    Part { checkpoint: u64, json: String },
    /// A participant could not give its part.
    Failed { checkpoint: u64, kind: u8, message: String },
    /// What has happened since the last report, for display.
    Progress(Progress),
    /// What a stateful operator has and counts now, for display.
    Figures(OperatorFigures),
    /// How long a synchronous phase took, in microseconds.
    Synchronous { us: u64 },
}

/// Where a source stands on one worker, in watermarks of its splits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Standing {
    /// The least that a row which is waiting meets; `None` when nothing waits.
    pub(crate) waiting_ms: Option<i64>,
    /// The least that one of its splits has read up to. No row that is still to be read meets less.
    pub(crate) read_ms: i64,
}

impl ReportBody {
    pub(crate) fn part<T: Serialize>(checkpoint: u64, part: &T) -> Self {
        match serde_json::to_string(part) {
            Ok(json) => ReportBody::Part { checkpoint, json },
            Err(error) => Self::failed(
                checkpoint,
                &Error::internal("a checkpoint's part cannot be written as JSON").because(error),
            ),
        }
    }

    pub(crate) fn failed(checkpoint: u64, error: &Error) -> Self {
        let message = match error.way_out() {
            Some(hint) => format!("{error}\n{hint}"),
            None => error.to_string(),
        };
        ReportBody::Failed { checkpoint, kind: error.kind().exit_code(), message }
    }
}

/// Reads a part back.
pub(crate) fn parse_part<T: DeserializeOwned>(json: &str) -> Result<T, Error> {
    serde_json::from_str(json)
        .map_err(|error| Error::internal("a checkpoint's part is not what it was sent as").because(error))
}

/// The error that a [`ReportBody::Failed`] stands for.
pub(crate) fn failure(checkpoint: u64, kind: u8, message: &str) -> Error {
    let kind = ErrorKind::of_exit_code(kind).unwrap_or(ErrorKind::Internal);
    let (message, hint) = match message.split_once('\n') {
        Some((message, hint)) => (message, Some(hint)),
        None => (message, None),
    };
    let error = Error::new(kind, message).with(Context::Checkpoint, checkpoint);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// What a checkpoint keeps of an operator on one worker besides its keyed state.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct TaskDetails {
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(crate) operator: Value,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) counters: BTreeMap<String, u64>,
}

/// A keyed operator's part of a checkpoint.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KeyedPart {
    pub(crate) subtask: SubtaskState,
    pub(crate) event_time_ms: i64,
    pub(crate) sync_us: u64,
}

/// A sink's part of a checkpoint.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SinkPart {
    /// Everything not known to be published: this checkpoint's and those of earlier ones that came to nothing.
    pub(crate) committables: Vec<Committable>,
    pub(crate) state: Option<KeyedPart>,
}
