//! From handles back to a database.
//!
//! The usual restore, of an instance's own key groups, puts the handle's files back and opens them. When key groups
//! move between instances, a database is assembled from files of several handles, or of a part of one ([`assemble`]).
//! Canonical handles are read entry by entry and loaded in sorted files.

use crate::assemble::{assemble, families};
use crate::bulk_load::{BulkLoad, Family};
use crate::column_family::column_family_name;
use crate::database::Database;
use crate::handle_files::{check_format, fetch};
use crate::keyed::RocksDbKeyedState;
use crate::local_dir::LocalDir;
use crate::placement::is_table;
use crate::shared::Shared;
use crate::upload::FORMAT;
use headpond_state::canonical::read_canonical;
use headpond_state::{Context, Error, KeyedBackendParams, RestoredState, Result, StateDescriptor};
use std::path::Path;
use std::sync::Arc;

/// Opens the state that `params` describes, with what `handles` hold of its key groups.
pub(crate) fn restore(
    shared: Arc<Shared>,
    local_dir: &Path,
    params: &KeyedBackendParams,
    handles: &[RestoredState<'_>],
) -> Result<RocksDbKeyedState> {
    for restored in handles {
        check_format(restored.handle, params.max_parallelism)?;
    }
    let states = states_of(handles)?;
    let wanted = params.key_groups;
    let needed = handles.iter().filter(|restored| !restored.handle.key_groups.intersection(wanted).is_empty());
    let (own, canonical): (Vec<&RestoredState<'_>>, Vec<_>) =
        needed.partition(|restored| restored.handle.format == FORMAT);

    let dir = LocalDir::create(local_dir)?;
    let families = families(&shared, &states);
    let database = match own[..] {
        [] => Database::open(shared, dir, Arc::clone(&params.clock), &[])?,
        [only] if only.handle.key_groups.intersection(wanted) == only.handle.key_groups => {
            put_back(shared, dir, params, only)?
        }
        _ => assemble(shared, dir, params, &own, &states, &families)?,
    };
    let present = database.column_families();
    for state in states.iter().filter(|state| !present.contains(&column_family_name(&state.name))) {
        database.create_column_family(state)?;
    }
    for restored in canonical {
        load(&database, &families, &states, restored, params)?;
    }
    Ok(RocksDbKeyedState::new(database, wanted, params.max_parallelism, states))
}

/// Opens a handle's files as they are.
fn put_back(
    shared: Arc<Shared>,
    dir: LocalDir,
    params: &KeyedBackendParams,
    restored: &RestoredState<'_>,
) -> Result<Arc<Database>> {
    fetch(restored, &dir.database(), |_| true)?;
    let database = Database::open(shared, dir, Arc::clone(&params.clock), &restored.handle.states)?;
    let tables = restored.handle.files.iter().filter(|file| is_table(&file.name));
    tables.for_each(|file| database.uploaded.insert(file.clone()));
    Ok(database)
}

/// The states of all handles, by name.
fn states_of(handles: &[RestoredState<'_>]) -> Result<Vec<StateDescriptor>> {
    let mut states: Vec<StateDescriptor> = Vec::new();
    for state in handles.iter().flat_map(|restored| &restored.handle.states) {
        match states.iter().find(|known| known.name == state.name) {
            Some(known) if !known.is_same(state) => {
                return Err(Error::incompatible("the parts of the state to restore disagree on a state's descriptor")
                    .with(Context::State, &state.name));
            }
            Some(_) => {}
            None => states.push(state.clone()),
        }
    }
    Ok(states)
}

/// Loads what a canonical handle holds of the wanted key groups.
fn load(
    database: &Database,
    families: &[Family],
    states: &[StateDescriptor],
    restored: &RestoredState<'_>,
    params: &KeyedBackendParams,
) -> Result<()> {
    let position = |state: &StateDescriptor| states.iter().position(|known| known.name == state.name);
    // The families of the handle's states, as the handle numbers them.
    let numbered: Vec<usize> = restored.handle.states.iter().filter_map(position).collect();
    let mut load = BulkLoad::new(database, families);
    read_canonical(*restored, params.key_groups, params.max_parallelism, &mut |entry| {
        load.push(numbered[usize::from(entry.state)], entry.key, entry.value)
    })?;
    load.finish()
}
