//! One open database, shared between its owner, its uploads and its compactions.

use crate::column_family::{column_family_name, column_family_options, database_options};
use crate::cut::Cut;
use crate::error::{from_rocksdb, from_text};
use crate::expiry::{ClockTimes, Expiry};
use crate::import::{TableFile, import};
use crate::ledger::Ledger;
use crate::local_dir::LocalDir;
use crate::shared::Shared;
use crate::threads::Threads;
use crate::upload::UploadedFiles;
use headpond_state::{Context, Error, OperatorClock, Result, StateDescriptor};
use parking_lot::{Condvar, Mutex};
use rust_rocksdb::event_listener::{DBBackgroundErrorReason, EventListener, FlushJobInfo, MutableStatus};
use rust_rocksdb::{
    BoundColumnFamily, ColumnFamilyDescriptor, CompactionCancellationToken, DBWithThreadMode, FlushOptions, LiveFile,
    MultiThreaded, Options,
};
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// RocksDB, with column families that can be added through a shared reference.
pub(crate) type Rocks = DBWithThreadMode<MultiThreaded>;

/// How long to wait for a signal before looking again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// One open database.
pub(crate) struct Database {
    pub(crate) rocks: Rocks,
    pub(crate) shared: Arc<Shared>,
    pub(crate) dir: Arc<LocalDir>,
    /// What is known of files on the checkpoint store.
    pub(crate) uploaded: UploadedFiles,
    /// Held by whoever compacts.
    pub(crate) compacting: Mutex<()>,
    /// The operator's time.
    pub(crate) clock: Arc<OperatorClock>,
    /// What expires, by column family.
    expiries: Mutex<HashMap<String, Arc<Expiry>>>,
    /// What is known of the files.
    pub(crate) ledger: Mutex<Ledger>,
    /// Bytes in files that have expired, when that was last looked at.
    pub(crate) expired_bytes: AtomicU64,
    /// Stops the compaction at close.
    pub(crate) cancel: Arc<CompactionCancellationToken>,
    signals: Arc<Signals>,
    newest_cut: Mutex<Weak<Cut>>,
}

/// What RocksDB's threads tell the others.
#[derive(Debug)]
struct Signals {
    database: OnceLock<Weak<Database>>,
    compactors: Threads,
    background_error: Mutex<Option<String>>,
    /// Counts what somebody may wait for.
    changes: Mutex<u64>,
    changed: Condvar,
    closed: AtomicBool,
    compaction_queued: AtomicBool,
}

impl Signals {
    fn new(compactors: Threads) -> Signals {
        Signals {
            database: OnceLock::new(),
            compactors,
            background_error: Mutex::default(),
            changes: Mutex::new(0),
            changed: Condvar::new(),
            closed: AtomicBool::new(false),
            compaction_queued: AtomicBool::new(false),
        }
    }
}

impl Signals {
    fn notify(&self) {
        let mut changes = self.changes.lock();
        *changes = changes.wrapping_add(1);
        self.changed.notify_all();
    }
}

impl Database {
    /// Opens the database in `dir`, which is empty or holds restored files, with the column families of `states`.
    pub(crate) fn open(
        shared: Arc<Shared>,
        dir: LocalDir,
        clock: Arc<OperatorClock>,
        states: &[StateDescriptor],
    ) -> Result<Arc<Database>> {
        let path = dir.database();
        let signals = Arc::new(Signals::new(shared.compactors.clone()));
        let mut options = database_options(&shared);
        options.add_event_listener(Listener(Arc::clone(&signals)));
        let mut expiries = HashMap::new();
        let families = column_families(&shared, &path, states, &mut expiries)?;
        let rocks = Rocks::open_cf_descriptors(&options, &path, families)
            .map_err(|cause| from_rocksdb("cannot open the local database", &path, cause))?;
        shared.open.fetch_add(1, Ordering::Relaxed);
        let database = Arc::new(Database {
            rocks,
            shared,
            dir: Arc::new(dir),
            uploaded: UploadedFiles::default(),
            compacting: Mutex::new(()),
            clock,
            expiries: Mutex::new(expiries),
            ledger: Mutex::default(),
            expired_bytes: AtomicU64::new(0),
            cancel: Arc::new(CompactionCancellationToken::new()),
            signals,
            newest_cut: Mutex::default(),
        });
        // The listener needs the database and is there first.
        let _ = database.signals.database.set(Arc::downgrade(&database));
        Ok(database)
    }

    /// Adds the column family of a new state.
    pub(crate) fn create_column_family(&self, state: &StateDescriptor) -> Result<()> {
        let options = options_with_expiry(&self.shared, state, &mut self.expiries.lock());
        self.rocks
            .create_cf(column_family_name(&state.name), &options)
            .map_err(|cause| self.error("cannot create a state", cause).with(Context::State, &state.name))
    }

    /// Adds the column family of a state that consists of these files, and moves them here.
    pub(crate) fn import_column_family(&self, state: &StateDescriptor, files: &[TableFile]) -> Result<()> {
        let options = options_with_expiry(&self.shared, state, &mut self.expiries.lock());
        import(&self.rocks, &column_family_name(&state.name), &options, files)
            .map_err(|cause| self.error("cannot take over restored state", cause).with(Context::State, &state.name))
    }

    /// Lets entries of a state expire as the job's declaration of it says.
    pub(crate) fn activate_expiry(&self, state: &StateDescriptor) {
        if let (Some(ttl), Some(expiry)) = (state.ttl, self.expiry(&column_family_name(&state.name))) {
            expiry.activate(ttl, ClockTimes::now(&self.clock));
        }
    }

    /// The expiry of a column family, if it has one.
    pub(crate) fn expiry(&self, column_family: &str) -> Option<Arc<Expiry>> {
        self.expiries.lock().get(column_family).cloned()
    }

    /// Bytes of expired entries that merges have left out.
    pub(crate) fn reclaimed_bytes(&self) -> u64 {
        self.expiries.lock().values().map(|expiry| expiry.reclaimed_bytes()).sum()
    }

    /// The column family of this name.
    pub(crate) fn column_family(&self, name: &str) -> Result<Arc<BoundColumnFamily<'_>>> {
        self.rocks.cf_handle(name).ok_or_else(|| Error::internal(format!("there is no column family `{name}`")))
    }

    /// The names of the column families that hold state.
    pub(crate) fn column_families(&self) -> Vec<String> {
        self.rocks.cf_names().into_iter().filter(|name| name != rust_rocksdb::DEFAULT_COLUMN_FAMILY_NAME).collect()
    }

    /// Seals the memtable of a column family and has it flushed in the background.
    ///
    /// Waits for the files of the last cut to be listed, so that they hold nothing later, and for a free memtable.
    pub(crate) fn seal(&self, column_family: &str) -> Result<()> {
        if let Some(cut) = self.unlisted_cut() {
            // A cut that fails is reported to whoever uploads it.
            let _ = cut.list();
        }
        let most = self.shared.options.write_buffer_count.max(2) as u64 - 1;
        self.wait_until(|| Ok(self.sealed_memtables(column_family)? < most))?;
        self.flush_in_background(column_family)
    }

    /// Seals the memtable of a column family as part of a cut.
    pub(crate) fn flush_in_background(&self, column_family: &str) -> Result<()> {
        self.ledger.lock().family(column_family).seal(self.rocks.latest_sequence_number());
        let mut options = FlushOptions::new();
        options.set_wait(false);
        options.set_allow_write_stall(true);
        self.rocks
            .flush_cf_opt(&self.column_family(column_family)?, &options)
            .map_err(|cause| self.error("cannot flush state", cause))
    }

    /// Waits until what has been sealed is flushed.
    pub(crate) fn wait_flushed(&self) -> Result<()> {
        let families = self.column_families();
        self.wait_until(|| {
            for name in &families {
                if self.sealed_memtables(name)? > 0 {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// Waits until level 0 of a column family has fewer files than the limit beyond which writes wait, and not too much
    /// of its files is dead.
    pub(crate) fn wait_for_compaction(&self, column_family: &str) -> Result<()> {
        let limit = self.shared.options.compaction.stop_limit as u64;
        self.wait_until(|| {
            let overdue = self.ledger.lock().family(column_family).overdue;
            let waits = overdue || self.property(column_family, "rocksdb.num-files-at-level0")? >= limit;
            if waits {
                self.request_compaction();
            }
            Ok(!waits)
        })
    }

    fn wait_until(&self, mut done: impl FnMut() -> Result<bool>) -> Result<()> {
        loop {
            let seen = *self.signals.changes.lock();
            self.check()?;
            if done()? {
                return Ok(());
            }
            let mut changes = self.signals.changes.lock();
            // Something that has changed since the look is not to be waited for.
            if *changes == seen {
                self.signals.changed.wait_for(&mut changes, LOOK_AGAIN);
            }
        }
    }

    fn sealed_memtables(&self, column_family: &str) -> Result<u64> {
        self.property(column_family, "rocksdb.num-immutable-mem-table")
    }

    /// A number RocksDB keeps about a column family; 0 if it has none.
    pub(crate) fn property(&self, column_family: &str, name: &str) -> Result<u64> {
        self.rocks
            .property_int_value_cf(&self.column_family(column_family)?, name)
            .map(Option::unwrap_or_default)
            .map_err(|cause| self.error("cannot inspect the local database", cause))
    }

    /// The files of all column families.
    pub(crate) fn live_files(&self) -> Result<Vec<LiveFile>> {
        self.rocks.live_files().map_err(|cause| self.error("cannot list the files of the local database", cause))
    }

    /// Fails when the database is closed or a background job of RocksDB has failed.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_closed() {
            return Err(Error::closed("the state backend is closed"));
        }
        match &*self.signals.background_error.lock() {
            Some(cause) => Err(from_text("cannot write state to local disk", &self.dir.database(), cause.clone())),
            None => Ok(()),
        }
    }

    /// Whether the database is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.signals.closed.load(Ordering::Acquire)
    }

    /// Has level 0 looked at by a compaction thread.
    pub(crate) fn request_compaction(&self) {
        request_compaction(&self.signals);
    }

    /// Makes `cut` the newest.
    pub(crate) fn set_newest_cut(&self, cut: &Arc<Cut>) {
        *self.newest_cut.lock() = Arc::downgrade(cut);
    }

    /// The newest cut, if its files have not been listed. There is never another: it is listed before the next is
    /// taken.
    pub(crate) fn unlisted_cut(&self) -> Option<Arc<Cut>> {
        self.newest_cut.lock().upgrade().filter(|cut| cut.is_unlisted())
    }

    /// Stops background work. The database is gone when the last user of it is.
    pub(crate) fn close(&self) {
        self.signals.closed.store(true, Ordering::Release);
        self.signals.notify();
        self.cancel.cancel();
        drop(self.compacting.lock());
        self.rocks.cancel_all_background_work(true);
    }

    /// The error for what RocksDB says.
    pub(crate) fn error(&self, message: &str, cause: rust_rocksdb::Error) -> Error {
        from_rocksdb(message, &self.dir.database(), cause)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.shared.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("dir", &self.dir).finish_non_exhaustive()
    }
}

/// Called by RocksDB's threads. Must not panic: it would abort the process.
struct Listener(Arc<Signals>);

impl EventListener for Listener {
    fn on_flush_completed(&self, _: &FlushJobInfo) {
        self.0.notify();
        request_compaction(&self.0);
    }

    fn on_background_error(&self, _: DBBackgroundErrorReason, status: MutableStatus) {
        if let Err(cause) = status.result() {
            let _ = self.0.background_error.lock().get_or_insert_with(|| cause.to_string());
            self.0.notify();
        }
    }
}

fn request_compaction(signals: &Arc<Signals>) {
    let Some(database) = signals.database.get() else { return };
    if signals.compaction_queued.swap(true, Ordering::AcqRel) {
        return;
    }
    let (database, signals_then) = (Weak::clone(database), Arc::clone(signals));
    // The database itself is not touched here: this may be RocksDB's own thread, which must not be the last to let go.
    signals.compactors.run(move || {
        let signals = signals_then;
        signals.compaction_queued.store(false, Ordering::Release);
        let Some(database) = database.upgrade() else { return };
        match database.compact_where_due() {
            Ok(true) => signals.notify(),
            // Whoever waits for a merge and hears of none looks again a little later.
            Ok(false) => {}
            Err(error) if database.is_closed() => tracing::debug!(%error, "a compaction ended with its database"),
            Err(error) => tracing::warn!(%error, "a compaction failed"),
        }
    });
}

fn column_families(
    shared: &Shared,
    path: &Path,
    states: &[StateDescriptor],
    expiries: &mut HashMap<String, Arc<Expiry>>,
) -> Result<Vec<ColumnFamilyDescriptor>> {
    let mut families = vec![ColumnFamilyDescriptor::new(
        rust_rocksdb::DEFAULT_COLUMN_FAMILY_NAME,
        column_family_options(shared, None),
    )];
    for state in states {
        let options = options_with_expiry(shared, state, expiries);
        families.push(ColumnFamilyDescriptor::new(column_family_name(&state.name), options));
    }
    if path.join("CURRENT").exists() {
        let present = Rocks::list_cf(&database_options(shared), path)
            .map_err(|cause| from_rocksdb("cannot read the restored database", path, cause))?;
        if let Some(missing) = states.iter().find(|state| !present.contains(&column_family_name(&state.name))) {
            return Err(Error::corrupt("the restored files lack a state that their description names")
                .with(Context::State, &missing.name));
        }
    }
    Ok(families)
}

/// The options of a state's column family in a database that merges files.
fn options_with_expiry(
    shared: &Shared,
    state: &StateDescriptor,
    expiries: &mut HashMap<String, Arc<Expiry>>,
) -> Options {
    let mut options = column_family_options(shared, state.merge);
    if let Some(ttl) = state.ttl {
        let expiry = Expiry::inert(ttl);
        expiry.install(&mut options);
        expiries.insert(column_family_name(&state.name), expiry);
    }
    options
}
