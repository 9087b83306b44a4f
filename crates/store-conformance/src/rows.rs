//! A backend that only reads: a file of a test's state is an entry.

use crate::jobs::{Files, restore_with};
use headpond_checkpoint::{CheckpointStorage, Manifest};
use headpond_state::canonical::read_canonical;
use headpond_state::state_reader::StateReader;
use headpond_state::{
    Capabilities, Entry, Error, KeyGroupRange, KeyedBackendParams, KeyedStateBackend, KeyedStateHandle, MaxParallelism,
    RestoredState, Result, StateBackend,
};
use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;

/// Reads what [`jobs`](crate::jobs) store: an entry for each file, its name the key and its content the value, all of
/// the first key group.
#[derive(Debug, Default)]
pub struct FilesAsEntries;

impl fmt::Display for FilesAsEntries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("files")
    }
}

impl StateBackend for FilesAsEntries {
    fn capabilities(&self) -> Capabilities {
        Capabilities { incremental_checkpoints: true, ..Capabilities::default() }
    }

    fn open_keyed(&self, _: KeyedBackendParams, _: &[RestoredState<'_>]) -> Result<Box<dyn KeyedStateBackend>> {
        Err(Error::unsupported("this backend only reads"))
    }

    fn check_handle(&self, _: &KeyedStateHandle, _: MaxParallelism) -> Result<()> {
        Ok(())
    }

    fn open_reader<'a>(
        &self,
        restored: RestoredState<'a>,
        _: MaxParallelism,
        _: &Path,
    ) -> Result<Box<dyn StateReader + 'a>> {
        Ok(Box::new(Reader(restored)))
    }
}

#[derive(Debug)]
struct Reader<'a>(RestoredState<'a>);

impl StateReader for Reader<'_> {
    fn read(
        &mut self,
        _: usize,
        key_groups: KeyGroupRange,
        visit: &mut dyn FnMut(Entry<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let entries = restore_with(self.0.source, self.0.handle.files.iter())?;
        if key_groups.start > 0 {
            return Ok(());
        }
        for (name, content) in &entries {
            let key = [&[0], name.as_bytes()].concat();
            if visit(Entry { key: &key, value: content })? == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }
}

/// The files that a savepoint holds as entries.
pub fn files_of(savepoint: &CheckpointStorage, manifest: &Manifest) -> Result<Files> {
    let source = savepoint.source();
    let mut files = Files::new();
    for subtask in manifest.operators.iter().flat_map(|operator| &operator.subtasks) {
        let Some(handle) = &subtask.state else { continue };
        let restored = RestoredState { handle, source: source.as_ref() };
        read_canonical(restored, handle.key_groups, manifest.max_parallelism, &mut |entry| {
            let name = String::from_utf8_lossy(&entry.key[1..]).into_owned();
            files.insert(name, entry.value.to_vec());
            Ok(())
        })?;
    }
    Ok(files)
}
