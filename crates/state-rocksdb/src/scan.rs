//! Ordered visits.

use crate::database::Database;
use headpond_state::backend::ScanStart;
use headpond_state::{Entry, Flow, Result, ScanRange};
use rust_rocksdb::ReadOptions;

/// Visits the entries of a column family within `range`, in ascending order of their keys.
pub(crate) fn scan(
    database: &Database,
    column_family: &str,
    range: &ScanRange<'_>,
    visit: &mut dyn FnMut(Entry<'_>) -> Flow,
) -> Result<()> {
    database.check()?;
    let family = database.column_family(column_family)?;
    let first = match range.start {
        Some(ScanStart::At(key) | ScanStart::After(key)) => key.max(range.prefix),
        None => range.prefix,
    };
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
        if visit(Entry { key, value }) == Flow::Stop {
            return Ok(());
        }
        cursor.next();
    }
    cursor.status().map_err(|cause| database.error("cannot scan state", cause))
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
