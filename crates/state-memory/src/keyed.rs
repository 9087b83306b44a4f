//! The state of one operator on one worker.

use crate::budget::Account;
use crate::point::PAGE_LEN_MAX;
use crate::snapshot::{MemorySnapshot, UploadedFiles};
use crate::sweep::Sweeper;
use crate::table::{LOOKUP_LEN, Lookup, Table};
use hashbrown::{HashMap, HashSet};
use headpond_state::canonical::read_canonical;
use headpond_state::{
    CheckpointId, Context, Error, KeyBatch, KeyGroupRange, KeyedBackendParams, KeyedStateBackend, KeyedStateHandle,
    MaxParallelism, OperatorClock, OperatorId, PoisonGuard, ReadManyVisitor, ReadVisitor, Registration, RestoredState,
    Result, ScanManyVisitor, ScanRange, ScanVisitor, Snapshot, SnapshotOptions, StateDescriptor, StateId,
    StateRegistry, StateUsage, WriteBatch, WriteOp,
};
use std::sync::Arc;

/// Entries between two looks at the budget during a restore.
const RESTORE_CHECK_INTERVAL: u64 = 1024;

/// The most a write of one entry adds beside key and value, without copying frozen pieces.
const ENTRY_OVERHEAD_MAX: u64 = 256;

/// Tables by state, and what of them has changed.
#[derive(Debug)]
pub(crate) struct MemoryKeyedState {
    operator: OperatorId,
    key_groups: KeyGroupRange,
    max_parallelism: MaxParallelism,
    account: Arc<Account>,
    /// In the order in which snapshots number them.
    states: Vec<State>,
    registry: StateRegistry,
    /// The index in `states` of every registered state.
    registered: Vec<usize>,
    /// The number of the next snapshot of this instance.
    generation: u64,
    /// The generation in which each key group last changed.
    changed_in: Vec<u64>,
    /// Files that an unchanged part of the state may be found in.
    uploaded: Arc<UploadedFiles>,
    /// Shared with every snapshot that is alive: while there is one, writes may copy pieces.
    frozen: Arc<()>,
    clock: Arc<OperatorClock>,
    /// Bytes of keys and values that have expired and were removed.
    reclaimed_bytes: u64,
    guard: PoisonGuard,
    scratch: Vec<u8>,
}

#[derive(Debug)]
struct State {
    descriptor: StateDescriptor,
    table: Table,
    /// The cleaner of a state that expires, once the job has said when.
    sweeper: Option<Sweeper>,
}

impl MemoryKeyedState {
    pub(crate) fn open(
        params: KeyedBackendParams,
        account: Arc<Account>,
        restore: &[RestoredState<'_>],
    ) -> Result<Self> {
        let mut keyed = MemoryKeyedState {
            operator: params.operator,
            key_groups: params.key_groups,
            max_parallelism: params.max_parallelism,
            account,
            states: Vec::new(),
            registry: StateRegistry::default(),
            registered: Vec::new(),
            generation: 1,
            changed_in: vec![0; params.key_groups.len()],
            uploaded: Arc::default(),
            frozen: Arc::default(),
            clock: params.clock,
            reclaimed_bytes: 0,
            guard: PoisonGuard::default(),
            scratch: Vec::new(),
        };
        for restored in restore {
            keyed.restore(*restored).map_err(|error| error.with(Context::Operator, &keyed.operator))?;
        }
        Ok(keyed)
    }

    fn restore(&mut self, restored: RestoredState<'_>) -> Result<()> {
        let targets = self.restored_states(restored.handle)?;
        let mut seen = 0;
        let MemoryKeyedState { states, account, .. } = self;
        read_canonical(restored, self.key_groups, self.max_parallelism, &mut |entry| {
            seen += 1;
            if seen % RESTORE_CHECK_INTERVAL == 0 {
                account.check_room(0)?;
            }
            let table = &mut states[targets[usize::from(entry.state)]].table;
            table.put(table.lookup(entry.key)?, entry.key, entry.value, account)
        })?;
        self.account.check_room(0)
    }

    /// The index in `states` of each state of the handle, made if it is new.
    fn restored_states(&mut self, handle: &KeyedStateHandle) -> Result<Vec<usize>> {
        let mut targets = Vec::with_capacity(handle.states.len());
        for descriptor in &handle.states {
            self.registry.restore(descriptor)?;
            targets.push(match self.position(&descriptor.name) {
                Some(index) => index,
                None => self.add(descriptor),
            });
        }
        Ok(targets)
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.states.iter().position(|state| state.descriptor.name == name)
    }

    /// Adds an empty table, and returns its index.
    fn add(&mut self, descriptor: &StateDescriptor) -> usize {
        let table = Table::new(descriptor.access, self.key_groups, self.max_parallelism);
        self.states.push(State { descriptor: descriptor.clone(), table, sweeper: None });
        self.states.len() - 1
    }

    #[inline]
    fn check_open(&self) -> Result<()> {
        self.guard.check().map_err(|error| error.with(Context::Operator, &self.operator))
    }

    fn state(&self, id: StateId) -> Result<&State> {
        self.check_open()?;
        Ok(&self.states[index_of(&self.registered, id)?])
    }

    fn apply(&mut self, batch: &WriteBatch) -> Result<()> {
        self.check_growth(batch)?;
        let mut ops = batch.iter();
        let mut together = Vec::with_capacity(LOOKUP_LEN);
        loop {
            together.clear();
            for (id, op) in ops.by_ref().take(LOOKUP_LEN) {
                let index = index_of(&self.registered, id)?;
                let State { descriptor, table, .. } = &self.states[index];
                let lookup = match key_of(&op) {
                    Some(key) => table.lookup(key).map_err(|error| error.with(Context::State, &descriptor.name))?,
                    None => Lookup::default(),
                };
                together.push((index, op, lookup));
            }
            if together.is_empty() {
                return Ok(());
            }
            self.prepare(&mut together);
            let mut next = 0;
            while let Some((index, op, lookup)) = together.get(next) {
                let puts = self.put_together(&together[next..])?;
                if puts == 0 {
                    self.apply_one(*index, *op, *lookup)?;
                }
                next += puts.max(1);
            }
        }
    }

    /// Brings into the cache what the writes will need.
    fn prepare(&self, together: &mut [(usize, WriteOp<'_>, Lookup)]) {
        let mut before = (usize::MAX, Lookup::default());
        for (index, op, lookup) in together.iter_mut() {
            if let Some(key) = key_of(op) {
                let guess = if before.0 == *index { before.1 } else { Lookup::default() };
                self.states[*index].table.probe(lookup, guess, key);
                before = (*index, *lookup);
            }
        }
        let (mut touched, mut before) = (0, None);
        for (index, _, lookup) in together.iter().filter(|(_, op, _)| key_of(op).is_some()) {
            let beside = before.filter(|(of, _)| of == index).map(|(_, lookup)| lookup);
            touched ^= self.states[*index].table.touch(lookup, beside);
            before = Some((*index, lookup));
        }
        std::hint::black_box(touched);
        for (index, op, lookup) in together.iter_mut() {
            if let Some(key) = key_of(op) {
                self.states[*index].table.touch_entry(lookup, key);
            }
        }
    }

    /// Applies the puts into one shard of an ordered state that the writes begin with, and returns how many there were.
    fn put_together(&mut self, writes: &[(usize, WriteOp<'_>, Lookup)]) -> Result<usize> {
        let Some((index, WriteOp::Put { .. }, Lookup { shard, .. })) = writes.first() else { return Ok(0) };
        let Some(ordered) = self.states[*index].table.ordered_shard(*shard) else { return Ok(0) };
        let puts = writes.iter().map_while(|(of, op, at)| match op {
            WriteOp::Put { key, value } if of == index && at.shard == *shard => Some((at.place, *key, *value)),
            _ => None,
        });
        if puts.clone().nth(1).is_none() {
            return Ok(0);
        }
        let puts: Vec<_> = puts.collect();
        ordered.put_all(&puts, &self.account)?;
        self.changed_in[*shard] = self.generation;
        Ok(puts.len())
    }

    fn apply_one(&mut self, index: usize, op: WriteOp<'_>, at: Lookup) -> Result<()> {
        let State { descriptor, table, .. } = &mut self.states[index];
        let account = &self.account;
        match op {
            WriteOp::Put { key, value } => table.put(at, key, value, account)?,
            WriteOp::Merge { key, operand } => match descriptor.merge {
                Some(operator) => table.merge(at, (key, operand), operator, &mut self.scratch, account)?,
                None => {
                    return Err(Error::invalid("a merge into a state without a merge operator")
                        .with(Context::State, &descriptor.name));
                }
            },
            WriteOp::Delete { key } => table.delete(at, key, account),
            WriteOp::DeleteRange { start, end } => {
                self.changed_in[table.delete_range(start, end, account)].fill(self.generation);
                return Ok(());
            }
        }
        self.changed_in[at.shard] = self.generation;
        Ok(())
    }

    /// Gives back some of what has expired.
    fn sweep(&mut self, writes: usize) {
        for State { table, sweeper, .. } in &mut self.states {
            let Some(sweeper) = sweeper else { continue };
            let (mut steps, expiry) = sweeper.due(&self.clock, table, writes);
            while steps > 0 {
                let shard = sweeper.shard;
                let swept = table.sweep(shard, sweeper.piece, &expiry, &self.account);
                if let Some(swept) = swept.filter(|swept| swept.removed > 0) {
                    self.changed_in[shard] = self.generation;
                    self.reclaimed_bytes += swept.bytes as u64;
                }
                steps = steps.saturating_sub(sweeper.stepped(swept, table.shards()));
            }
        }
    }

    /// Checks before anything is applied that the budget has room for the batch.
    fn check_growth(&self, batch: &WriteBatch) -> Result<()> {
        // The most it can take: every entry new, a page and a larger index for every shard, a copy of all that is
        // frozen.
        let held = self.account.used();
        let entries = 3 * batch.byte_len() as u64 + batch.len() as u64 * ENTRY_OVERHEAD_MAX;
        let pages = (batch.len().min(self.key_groups.len() * self.states.len()) * PAGE_LEN_MAX) as u64;
        let copies = if Arc::strong_count(&self.frozen) > 1 { held } else { 0 };
        if self.account.has_room(entries + pages + copies + held / 4) {
            return Ok(());
        }
        match self.growth(batch)? {
            0 => Ok(()),
            growth => self.account.check_room(growth),
        }
    }

    /// The bytes that the batch adds: new entries, values that outgrow their place, copies of frozen pieces.
    fn growth(&self, batch: &WriteBatch) -> Result<u64> {
        let mut value_lens = HashMap::new();
        for (id, op) in batch.iter() {
            let table = &self.states[index_of(&self.registered, id)?].table;
            match op {
                WriteOp::Put { key, value } => {
                    let longest = value_lens.entry((id, key)).or_insert(0);
                    *longest = value.len().max(*longest);
                }
                WriteOp::Merge { key, operand } => {
                    *value_lens.entry((id, key)).or_insert_with(|| table.value_len(key)) += operand.len();
                }
                // A deletion may copy a frozen piece too, but it is how state gets smaller: it is never refused.
                WriteOp::Delete { .. } | WriteOp::DeleteRange { .. } => {}
            }
        }
        let mut pieces = HashSet::new();
        let mut appended: HashMap<_, (usize, usize)> = HashMap::new();
        let mut bytes = 0;
        for ((id, key), value_len) in value_lens {
            let index = index_of(&self.registered, id)?;
            let (shard, growth) = self.states[index].table.growth(key, value_len)?;
            bytes += growth.bytes;
            let sums = appended.entry((index, shard)).or_default();
            sums.0 += growth.appended;
            sums.1 += growth.entries;
            let once = [growth.copied, growth.regrown].into_iter().flatten();
            bytes += once.filter(|(identity, _)| pieces.insert(*identity)).map(|(_, len)| len).sum::<usize>();
        }
        for ((index, shard), (appended, entries)) in appended {
            bytes += self.states[index].table.append_growth(shard, appended, entries);
        }
        Ok(bytes as u64)
    }
}

/// The one key a write is about.
fn key_of<'a>(op: &WriteOp<'a>) -> Option<&'a [u8]> {
    match op {
        WriteOp::Put { key, .. } | WriteOp::Merge { key, .. } | WriteOp::Delete { key } => Some(key),
        WriteOp::DeleteRange { .. } => None,
    }
}

fn index_of(registered: &[usize], id: StateId) -> Result<usize> {
    let index = registered.get(id.index()).copied();
    index.ok_or_else(|| Error::invalid(format!("no state is registered with id {}", id.0)))
}

impl KeyedStateBackend for MemoryKeyedState {
    fn key_groups(&self) -> KeyGroupRange {
        self.key_groups
    }

    fn max_parallelism(&self) -> MaxParallelism {
        self.max_parallelism
    }

    fn register(&mut self, descriptor: &StateDescriptor) -> Result<StateId> {
        self.check_open()?;
        let (id, index) = match self.registry.register(descriptor)? {
            Registration::Known(id) => return Ok(id),
            Registration::Restored(id) => {
                let restored = self.position(&descriptor.name);
                (id, restored.ok_or_else(|| Error::internal("a restored state has no table"))?)
            }
            Registration::New => (self.registry.add(descriptor), self.add(descriptor)),
        };
        self.registered.push(index);
        let state = &mut self.states[index];
        state.descriptor = descriptor.clone();
        state.sweeper = descriptor.ttl.map(Sweeper::new);
        state.table.reshape(descriptor.access, &self.account)?;
        Ok(id)
    }

    fn unregistered(&self) -> Vec<StateDescriptor> {
        self.registry.unregistered().to_vec()
    }

    fn drop_restored(&mut self, name: &str) -> Result<()> {
        self.check_open()?;
        self.registry.drop_restored(name).map_err(|error| error.with(Context::Operator, &self.operator))?;
        let index = self.position(name).ok_or_else(|| Error::internal("a restored state has no table"))?;
        let mut dropped = self.states.remove(index);
        (0..self.key_groups.len()).for_each(|shard| dropped.table.clear_shard(shard, &self.account));
        self.registered.iter_mut().filter(|other| **other > index).for_each(|other| *other -= 1);
        // Files number states by their place, so none of the uploaded ones is right any more.
        self.changed_in.fill(self.generation);
        Ok(())
    }

    fn read(&mut self, state: StateId, key: &[u8], visit: &mut ReadVisitor<'_>) -> Result<bool> {
        match self.state(state)?.table.get(key)? {
            Some(value) => visit(value).map(|()| true),
            None => Ok(false),
        }
    }

    fn read_many(&mut self, state: StateId, keys: &KeyBatch, visit: &mut ReadManyVisitor<'_>) -> Result<()> {
        self.state(state)?.table.get_many(keys, visit)
    }

    fn scan(&mut self, state: StateId, range: &ScanRange<'_>, visit: &mut ScanVisitor<'_>) -> Result<()> {
        self.state(state)?.table.scan(range, visit)
    }

    fn scan_many(&mut self, state: StateId, ranges: &[ScanRange<'_>], visit: &mut ScanManyVisitor<'_>) -> Result<()> {
        self.state(state)?.table.scan_many(ranges, visit)
    }

    fn write(&mut self, batch: &mut WriteBatch) -> Result<()> {
        self.check_open()?;
        let writes = batch.len();
        let applied = self.apply(batch);
        self.guard.written(batch, applied).map_err(|error| error.with(Context::Operator, &self.operator))?;
        self.sweep(writes);
        self.states.iter_mut().for_each(|state| state.table.tidy_most(&self.account));
        Ok(())
    }

    fn time_passed(&mut self) -> Result<()> {
        self.check_open()?;
        self.sweep(0);
        self.states.iter_mut().for_each(|state| state.table.tidy(&self.account));
        Ok(())
    }

    fn snapshot(&mut self, _id: CheckpointId, options: &SnapshotOptions) -> Result<Box<dyn Snapshot>> {
        self.check_open()?;
        let snapshot = MemorySnapshot {
            key_groups: self.key_groups,
            max_parallelism: self.max_parallelism,
            states: self.states.iter().map(|state| state.descriptor.clone()).collect(),
            tables: self.states.iter().map(|state| state.table.freeze()).collect(),
            changed_in: self.changed_in.clone(),
            bytes: self.account.used(),
            incremental: options.incremental,
            uploaded: Arc::clone(&self.uploaded),
            alive: Arc::clone(&self.frozen),
        };
        self.generation += 1;
        Ok(Box::new(snapshot))
    }

    fn checkpoint_completed(&mut self, _id: CheckpointId) -> Result<()> {
        Ok(())
    }

    fn checkpoint_aborted(&mut self, _id: CheckpointId) -> Result<()> {
        Ok(())
    }

    fn usage(&self) -> StateUsage {
        StateUsage {
            entries: self.states.iter().map(|state| state.table.len() as u64).sum(),
            memory_bytes: self.account.used(),
            disk_bytes: 0,
            expired_bytes: self.states.iter().flat_map(|state| &state.sweeper).map(Sweeper::expired_bytes).sum(),
            reclaimed_bytes: self.reclaimed_bytes,
        }
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
