//! Where table files belong: to which state, at which level, and of which key groups their keys are.
//!
//! RocksDB's MANIFEST says so too, but it can only be opened with every file it names. A handle therefore says it
//! again, in its details, so that a restore fetches the files it wants and puts them into a database of another shape:
//!
//! ```text
//! "placement": {
//!   "files": { "000012.sst": [state, level, first key group, last key group, smallest sequence, largest sequence] },
//!   "entangled": [state]
//! }
//! ```
//!
//! Handles without a placement are opened to find it.
//!
//! # Entangled files
//!
//! A file taken by itself is taken to reach as far as what is written in it. That is true of keys. A deleted range,
//! though, is written whole into each of the files of a level that it crosses, and only the MANIFEST knows which part
//! of it is meant in which of them. Files of a state whose levels between level 0 and the base have several files and
//! deleted ranges are *entangled*: they are read entry by entry. Level 0 has whole runs, and the base no deletions.

use crate::column_family::{BASE_LEVEL, column_family_name};
use crate::database::Rocks;
use crate::details::{PlacementDetails, RocksDbDetails};
use headpond_state::{KeyGroupRange, KeyedStateHandle, MaxParallelism, StateDescriptor};
use rust_rocksdb::LiveFile;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The table files of a database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Placement {
    /// The files, by name.
    pub(crate) files: BTreeMap<String, FilePlace>,
    /// States whose files are entangled.
    pub(crate) entangled: Vec<usize>,
}

/// Where a file belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FilePlace {
    /// The number of its state.
    pub(crate) state: usize,
    pub(crate) level: i32,
    /// The key groups from that of the first key to that of the last.
    pub(crate) groups: KeyGroupRange,
    /// The smallest and the largest sequence number.
    pub(crate) sequences: (u64, u64),
}

impl Placement {
    /// The placement of `live`, files of `rocks`. `None` if a file belongs to no state.
    pub(crate) fn of(
        rocks: &Rocks,
        live: &[LiveFile],
        states: &[StateDescriptor],
        max_parallelism: MaxParallelism,
    ) -> Result<Option<Placement>, rust_rocksdb::Error> {
        let names: Vec<String> = states.iter().map(|state| column_family_name(&state.name)).collect();
        let mut placement = Placement::default();
        for file in live {
            let Some(state) = names.iter().position(|name| *name == file.column_family_name) else {
                return Ok(None);
            };
            let group = |key: &Option<Vec<u8>>| group_of(key.as_deref().unwrap_or_default(), max_parallelism);
            let place = FilePlace {
                state,
                level: file.level,
                groups: KeyGroupRange { start: group(&file.start_key), end: group(&file.end_key).saturating_add(1) },
                sequences: (file.smallest_seqno, file.largest_seqno),
            };
            placement.files.insert(file.name.trim_start_matches('/').to_owned(), place);
        }
        for (state, name) in names.iter().enumerate() {
            if placement.has_entangled_files(rocks, state, name)? {
                placement.entangled.push(state);
            }
        }
        Ok(Some(placement))
    }

    /// The placement that a handle's details give, if they give that of all its table files.
    pub(crate) fn from_details(handle: &KeyedStateHandle) -> Option<Placement> {
        let details = handle.details.read::<RocksDbDetails>().ok()?.placement?;
        let PlacementDetails { files: places, entangled } = PlacementDetails::deserialize(&details).ok()?;
        let is_state = |state: &usize| *state < handle.states.len();
        let mut files = BTreeMap::new();
        for (name, (state, level, first, last, smallest, largest)) in places {
            let is_level = (0..=BASE_LEVEL).contains(&level);
            let groups = KeyGroupRange { start: first, end: last.checked_add(1)? };
            let place = FilePlace { state, level, groups, sequences: (smallest, largest) };
            files.insert(name, (is_level && is_state(&state)).then_some(place)?);
        }
        if !entangled.iter().all(is_state) {
            return None;
        }
        let placement = Placement { files, entangled };
        let mut tables = handle.files.iter().filter(|file| is_table(&file.name));
        tables.all(|file| placement.files.contains_key(&file.name)).then_some(placement)
    }

    /// The placement as a handle's details give it.
    pub(crate) fn to_details(&self) -> Value {
        let files = self.files.iter().map(|(name, place)| {
            let (first, last) = (place.groups.start, place.groups.end.saturating_sub(1));
            let (smallest, largest) = place.sequences;
            (name.clone(), (place.state, place.level, first, last, smallest, largest))
        });
        json!(PlacementDetails { files: files.collect(), entangled: self.entangled.clone() })
    }

    fn has_entangled_files(&self, rocks: &Rocks, state: usize, name: &str) -> Result<bool, rust_rocksdb::Error> {
        let Some(family) = rocks.cf_handle(name) else { return Ok(false) };
        for level in 1..BASE_LEVEL {
            let files = self.files.values().filter(|place| place.state == state && place.level == level);
            if files.count() < 2 {
                continue;
            }
            let property = format!("rocksdb.aggregated-table-properties-at-level{level}");
            let properties = rocks.property_value_cf(&family, property.as_str())?.unwrap_or_default();
            if deleted_ranges(&properties) != Some(0) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a file of this name is a table file.
pub(crate) fn is_table(name: &str) -> bool {
    name.ends_with(".sst")
}

/// The key group that a key begins with. Ends of deleted ranges may be shorter than its number, or empty.
fn group_of(key: &[u8], max_parallelism: MaxParallelism) -> u16 {
    let byte = |index: usize| key.get(index).copied().unwrap_or(0);
    match max_parallelism.prefix_len() {
        1 => u16::from(byte(0)),
        _ => u16::from_be_bytes([byte(0), byte(1)]),
    }
}

/// The number of deleted ranges in RocksDB's text about table files.
fn deleted_ranges(properties: &str) -> Option<u64> {
    let (_, number) = properties.split_once("# range deletions=")?;
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use headpond_state::{CodecId, ContentHash, HandleDetails, StateFile, StateKind};

    fn handle(details: &Value) -> KeyedStateHandle {
        let file = |name: &str| StateFile { name: name.to_owned(), hash: ContentHash([0; 32]), length: 1 };
        KeyedStateHandle {
            format: crate::FORMAT.to_owned(),
            format_version: 1,
            key_groups: KeyGroupRange { start: 0, end: 64 },
            states: vec![StateDescriptor::new("s", StateKind::Value, CodecId::new("bytes", 1))],
            files: vec![file("CURRENT"), file("000012.sst")],
            entries: 0,
            details: HandleDetails::of_format(details).expect("an object"),
            parts: Vec::new(),
        }
    }

    #[test]
    fn a_placement_goes_through_a_handles_details() {
        let groups = KeyGroupRange { start: 3, end: 64 };
        let place = FilePlace { state: 0, level: 6, groups, sequences: (7, u64::MAX >> 8) };
        let files = [("000012.sst".to_owned(), place)].into();
        let placement = Placement { files, entangled: vec![0] };
        let details = json!({ "placement": placement.to_details() });
        assert_eq!(Placement::from_details(&handle(&details)), Some(placement));
    }

    #[test]
    fn a_placement_that_lacks_a_file_or_is_none_is_not_taken() {
        for files in [json!({}), json!({ "000012.sst": [0, 6] }), json!({ "000012.sst": [1, 6, 0, 1, 0, 0] })] {
            let details = json!({ "placement": { "files": files, "entangled": [] } });
            assert_eq!(Placement::from_details(&handle(&details)), None);
        }
        assert_eq!(Placement::from_details(&handle(&json!({}))), None);
    }

    #[test]
    fn deleted_ranges_are_read_from_rocksdbs_text() {
        assert_eq!(deleted_ranges("# entries=5; # range deletions=12; raw key size=3;"), Some(12));
        assert_eq!(deleted_ranges("# entries=5;"), None);
    }
}
