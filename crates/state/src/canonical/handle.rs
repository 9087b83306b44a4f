//! Canonical state as files of a handle: streamed into a checkpoint, and read back by key groups.

use super::{BLOCK_TARGET, CanonicalEntry, CanonicalReader, CanonicalWriter, FORMAT, FORMAT_VERSION};
use crate::backend::RestoredState;
use crate::descriptor::StateDescriptor;
use crate::error::{Context, Error, Result};
use crate::handle_details::{HandleDetails, StateSize};
use crate::key_group::{KeyGroupRange, MaxParallelism};
use crate::snapshot::{CheckpointSink, KeyedStateHandle, StateFile};
use serde::{Deserialize, Serialize};
use std::io::{self, Read};
use std::ops::ControlFlow;

/// What a canonical handle says besides its files.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct CanonicalDetails {
    /// The key groups of each file; without it, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file_key_groups: Option<Vec<KeyGroupRange>>,
}

/// Streams one canonical file into a checkpoint and returns it with what it has of each state.
///
/// `fill` is called until it says `ControlFlow::Break(())`; each time it pushes a few entries. No more than about one
/// block of bytes and what one call of `fill` pushes is held.
///
/// # Errors
/// As `fill`'s and the sink's.
pub fn put_canonical(
    sink: &dyn CheckpointSink,
    name: &str,
    max_parallelism: MaxParallelism,
    fill: impl FnMut(&mut CanonicalWriter<Vec<u8>>) -> Result<ControlFlow<()>>,
) -> Result<(StateFile, Vec<StateSize>)> {
    let writer = CanonicalWriter::new(Vec::new(), max_parallelism)?;
    let mut content = Content { writer, fill, position: 0, ended: false, failure: None };
    let stored = sink.put_stream(name, &mut content);
    match content.failure {
        Some(failure) => Err(failure),
        None => stored.map(|file| (file, content.writer.sizes().to_vec())),
    }
}

/// The handle of canonical files, each with the key groups it holds; `sizes` are those of the states in all files
/// together.
///
/// # Errors
/// [`Internal`](crate::ErrorKind::Internal) when the details are not JSON, which they are.
pub fn canonical_handle(
    key_groups: KeyGroupRange,
    states: Vec<StateDescriptor>,
    files: Vec<(StateFile, KeyGroupRange)>,
    sizes: &[StateSize],
) -> Result<KeyedStateHandle> {
    let (files, ranges): (Vec<_>, Vec<_>) = files.into_iter().unzip();
    let handle = KeyedStateHandle {
        format: FORMAT.to_owned(),
        format_version: FORMAT_VERSION,
        key_groups,
        states,
        files,
        entries: sizes.iter().map(|size| size.entries).sum(),
        details: HandleDetails::of_format(&CanonicalDetails { file_key_groups: Some(ranges) })?,
        parts: Vec::new(),
    };
    Ok(handle.with_state_sizes(sizes))
}

/// Visits the entries of a canonical handle that belong to `key_groups`, file by file, each file in ascending order.
/// Entries of other key groups are dropped, files without any of `key_groups` not even opened.
///
/// # Errors
/// [`Incompatible`](crate::ErrorKind::Incompatible) for another format, a newer version or another number of key
/// groups, [`Corrupt`](crate::ErrorKind::Corrupt) when the files are not what the handle says, and as the source's and
/// `visit`'s.
pub fn read_canonical(
    restored: RestoredState<'_>,
    key_groups: KeyGroupRange,
    max_parallelism: MaxParallelism,
    visit: &mut dyn FnMut(CanonicalEntry<'_>) -> Result<()>,
) -> Result<()> {
    let RestoredState { handle, source } = restored;
    check_format(handle)?;
    let wanted = handle.key_groups.intersection(key_groups);
    for file in files_of(handle, wanted)? {
        let mut reader = CanonicalReader::new(source.open(file)?, &file.name)?;
        check_key_groups(&reader, max_parallelism)?;
        while let Some(entry) = reader.next_entry()? {
            if entry.key.len() < max_parallelism.prefix_len() || usize::from(entry.state) >= handle.states.len() {
                return Err(Error::corrupt("an entry of a canonical state file has no key group or no state")
                    .with(Context::Path, &file.name));
            }
            if wanted.contains(max_parallelism.key_group_of_entry(entry.key)) {
                visit(entry)?;
            }
        }
    }
    Ok(())
}

/// The files that hold entries of these key groups.
pub(crate) fn files_of(handle: &KeyedStateHandle, wanted: KeyGroupRange) -> Result<Vec<&StateFile>> {
    let ranges = file_key_groups(handle)?;
    let holds = |index: usize| ranges.as_ref().is_none_or(|ranges| !ranges[index].intersection(wanted).is_empty());
    let files = handle.files.iter().enumerate().filter(|(index, _)| !wanted.is_empty() && holds(*index));
    Ok(files.map(|(_, file)| file).collect())
}

/// Fails when the file was written for another number of key groups.
pub(crate) fn check_key_groups<R: Read>(reader: &CanonicalReader<R>, wanted: MaxParallelism) -> Result<()> {
    let written = reader.max_parallelism();
    if written == wanted {
        return Ok(());
    }
    Err(Error::incompatible(format!(
        "the state was written with {} key groups and the job has {}",
        written.get(),
        wanted.get()
    ))
    .with(Context::Path, reader.name())
    .hint("set the job's max parallelism to what the state was written with"))
}

/// Fails unless the handle is canonical and of a version that this release reads.
///
/// # Errors
/// [`Incompatible`](crate::ErrorKind::Incompatible), with the way out.
pub fn check_format(handle: &KeyedStateHandle) -> Result<()> {
    if handle.format != FORMAT {
        let message = format!("only the backend '{}' reads the state it has written", handle.format);
        let way_out = format!(
            "go on with the backend that wrote it: SET 'state.backend.type' = '{}'; or make a savepoint of the checkpoint, \
             which every backend restores (`headpond savepoint export CHECKPOINT DIR`)",
            handle.format
        );
        return Err(Error::incompatible(message).hint(way_out).remedy(crate::Remedy::StartAnew));
    }
    if handle.format_version > FORMAT_VERSION {
        let message = format!("canonical format version {} is newer than {FORMAT_VERSION}", handle.format_version);
        return Err(Error::incompatible(message).hint("restore it with the release of Headpond that wrote it"));
    }
    Ok(())
}

/// The key groups of each file, if the handle says them.
fn file_key_groups(handle: &KeyedStateHandle) -> Result<Option<Vec<KeyGroupRange>>> {
    let Some(ranges) = handle.details.read::<CanonicalDetails>()?.file_key_groups else { return Ok(None) };
    if ranges.len() != handle.files.len() {
        return Err(Error::corrupt("a state handle has other key groups than files"));
    }
    Ok(Some(ranges))
}

/// A canonical file that is written as it is read.
struct Content<F> {
    writer: CanonicalWriter<Vec<u8>>,
    fill: F,
    /// What of the writer's output has been read.
    position: usize,
    ended: bool,
    /// Why `fill` failed: a sink passes on only an I/O error.
    failure: Option<Error>,
}

impl<F: FnMut(&mut CanonicalWriter<Vec<u8>>) -> Result<ControlFlow<()>>> Content<F> {
    /// Makes more output, about a block of it.
    fn refill(&mut self) -> Result<()> {
        self.writer.out.clear();
        self.position = 0;
        while !self.ended && self.writer.out.len() < BLOCK_TARGET {
            if (self.fill)(&mut self.writer)? == ControlFlow::Break(()) {
                self.writer.end_file()?;
                self.ended = true;
            }
        }
        Ok(())
    }
}

impl<F: FnMut(&mut CanonicalWriter<Vec<u8>>) -> Result<ControlFlow<()>>> Read for Content<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.failure.is_some() {
            return Err(io::Error::other("the content of a state file has failed"));
        }
        if self.position == self.writer.out.len()
            && !self.ended
            && let Err(failure) = self.refill()
        {
            let cause = io::Error::other(failure.to_string());
            self.failure = Some(failure);
            return Err(cause);
        }
        let read = (&self.writer.out[self.position..]).read(buffer)?;
        self.position += read;
        Ok(read)
    }
}
