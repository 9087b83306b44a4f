//! The way of control into the dataflow: on worker 0, what the leader sends; back to the leader, which ticks are
//! finished.
//!
//! The loop is closed in the dataflow, not in time: the operator's input promises nothing about its output, whose
//! capability it holds itself, at the oldest tick that the leader has not opened.

use super::task::Addressed;
use crate::message::Notice;
use crate::process::control_gate::Gated;
use crate::process::environment::Environment;
use crate::process::message::Messages;
use std::sync::Arc;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::core::feedback::Handle;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
use timely::dataflow::operators::{ConnectLoop, Feedback};
use timely::dataflow::{Scope, Stream};
use timely::progress::Antichain;

/// The operator with its loop.
pub(super) struct ControlInput<'scope> {
    finished_loop: Handle<'scope, u64, Messages>,
    /// Control for everyone, addressed.
    pub(super) control: Stream<'scope, u64, Addressed>,
}

impl<'scope> ControlInput<'scope> {
    /// Builds the operator; on workers other than 0 it does nothing.
    pub(super) fn new(scope: Scope<'scope, u64>, environment: &Arc<Environment>) -> Self {
        let (finished_loop, finished) = scope.feedback(1);
        let mut builder = OperatorBuilder::new("control".to_owned(), scope);
        let (mut output, control) = builder.new_output::<Addressed>();
        let unconnected: [(usize, Antichain<u64>); 0] = [];
        let mut finished = builder.new_input_connection(finished, Pipeline, unconnected);
        let is_first = scope.index() == 0;
        if is_first {
            let address = builder.operator_info().address.to_vec();
            environment.gate.wake_by(scope.worker().sync_activator_for(address));
        }
        let peers = scope.peers();
        let environment = environment.clone();
        builder.build(move |mut capabilities| {
            let mut capability = capabilities.pop().filter(|_| is_first);
            let mut told = 0;
            move |frontiers| {
                finished.for_each(|_, _| {});
                if !is_first || environment.shared.has_failed() {
                    return;
                }
                // The loop adds one to every time.
                let unfinished = frontiers[0].frontier().first().map(|time| time.saturating_sub(1));
                if let Some(tick) = unfinished.filter(|tick| *tick > told) {
                    told = tick;
                    environment.shared.tell(Notice::FinishedBefore { tick });
                }
                let mut output = output.activate();
                for gated in environment.gate.take() {
                    match (gated, &mut capability) {
                        (Gated::Tick(tick, control), Some(held)) => {
                            let mut addressed: Addressed = (0..peers).map(|to| (to, control.clone())).collect();
                            output.give(&*held, &mut addressed);
                            held.downgrade(&(tick + 1));
                        }
                        (Gated::End, _) => capability = None,
                        (Gated::Tick(..), None) => {}
                    }
                }
            }
        });
        ControlInput { finished_loop, control }
    }

    /// Connects the streams whose end at a tick says that the tick is finished.
    pub(super) fn close(self, finished: Stream<'scope, u64, Messages>) {
        finished.connect_loop(self.finished_loop);
    }
}
