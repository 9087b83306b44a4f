//! What no manifest of ours says, whatever its hash.
//!
//! The hash tells that a manifest is as it was written, not who wrote it. Names in it become names of files, and
//! numbers are added up, so both are checked once, when a manifest is read; what a connector keeps in its own terms is
//! checked by the connector.

use super::Manifest;
use headpond_files::RelativeName;
use headpond_state::{Context, Error, Result};
use std::collections::HashSet;

/// No count or length comes near it: sums of a few thousand of them still fit.
const COUNT_MAX: u64 = 1 << 48;

/// Checks names and numbers.
///
/// # Errors
/// [`Corrupt`](headpond_state::ErrorKind::Corrupt), naming what is wrong.
pub(super) fn check(manifest: &Manifest) -> Result<()> {
    let altered = |what: String| Error::corrupt(format!("no checkpoint of ours says this: {what}"));
    for source in &manifest.sources {
        let mut seen = HashSet::new();
        for split in &source.splits {
            let located = |error: Error| error.with(Context::Operator, &source.operator);
            if split.id.is_empty() || split.id.contains('\0') {
                return Err(located(altered("a split has no name, or one with a NUL".to_owned())));
            }
            if !seen.insert(&split.id) {
                return Err(located(altered(format!("the split '{}' is there twice", split.id))));
            }
            if split.rows > COUNT_MAX || split.skipped > COUNT_MAX {
                return Err(located(altered(format!("the split '{}' has more rows than can be", split.id))));
            }
        }
    }
    let mut seen = HashSet::new();
    for operator in &manifest.operators {
        let located = |error: Error| error.with(Context::Operator, &operator.operator);
        if !seen.insert(&operator.operator) {
            return Err(located(altered("the operator is there twice".to_owned())));
        }
        for file in operator.files() {
            RelativeName::parse(file.name.as_str()).map_err(|cause| {
                located(altered("a file's name leads out of its directory".to_owned()).because(cause))
            })?;
            if file.length > COUNT_MAX {
                return Err(located(altered(format!("the file '{}' is longer than can be", file.name))));
            }
        }
        let handles = operator.subtasks.iter().filter_map(|subtask| subtask.state.as_ref());
        if handles.into_iter().any(|state| state.entries > COUNT_MAX) {
            return Err(located(altered("there are more entries than can be".to_owned())));
        }
    }
    let mut seen = HashSet::new();
    if let Some(sink) = manifest.sinks.iter().find(|sink| !seen.insert(&sink.operator)) {
        return Err(altered("the sink is there twice".to_owned()).with(Context::Operator, &sink.operator));
    }
    Ok(())
}
