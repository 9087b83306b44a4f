//! Reading a handle without opening it as a backend's state: to look inside, to copy, to compare.

use crate::canonical::{self, CanonicalReader};
use crate::entry::Entry;
use crate::error::{Context, Error, Result};
use crate::key_group::{KeyGroupRange, MaxParallelism};
use crate::snapshot::RestoredState;
use std::fmt::Debug;
use std::ops::ControlFlow;

/// What a handle holds, read and never changed. Made by
/// [`StateBackend::open_reader`](crate::StateBackend::open_reader).
///
/// What has expired and was not given back is visited too: the reader knows no time.
pub trait StateReader: Debug {
    /// Visits the entries of the handle's `state`th state that belong to `key_groups`, in ascending order of their
    /// keys.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) when the handle has no such state,
    /// [`Corrupt`](crate::ErrorKind::Corrupt) for damaged files, and as the source's and `visit`'s.
    fn read(
        &mut self,
        state: usize,
        key_groups: KeyGroupRange,
        visit: &mut dyn FnMut(Entry<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()>;
}

/// Reads canonical handles, straight from where their files are.
#[derive(Debug)]
pub struct CanonicalStateReader<'a> {
    restored: RestoredState<'a>,
    max_parallelism: MaxParallelism,
}

impl<'a> CanonicalStateReader<'a> {
    /// A reader of a canonical handle of a job with this many key groups.
    ///
    /// # Errors
    /// [`Incompatible`](crate::ErrorKind::Incompatible) for another format or a newer version.
    pub fn open(restored: RestoredState<'a>, max_parallelism: MaxParallelism) -> Result<Self> {
        canonical::check_format(restored.handle)?;
        Ok(CanonicalStateReader { restored, max_parallelism })
    }
}

impl StateReader for CanonicalStateReader<'_> {
    fn read(
        &mut self,
        state: usize,
        key_groups: KeyGroupRange,
        visit: &mut dyn FnMut(Entry<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let RestoredState { handle, source } = self.restored;
        check_state(handle.states.len(), state)?;
        let wanted = handle.key_groups.intersection(key_groups);
        for file in canonical::files_of(handle, wanted)? {
            let mut reader = CanonicalReader::new(source.open(file)?, &file.name)?;
            canonical::check_key_groups(&reader, self.max_parallelism)?;
            while let Some(entry) = reader.next_entry()? {
                // Entries of other states come before and after.
                match usize::from(entry.state).cmp(&state) {
                    std::cmp::Ordering::Less => continue,
                    std::cmp::Ordering::Greater => break,
                    std::cmp::Ordering::Equal => {}
                }
                if entry.key.len() < self.max_parallelism.prefix_len() {
                    return Err(Error::corrupt("an entry of a canonical state file has no key group")
                        .with(Context::Path, &file.name));
                }
                let group = self.max_parallelism.key_group_of_entry(entry.key);
                if group.0 >= wanted.end {
                    break;
                }
                if wanted.contains(group)
                    && visit(Entry { key: entry.key, value: entry.value })? == ControlFlow::Break(())
                {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Fails unless a handle with this many states has a state of this number.
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid).
pub fn check_state(states: usize, state: usize) -> Result<()> {
    match state < states {
        true => Ok(()),
        false => Err(Error::invalid(format!("the handle has {states} states, and there is none of number {state}"))),
    }
}
