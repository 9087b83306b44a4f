//! What the workers of a process build the dataflow from.

use super::control_gate::ControlGate;
use super::shared::Shared;
use super::uploads::Uploads;
use crate::graph::JobGraph;
use crate::plan::Plan;
use headpond_state::{CheckpointSource, StateBackend};
use std::path::PathBuf;
use std::sync::Arc;

/// Everything the workers of one process have in common.
#[derive(Debug)]
pub(crate) struct Environment {
    pub(crate) graph: JobGraph,
    pub(crate) plan: Plan,
    pub(crate) backend: Arc<dyn StateBackend>,
    pub(crate) local_dir: PathBuf,
    /// Where the files of the restored checkpoint come from.
    pub(crate) restored: Option<Arc<dyn CheckpointSource>>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) gate: Arc<ControlGate>,
    pub(crate) uploads: Arc<Uploads>,
}
