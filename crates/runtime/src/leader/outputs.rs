//! The outputs of a job's sinks, which one run owns at a time.

use crate::graph::{JobGraph, NodeKind};
use crate::sink::{OutputClaim, SinkJob};
use headpond_state::{Context, OperatorId, Result};

/// A run's claims to its sinks' outputs. They end when this is dropped.
#[derive(Debug)]
pub(crate) struct Outputs(Vec<(OperatorId, Box<dyn OutputClaim>)>);

impl Outputs {
    /// Looks who owns the outputs.
    pub(crate) fn claim(graph: &JobGraph, job: &SinkJob) -> Result<Self> {
        let mut claims = Vec::new();
        for (_, node) in graph.nodes() {
            if let NodeKind::Sink { sink, .. } = &node.kind {
                let claim = sink.claim(job).map_err(|error| error.with(Context::Operator, &node.id))?;
                claims.push((node.id.clone(), claim));
            }
        }
        Ok(Outputs(claims))
    }

    /// Makes the run their owner.
    pub(crate) fn take(&mut self) -> Result<()> {
        let mut claims = self.0.iter_mut();
        claims.try_for_each(|(id, claim)| claim.take().map_err(|error| error.with(Context::Operator, &*id)))
    }
}
