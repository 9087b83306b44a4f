//! What a changed query means for the state of aggregates.

use super::layout::AggregatePlan;
use super::value_sets::VALUES;
use headpond_state::{Context, Entry, EntryConversion, Error, Migration, Result, StateDescriptor};
use std::sync::Arc;

/// How a restored state of an aggregate becomes the one that `plan` declares.
///
/// # Errors
/// [`Incompatible`](headpond_state::ErrorKind::Incompatible) for a change that would make the state mean something
/// else.
pub(super) fn migration(
    plan: &AggregatePlan,
    restored: &StateDescriptor,
    declared: &StateDescriptor,
) -> Result<Migration> {
    if declared.name != VALUES {
        return plan.layout.evolution().migration(restored, declared);
    }
    declared.check_restored_key(restored)?;
    let new = plan.layout.new_sets(&restored.value_schema).ok_or_else(|| {
        Error::incompatible(format!(
            "the values kept for DISTINCT were `{}` and are now `{}`",
            restored.value_schema, declared.value_schema
        ))
        .with(Context::State, VALUES)
        .hint("put aggregates that are new behind those there were")
    })?;
    let changes =
        new.iter().map(|set| format!("the values of `{}` are new: they count from this checkpoint on", set.name));
    Ok(Migration { changes: changes.collect(), conversion: Arc::new(Unchanged) })
}

/// Entries that stay as they are.
#[derive(Debug)]
struct Unchanged;

impl EntryConversion for Unchanged {
    fn convert(&self, entry: Entry<'_>, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<()> {
        key.extend_from_slice(entry.key);
        value.extend_from_slice(entry.value);
        Ok(())
    }
}
