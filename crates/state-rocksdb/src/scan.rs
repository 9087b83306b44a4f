//! Ordered visits.

use crate::database::Database;
use headpond_state::backend::ScanStart;
use headpond_state::{Entry, Result, ScanManyVisitor, ScanRange, ScanVisitor};
use rust_rocksdb::{DBAccess, DBRawIteratorWithThreadMode, ErrorKind, ReadOptions};

/// Entries, deleted ones among them, that a shared cursor passes at most on its way to the next one. It knows nothing
/// of where a range ends: without a limit it would pass all that was deleted behind it.
const SKIPPED_MAX: u64 = 64;

/// Visits the entries of a column family within `range`, in ascending order of their keys.
pub(crate) fn scan(
    database: &Database,
    column_family: &str,
    range: &ScanRange<'_>,
    visit: &mut ScanVisitor<'_>,
) -> Result<()> {
    database.check()?;
    let family = database.column_family(column_family)?;
    let first = first_key(range);
    let mut options = ReadOptions::default();
    options.set_iterate_lower_bound(first);
    if let Some(end) = upper_bound(range) {
        if end.as_slice() <= first {
            return Ok(());
        }
        options.set_iterate_upper_bound(end);
    }
    // A scan of everything would throw out of the cache what point reads need.
    options.fill_cache(!range.prefix.is_empty() || range.limit != usize::MAX);
    let mut cursor = database.rocks.raw_iterator_cf_opt(&family, options);
    cursor.seek(first);
    let mut left = range.limit;
    while left > 0 {
        let Some((key, value)) = cursor.item() else { break };
        if matches!(range.start, Some(ScanStart::After(after)) if key == after) {
            cursor.next();
            continue;
        }
        left -= 1;
        if visit(Entry { key, value })?.is_break() {
            return Ok(());
        }
        cursor.next();
    }
    cursor.status().map_err(|cause| database.error("cannot scan state", cause))
}

/// Visits the entries within each of the ranges, with one cursor: making one costs as much as a scan of a few entries.
pub(crate) fn scan_many(
    database: &Database,
    column_family: &str,
    ranges: &[ScanRange<'_>],
    visit: &mut ScanManyVisitor<'_>,
) -> Result<()> {
    database.check()?;
    let family = database.column_family(column_family)?;
    let mut options = ReadOptions::default();
    options.set_max_skippable_internal_keys(SKIPPED_MAX);
    options.set_auto_readahead_size(false);
    let mut cursor = SharedCursor { cursor: database.rocks.raw_iterator_cf_opt(&family, options), absent: None };
    for (index, range) in ranges.iter().enumerate() {
        let mut last = None;
        match cursor.scan(range, &mut last, &mut |entry| visit(index, entry)) {
            Ok(visited) => visited?,
            // Many deletions lie in the way: a cursor that knows the range's end does not pass more of them than it
            // must.
            Err(cause) if cause.kind() == ErrorKind::Incomplete => {
                let mut rest = *range;
                if let Some((key, visited)) = &last {
                    rest.start = Some(ScanStart::After(key));
                    rest.limit -= visited;
                }
                scan(database, column_family, &rest, &mut |entry| visit(index, entry))?;
            }
            Err(cause) => return Err(database.error("cannot scan state", cause)),
        }
    }
    Ok(())
}

/// A cursor that goes from range to range.
struct SharedCursor<'a, D: DBAccess> {
    cursor: DBRawIteratorWithThreadMode<'a, D>,
    /// A key from which on there is nothing up to where the cursor stands.
    absent: Option<Vec<u8>>,
}

impl<D: DBAccess> SharedCursor<'_, D> {
    /// Visits a range. `last` becomes the last key visited and how many there were. The inner error is the visitor's.
    fn scan(
        &mut self,
        range: &ScanRange<'_>,
        last: &mut Option<(Vec<u8>, usize)>,
        visit: &mut ScanVisitor<'_>,
    ) -> Result<Result<()>, rust_rocksdb::Error> {
        let first = first_key(range);
        if range.limit == 0 || range.end.is_some_and(|end| end <= first) {
            return Ok(Ok(()));
        }
        self.seek(first)?;
        if let Some(ScanStart::After(after)) = range.start
            && self.cursor.key() == Some(after)
        {
            self.absent = None;
            self.cursor.next();
        }
        while let Some((key, value)) = self.cursor.item() {
            if !key.starts_with(range.prefix) || range.end.is_some_and(|end| key >= end) {
                break;
            }
            let flow = match visit(Entry { key, value }) {
                Ok(flow) => flow,
                Err(error) => return Ok(Err(error)),
            };
            let (kept, visited) = last.get_or_insert_default();
            kept.clear();
            kept.extend_from_slice(key);
            *visited += 1;
            if flow.is_break() || *visited == range.limit {
                self.absent = None;
                return Ok(Ok(()));
            }
            self.cursor.next();
        }
        if let Some((last, _)) = last {
            self.set_absent(last, &[0]);
        }
        self.cursor.status().map(Ok)
    }

    /// Moves to the first entry that is not below `first`, unless the cursor is there already.
    fn seek(&mut self, first: &[u8]) -> Result<(), rust_rocksdb::Error> {
        let there = self.absent.as_deref().is_some_and(|absent| absent <= first)
            && self.cursor.key().is_some_and(|key| first <= key);
        if !there {
            self.cursor.seek(first);
            self.cursor.status()?;
            self.set_absent(first, &[]);
        }
        Ok(())
    }

    fn set_absent(&mut self, key: &[u8], tail: &[u8]) {
        let absent = self.absent.get_or_insert_default();
        absent.clear();
        absent.extend_from_slice(key);
        absent.extend_from_slice(tail);
    }
}

fn first_key<'a>(range: &ScanRange<'a>) -> &'a [u8] {
    match range.start {
        Some(ScanStart::At(key) | ScanStart::After(key)) => key.max(range.prefix),
        None => range.prefix,
    }
}

/// The first key after the range; `None`: there is none.
fn upper_bound(range: &ScanRange<'_>) -> Option<Vec<u8>> {
    let after_prefix = prefix_successor(range.prefix);
    match (after_prefix, range.end) {
        (Some(after), Some(end)) => Some(after.min(end.to_vec())),
        (after, end) => after.or(end.map(<[u8]>::to_vec)),
    }
}

/// The least key above all that begin with `prefix`; `None`: there is none.
fn prefix_successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != u8::MAX)?;
    let mut after = prefix[..=last].to_vec();
    after[last] += 1;
    Some(after)
}
