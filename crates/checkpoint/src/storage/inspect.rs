//! Finding and reading checkpoints.

use super::verifier::Verifier;
use super::{CheckpointStorage, Recovered, Resume, StorageOptions};
use crate::decisions::Observed;
use crate::layout::{JobLayout, SharedName, parse_checkpoint};
use crate::manifest::Manifest;
use crate::store::{CheckpointStore, Opened, Stores};
use crate::target::{Target, is_job};
use headpond_state::{CheckpointId, Context, Error, ErrorKind, Result};
use std::collections::BTreeSet;
use std::io::Read;
use std::sync::Arc;

/// Bytes of the longest manifest: a few hundred for each file and split.
const MANIFEST_BYTES_MAX: u64 = 1 << 30;

/// A checkpoint in a list.
#[derive(Debug)]
pub struct CheckpointSummary {
    /// Its number.
    pub id: CheckpointId,
    /// Where it is.
    pub location: String,
    /// Its manifest, or why it cannot be read. Files are not looked at: see [`verify`](crate::verify).
    pub manifest: Result<Manifest>,
}

impl CheckpointStorage {
    /// The committed checkpoints in ascending order, damaged ones included.
    ///
    /// # Errors
    /// As the store's.
    pub fn list(&self) -> Result<Vec<CheckpointSummary>> {
        let mut summaries = Vec::new();
        // A listing may be older than what this attempt knows.
        let known = self.inner.owned().as_ref().map_or_else(BTreeSet::new, |owned| owned.known.clone());
        let ids: BTreeSet<CheckpointId> = self.existing()?.into_iter().chain(known).collect();
        for id in ids {
            if let Some(manifest) = self.read_manifest(id).transpose() {
                summaries.push(CheckpointSummary { id, location: self.locate(id), manifest });
            }
        }
        Ok(summaries)
    }

    /// The checkpoints, in ascending order, that have a directory and no manifest in it. A crash just before the commit
    /// leaves the same as somebody who removes a manifest, so that they are damaged cannot be said.
    ///
    /// # Errors
    /// As the store's.
    pub(crate) fn without_manifest(&self) -> Result<Vec<CheckpointId>> {
        let mut found = Vec::new();
        for id in self.existing()? {
            if !self.exists(id)? {
                found.push(id);
            }
        }
        if found.is_empty() {
            return Ok(found);
        }
        // A running job may just have committed or deleted them.
        let still_there = self.existing()?;
        let mut left = Vec::new();
        for id in found {
            if still_there.contains(&id) && !self.exists(id)? {
                left.push(id);
            }
        }
        Ok(left)
    }

    /// The manifest of checkpoint `id`, its files not looked at.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) when there is no such checkpoint, naming those there are;
    /// [`Corrupt`](headpond_state::ErrorKind::Corrupt) and [`Incompatible`](headpond_state::ErrorKind::Incompatible) as
    /// [`Manifest::decode`].
    pub fn load(&self, id: CheckpointId) -> Result<Manifest> {
        match self.read_manifest(id)? {
            Some(manifest) => Ok(manifest),
            None => {
                let others: Vec<String> = self.list()?.iter().map(|summary| format!("chk-{}", summary.id)).collect();
                let hint = match others.as_slice() {
                    [] => "nor is there any other beside it: correct the path, `<checkpoint dir>/<job>/chk-<n>`"
                        .to_owned(),
                    others => format!("there are {}", others.join(", ")),
                };
                Err(Error::invalid("there is no such checkpoint").with(Context::Path, self.locate(id)).hint(hint))
            }
        }
    }

    /// The manifest of checkpoint `id`, all its files checked.
    ///
    /// # Errors
    /// As [`load`](Self::load); [`Corrupt`](headpond_state::ErrorKind::Corrupt) naming each file that is missing or
    /// altered.
    pub fn load_verified(&self, id: CheckpointId) -> Result<Manifest> {
        let manifest = self.load(id)?;
        Verifier::new(self).require(&manifest)?;
        Ok(manifest)
    }

    /// The newest checkpoint that is sound and was not left behind by a restore. `None` when there is none at all.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn latest_verified(&self) -> Result<Option<Recovered>> {
        match self.resume(|_| Ok(()))? {
            Resume::From(recovered) => Ok(Some(*recovered)),
            Resume::Anew | Resume::Elsewhere { .. } => Ok(None),
        }
    }

    /// The checkpoints as the decisions see them.
    pub(super) fn observe(&self) -> Result<Vec<Observed>> {
        let record = |manifest: &Result<Manifest>| manifest.as_ref().ok().map(super::record_of);
        Ok(self.list()?.iter().map(|found| Observed { id: found.id, record: record(&found.manifest) }).collect())
    }

    pub(crate) fn locate_manifest(&self, id: CheckpointId) -> String {
        self.inner.store.locate(&self.inner.layout.manifest(id))
    }

    pub(crate) fn locate_shared(&self, name: &SharedName) -> String {
        self.inner.store.locate(&self.inner.layout.shared_file(name))
    }

    pub(crate) fn exists(&self, id: CheckpointId) -> Result<bool> {
        Ok(self.inner.store.length(&self.inner.layout.manifest(id))?.is_some())
    }

    pub(crate) fn readers(&self) -> usize {
        self.inner.store.readers().max(1)
    }

    pub(crate) fn open_shared(&self, name: &SharedName) -> Result<Option<Opened>> {
        self.inner.store.open(&self.inner.layout.shared_file(name))
    }

    /// The numbers taken, by checkpoints of any condition, in ascending order.
    pub(super) fn existing(&self) -> Result<Vec<CheckpointId>> {
        let entries = self.inner.store.list(self.inner.layout.directory())?;
        let mut ids: Vec<CheckpointId> = entries.iter().filter_map(|entry| parse_checkpoint(entry)).collect();
        ids.sort();
        Ok(ids)
    }

    /// The manifest, or `None` when there is none under that number.
    pub(super) fn read_manifest(&self, id: CheckpointId) -> Result<Option<Manifest>> {
        let key = self.inner.layout.manifest(id);
        let Some(mut opened) = self.inner.store.open(&key)? else { return Ok(None) };
        let mut bytes = Vec::new();
        let path = self.inner.store.locate(&key);
        let content = opened.content.by_ref();
        content
            .take(MANIFEST_BYTES_MAX + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| Error::io("a manifest cannot be read", &path, e))?;
        if bytes.len() as u64 > MANIFEST_BYTES_MAX {
            return Err(Error::corrupt("the manifest is longer than any can be").with(Context::Path, path));
        }
        let manifest = Manifest::decode(&bytes).map_err(|error| error.with(Context::Path, &path))?;
        if manifest.checkpoint != id {
            return Err(Error::corrupt(format!(
                "the manifest is that of checkpoint {}, in the directory of checkpoint {id}: a copy, or moved there",
                manifest.checkpoint
            ))
            .with(Context::Path, path));
        }
        Ok(Some(manifest))
    }
}

/// Opens the checkpoint at a path: `<dir>/<job>/chk-<n>`, its manifest, or `<dir>/<job>` for the job's newest that
/// verifies, with those that had to be skipped. All its files are checked. `stores` opens the store of the place.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) when there is no checkpoint there, else as
/// [`load_verified`](CheckpointStorage::load_verified).
pub fn open_checkpoint(stores: &dyn Stores, location: &str) -> Result<(CheckpointStorage, Recovered)> {
    let no_checkpoint = || {
        Error::invalid("there is no checkpoint at this path")
            .with(Context::Path, location)
            .hint("give the directory of one checkpoint, `<checkpoint dir>/<job>/chk-<n>`")
    };
    let (store, target) = Target::find(stores, location)?;
    match target {
        Target::Jobs(_) => Err(no_checkpoint()),
        Target::Job(_, job) => {
            let storage = storage_of(store, &job);
            let found = storage.latest_verified()?.ok_or_else(no_checkpoint)?;
            Ok((storage, found))
        }
        Target::Checkpoint(_, job, id) => {
            let storage = storage_of(store, &job);
            let manifest = storage.load_verified(id)?;
            Ok((storage, Recovered { manifest, skipped: Vec::new() }))
        }
    }
}

/// What is at a path that a user gave.
#[derive(Debug)]
pub struct Found {
    /// The jobs that have checkpoints, by their directories' names.
    pub jobs: Vec<CheckpointStorage>,
    /// The one checkpoint meant, if the path is that of one.
    pub only: Option<CheckpointId>,
}

/// Finds the jobs at a path: a directory of jobs, a job's directory, or one checkpoint of a job. There may be none.
/// `stores` opens the store of the place.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) for a bad location, else as the store's.
pub fn find_checkpoints(stores: &dyn Stores, location: &str) -> Result<Found> {
    let (store, target) = Target::find(stores, location)?;
    match target {
        Target::Jobs(_) => {
            let mut jobs = Vec::new();
            for entry in store.list("")? {
                match store.list(&entry) {
                    Ok(names) if is_job(&names) => jobs.push(entry),
                    // What we may not look into, `lost+found` for example, is no job of ours.
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::Invalid => {}
                    Err(error) => return Err(error),
                }
            }
            jobs.sort();
            Ok(Found { jobs: jobs.iter().map(|job| storage_of(Arc::clone(&store), job)).collect(), only: None })
        }
        Target::Job(_, job) => Ok(Found { jobs: vec![storage_of(store, &job)], only: None }),
        Target::Checkpoint(_, job, id) => Ok(Found { jobs: vec![storage_of(store, &job)], only: Some(id) }),
    }
}

/// The storage of the job whose directory has this name.
fn storage_of(store: Arc<dyn CheckpointStore>, directory: &str) -> CheckpointStorage {
    let layout = JobLayout::of_directory(directory);
    CheckpointStorage::with_layout(store, directory, layout, StorageOptions::default())
}
