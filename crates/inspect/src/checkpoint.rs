//! A checkpoint that is looked into.

use headpond_checkpoint::{CheckpointStorage, Manifest, Recovered, Stores, find_checkpoints};
use headpond_state::{CheckpointId, CheckpointSource, Context, Error, ErrorKind, Result};
use std::sync::Arc;

/// A manifest, and where its files are. Nothing of it is changed, and a job may go on while it is read.
#[derive(Debug, Clone)]
pub struct InspectedCheckpoint {
    manifest: Arc<Manifest>,
    source: Arc<dyn CheckpointSource>,
    location: String,
    skipped: Vec<(CheckpointId, String)>,
    /// Where checkpoints come and go.
    storage: Option<CheckpointStorage>,
}

impl InspectedCheckpoint {
    /// What a manifest describes, with its files from `source`. `location` names it in messages.
    pub fn new(manifest: Manifest, source: Arc<dyn CheckpointSource>, location: impl Into<String>) -> Self {
        let (manifest, location) = (Arc::new(manifest), location.into());
        InspectedCheckpoint { manifest, source, location, skipped: Vec::new(), storage: None }
    }

    /// Opens what is at a location: a checkpoint `<dir>/<job>/chk-<n>`, or the newest one of a job's directory, or of a
    /// checkpoint directory with one job. Files are checked as they are read, not before.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) when there is no checkpoint, or there are several jobs,
    /// [`Corrupt`](ErrorKind::Corrupt) when the manifest is damaged, and as the store's.
    pub fn open(stores: &dyn Stores, location: &str) -> Result<Self> {
        let no_checkpoint = || {
            Error::invalid("there is no checkpoint at this path")
                .with(Context::Path, location)
                .hint("give a checkpoint `<checkpoint dir>/<job>/chk-<n>`, or a directory above it")
        };
        let found = find_checkpoints(stores, location)?;
        let storage = match found.jobs.as_slice() {
            [] => return Err(no_checkpoint()),
            [storage] => storage.clone(),
            several => {
                let jobs: Vec<String> = several.iter().map(|storage| format!("`{}`", storage.job())).collect();
                return Err(Error::invalid("there are checkpoints of several jobs at this path")
                    .with(Context::Path, location)
                    .hint(format!("give the directory of one of them: {}", jobs.join(", "))));
            }
        };
        let Recovered { manifest, skipped } = match found.only {
            Some(id) => Recovered { manifest: storage.load(id)?, skipped: Vec::new() },
            None => newest(&storage)?.ok_or_else(no_checkpoint)?,
        };
        Ok(InspectedCheckpoint {
            source: storage.source(),
            location: storage.locate(manifest.checkpoint),
            manifest: Arc::new(manifest),
            skipped,
            storage: Some(storage),
        })
    }

    /// What the checkpoint is.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Where it is, for people.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// Newer checkpoints whose manifests are damaged, newest first, with what is wrong with them.
    pub fn skipped(&self) -> &[(CheckpointId, String)] {
        &self.skipped
    }

    pub(crate) fn source(&self) -> &Arc<dyn CheckpointSource> {
        &self.source
    }

    /// The error of a read, told by its cause where that is a running job, which has deleted the checkpoint.
    pub(crate) fn explained(&self, error: Error) -> Error {
        let is_gone = |storage: &CheckpointStorage| {
            storage.load(self.manifest.checkpoint).is_err_and(|missing| missing.kind() == ErrorKind::Invalid)
        };
        let may_be = matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Invalid);
        if !may_be || !self.storage.as_ref().is_some_and(is_gone) {
            return error.with(Context::Path, &self.location);
        }
        Error::unavailable("the checkpoint was deleted while it was read: the job has taken newer ones")
            .with(Context::Path, &self.location)
            .hint("try again, or let the job keep more of them: execution.checkpointing.num-retained")
            .because(error)
    }
}

/// A job's newest checkpoint whose manifest can be read.
fn newest(storage: &CheckpointStorage) -> Result<Option<Recovered>> {
    let mut failed = None;
    let mut skipped = Vec::new();
    for found in storage.list()?.into_iter().rev() {
        match found.manifest {
            Ok(manifest) => return Ok(Some(Recovered { manifest, skipped })),
            Err(error) => {
                skipped.push((found.id, error.to_string()));
                failed = failed.or(Some(error));
            }
        }
    }
    failed.map_or(Ok(None), Err)
}
