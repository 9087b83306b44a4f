//! Point reads: in key order, from memory first, then all misses together.
//!
//! Reading in key order is what makes a batch cheap: neighbours share memtable paths, index and data blocks. A thread
//! that waits for one disk read after another does a few thousand a second where the disk could do tens of thousands.
//! So a batch is first read without I/O; the keys whose blocks are not in memory are then fetched by several threads at
//! once.

use crate::database::{Database, Rocks};
use headpond_state::{Error, KeyBatch, ReadManyVisitor, ReadVisitor, Result, ValueBatch};
use rust_rocksdb::{BoundColumnFamily, ErrorKind, GetIntoBufferResult, ReadOptions, ReadTier};
use std::ops::Range;
use std::sync::{Arc, mpsc};

/// Keys of a batch that are looked up before their values are visited.
const WINDOW: usize = 16_384;
/// Misses a thread takes at a time, at least. Fewer are fetched by the caller.
const MISSES_PER_THREAD: usize = 8;
/// Values up to this size are read into a buffer, without an allocation of RocksDB's.
const BUFFER_MAX: usize = 64 << 10;

/// Reads one database, on its owner's thread.
pub(crate) struct Reader {
    database: Arc<Database>,
    with_io: ReadOptions,
    without_io: ReadOptions,
    buffer: Vec<u8>,
    found: ValueBatch,
    order: Vec<u32>,
}

/// The outcome of reading a key without I/O.
enum Cached<T> {
    Known(T),
    NotInMemory,
}

impl Reader {
    pub(crate) fn new(database: &Arc<Database>) -> Reader {
        let mut without_io = ReadOptions::default();
        without_io.set_read_tier(ReadTier::BlockCache);
        Reader {
            database: Arc::clone(database),
            with_io: ReadOptions::default(),
            without_io,
            buffer: vec![0; 256],
            found: ValueBatch::new(),
            order: Vec::new(),
        }
    }

    /// Visits the value of one key.
    pub(crate) fn read(&mut self, column_family: &str, key: &[u8], visit: &mut ReadVisitor<'_>) -> Result<bool> {
        self.database.check()?;
        let family = self.database.column_family(column_family)?;
        get(&self.database.rocks, &family, key, &self.with_io, &mut self.buffer, |value| match value {
            Some(value) => visit(value).map(|()| true),
            None => Ok(false),
        })
        .map_err(|cause| self.database.error("cannot read state", cause))?
    }

    /// Visits the values of all keys in the batch's order.
    pub(crate) fn read_many(
        &mut self,
        column_family: &str,
        keys: &KeyBatch,
        visit: &mut ReadManyVisitor<'_>,
    ) -> Result<()> {
        self.database.check()?;
        let mut start = 0;
        while start < keys.len() {
            let end = keys.len().min(start + WINDOW);
            self.read_window(column_family, keys, start..end, visit)?;
            start = end;
        }
        Ok(())
    }

    fn read_window(
        &mut self,
        column_family: &str,
        keys: &KeyBatch,
        window: Range<usize>,
        visit: &mut ReadManyVisitor<'_>,
    ) -> Result<()> {
        let database = Arc::clone(&self.database);
        let family = database.column_family(column_family)?;
        let ascending = (window.start + 1..window.end).all(|index| keys.get(index - 1) <= keys.get(index));
        let mut rest = window.clone();
        if ascending {
            // As long as values are in memory they need not be kept: their order is the order of the visits.
            rest.start = self.visit_cached(&family, keys, window, visit)?;
            if rest.is_empty() {
                return Ok(());
            }
        }
        self.order.clear();
        self.order.extend(rest.clone().map(|index| index as u32));
        if !ascending {
            self.order.sort_unstable_by(|&a, &b| keys.get(a as usize).cmp(keys.get(b as usize)));
        }
        self.found.reset(rest.len());
        let missing = self.find_cached(&family, keys, rest.start)?;
        self.fetch(column_family, keys, missing, rest.start)?;
        for index in rest.clone() {
            visit(index, self.found.get(index - rest.start))?;
        }
        Ok(())
    }

    /// Visits keys until one is not in memory, and returns its index.
    fn visit_cached(
        &mut self,
        family: &Arc<BoundColumnFamily<'_>>,
        keys: &KeyBatch,
        window: Range<usize>,
        visit: &mut ReadManyVisitor<'_>,
    ) -> Result<usize> {
        let database = &self.database;
        for index in window.clone() {
            let key = keys.get(index);
            let got =
                get(&database.rocks, family, key, &self.without_io, &mut self.buffer, |value| visit(index, value));
            match cached(got).map_err(|cause| database.error("cannot read state", cause))? {
                Cached::Known(visited) => visited?,
                Cached::NotInMemory => return Ok(index),
            }
        }
        Ok(window.end)
    }

    /// Finds the values of the keys in `order` that are in memory, and returns the indices of the others.
    fn find_cached(&mut self, family: &Arc<BoundColumnFamily<'_>>, keys: &KeyBatch, start: usize) -> Result<Vec<u32>> {
        let database = &self.database;
        let mut missing = Vec::new();
        for &index in &self.order {
            let (found, slot) = (&mut self.found, index as usize - start);
            let key = keys.get(index as usize);
            let got =
                get(&database.rocks, family, key, &self.without_io, &mut self.buffer, |value| found.set(slot, value));
            if let Cached::NotInMemory = cached(got).map_err(|cause| database.error("cannot read state", cause))? {
                missing.push(index);
            }
        }
        Ok(missing)
    }

    /// Fetches the values of the keys in `missing`.
    fn fetch(&mut self, column_family: &str, keys: &KeyBatch, missing: Vec<u32>, start: usize) -> Result<()> {
        let readers = &self.database.shared.readers;
        let chunk = missing.len().div_ceil(readers.count()).max(MISSES_PER_THREAD);
        let (results, arrived) = mpsc::channel();
        let mut sent = 0;
        // The caller takes the first chunk itself.
        for indices in missing.chunks(chunk).skip(1) {
            let mut wanted = KeyBatch::new();
            indices.iter().for_each(|&index| wanted.push(keys.get(index as usize)));
            let (database, name, results) = (Arc::clone(&self.database), column_family.to_owned(), results.clone());
            sent += 1;
            readers.run(move || {
                // The receiver is gone only if the caller has failed already.
                let _ = results.send((sent, read_all(&database, &name, &wanted)));
            });
        }
        drop(results);
        if let Some(own) = missing.chunks(chunk).next() {
            let mut wanted = KeyBatch::new();
            own.iter().for_each(|&index| wanted.push(keys.get(index as usize)));
            let values = read_all(&self.database, column_family, &wanted)?;
            take(&mut self.found, &values, own, start);
        }
        for _ in 0..sent {
            let (number, values) = arrived.recv().map_err(|_| Error::internal("a thread that reads state has died"))?;
            take(&mut self.found, &values?, &missing[number * chunk..missing.len().min((number + 1) * chunk)], start);
        }
        Ok(())
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("database", &self.database).finish_non_exhaustive()
    }
}

/// Takes over the values of the keys with these indices.
fn take(found: &mut ValueBatch, values: &ValueBatch, indices: &[u32], start: usize) {
    for (at, &index) in indices.iter().enumerate() {
        found.set(index as usize - start, values.get(at));
    }
}

/// Reads all keys, waiting for the disk where needed.
fn read_all(database: &Database, column_family: &str, keys: &KeyBatch) -> Result<ValueBatch> {
    let family = database.column_family(column_family)?;
    let options = ReadOptions::default();
    let mut buffer = vec![0; 256];
    let mut found = ValueBatch::new();
    found.reset(keys.len());
    for (slot, key) in keys.iter().enumerate() {
        get(&database.rocks, &family, key, &options, &mut buffer, |value| found.set(slot, value))
            .map_err(|cause| database.error("cannot read state", cause))?;
    }
    Ok(found)
}

/// Reads a key, and returns what `use_value` makes of its value.
fn get<T>(
    rocks: &Rocks,
    family: &Arc<BoundColumnFamily<'_>>,
    key: &[u8],
    options: &ReadOptions,
    buffer: &mut Vec<u8>,
    use_value: impl FnOnce(Option<&[u8]>) -> T,
) -> Result<T, rust_rocksdb::Error> {
    Ok(match rocks.get_into_buffer_cf_opt(family, key, buffer, options)? {
        GetIntoBufferResult::Found(length) => use_value(Some(&buffer[..length])),
        GetIntoBufferResult::NotFound => use_value(None),
        GetIntoBufferResult::BufferTooSmall(length) => {
            if length <= BUFFER_MAX {
                buffer.resize(length.next_power_of_two(), 0);
            }
            let value = rocks.get_pinned_cf_opt(family, key, options)?;
            use_value(value.as_deref())
        }
    })
}

fn cached<T>(got: Result<T, rust_rocksdb::Error>) -> Result<Cached<T>, rust_rocksdb::Error> {
    match got {
        Ok(known) => Ok(Cached::Known(known)),
        Err(cause) if cause.kind() == ErrorKind::Incomplete => Ok(Cached::NotInMemory),
        Err(cause) => Err(cause),
    }
}
