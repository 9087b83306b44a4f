//! Uploads: a process stores the files of its snapshots; what it stored goes to the leader, which has the checkpoint.

use super::shared::Shared;
use crate::control::Cut;
use crate::io_threads::IoThreads;
use crate::message::Notice;
use crate::panics;
use crossbeam_channel::{Receiver, Sender, unbounded};
use headpond_checkpoint::layout::SharedName;
use headpond_checkpoint::storage::{Claims, Intake, StateFiles, TakenFiles};
use headpond_state::{CheckpointId, Error, KeyedStateHandle, Result, Snapshot, StateFile};
use parking_lot::{Condvar, Mutex};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;
use timely::scheduling::activate::SyncActivator;

/// Threads for uploads.
const IO_THREADS: usize = 4;

/// The uploads of one process.
pub(crate) struct Uploads {
    /// `None` for a job without checkpoints.
    files: Option<StateFiles>,
    incremental: bool,
    shared: Arc<Shared>,
    io: IoThreads,
    state: Mutex<State>,
    /// Told when the leader has answered, or will not.
    answered: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// What is being uploaded, by checkpoint.
    running: BTreeMap<CheckpointId, Vec<Arc<Intake>>>,
    /// Checkpoints up to this one are over.
    over: Option<CheckpointId>,
    /// The files that this process has in each checkpoint that may be a base, which are those it may reuse.
    named: BTreeMap<CheckpointId, HashSet<SharedName>>,
    requests: u64,
    unanswered: BTreeSet<u64>,
    ended: bool,
}

impl fmt::Debug for Uploads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Uploads").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Uploads {
    /// Uploads to `files`. The process begins with the files of a restored checkpoint.
    pub(crate) fn start<'a>(
        files: Option<StateFiles>,
        incremental: bool,
        restored: Option<(CheckpointId, impl Iterator<Item = &'a StateFile>)>,
        shared: Arc<Shared>,
    ) -> Result<Self> {
        let named = restored.map(|(id, files)| (id, files.map(SharedName::of).collect()));
        let failing = shared.clone();
        Ok(Uploads {
            files,
            incremental,
            io: IoThreads::start("io", IO_THREADS, move |error| failing.fail(error))?,
            shared,
            state: Mutex::new(State { named: named.into_iter().collect(), ..State::default() }),
            answered: Condvar::new(),
        })
    }

    /// Uploads a snapshot on an I/O thread; the result arrives at `outcomes`.
    pub(crate) fn upload(self: &Arc<Self>, cut: Cut, snapshot: Box<dyn Snapshot>, outcomes: &Outcomes<Upload>) {
        let id = CheckpointId(cut.checkpoint);
        let intake = self.intake(id, cut.base.map(CheckpointId));
        let inlet = outcomes.inlet();
        let uploads = Arc::clone(self);
        self.io.run(move || {
            let result = intake.and_then(|intake| uploads.store(id, snapshot, &intake));
            inlet.send(Upload { id, result });
        });
    }

    fn intake(self: &Arc<Self>, id: CheckpointId, base: Option<CheckpointId>) -> Result<Arc<Intake>> {
        let files = self.files.as_ref().ok_or_else(|| Error::internal("a job without checkpoints has a cut"))?;
        let state = &mut *self.state.lock();
        if state.over.is_some_and(|over| id <= over) {
            return Err(over());
        }
        if let Some(base) = base {
            // A base is never older than the one before.
            state.named.retain(|of, _| *of >= base);
        }
        let reusable = base.filter(|_| self.incremental).and_then(|base| state.named.get(&base)).cloned();
        let claims = Arc::new(AskLeader { uploads: Arc::clone(self), reusable: reusable.unwrap_or_default() });
        let intake = files.intake(id, claims);
        state.running.entry(id).or_default().push(Arc::clone(&intake));
        Ok(intake)
    }

    fn store(&self, id: CheckpointId, snapshot: Box<dyn Snapshot>, intake: &Arc<Intake>) -> Result<KeyedStateHandle> {
        let uploaded = panics::caught("an upload", || snapshot.upload(intake.as_ref())).unwrap_or_else(|panic| {
            let text = panic.message().to_owned();
            self.shared.fail(panic);
            Err(Error::internal(text))
        });
        let stored = uploaded.and_then(|handle| Ok((intake.finish()?, handle)));
        match stored {
            Ok((files, handle)) => {
                self.state.lock().named.entry(id).or_default().extend(handle.files.iter().map(SharedName::of));
                self.tell_taken(id, files);
                Ok(handle)
            }
            Err(error) => {
                intake.cancel();
                Err(error)
            }
        }
    }

    /// Before the part that names them.
    fn tell_taken(&self, id: CheckpointId, files: TakenFiles) {
        self.shared.tell(Notice::Taken { checkpoint: id.0, files });
    }

    /// The checkpoint is over: whoever still uploads for it fails.
    pub(crate) fn checkpoint_over(&self, id: CheckpointId) {
        let running = {
            let mut state = self.state.lock();
            state.over = state.over.max(Some(id));
            let later = state.running.split_off(&CheckpointId(id.0 + 1));
            std::mem::replace(&mut state.running, later)
        };
        self.answered.notify_all();
        running.into_values().flatten().for_each(|intake| intake.cancel());
    }

    /// The leader has claimed a name.
    pub(crate) fn claimed(&self, request: u64) {
        self.state.lock().unanswered.remove(&request);
        self.answered.notify_all();
    }

    /// The leader answers no more.
    pub(crate) fn end(&self) {
        let running = {
            let mut state = self.state.lock();
            state.ended = true;
            std::mem::take(&mut state.running)
        };
        self.answered.notify_all();
        running.into_values().flatten().for_each(|intake| intake.cancel());
    }

    /// Waits for what is being uploaded.
    pub(crate) fn finish(&self) {
        self.io.finish();
    }
}

fn over() -> Error {
    Error::closed("the checkpoint is over")
}

/// Names as the leader knows them.
struct AskLeader {
    uploads: Arc<Uploads>,
    reusable: HashSet<SharedName>,
}

impl fmt::Debug for AskLeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskLeader").field("reusable", &self.reusable.len()).finish_non_exhaustive()
    }
}

impl Claims for AskLeader {
    fn claim(&self, checkpoint: CheckpointId, name: &SharedName) -> Result<()> {
        let Uploads { state, answered, shared, .. } = self.uploads.as_ref();
        let request = {
            let mut state = state.lock();
            state.requests += 1;
            let request = state.requests;
            state.unanswered.insert(request);
            request
        };
        shared.tell(Notice::Claim { request, checkpoint: checkpoint.0, name: name.clone() });
        let is_over = |state: &State| state.ended || state.over.is_some_and(|over| checkpoint <= over);
        let waits = |state: &mut State| state.unanswered.contains(&request) && !is_over(state);
        let mut state = state.lock();
        answered.wait_while(&mut state, waits);
        match state.unanswered.remove(&request) {
            false => Ok(()),
            true => Err(over()),
        }
    }

    fn may_reuse(&self, _checkpoint: CheckpointId, name: &SharedName) -> bool {
        self.reusable.contains(name)
    }
}

/// An upload that has ended.
#[derive(Debug)]
pub(crate) struct Upload {
    pub(crate) id: CheckpointId,
    pub(crate) result: Result<KeyedStateHandle>,
}

/// Where results arrive on a worker, which is woken by each.
#[derive(Debug)]
pub(crate) struct Outcomes<T> {
    sender: Sender<T>,
    receiver: Receiver<T>,
    activator: SyncActivator,
}

impl<T> Outcomes<T> {
    pub(crate) fn new(activator: SyncActivator) -> Self {
        let (sender, receiver) = unbounded();
        Outcomes { sender, receiver, activator }
    }

    pub(crate) fn inlet(&self) -> Inlet<T> {
        Inlet { sender: self.sender.clone(), activator: self.activator.clone() }
    }

    pub(crate) fn take(&self) -> impl Iterator<Item = T> + '_ {
        self.receiver.try_iter()
    }
}

/// The other end of [`Outcomes`].
#[derive(Debug)]
pub(crate) struct Inlet<T> {
    sender: Sender<T>,
    activator: SyncActivator,
}

impl<T> Inlet<T> {
    pub(crate) fn send(&self, outcome: T) {
        // A worker that has ended takes no results any more.
        if self.sender.send(outcome).is_ok() {
            let _ = self.activator.activate();
        }
    }
}
