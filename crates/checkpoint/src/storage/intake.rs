//! Taking in the files of a checkpoint.
//!
//! Files are taken in by whichever process runs the operator; what they are named, which may be reused and which are
//! being deleted is known where the job's checkpoints are kept. Between the two are [`Claims`] (a name is claimed
//! before a file gets it) and [`TakenFiles`] (what was taken in, as data).

use super::CheckpointStorage;
use crate::failpoints::{self, Failpoints};
use crate::layout::{JobLayout, SharedName};
use crate::manifest::Stats;
use crate::store::{CheckpointStore, HashingReader, Incoming, Staged};
use headpond_state::{CheckpointId, CheckpointSink, ContentHash, Context, Error, Result, StateFile};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// The state files of a job for those who read and store them, without the bookkeeping of its checkpoints.
#[derive(Debug, Clone)]
pub struct StateFiles {
    pub(super) store: Arc<dyn CheckpointStore>,
    pub(super) layout: JobLayout,
    pub(super) failpoints: Failpoints,
}

impl StateFiles {
    /// The files of `job` in `store`.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for a bad job name.
    pub fn over(store: Arc<dyn CheckpointStore>, job: &str, failpoints: Failpoints) -> Result<Self> {
        Ok(StateFiles { store, layout: JobLayout::new(job)?, failpoints })
    }

    /// Takes in files of checkpoint `id`.
    pub fn intake(&self, id: CheckpointId, claims: Arc<dyn Claims>) -> Arc<Intake> {
        Arc::new(Intake { files: self.clone(), id, claims, progress: Mutex::default() })
    }

    /// Discards what was taken in and not committed.
    pub fn discard(&self, files: TakenFiles) {
        files.staged.into_iter().for_each(|file| self.store.discard(file.staged));
    }
}

impl CheckpointStorage {
    /// The state files of this job, for those who read and store them.
    pub fn files(&self) -> StateFiles {
        StateFiles {
            store: Arc::clone(&self.inner.store),
            layout: self.inner.layout.clone(),
            failpoints: self.inner.options.failpoints.clone(),
        }
    }
}

/// What the keeper of a job's checkpoints says about names.
pub trait Claims: Debug + Send + Sync {
    /// Claims a name for a checkpoint in flight, before a file gets it. Waits while a file of that name is being
    /// deleted.
    ///
    /// # Errors
    /// [`Closed`](headpond_state::ErrorKind::Closed) when the checkpoint is over.
    fn claim(&self, checkpoint: CheckpointId, name: &SharedName) -> Result<()>;

    /// Whether the checkpoint may refer to this file without storing it: only if its base names it.
    fn may_reuse(&self, checkpoint: CheckpointId, name: &SharedName) -> bool;
}

/// A file that was stored and has no place in a manifest yet.
#[derive(Debug, Serialize, Deserialize)]
struct TakenFile {
    name: SharedName,
    hash: ContentHash,
    staged: Staged,
}

/// What an [`Intake`] has stored and reused.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct TakenFiles {
    staged: Vec<TakenFile>,
    reused: BTreeMap<SharedName, u64>,
    requests: u64,
}

impl TakenFiles {
    /// The files that were reused.
    pub(super) fn reused(&self) -> impl Iterator<Item = &SharedName> {
        self.reused.keys()
    }
}

/// Takes in files of one checkpoint until it is [finished](Self::finish) or [cancelled](Self::cancel).
#[derive(Debug)]
pub struct Intake {
    files: StateFiles,
    id: CheckpointId,
    claims: Arc<dyn Claims>,
    progress: Mutex<Progress>,
}

/// What was taken in so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    closed: bool,
    /// The checkpoint may be committed without our knowing: its files stay claimed.
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

impl Intake {
    /// Ends the taking of files and hands over what was taken.
    ///
    /// # Errors
    /// [`Closed`](headpond_state::ErrorKind::Closed) when it was cancelled.
    pub fn finish(&self) -> Result<TakenFiles> {
        let Progress { staged, reused, requests, .. } = self.seal()?;
        let staged = staged.into_iter().map(|(name, (hash, staged))| TakenFile { name, hash, staged });
        Ok(TakenFiles { staged: staged.collect(), reused, requests })
    }

    /// Makes every later call, and the next read of a running one, fail with
    /// [`Closed`](headpond_state::ErrorKind::Closed), and discards what nobody took over.
    pub fn cancel(&self) {
        let staged = {
            let mut progress = self.progress();
            progress.closed = true;
            std::mem::take(&mut progress.staged)
        };
        for (_, staged) in staged.into_values() {
            self.files.store.discard(staged);
        }
    }

    /// Takes over what another intake of this checkpoint has taken in.
    pub(super) fn take_over(&self, files: TakenFiles) -> Result<()> {
        let TakenFiles { staged, reused, requests } = files;
        let mut superfluous = Vec::new();
        let taken = match self.open_progress() {
            Err(error) => {
                superfluous.extend(staged.into_iter().map(|file| file.staged));
                Err(error)
            }
            Ok(mut progress) => {
                for TakenFile { name, hash, staged } in staged {
                    // The same bytes twice in one checkpoint: either copy will do.
                    superfluous.extend(progress.staged.insert(name, (hash, staged)).map(|(_, twin)| twin));
                }
                progress.reused.extend(reused);
                progress.requests += requests;
                Ok(())
            }
        };
        superfluous.into_iter().for_each(|staged| self.files.store.discard(staged));
        taken
    }

    pub(super) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock()
    }

    /// The progress of an intake that still takes files.
    fn open_progress(&self) -> Result<MutexGuard<'_, Progress>> {
        let progress = self.progress();
        if progress.closed { Err(self.closed()) } else { Ok(progress) }
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
        let StateFiles { store, layout, failpoints } = &self.files;
        self.open_progress()?.requests += 1;
        failpoints.reach(failpoints::BEFORE_UPLOAD);
        let content = HashingReader::new(WhileOpen { intake: self, content });
        let mut upload = Upload { intake: self, name, path, content, file: None };
        let staged = store.stage(layout.directory(), &mut upload).map_err(|error| {
            // A read that failed because of the cancellation is no failure of the store.
            if self.progress().closed { self.closed() } else { error.with(Context::Checkpoint, self.id) }
        })?;
        let Some(file) = upload.file else {
            store.discard(staged);
            return Err(Error::internal("the checkpoint store did not ask for a file's key"));
        };
        let superfluous = match self.open_progress() {
            Err(error) => {
                store.discard(staged);
                return Err(error);
            }
            Ok(mut progress) => progress.staged.insert(SharedName::of(&file), (file.hash, staged)),
        };
        // The same bytes twice in one checkpoint: either copy will do.
        if let Some((_, twin)) = superfluous {
            store.discard(twin);
        }
        failpoints.reach(failpoints::AFTER_UPLOAD);
        Ok(file)
    }
}

impl CheckpointSink for Intake {
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
        let reuse = self.claims.may_reuse(self.id, &shared);
        if reuse {
            progress.reused.insert(shared, file.length);
        }
        Ok(reuse)
    }
}

/// A state file on its way to the store: it has its name when it was read, and is claimed before it gets it.
struct Upload<'a> {
    intake: &'a Intake,
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
        self.intake.claims.claim(self.intake.id, &shared)?;
        self.file = Some(file);
        Ok(Some(self.intake.files.layout.shared_file(&shared)))
    }

    fn wanted(&self) -> Result<()> {
        self.intake.open_progress().map(drop)
    }
}

/// Reads on as long as the intake is open.
struct WhileOpen<'a> {
    intake: &'a Intake,
    content: &'a mut dyn Read,
}

impl Read for WhileOpen<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.intake.progress().closed {
            return Err(io::Error::other("cancelled"));
        }
        self.content.read(buffer)
    }
}
