//! A database made of files of several others, or of a part of another's.
//!
//! Of each handle the files are fetched that hold wanted key groups. Those that hold nothing else become the new
//! database's as they are, at the levels they had: handles share no key group, so their files overlap no more than they
//! did. Files that straddle the border are cut first ([`clip`](crate::clip)), to the key groups that are wanted and the
//! handle's own: others may lie in them that an earlier restore has only hidden. So what a restore costs is the
//! fetching, and the borders.
//!
//! States of which files are [entangled](crate::placement) are read entry by entry from all files of the handle.

use crate::bulk_load::{BulkLoad, Family};
use crate::clip::Clipping;
use crate::column_family::column_family_name;
use crate::database::Database;
use crate::error::from_rocksdb;
use crate::handle_files::fetch;
use crate::import::TableFile;
use crate::local_dir::LocalDir;
use crate::placement::{Placement, is_table};
use crate::reader::RestoredFiles;
use crate::shared::Shared;
use headpond_state::{
    Context, Error, KeyGroupRange, KeyedBackendParams, RestoredState, Result, StateDescriptor, StateFile, StateReader,
};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Makes the database of `states` from what `handles` hold of the wanted key groups. States of which they hold nothing
/// have no column family yet.
pub(crate) fn assemble(
    shared: Arc<Shared>,
    dir: LocalDir,
    params: &KeyedBackendParams,
    handles: &[&RestoredState<'_>],
    states: &[StateDescriptor],
    families: &[Family],
) -> Result<Arc<Database>> {
    let database = Database::open(shared, dir, Arc::clone(&params.clock), &[])?;
    let mut load = BulkLoad::new(&database, families);
    let mut files = Vec::new();
    let mut known = HashMap::new();
    for (number, restored) in handles.iter().enumerate() {
        let part = Contribution {
            shared: &database.shared,
            restored,
            path: database.dir.beside(&format!("part-{number}")),
            wanted: restored.handle.key_groups.intersection(params.key_groups),
            params,
            states,
        };
        part.take(&database.dir.beside(&format!("cut-part-{number}")), &mut files, &mut known, &mut load)?;
    }
    for (number, state) in states.iter().enumerate() {
        let of_state: Vec<TableFile> = files.iter().filter(|file| file.state == number).cloned().collect();
        if !of_state.is_empty() {
            database.import_column_family(state, &of_state)?;
        } else if load.has_any(number) {
            database.create_column_family(state)?;
        }
    }
    load.finish()?;
    note_uploaded(&database, &known)?;
    for number in 0..handles.len() {
        for name in ["part", "cut-part"] {
            let path = database.dir.beside(&format!("{name}-{number}"));
            if path.exists() {
                fs::remove_dir_all(&path).map_err(|cause| Error::io("cannot remove restored files", &path, cause))?;
            }
        }
    }
    Ok(database)
}

/// What one handle contributes.
struct Contribution<'a> {
    shared: &'a Shared,
    restored: &'a RestoredState<'a>,
    /// Where its files are fetched to.
    path: PathBuf,
    wanted: KeyGroupRange,
    params: &'a KeyedBackendParams,
    states: &'a [StateDescriptor],
}

impl Contribution<'_> {
    /// Adds what the handle holds of the wanted key groups: whole files and cut ones to `files`, entries of entangled
    /// states to `load`. `known` gets the files that are on the checkpoint store as they are.
    fn take(
        &self,
        cut: &Path,
        files: &mut Vec<TableFile>,
        known: &mut HashMap<FileId, StateFile>,
        load: &mut BulkLoad<'_>,
    ) -> Result<()> {
        let handle = self.restored.handle;
        let placement = match Placement::from_details(handle).filter(|placement| placement.entangled.is_empty()) {
            Some(placement) => {
                let wanted = |file: &StateFile| {
                    placement
                        .files
                        .get(&file.name)
                        .is_some_and(|place| !place.groups.intersection(self.wanted).is_empty())
                };
                fetch(self.restored, &self.path, wanted)?;
                placement
            }
            None => {
                fetch(self.restored, &self.path, |_| true)?;
                self.inspect(load)?
            }
        };
        let mut to_cut: BTreeMap<(usize, i32), Vec<TableFile>> = BTreeMap::new();
        for file in handle.files.iter().filter(|file| is_table(&file.name)) {
            // A table file that the database does not know belongs to nothing.
            let Some(place) = placement.files.get(&file.name) else { continue };
            let inside = place.groups.intersection(self.wanted);
            if inside.is_empty() || placement.entangled.contains(&place.state) {
                continue;
            }
            let table = TableFile {
                directory: self.path.clone(),
                name: file.name.clone(),
                size: file.length,
                state: self.number_of(place.state)?,
                level: place.level,
                sequences: place.sequences,
            };
            if place.level == 0 && self.cuts_level_0(&placement, place.state) || inside != place.groups {
                to_cut.entry((place.state, place.level)).or_default().push(table);
            } else {
                if let Some(id) = file_id(&table.path()) {
                    known.insert(id, file.clone());
                }
                files.push(table);
            }
        }
        if to_cut.is_empty() {
            return Ok(());
        }
        let mut clipping = Clipping::open(self.shared, cut.to_owned(), self.wanted, self.params.max_parallelism)?;
        for ((state, level), tables) in to_cut {
            let merge = handle.states[state].merge;
            match level {
                // Runs, each newer than the next: they become one.
                0 => clipping.cut(tables, merge)?,
                _ => tables.into_iter().try_for_each(|table| clipping.cut(vec![table], merge))?,
            }
        }
        files.extend(clipping.finish());
        Ok(())
    }

    /// Whether a file of a state's level 0 straddles the border.
    fn cuts_level_0(&self, placement: &Placement, state: usize) -> bool {
        let mut runs = placement.files.values().filter(|place| place.state == state && place.level == 0);
        runs.any(|place| {
            let inside = place.groups.intersection(self.wanted);
            !inside.is_empty() && inside != place.groups
        })
    }

    /// Opens the handle's files to see where they belong, and reads those that cannot be taken over.
    fn inspect(&self, load: &mut BulkLoad<'_>) -> Result<Placement> {
        let handle = self.restored.handle;
        let max_parallelism = self.params.max_parallelism;
        let mut source = RestoredFiles::open(self.shared, handle, &self.path, max_parallelism)?;
        let rocks = source.rocks();
        let placement = rocks
            .live_files()
            .and_then(|live| Placement::of(rocks, &live, &handle.states, max_parallelism))
            .map_err(|cause| from_rocksdb("cannot inspect restored state", &self.path, cause))?
            .ok_or_else(|| Error::corrupt("the restored files hold more states than their description names"))?;
        for &state in &placement.entangled {
            let number = self.number_of(state)?;
            source.read(state, self.wanted, &mut |entry| {
                load.push(number, entry.key, entry.value).map(|()| ControlFlow::Continue(()))
            })?;
        }
        Ok(placement)
    }

    /// The number among all states of the handle's state of this number.
    fn number_of(&self, state: usize) -> Result<usize> {
        let name = &self.restored.handle.states[state].name;
        let number = self.states.iter().position(|known| known.name == *name);
        number.ok_or_else(|| Error::internal("a restored state has no number").with(Context::State, name))
    }
}

/// Notes which of the database's files are on the checkpoint store: those that were taken over as they are, under new
/// names.
fn note_uploaded(database: &Database, known: &HashMap<FileId, StateFile>) -> Result<()> {
    for live in database.live_files()? {
        let name = live.name.trim_start_matches('/');
        if let Some(file) = file_id(&database.dir.database().join(name)).and_then(|id| known.get(&id)) {
            database.uploaded.insert(StateFile { name: name.to_owned(), ..file.clone() });
        }
    }
    Ok(())
}

/// What a file keeps when it is moved: its device and number.
type FileId = (u64, u64);

#[cfg(unix)]
fn file_id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Elsewhere files are uploaded again.
#[cfg(not(unix))]
fn file_id(_: &Path) -> Option<FileId> {
    None
}

/// The families of `states`, to load entries into.
pub(crate) fn families(shared: &Shared, states: &[StateDescriptor]) -> Vec<Family> {
    let family = |state: &StateDescriptor| Family {
        name: column_family_name(&state.name),
        options: crate::column_family::column_family_options(shared, state.merge),
    };
    states.iter().map(family).collect()
}
