//! A sink on one worker: rows of the oldest tick to the writer, and its part of each checkpoint.

use super::keyed::{TaskState, UploadedPart};
use super::task::{Task, TaskIo};
use super::ticks::{Tick, Ticks};
use crate::control::{Cut, KeyedPart, Report, ReportBody, SinkPart, TaskDetails};
use crate::metrics::{OperatorFigures, Progress};
use crate::process::environment::Environment;
use crate::process::message::Message;
use crate::sink::{Committable, SinkContext, SinkWriter};
use headpond_state::{CheckpointId, Error, OperatorId, Result};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A sink on one worker.
#[derive(Debug)]
pub(super) struct SinkTask {
    environment: Arc<Environment>,
    node: usize,
    id: OperatorId,
    worker: usize,
    writer: Box<dyn SinkWriter>,
    state: Option<TaskState>,
    /// What was prepared and is not known to be published, in the order of checkpoints.
    unpublished: Vec<Committable>,
    fresh: bool,
    /// Rows written that the leader has not heard of.
    written: u64,
}

impl SinkTask {
    pub(super) fn new(
        environment: Arc<Environment>,
        node: usize,
        worker: usize,
        writer: Box<dyn SinkWriter>,
        state: Option<TaskState>,
    ) -> Self {
        let id = environment.graph.node(crate::graph::NodeId(node)).id.clone();
        SinkTask { environment, node, id, worker, writer, state, unpublished: Vec::new(), fresh: true, written: 0 }
    }

    fn write(&mut self, tick: &mut Tick) -> Result<()> {
        let backend = self.state.as_mut().map(|state| state.backend.as_mut());
        let mut cx = SinkContext { state: backend };
        for (_, message) in tick.rows.drain(..) {
            let (changes, keys) = match &message {
                Message::Rows(changes) => (changes, None),
                Message::Keyed(batch) => (&batch.changes, Some(&batch.keys)),
                Message::Watermark(_) | Message::Damaged(_) => continue,
            };
            self.writer.write(changes, keys, &mut cx)?;
            self.written += changes.num_rows() as u64;
        }
        tick.row_count = 0;
        Ok(())
    }

    fn prepare(&mut self, cut: Cut, io: &mut TaskIo<'_>) -> Result<()> {
        let id = CheckpointId(cut.checkpoint);
        let backend = self.state.as_mut().map(|state| state.backend.as_mut());
        if let Some(data) = self.writer.prepare(id, cut.last, &mut SinkContext { state: backend })? {
            self.unpublished.push(Committable { subtask: self.worker, checkpoint: id, data });
        }
        match &mut self.state {
            Some(state) if cut.persist => {
                let details = TaskDetails::default();
                let taken = state.snapshot(&self.environment, self.worker, cut, i64::MIN, &details)?;
                io.report(self.report(taken));
            }
            _ => io.report(self.report(ReportBody::part(id.0, &self.part(id, None)))),
        }
        if let Some(state) = &self.state {
            let figures = OperatorFigures { state: state.backend.usage(), counters: BTreeMap::new() };
            io.report(self.report(ReportBody::Figures(figures)));
        }
        Ok(())
    }

    fn report_uploads(&mut self, io: &mut TaskIo<'_>) {
        let uploaded = self.state.as_mut().map(TaskState::uploaded).unwrap_or_default();
        for UploadedPart { id, result } in uploaded {
            let body = match result {
                Ok(part) => ReportBody::part(id.0, &self.part(id, Some(part))),
                Err(error) => ReportBody::failed(id.0, &self.located(error)),
            };
            io.report(self.report(body));
        }
    }

    fn part(&self, id: CheckpointId, state: Option<KeyedPart>) -> SinkPart {
        let committables = self.unpublished.iter().filter(|committable| committable.checkpoint <= id);
        SinkPart { committables: committables.cloned().collect(), state }
    }

    fn report(&self, body: ReportBody) -> Report {
        Report { node: self.node, worker: self.worker, body }
    }

    fn located(&self, error: Error) -> Error {
        error.with(headpond_state::Context::Operator, self.id.as_str())
    }

    fn work_on(&mut self, tick: &mut Tick, complete: bool, io: &mut TaskIo<'_>) -> Result<bool> {
        if self.fresh {
            let Some(control) = &tick.control else { return Ok(false) };
            if let Some(state) = &mut self.state {
                state.apply_control(control)?;
            }
            if let Some(published) = control.completed.iter().max() {
                self.unpublished.retain(|committable| committable.checkpoint.0 > *published);
            }
            self.fresh = false;
        }
        self.write(tick)?;
        if !complete {
            return Ok(false);
        }
        if let Some(cut) = tick.control.as_ref().and_then(|control| control.cut) {
            self.prepare(cut, io)?;
        }
        self.fresh = true;
        Ok(true)
    }
}

impl Task for SinkTask {
    fn work(&mut self, ticks: &mut Ticks, frontier: Option<u64>, io: &mut TaskIo<'_>) -> Result<()> {
        self.report_uploads(io);
        let worked = self.work_on_ticks(ticks, frontier, io);
        let written = std::mem::take(&mut self.written);
        if written > 0 {
            io.report(self.report(ReportBody::Progress(Progress { written, ..Progress::default() })));
        }
        worked
    }

    fn is_idle(&self) -> bool {
        self.state.as_ref().is_none_or(|state| !state.has_awaiting())
    }

    fn close(self: Box<Self>) -> Result<()> {
        match self.state {
            Some(state) => state.backend.close(),
            None => Ok(()),
        }
    }
}

impl SinkTask {
    fn work_on_ticks(&mut self, ticks: &mut Ticks, frontier: Option<u64>, io: &mut TaskIo<'_>) -> Result<()> {
        while let Some((time, tick)) = ticks.oldest() {
            let complete = frontier.is_none_or(|frontier| frontier > time);
            if !self.work_on(tick, complete, io).map_err(|error| self.located(error))? {
                break;
            }
            ticks.finish_oldest();
        }
        Ok(())
    }
}
