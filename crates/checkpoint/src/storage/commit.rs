//! The commit: names for the files, then the manifest.

use super::intake::Progress;
use super::{CheckpointStorage, PendingCheckpoint, names_of, record_of};
use crate::decisions::fencing;
use crate::decisions::references::Names;
use crate::failpoints;
use crate::manifest::{Manifest, Stats};
use crate::store::{Creation, Incoming, Staged};
use headpond_state::{CheckpointId, Context, Error, Result};
use std::io::{self, Read};
use std::path::Path;

impl CheckpointStorage {
    /// Commits a checkpoint: makes its files durable under their names, then creates the manifest exclusively. When
    /// this returns the manifest as it was written, the checkpoint exists and survives a crash of the machine.
    ///
    /// The storage fills in what it knows: job, attempt, number, base, uploaded files and their counts. `sync_ms` and
    /// `async_ms` of the stats are the caller's.
    ///
    /// # Errors
    /// [`Fenced`](headpond_state::ErrorKind::Fenced) when another attempt has taken a checkpoint: stop the job.
    /// [`Closed`](headpond_state::ErrorKind::Closed) when the checkpoint was cancelled.
    /// [`Internal`](headpond_state::ErrorKind::Internal) when the manifest names a file that was neither stored nor
    /// reused. Else as the store's. After any of them the checkpoint does not exist, with one exception: the store may
    /// fail in a way that leaves open whether it does. Then it is complete if it exists, and a restart may take it; the
    /// next `commit` withdraws it before it does anything else.
    pub fn commit(&self, pending: PendingCheckpoint, manifest: Manifest) -> Result<Manifest> {
        let committed = self.commit_pending(&pending, manifest);
        committed.map_err(|error| error.with(Context::Checkpoint, pending.id))
    }

    fn commit_pending(&self, plan: &PendingCheckpoint, mut manifest: Manifest) -> Result<Manifest> {
        self.settle()?;
        let mut progress = plan.intake.seal()?;
        let names = names_of(&manifest);
        let prepared = self.check_named(&names, &progress).and_then(|()| self.check_owner(plan.id));
        // What a subtask stored and the job did not take over is nobody's.
        let (wanted, unwanted): (Vec<_>, Vec<_>) = std::mem::take(&mut progress.staged)
            .into_iter()
            .partition(|(name, _)| prepared.is_ok() && names.contains_key(name));
        for (_, (_, staged)) in unwanted {
            self.inner.store.discard(staged);
        }
        prepared?;
        progress.staged = wanted.into_iter().collect();
        progress.reused.retain(|name, _| names.contains_key(name));

        manifest.job.clone_from(&self.inner.job);
        manifest.attempt = plan.attempt.clone();
        manifest.checkpoint = plan.id;
        manifest.base = plan.base;
        manifest.incremental = plan.incremental;
        manifest.uploaded = progress.uploaded();
        manifest.stats =
            Stats { sync_ms: manifest.stats.sync_ms, async_ms: manifest.stats.async_ms, ..progress.stats() };

        let batch: Vec<(Staged, String)> = std::mem::take(&mut progress.staged)
            .into_iter()
            .map(|(name, (_, staged))| (staged, self.inner.layout.shared_file(&name)))
            .collect();
        self.inner.options.failpoints.reach(failpoints::BEFORE_PUBLISH);
        let staged = self.publish(batch, &manifest)?;
        self.inner.options.failpoints.reach(failpoints::BEFORE_MANIFEST);
        // As late as can be: uploads took their time. What comes in between meets the exclusive creation.
        if let Err(error) = self.ownership().and_then(|ownership| ownership.check()) {
            self.inner.store.discard(staged);
            return Err(error);
        }
        self.create_manifest(plan, staged)?;
        self.inner.options.failpoints.reach(failpoints::AFTER_MANIFEST);
        self.inner.references().commit(plan.id, record_of(&manifest), names);
        self.as_owner(|owned| owned.given_up.clear())?;
        Ok(manifest)
    }

    /// Every named file is this plan's own or reused.
    fn check_named(&self, names: &Names, progress: &Progress) -> Result<()> {
        let stranger =
            names.keys().find(|name| !progress.staged.contains_key(name) && !progress.reused.contains_key(name));
        stranger.map_or(Ok(()), |name| {
            Err(Error::internal("a state handle names a file that this checkpoint neither stored nor reused")
                .with(Context::Path, self.inner.layout.shared_file(name)))
        })
    }

    fn check_owner(&self, id: CheckpointId) -> Result<()> {
        let existing = self.existing()?;
        let given_up = self
            .as_owner(|owned| fencing::check_no_stranger(&existing, &owned.known).map(|()| owned.given_up.clone()))??;
        // Under a number that came to nothing here there may be a checkpoint that no listing has shown.
        for other in given_up.into_iter().filter(|other| *other != id) {
            if self.exists(other)? {
                return Err(fencing::fenced(other));
            }
        }
        Ok(())
    }

    /// Stages the manifest and sees to it that the files have their names; all bytes of both are durable then.
    fn publish(&self, batch: Vec<(Staged, String)>, manifest: &Manifest) -> Result<Staged> {
        let store = &self.inner.store;
        let bytes = manifest.encode();
        let staged = bytes.and_then(|bytes| store.stage(self.inner.layout.directory(), &mut Unnamed(&bytes)));
        let synced = staged.and_then(|staged| {
            let all: Vec<&Staged> = batch.iter().map(|(file, _)| file).chain([&staged]).collect();
            match store.sync(&all) {
                Ok(()) => Ok(staged),
                Err(error) => {
                    store.discard(staged);
                    Err(error)
                }
            }
        });
        let staged = match synced {
            Ok(staged) => staged,
            Err(error) => {
                batch.into_iter().for_each(|(file, _)| store.discard(file));
                return Err(error);
            }
        };
        // A checkpoint that only reused has nothing to name.
        if !batch.is_empty()
            && let Err(error) = store.publish(batch)
        {
            store.discard(staged);
            return Err(error);
        }
        Ok(staged)
    }

    /// Withdraws the checkpoint of which nobody knows whether it was committed, if there is one: the job has gone on
    /// without it.
    fn settle(&self) -> Result<()> {
        let Some(id) = self.as_owner(|owned| owned.uncertain)? else { return Ok(()) };
        // A newer attempt may have begun with it.
        self.ownership()?.check()?;
        let (store, layout) = (&self.inner.store, &self.inner.layout);
        store.delete(&[layout.manifest(id)])?;
        store.remove_directory(&layout.checkpoint(id))?;
        tracing::info!(checkpoint = id.0, "a checkpoint that was perhaps committed has been withdrawn");
        self.inner.references().abort(id);
        self.as_owner(|owned| owned.uncertain = None)
    }

    fn create_manifest(&self, plan: &PendingCheckpoint, staged: Staged) -> Result<()> {
        let (store, key) = (&self.inner.store, self.inner.layout.manifest(plan.id));
        match store.put_exclusive(staged, &key) {
            Ok(Creation::Created) => Ok(()),
            Ok(Creation::Exists) => Err(fencing::fenced(plan.id)),
            Err(error) => {
                if !matches!(store.length(&key), Ok(None)) {
                    // It may exist: its files stay until it is known not to.
                    plan.intake.progress().keep_claims = true;
                    self.as_owner(|owned| owned.uncertain = Some(plan.id))?;
                }
                Err(error)
            }
        }
    }
}

/// The bytes of a manifest, which gets its key by its exclusive creation.
struct Unnamed<'a>(&'a [u8]);

impl Read for Unnamed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Incoming for Unnamed<'_> {
    fn file(&self) -> Option<&Path> {
        None
    }

    fn key(&mut self) -> Result<Option<String>> {
        Ok(None)
    }

    fn wanted(&self) -> Result<()> {
        Ok(())
    }
}
