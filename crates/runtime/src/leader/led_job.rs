//! The job of a leader.

use crate::graph::JobGraph;
use crate::metrics::JobMetrics;
use crate::options::JobOptions;
use crate::sink::SinkJob;
use std::sync::Arc;

/// What the leader of a running job has, for its threads.
#[derive(Debug)]
pub(super) struct LedJob {
    pub(super) graph: JobGraph,
    pub(super) options: JobOptions,
    pub(super) sink_job: SinkJob,
    pub(super) metrics: Arc<JobMetrics>,
}
