//! From a cut to a durable handle.
//!
//! The handle's files are RocksDB's own: the table files as they are, of which most were uploaded before and are only
//! named, and two small ones, MANIFEST and CURRENT, that say how they belong together. Restoring the same key groups is
//! putting them back and opening the database; for other key groups the handle says where each table file belongs
//! ([`placement`](crate::placement)).

use crate::cut::{Cut, LocalFile};
use crate::details::{CompactionDetails, RocksDbDetails};
use crate::placement::Placement;
use headpond_state::{CheckpointSink, HandleDetails, KeyedStateHandle, Result, Snapshot, StateFile};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// The name of the format of handles that this backend writes.
pub const FORMAT: &str = "rocksdb";
/// The version of that format.
pub const FORMAT_VERSION: u32 = 1;

/// A snapshot of a database.
#[derive(Debug)]
pub(crate) struct RocksDbSnapshot {
    cut: Arc<Cut>,
    incremental: bool,
}

impl RocksDbSnapshot {
    /// The snapshot of what `cut` holds.
    pub(crate) fn new(cut: Arc<Cut>, incremental: bool) -> Self {
        RocksDbSnapshot { cut, incremental }
    }

    fn upload_file(&self, file: &LocalFile, path: &std::path::Path, sink: &dyn CheckpointSink) -> Result<StateFile> {
        let uploaded = &self.cut.database.uploaded;
        if self.incremental
            && file.immutable
            && let Some(known) = uploaded.get(file)
            && sink.reuse(&known)?
        {
            return Ok(known);
        }
        let stored = sink.put_file(&file.name, path)?;
        if file.immutable {
            uploaded.insert(stored.clone());
        }
        Ok(stored)
    }
}

impl Snapshot for RocksDbSnapshot {
    fn upload(self: Box<Self>, sink: &dyn CheckpointSink) -> Result<KeyedStateHandle> {
        let listing = self.cut.list()?;
        let mut files = Vec::with_capacity(listing.files.len());
        for file in &listing.files {
            files.push(self.upload_file(file, &listing.path(file), sink)?);
        }
        let max_parallelism = self.cut.max_parallelism.get();
        let details = RocksDbDetails {
            max_parallelism: Some(max_parallelism.into()),
            sealed_ms: Some(listing.sealed_ms),
            placement: listing.placement.as_ref().map(Placement::to_details),
            compaction: listing.compacted.as_ref().map(|compacted| CompactionDetails {
                ms: compacted.elapsed_us / 1000,
                bytes_read: compacted.bytes_read,
                bytes_written: compacted.bytes_written,
            }),
        };
        Ok(KeyedStateHandle {
            format: FORMAT.to_owned(),
            format_version: FORMAT_VERSION,
            key_groups: self.cut.key_groups,
            states: self.cut.states.clone(),
            files,
            entries: listing.sizes.iter().map(|size| size.entries).sum(),
            details: HandleDetails::of_format(&details)?,
            parts: Vec::new(),
        }
        .with_state_sizes(&listing.sizes))
    }
}

/// What the local files of a database are called on the checkpoint store: each is hashed once.
#[derive(Debug, Default)]
pub(crate) struct UploadedFiles(Mutex<HashMap<String, StateFile>>);

impl UploadedFiles {
    /// What is known of the file.
    pub(crate) fn get(&self, file: &LocalFile) -> Option<StateFile> {
        self.0.lock().get(&file.name).filter(|known| known.length == file.size).cloned()
    }

    /// Remembers a file that was uploaded or fetched under the name it has locally.
    pub(crate) fn insert(&self, file: StateFile) {
        self.0.lock().insert(file.name.clone(), file);
    }

    /// Forgets the files that `keep` does not want.
    pub(crate) fn retain(&self, keep: impl Fn(&str) -> bool) {
        self.0.lock().retain(|name, _| keep(name));
    }
}
