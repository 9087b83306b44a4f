//! A checkpoint in flight.

use super::{CheckpointStorage, record_of};
use crate::failpoints;
use crate::layout::SharedName;
use crate::manifest::{Manifest, Stats};
use crate::store::{HashingReader, Incoming, Staged};
use headpond_state::{AttemptId, CheckpointId, CheckpointSink, ContentHash, Context, Error, Result, StateFile};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// A checkpoint that has been begun: its plan. It takes files until it is [committed](CheckpointStorage::commit),
/// [aborted](CheckpointStorage::abort) or [cancelled](Self::cancel); dropping it aborts it.
#[derive(Debug)]
pub struct PendingCheckpoint {
    pub(super) plan: Arc<PlanSink>,
}

impl PendingCheckpoint {
    /// The checkpoint's number.
    pub fn id(&self) -> CheckpointId {
        self.plan.id
    }

    /// Whether the base's files may be reused.
    pub fn is_incremental(&self) -> bool {
        self.plan.incremental
    }

    /// Where the snapshots' files go. May be used from any number of threads.
    pub fn sink(&self) -> Arc<dyn CheckpointSink> {
        Arc::clone(&self.plan) as Arc<dyn CheckpointSink>
    }

    /// Makes every later call of the sink, and the next read of a running one, fail with
    /// [`Closed`](headpond_state::ErrorKind::Closed).
    pub fn cancel(&self) {
        self.plan.close();
    }

    /// What has been stored and reused so far.
    pub fn stats(&self) -> Stats {
        self.plan.progress().stats()
    }
}

impl Drop for PendingCheckpoint {
    fn drop(&mut self) {
        self.plan.close();
        // One lock after the other: a put takes the references while it holds the progress.
        let keep_claims = self.plan.progress().keep_claims;
        if !keep_claims {
            self.plan.storage.inner.references().abort(self.plan.id);
        }
    }
}

impl CheckpointStorage {
    /// Begins checkpoint `id`.
    ///
    /// `base` is the checkpoint this one continues, full or incremental: the last committed one, or at first the
    /// restored one. It is pinned until this checkpoint is resolved. A base that is not a checkpoint of this directory
    /// (a restored savepoint) is no base: everything is stored anew. Once the attempt owns the job, this does no I/O.
    ///
    /// # Errors
    /// As [`own`](Self::own), if `attempt` does not own the job yet; [`Fenced`](headpond_state::ErrorKind::Fenced) when
    /// `id` exists; [`Invalid`](headpond_state::ErrorKind::Invalid) when `id` is in flight.
    pub fn begin(
        &self,
        id: CheckpointId,
        attempt: &AttemptId,
        base: Option<&Manifest>,
        incremental: bool,
    ) -> Result<PendingCheckpoint> {
        self.own(attempt)?;
        let existed = self.as_owner(|owned| {
            owned.given_up.insert(id);
            !owned.known.insert(id)
        })?;
        let mut references = self.inner.references();
        if existed && references.in_flight(id) {
            return Err(Error::invalid("this checkpoint has been begun already").with(Context::Checkpoint, id));
        }
        if references.observed().iter().any(|found| found.id == id) {
            return Err(crate::decisions::fencing::fenced(id));
        }
        let of_this_job = base.filter(|base| base.job == self.inner.job);
        let record = of_this_job.map(|base| (base.checkpoint, record_of(base)));
        let has_base = references.begin(id, record.as_ref().map(|(id, record)| (*id, record)));
        drop(references);
        let plan = PlanSink {
            storage: self.clone(),
            id,
            attempt: attempt.clone(),
            base: record.map(|(id, _)| id).filter(|_| has_base),
            incremental,
            progress: Mutex::default(),
        };
        Ok(PendingCheckpoint { plan: Arc::new(plan) })
    }

    /// Gives a checkpoint up: what it stored goes, its claims are released. Later calls of its sink fail.
    pub fn abort(&self, pending: PendingCheckpoint) {
        drop(pending);
    }
}

/// The sink of one plan, and what it has taken.
#[derive(Debug)]
pub(super) struct PlanSink {
    pub(super) storage: CheckpointStorage,
    pub(super) id: CheckpointId,
    pub(super) attempt: AttemptId,
    pub(super) base: Option<CheckpointId>,
    pub(super) incremental: bool,
    progress: Mutex<Progress>,
}

/// What a plan has done so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    closed: bool,
    /// The plan may be committed without our knowing: its files stay claimed.
    pub(super) keep_claims: bool,
    pub(super) staged: BTreeMap<SharedName, (ContentHash, Staged)>,
    pub(super) reused: BTreeMap<SharedName, u64>,
    requests: u64,
}

impl Progress {
    pub(super) fn stats(&self) -> Stats {
        Stats {
            uploaded_bytes: self.staged.values().map(|(_, staged)| staged.length).sum(),
            uploaded_files: self.staged.len() as u64,
            reused_bytes: self.reused.values().sum(),
            reused_files: self.reused.len() as u64,
            requests: self.requests,
            ..Stats::default()
        }
    }

    /// The hashes of what was stored, in ascending order.
    pub(super) fn uploaded(&self) -> Vec<ContentHash> {
        self.staged.values().map(|(hash, _)| *hash).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

impl PlanSink {
    pub(super) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock()
    }

    /// The progress of a plan that still takes files.
    fn open_progress(&self) -> Result<MutexGuard<'_, Progress>> {
        let progress = self.progress();
        if progress.closed { Err(self.closed()) } else { Ok(progress) }
    }

    /// Ends the taking of files and discards those that nobody took over.
    pub(super) fn close(&self) {
        let staged = {
            let mut progress = self.progress();
            progress.closed = true;
            std::mem::take(&mut progress.staged)
        };
        for (_, staged) in staged.into_values() {
            self.storage.inner.store.discard(staged);
        }
    }

    /// Ends the taking of files and hands over what was taken.
    ///
    /// # Errors
    /// [`Closed`](headpond_state::ErrorKind::Closed) when the checkpoint was cancelled.
    pub(super) fn seal(&self) -> Result<Progress> {
        let mut progress = self.open_progress()?;
        let sealed = std::mem::take(&mut *progress);
        progress.closed = true;
        Ok(sealed)
    }

    fn closed(&self) -> Error {
        Error::closed("the checkpoint was cancelled or has ended").with(Context::Checkpoint, self.id)
    }

    fn put(&self, name: &str, path: Option<&Path>, content: &mut dyn Read) -> Result<StateFile> {
        let inner = &self.storage.inner;
        self.open_progress()?.requests += 1;
        inner.options.failpoints.reach(failpoints::BEFORE_UPLOAD);
        let content = HashingReader::new(WhileOpen { plan: self, content });
        let mut upload = Upload { plan: self, name, path, content, file: None };
        let staged = inner.store.stage(inner.layout.directory(), &mut upload).map_err(|error| {
            // A read that failed because of the cancellation is no failure of the store.
            if self.progress().closed { self.closed() } else { error.with(Context::Checkpoint, self.id) }
        })?;
        let Some(file) = upload.file else {
            inner.store.discard(staged);
            return Err(Error::internal("the checkpoint store did not ask for a file's key"));
        };
        let superfluous = match self.open_progress() {
            Err(error) => {
                inner.store.discard(staged);
                return Err(error);
            }
            Ok(mut progress) => progress.staged.insert(SharedName::of(&file), (file.hash, staged)),
        };
        // The same bytes twice in one checkpoint: either copy will do.
        if let Some((_, twin)) = superfluous {
            inner.store.discard(twin);
        }
        inner.options.failpoints.reach(failpoints::AFTER_UPLOAD);
        Ok(file)
    }
}

impl CheckpointSink for PlanSink {
    fn put_file(&self, name: &str, path: &Path) -> Result<StateFile> {
        let mut file = File::open(path).map_err(|e| Error::io("a state file cannot be read", path, e))?;
        self.put(name, Some(path), &mut file).map_err(|error| error.with(Context::Path, path.display()))
    }

    fn put_stream(&self, name: &str, content: &mut dyn Read) -> Result<StateFile> {
        self.put(name, None, content)
    }

    fn reuse(&self, file: &StateFile) -> Result<bool> {
        let mut progress = self.open_progress()?;
        let shared = SharedName::of(file);
        let reuse = self.incremental && self.storage.inner.references().may_reuse(self.id, &shared);
        if reuse {
            progress.reused.insert(shared, file.length);
        }
        Ok(reuse)
    }
}

/// A state file on its way to the store: it has its name when it was read, and is claimed before it gets it.
struct Upload<'a> {
    plan: &'a PlanSink,
    name: &'a str,
    path: Option<&'a Path>,
    content: HashingReader<WhileOpen<'a>>,
    file: Option<StateFile>,
}

impl Read for Upload<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.content.read(buffer)
    }
}

impl Incoming for Upload<'_> {
    fn file(&self) -> Option<&Path> {
        self.path
    }

    fn key(&mut self) -> Result<Option<String>> {
        let (hash, length) = self.content.finish();
        let file = StateFile { name: self.name.to_owned(), hash, length };
        let shared = SharedName::of(&file);
        self.wanted()?;
        self.plan.storage.inner.claim(self.plan.id, &shared);
        self.file = Some(file);
        Ok(Some(self.plan.storage.inner.layout.shared_file(&shared)))
    }

    fn wanted(&self) -> Result<()> {
        self.plan.open_progress().map(drop)
    }
}

/// Reads on as long as the plan is open.
struct WhileOpen<'a> {
    plan: &'a PlanSink,
    content: &'a mut dyn Read,
}

impl Read for WhileOpen<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.plan.progress().closed {
            return Err(io::Error::other("cancelled"));
        }
        self.content.read(buffer)
    }
}
