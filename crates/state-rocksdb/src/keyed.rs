//! The state of one operator on one worker.

use crate::age::Ages;
use crate::column_family::column_family_name;
use crate::cut::Cut;
use crate::database::Database;
use crate::expiry::ClockTimes;
use crate::ledger::Written;
use crate::read::Reader;
use crate::scan::{scan, scan_many};
use crate::upload::RocksDbSnapshot;
use headpond_state::ttl::{self, Stamped};
use headpond_state::{
    CheckpointId, Error, KeyBatch, KeyGroupRange, KeyedStateBackend, MaxParallelism, PoisonGuard, ReadManyVisitor,
    ReadVisitor, Registration, Result, ScanManyVisitor, ScanRange, ScanVisitor, Snapshot, SnapshotOptions,
    StateDescriptor, StateId, StateRegistry, StateUsage, WriteBatch, WriteOp,
};
use rust_rocksdb::{BoundColumnFamily, WriteOptions};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Bytes written after which the memtables' sizes are looked at.
const LOOK_AT_MEMTABLES: usize = 128 << 10;
/// What an entry takes in a memtable beyond its key and value, roughly.
const ENTRY_OVERHEAD: usize = 32;

/// How often in a time to live a state's files are looked at for what has expired.
const LOOKS_PER_TTL: i64 = 32;

/// The state of one operator on one worker, in a database of its own.
pub(crate) struct RocksDbKeyedState {
    database: Arc<Database>,
    key_groups: KeyGroupRange,
    max_parallelism: MaxParallelism,
    incremental: bool,
    registry: StateRegistry,
    /// The column families of the registered states, by their ids.
    column_families: Vec<String>,
    reader: Reader,
    batch: rust_rocksdb::WriteBatch,
    without_log: WriteOptions,
    /// What the batch at hand writes to each state.
    written: Vec<Written>,
    written_since_look: usize,
    /// When each state's expiry was last looked at, in its own time.
    looked_ms: Vec<i64>,
    guard: PoisonGuard,
}

impl RocksDbKeyedState {
    /// The state in `database`, of which `restored` is known.
    pub(crate) fn new(
        database: Arc<Database>,
        key_groups: KeyGroupRange,
        max_parallelism: MaxParallelism,
        restored: Vec<StateDescriptor>,
    ) -> Self {
        database.ledger.lock().begin(database.rocks.latest_sequence_number());
        let mut without_log = WriteOptions::default();
        without_log.disable_wal(true);
        RocksDbKeyedState {
            reader: Reader::new(&database),
            incremental: database.shared.options.incremental,
            database,
            key_groups,
            max_parallelism,
            registry: StateRegistry::restored(restored),
            column_families: Vec::new(),
            batch: rust_rocksdb::WriteBatch::default(),
            without_log,
            written: Vec::new(),
            written_since_look: 0,
            looked_ms: Vec::new(),
            guard: PoisonGuard::default(),
        }
    }

    /// The column family of a registered state.
    fn column_family(&self, state: StateId) -> Result<&str> {
        self.registry.get(state)?;
        Ok(&self.column_families[state.index()])
    }

    fn write_batch(&mut self, batch: &WriteBatch) -> Result<()> {
        self.database.check()?;
        self.batch.clear();
        let mut current: Option<(StateId, Arc<BoundColumnFamily<'_>>)> = None;
        for (state, op) in batch.iter() {
            let known = self.registry.get(state)?;
            let family = match &current {
                Some((id, family)) if *id == state => family,
                _ => {
                    let name = &self.column_families[state.index()];
                    &current.insert((state, self.database.column_family(name)?)).1
                }
            };
            let written = &mut self.written[state.index()];
            match op {
                WriteOp::Put { key, value } => {
                    self.batch.put_cf(family, key, value);
                    written.puts += 1;
                    written.put_bytes += (key.len() + value.len()) as u64;
                    if known.ttl.is_some()
                        && let Ok(Stamped { stamp_ms, .. }) = ttl::open(value)
                    {
                        written.stamp(stamp_ms);
                    }
                }
                WriteOp::Merge { key, operand } => {
                    if known.merge.is_none() {
                        return Err(Error::invalid("the state has no merge operator"));
                    }
                    self.batch.merge_cf(family, key, operand);
                    written.puts += 1;
                    written.put_bytes += (key.len() + operand.len()) as u64;
                }
                WriteOp::Delete { key } => {
                    self.batch.delete_cf(family, key);
                    written.deletes += 1;
                }
                WriteOp::DeleteRange { start, end } if start < end => {
                    self.batch.delete_range_cf(family, start, end);
                    written.ranges.push((start.to_vec(), end.to_vec()));
                }
                WriteOp::DeleteRange { .. } => {}
            }
        }
        drop(current);
        self.database
            .rocks
            .write_opt(&self.batch, &self.without_log)
            .map_err(|cause| self.database.error("cannot write state", cause))?;
        self.note_written()?;
        self.written_since_look += batch.byte_len() + batch.len() * ENTRY_OVERHEAD;
        if self.written_since_look >= LOOK_AT_MEMTABLES {
            self.written_since_look = 0;
            self.seal_full_memtables()?;
        }
        self.look_at_expiry()
    }

    /// Whether a memtable holds deletions of about as much as the files of its state may hide.
    fn hides_much_of_its_files(&self, column_family: &str) -> Result<bool> {
        let options = &self.database.shared.options.compaction;
        let hidden = self.database.ledger.lock().family(column_family).hidden_by_open() as f64;
        // Half of what is allowed: the files may hide as much already.
        if hidden * 2.0 < options.dead_min as f64 {
            return Ok(false);
        }
        let files = self.database.property(column_family, "rocksdb.live-sst-files-size")? as f64;
        Ok(files > options.dead_min as f64 && hidden * 2.0 > options.dead_min as f64 + options.dead_ratio * files)
    }

    fn note_written(&mut self) -> Result<()> {
        let mut ledger = self.database.ledger.lock();
        for (index, written) in self.written.iter_mut().enumerate() {
            if !written.is_empty() {
                ledger.family(&self.column_families[index]).note(written);
            }
        }
        Ok(())
    }

    /// Once time has moved on by a part of a state's time to live: seals its memtable if much of it has expired, and
    /// has its files looked at.
    fn look_at_expiry(&mut self) -> Result<()> {
        let moment = ClockTimes::now(&self.database.clock);
        for (looked_ms, index) in self.looked_ms.iter_mut().zip(0..) {
            let Some(ttl) = self.registry.get(StateId(index))?.ttl else { continue };
            let now_ms = moment.time_in(ttl.domain);
            if now_ms == i64::MIN || now_ms.saturating_sub(*looked_ms) < (ttl.ttl_ms / LOOKS_PER_TTL).max(1) {
                continue;
            }
            *looked_ms = now_ms;
            let name = &self.column_families[usize::from(index)];
            let aged = {
                let mut ledger = self.database.ledger.lock();
                let open = ledger.family(name).open();
                let expired =
                    open.stamps.map_or(0.0, |(from, to)| Ages::even(from, to).expired_share(ttl.ttl_ms, now_ms));
                open.put_bytes as f64 * expired >= self.database.shared.options.compaction.dead_min as f64 / 2.0
            };
            if aged {
                self.database.seal(name)?;
            }
            self.database.request_compaction();
        }
        Ok(())
    }

    /// Seals what is full; when the process has used up its budget, also what has had more than its share.
    fn seal_full_memtables(&self) -> Result<()> {
        let shared = &self.database.shared;
        let scarce = shared.memtables.get_usage() > shared.options.memtable_budget();
        let full = match scarce {
            true => shared.options.memtable_size().min(shared.fair_share()),
            false => shared.options.memtable_size(),
        } as u64;
        for name in self.database.column_families() {
            if self.database.property(&name, "rocksdb.cur-size-active-mem-table")? >= full
                || self.hides_much_of_its_files(&name)?
            {
                self.database.seal(&name)?;
                self.database.wait_for_compaction(&name)?;
            } else if self.database.ledger.lock().family(&name).overdue && self.database.unlisted_cut().is_none() {
                // A merge does not begin while a cut is not listed, and who lists it may be waiting for this.
                self.database.wait_for_compaction(&name)?;
            }
        }
        Ok(())
    }
}

impl KeyedStateBackend for RocksDbKeyedState {
    fn key_groups(&self) -> KeyGroupRange {
        self.key_groups
    }

    fn max_parallelism(&self) -> MaxParallelism {
        self.max_parallelism
    }

    fn register(&mut self, descriptor: &StateDescriptor) -> Result<StateId> {
        self.guard.check()?;
        match self.registry.register(descriptor)? {
            Registration::Known(id) => Ok(id),
            Registration::Restored(id) => Ok(self.registered(id, descriptor)),
            Registration::New => {
                // The files of an earlier cut must not come to include a state that it does not describe.
                self.list_earlier_cut();
                self.database.create_column_family(descriptor)?;
                let id = self.registry.add(descriptor);
                Ok(self.registered(id, descriptor))
            }
        }
    }

    fn unregistered(&self) -> Vec<StateDescriptor> {
        self.registry.unregistered().to_vec()
    }

    fn drop_restored(&mut self, name: &str) -> Result<()> {
        self.guard.check()?;
        self.registry.drop_restored(name)?;
        self.list_earlier_cut();
        self.database
            .rocks
            .drop_cf(&column_family_name(name))
            .map_err(|cause| self.database.error("cannot drop a state", cause))
    }

    fn read(&mut self, state: StateId, key: &[u8], visit: &mut ReadVisitor<'_>) -> Result<bool> {
        self.guard.check()?;
        self.registry.get(state)?;
        self.reader.read(&self.column_families[state.index()], key, visit)
    }

    fn read_many(&mut self, state: StateId, keys: &KeyBatch, visit: &mut ReadManyVisitor<'_>) -> Result<()> {
        self.guard.check()?;
        self.registry.get(state)?;
        self.reader.read_many(&self.column_families[state.index()], keys, visit)
    }

    fn scan(&mut self, state: StateId, range: &ScanRange<'_>, visit: &mut ScanVisitor<'_>) -> Result<()> {
        self.guard.check()?;
        scan(&self.database, self.column_family(state)?, range, visit)
    }

    fn scan_many(&mut self, state: StateId, ranges: &[ScanRange<'_>], visit: &mut ScanManyVisitor<'_>) -> Result<()> {
        self.guard.check()?;
        scan_many(&self.database, self.column_family(state)?, ranges, visit)
    }

    fn write(&mut self, batch: &mut WriteBatch) -> Result<()> {
        self.guard.check()?;
        let written = self.write_batch(batch);
        self.guard.written(batch, written)
    }

    fn time_passed(&mut self) -> Result<()> {
        self.guard.check()?;
        self.look_at_expiry()
    }

    fn snapshot(&mut self, id: CheckpointId, options: &SnapshotOptions) -> Result<Box<dyn Snapshot>> {
        self.guard.check()?;
        let states = self.registry.all().cloned().collect();
        let cut = Cut::take(&self.database, id, *options, self.key_groups, self.max_parallelism, states)?;
        Ok(Box::new(RocksDbSnapshot::new(cut, self.incremental && options.incremental)))
    }

    fn checkpoint_completed(&mut self, _id: CheckpointId) -> Result<()> {
        // Which files the next checkpoint may reuse is the sink's to say.
        self.guard.check()
    }

    fn checkpoint_aborted(&mut self, id: CheckpointId) -> Result<()> {
        self.guard.check()?;
        if let Some(cut) = self.database.unlisted_cut().filter(|cut| cut.id == id) {
            cut.abort();
        }
        Ok(())
    }

    fn usage(&self) -> StateUsage {
        let sum = |property: &str| -> u64 {
            let families = self.database.column_families();
            families.iter().map(|name| self.database.property(name, property).unwrap_or_default()).sum()
        };
        let shared = &self.database.shared;
        let memtables = sum("rocksdb.cur-size-all-mem-tables");
        // Memtables are charged to the cache; what is left of it is shared by all.
        let blocks = (shared.cache.get_usage() as u64).saturating_sub(shared.memtables.get_usage() as u64);
        StateUsage {
            entries: sum("rocksdb.estimate-num-keys"),
            memory_bytes: memtables
                + sum("rocksdb.estimate-table-readers-mem")
                + blocks / shared.open.load(Ordering::Relaxed).max(1) as u64,
            disk_bytes: sum("rocksdb.total-sst-files-size"),
            expired_bytes: self.database.expired_bytes.load(Ordering::Relaxed),
            reclaimed_bytes: self.database.reclaimed_bytes(),
        }
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.database.close();
        Ok(())
    }
}

impl RocksDbKeyedState {
    fn registered(&mut self, id: StateId, descriptor: &StateDescriptor) -> StateId {
        if self.written.len() <= id.index() {
            self.column_families.push(column_family_name(&descriptor.name));
            self.written.resize_with(id.index() + 1, Written::default);
            self.looked_ms.resize(id.index() + 1, i64::MIN);
        }
        self.database.activate_expiry(descriptor);
        id
    }

    fn list_earlier_cut(&self) {
        if let Some(cut) = self.database.unlisted_cut() {
            // Fails into its own upload.
            let _ = cut.list();
        }
    }
}

impl Drop for RocksDbKeyedState {
    fn drop(&mut self) {
        if !self.database.is_closed() {
            self.database.close();
        }
    }
}

impl fmt::Debug for RocksDbKeyedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RocksDbKeyedState")
            .field("key_groups", &self.key_groups)
            .field("registry", &self.registry)
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}
