//! The cut of a checkpoint: what makes a database's files hold exactly what was written before it.
//!
//! At the cut the owner seals every memtable that holds something and goes on; RocksDB flushes them in the background.
//! Files are *listed* later, when that flush is done, by whoever needs it first: the upload, or the owner when it must
//! seal again. Between the cut and the list nothing is sealed, since only the owner seals. So at the moment of listing
//! every file holds only entries of before the cut, whatever compactions have done meanwhile, and together they hold
//! all of them. The files are hard-linked aside, where no compaction deletes them; their sequence numbers are checked
//! against the cut's.

use crate::column_family::column_family_name;
use crate::compaction::CompactionTotals;
use crate::database::Database;
use crate::expiry::ClockTimes;
use crate::placement::{Placement, is_table};
use headpond_state::{
    CheckpointId, Context, Error, KeyGroupRange, MaxParallelism, Result, SnapshotOptions, StateDescriptor, StateSize,
};
use parking_lot::Mutex;
use rust_rocksdb::{FileType, LiveFile, LiveFilesStorageInfo, LiveFilesStorageInfoOptions};
use std::collections::HashSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// What a snapshot holds, fixed at its cut.
#[derive(Debug)]
pub(crate) struct Cut {
    pub(crate) id: CheckpointId,
    pub(crate) options: SnapshotOptions,
    pub(crate) key_groups: KeyGroupRange,
    pub(crate) max_parallelism: MaxParallelism,
    pub(crate) states: Vec<StateDescriptor>,
    pub(crate) database: Arc<Database>,
    last_sequence: u64,
    /// The operator's time at the cut: what had expired by then need not be in the files.
    moment: ClockTimes,
    taken: Instant,
    unlisted: AtomicBool,
    stage: Mutex<Stage>,
}

#[derive(Debug)]
enum Stage {
    Sealed,
    Listed(Arc<Listing>),
    Failed(String),
}

/// The files of a cut, linked aside; gone when dropped.
#[derive(Debug)]
pub(crate) struct Listing {
    dir: PathBuf,
    pub(crate) files: Vec<LocalFile>,
    /// What each state takes.
    pub(crate) sizes: Vec<StateSize>,
    /// Where the table files belong, if that could be seen while nothing was being merged.
    pub(crate) placement: Option<Placement>,
    /// From the cut to the list, in milliseconds.
    pub(crate) sealed_ms: u64,
    /// What compacting before the list took, if it was asked for.
    pub(crate) compacted: Option<CompactionTotals>,
}

/// A file of a cut.
#[derive(Debug)]
pub(crate) struct LocalFile {
    pub(crate) name: String,
    pub(crate) size: u64,
    /// Whether the file never changes, so that its name and size identify it within its database.
    pub(crate) immutable: bool,
}

impl Cut {
    /// Seals every memtable. What the database holds now is the cut.
    pub(crate) fn take(
        database: &Arc<Database>,
        id: CheckpointId,
        options: SnapshotOptions,
        key_groups: KeyGroupRange,
        max_parallelism: MaxParallelism,
        states: Vec<StateDescriptor>,
    ) -> Result<Arc<Cut>> {
        if let Some(earlier) = database.unlisted_cut() {
            // Fails into its own upload.
            let _ = earlier.list();
        }
        database.check()?;
        let last_sequence = database.rocks.latest_sequence_number();
        for name in database.column_families() {
            database.flush_in_background(&name)?;
        }
        let cut = Arc::new(Cut {
            id,
            options,
            key_groups,
            max_parallelism,
            states,
            database: Arc::clone(database),
            last_sequence,
            moment: ClockTimes::now(&database.clock),
            taken: Instant::now(),
            unlisted: AtomicBool::new(true),
            stage: Mutex::new(Stage::Sealed),
        });
        database.set_newest_cut(&cut);
        Ok(cut)
    }

    /// Whether the files are still to be listed.
    pub(crate) fn is_unlisted(&self) -> bool {
        self.unlisted.load(Ordering::Acquire)
    }

    /// The files of the cut. The first call waits for their flush and lists them.
    pub(crate) fn list(&self) -> Result<Arc<Listing>> {
        let mut stage = self.stage.lock();
        if matches!(*stage, Stage::Sealed) {
            let listed = self.list_now();
            self.unlisted.store(false, Ordering::Release);
            match listed {
                Ok(listing) => *stage = Stage::Listed(Arc::new(listing)),
                Err(error) => {
                    *stage = Stage::Failed(error.to_string());
                    return Err(error.with(Context::Checkpoint, self.id));
                }
            }
            self.database.request_compaction();
        }
        match &*stage {
            Stage::Listed(listing) => Ok(Arc::clone(listing)),
            Stage::Failed(cause) => Err(Error::closed("the snapshot came to nothing")
                .with(Context::Checkpoint, self.id)
                .because(cause.clone())),
            Stage::Sealed => Err(Error::internal("a cut is neither listed nor failed")),
        }
    }

    /// Gives the cut up, if its files are not listed yet: nothing need wait for them any more.
    pub(crate) fn abort(&self) {
        let mut stage = self.stage.lock();
        if matches!(*stage, Stage::Sealed) {
            *stage = Stage::Failed("the checkpoint was aborted".to_owned());
            self.unlisted.store(false, Ordering::Release);
        }
    }

    fn list_now(&self) -> Result<Listing> {
        let database = &self.database;
        database.wait_flushed()?;
        if !self.options.compact {
            database.compact_flushed(self.moment)?;
        }
        let compacted = self.options.compact.then(|| database.compact_all(self.moment)).transpose()?;
        let live = database.live_files()?;
        if let Some(late) = live.iter().find(|file| file.largest_seqno > self.last_sequence) {
            return Err(Error::internal(format!("file {} holds entries from after the cut", late.name)));
        }
        let sizes = self.sizes(&live);
        let dir = database.dir.beside(&format!("cut-{}-{}", self.id, NEXT.fetch_add(1, Ordering::Relaxed)));
        let mut listing = Listing { dir, files: Vec::new(), sizes, placement: None, sealed_ms: 0, compacted };
        fs::create_dir(&listing.dir)
            .map_err(|cause| Error::io("cannot keep a checkpoint's files", &listing.dir, cause))?;
        database.uploaded.retain(|name| live.iter().any(|file| file.name.trim_start_matches('/') == name));
        let failed = |cause| database.error("cannot list a checkpoint's files", cause);
        database.rocks.disable_file_deletions().map_err(failed)?;
        let linked = self.link_files(&mut listing);
        database.rocks.enable_file_deletions().map_err(failed)?;
        linked?;
        listing.placement = self.place(&live, &listing.files)?;
        listing.sealed_ms = self.taken.elapsed().as_millis() as u64;
        Ok(listing)
    }

    /// What each state takes, its entries estimated.
    fn sizes(&self, live: &[LiveFile]) -> Vec<StateSize> {
        let size = |state: &StateDescriptor| {
            let family = column_family_name(&state.name);
            let own: Vec<&LiveFile> = live.iter().filter(|file| file.column_family_name == family).collect();
            let bytes = own.iter().map(|file| file.size as u64).sum();
            StateSize { entries: estimate_entries(&own), bytes }
        };
        self.states.iter().map(size).collect()
    }

    /// Where the files belong. `live` was seen before they were linked: if a merge has ended since, the two may differ.
    fn place(&self, live: &[LiveFile], files: &[LocalFile]) -> Result<Option<Placement>> {
        let database = &self.database;
        let placement = Placement::of(&database.rocks, live, &self.states, self.max_parallelism)
            .map_err(|cause| database.error("cannot inspect a checkpoint's files", cause))?;
        let names = |live: &[LiveFile]| live.iter().map(|file| file.name.clone()).collect::<HashSet<_>>();
        let unchanged = names(live) == names(&database.live_files()?);
        Ok(placement.filter(|placement| {
            let mut tables = files.iter().filter(|file| is_table(&file.name));
            unchanged && tables.all(|file| placement.files.contains_key(&file.name))
        }))
    }

    fn link_files(&self, listing: &mut Listing) -> Result<()> {
        let database = &self.database;
        let mut options = LiveFilesStorageInfoOptions::new();
        // The largest value means: flush nothing.
        options.set_wal_size_for_flush(u64::MAX);
        let info: LiveFilesStorageInfo = database
            .rocks
            .get_livefiles_storage_info(&options)
            .map_err(|cause| database.error("cannot list a checkpoint's files", cause))?;
        for file in info.iter() {
            let name = file.relative_filename_lossy().trim_start_matches('/').to_owned();
            let from = database.dir.database().join(&name);
            let to = listing.dir.join(&name);
            let immutable = match file.file_type() {
                FileType::TableFile => fs::hard_link(&from, &to).map(|()| true),
                FileType::DescriptorFile => copy_head(&from, &to, file.size()).map(|()| false),
                FileType::CurrentFile => fs::write(&to, file.replacement_contents()).map(|()| false),
                // Logs are empty, options follow from the descriptors.
                _ => continue,
            }
            .map_err(|cause| Error::io("cannot keep a checkpoint's files", &to, cause))?;
            let size = fs::metadata(&to).map_err(|cause| Error::io("cannot inspect a file", &to, cause))?.len();
            listing.files.push(LocalFile { name, size, immutable });
        }
        Ok(())
    }
}

impl Listing {
    /// Where the file lies.
    pub(crate) fn path(&self, file: &LocalFile) -> PathBuf {
        self.dir.join(&file.name)
    }
}

impl Drop for Listing {
    fn drop(&mut self) {
        // Fails when the directory of the whole database is gone already, which is as well.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// The entries of files, of some of which RocksDB does not know them: those are taken to be as dense as the others.
fn estimate_entries(files: &[&LiveFile]) -> u64 {
    let (mut all, mut known, mut entries) = (0, 0, 0);
    for file in files {
        all += file.size as u64;
        if file.num_entries > 0 {
            known += file.size as u64;
            // A deletion stands for itself and for what it deletes.
            entries += file.num_entries.saturating_sub(2 * file.num_deletions);
        }
    }
    if known == 0 { 0 } else { (entries as f64 * all as f64 / known as f64) as u64 }
}

/// Copies the first `length` bytes: the file may be growing.
fn copy_head(from: &Path, to: &Path, length: u64) -> io::Result<()> {
    let mut head = fs::File::open(from)?.take(length);
    io::copy(&mut head, &mut fs::File::create(to)?)?;
    Ok(())
}
