//! The files of a handle: whether this backend reads them, and how they come to this machine.

use crate::details::RocksDbDetails;
use crate::upload::{FORMAT, FORMAT_VERSION};
use headpond_state::{
    Context, Error, KeyedStateHandle, MaxParallelism, Remedy, RestoredState, Result, StateFile, canonical,
};
use std::fs;
use std::path::Path;

/// Fetches the files of a handle that are wanted into a new directory.
pub(crate) fn fetch(restored: &RestoredState<'_>, to: &Path, wanted: impl Fn(&StateFile) -> bool) -> Result<()> {
    fs::create_dir_all(to).map_err(|cause| Error::io("cannot create a local directory", to, cause))?;
    let mut files = Vec::with_capacity(restored.handle.files.len());
    for file in restored.handle.files.iter().filter(|file| wanted(file)) {
        let is_plain = Path::new(&file.name).file_name().is_some_and(|name| name == file.name.as_str());
        if !is_plain {
            return Err(Error::corrupt("a file of the state has a path for a name").with(Context::Path, &file.name));
        }
        files.push((file, to.join(&file.name)));
    }
    restored.source.fetch_all(&files)
}

/// Fails unless this backend reads the handle in a job with so many key groups.
pub(crate) fn check_format(handle: &KeyedStateHandle, max_parallelism: MaxParallelism) -> Result<()> {
    if handle.format == canonical::FORMAT {
        return Ok(());
    }
    if handle.format != FORMAT {
        return Err(Error::incompatible(format!(
            "the RocksDB backend cannot read state of format `{}`",
            handle.format
        ))
        .hint("restore it with the backend that wrote it")
        .remedy(Remedy::StartAnew));
    }
    if handle.format_version > FORMAT_VERSION {
        let version = handle.format_version;
        return Err(Error::incompatible(format!(
            "RocksDB state format version {version} is newer than {FORMAT_VERSION}"
        ))
        .hint("restore it with the release of Headpond that wrote it"));
    }
    let written_with = handle.details.read::<RocksDbDetails>()?.max_parallelism;
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
