//! From handles back to a database.
//!
//! The handle that holds most of the wanted key groups becomes the database: its files are fetched and opened as they
//! are. What it holds of other key groups is cut away: whole files are dropped, the rest is hidden by range tombstones
//! until it is compacted. Other handles, canonical ones too, are read entry by entry and loaded in sorted files.

use crate::bulk_load::{BulkLoad, Family};
use crate::column_family::{column_family_name, column_family_options};
use crate::database::{Database, lock};
use crate::keyed::RocksDbKeyedState;
use crate::ledger::Written;
use crate::local_dir::LocalDir;
use crate::reader::RestoredFiles;
use crate::shared::Shared;
use crate::upload::{FORMAT, FORMAT_VERSION};
use headpond_state::canonical::{self, read_canonical};
use headpond_state::{
    Context, Error, Flow, KeyGroup, KeyGroupRange, KeyedBackendParams, KeyedStateHandle, MaxParallelism, RestoredState,
    Result, StateDescriptor, StateReader,
};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// Takes a state's number in its handle, a key and a value.
type VisitEntry<'a> = dyn FnMut(usize, &[u8], &[u8]) -> Result<()> + 'a;

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
    let overlap = |restored: &RestoredState<'_>| restored.handle.key_groups.intersection(wanted).len();
    let base = (0..handles.len())
        .filter(|&index| handles[index].handle.format == FORMAT && overlap(&handles[index]) > 0)
        .max_by_key(|&index| (overlap(&handles[index]), std::cmp::Reverse(handles[index].handle.key_groups.len())));

    let dir = LocalDir::create(local_dir)?;
    if let Some(base) = base {
        fetch(&handles[base], &dir.database())?;
    }
    let in_base: &[StateDescriptor] = base.map_or(&[], |base| &handles[base].handle.states);
    let database = Database::open(shared, dir, Arc::clone(&params.clock), in_base)?;
    for state in states.iter().filter(|state| !in_base.iter().any(|known| known.name == state.name)) {
        database.create_column_family(state)?;
    }
    if let Some(base) = base {
        let handle = handles[base].handle;
        handle
            .files
            .iter()
            .filter(|file| file.name.ends_with(".sst"))
            .for_each(|file| database.uploaded.insert(file.clone()));
        clip(&database, handle.key_groups, wanted, params.max_parallelism)?;
    }
    let families: Vec<Family> = states
        .iter()
        .map(|state| Family {
            name: column_family_name(&state.name),
            options: column_family_options(&database.shared, state.merge),
        })
        .collect();
    for (index, restored) in handles.iter().enumerate() {
        if Some(index) != base && overlap(restored) > 0 {
            load(&database, &families, &states, restored, params)?;
        }
    }
    Ok(RocksDbKeyedState::new(database, wanted, params.max_parallelism, states))
}

pub(crate) fn check_format(handle: &KeyedStateHandle, max_parallelism: MaxParallelism) -> Result<()> {
    if handle.format == canonical::FORMAT {
        return Ok(());
    }
    if handle.format != FORMAT {
        return Err(Error::incompatible(format!(
            "the RocksDB backend cannot read state of format `{}`",
            handle.format
        ))
        .hint("restore it with the backend that wrote it, or start anew with `--restore none`"));
    }
    if handle.format_version > FORMAT_VERSION {
        let version = handle.format_version;
        return Err(Error::incompatible(format!(
            "RocksDB state format version {version} is newer than {FORMAT_VERSION}"
        ))
        .hint("restore it with the release of Headpond that wrote it"));
    }
    let written_with = handle.details.get("max-parallelism").and_then(serde_json::Value::as_u64);
    if written_with != Some(u64::from(max_parallelism.get())) {
        let groups = written_with.map_or("an unknown number of".to_owned(), |groups| groups.to_string());
        return Err(Error::incompatible(format!(
            "the state was written with {groups} key groups and the job has {}",
            max_parallelism.get()
        ))
        .hint("set the job's max parallelism to what the state was written with"));
    }
    Ok(())
}

/// The states of all handles, by name.
fn states_of(handles: &[RestoredState<'_>]) -> Result<Vec<StateDescriptor>> {
    let mut states: Vec<StateDescriptor> = Vec::new();
    for state in handles.iter().flat_map(|restored| &restored.handle.states) {
        match states.iter().find(|known| known.name == state.name) {
            Some(known) if known != state => {
                return Err(Error::incompatible("the parts of the state to restore disagree on a state's descriptor")
                    .with(Context::State, &state.name));
            }
            Some(_) => {}
            None => states.push(state.clone()),
        }
    }
    Ok(states)
}

/// Fetches the files of a handle into a new directory.
pub(crate) fn fetch(restored: &RestoredState<'_>, to: &Path) -> Result<()> {
    fs::create_dir_all(to).map_err(|cause| Error::io("cannot create a local directory", to, cause))?;
    let mut files = Vec::with_capacity(restored.handle.files.len());
    for file in &restored.handle.files {
        let is_plain = Path::new(&file.name).file_name().is_some_and(|name| name == file.name.as_str());
        if !is_plain {
            return Err(Error::corrupt("a file of the state has a path for a name").with(Context::Path, &file.name));
        }
        files.push((file, to.join(&file.name)));
    }
    restored.source.fetch_all(&files)
}

/// Removes what the database holds of key groups that are not wanted.
fn clip(database: &Database, held: KeyGroupRange, wanted: KeyGroupRange, max: MaxParallelism) -> Result<()> {
    let failed = |cause| database.error("cannot cut restored state to its key groups", cause);
    let below = (held.start < wanted.start).then(|| (Vec::new(), prefix(wanted.start, max)));
    let above = (held.end > wanted.end).then(|| (prefix(wanted.end, max), prefix(max.get(), max)));
    for (start, end) in below.into_iter().chain(above) {
        for name in database.column_families() {
            let family = database.column_family(&name)?;
            // Dropping files takes an inclusive end: the group before, with a tail that no key reaches.
            let mut last = end.clone();
            step_back(&mut last);
            last.extend_from_slice(&[u8::MAX; 64]);
            database.rocks.delete_file_in_range_cf(&family, &start, &last).map_err(failed)?;
            let mut batch = rust_rocksdb::WriteBatch::default();
            batch.delete_range_cf(&family, &start, &end);
            database.rocks.write_without_wal(&batch).map_err(failed)?;
            let mut written = Written { ranges: vec![(start.clone(), end.clone())], ..Written::default() };
            lock(&database.ledger).family(&name).note(&mut written);
        }
    }
    Ok(())
}

/// What the keys of a key group begin with.
pub(crate) fn prefix(group: u16, max: MaxParallelism) -> Vec<u8> {
    let mut prefix = Vec::with_capacity(2);
    KeyGroup(group).encode(max, &mut prefix);
    prefix
}

/// The number before, in big-endian bytes. The number is not zero.
fn step_back(number: &mut [u8]) {
    for byte in number.iter_mut().rev() {
        *byte = byte.wrapping_sub(1);
        if *byte != u8::MAX {
            return;
        }
    }
}

/// Loads what a handle holds of the wanted key groups.
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
    if restored.handle.format == canonical::FORMAT {
        read_canonical(*restored, params.key_groups, params.max_parallelism, &mut |entry| {
            load.push(numbered[usize::from(entry.state)], entry.key, entry.value)
        })?;
    } else {
        read_database(database, restored, params, &mut |state, key, value| load.push(numbered[state], key, value))?;
    }
    load.finish()
}

/// Opens a handle's files beside the database and visits their entries of the wanted key groups, state by state.
fn read_database(
    database: &Database,
    restored: &RestoredState<'_>,
    params: &KeyedBackendParams,
    visit: &mut VisitEntry<'_>,
) -> Result<()> {
    let path = database.dir.beside("restored");
    fetch(restored, &path)?;
    let mut source = RestoredFiles::open(&database.shared, restored.handle, &path, params.max_parallelism)?;
    for index in 0..restored.handle.states.len() {
        source.read(index, params.key_groups, &mut |entry| {
            visit(index, entry.key, entry.value).map(|()| Flow::Continue)
        })?;
    }
    drop(source);
    fs::remove_dir_all(&path).map_err(|cause| Error::io("cannot remove restored files", &path, cause))
}
