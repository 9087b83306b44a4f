//! Whether a checkpoint's files are what was written, by length and hash.

use super::CheckpointStorage;
use crate::layout::SharedName;
use crate::manifest::Manifest;
use crate::parallel::in_parallel;
use crate::store::HashingReader;
use headpond_state::printable::OneLine;
use headpond_state::{ContentHash, Context, Error, ErrorKind, Result, StateFile};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;

const READ_BUFFER_BYTES: usize = 256 << 10;

/// Something that is not what was written.
#[derive(Debug)]
pub struct Problem {
    /// The damaged file.
    pub path: String,
    /// How it is damaged.
    pub damage: Damage,
}

/// How a file is damaged.
#[derive(Debug)]
pub enum Damage {
    /// The manifest cannot be read.
    Manifest(Error),
    /// The file is not there.
    Missing(StateFile),
    /// The file is shorter or longer.
    Length {
        /// As the manifest has it.
        expected: StateFile,
        /// In bytes.
        actual: u64,
    },
    /// What has the file's name is no file.
    Irregular(Error),
    /// The file's bytes differ.
    Altered {
        /// As the manifest has it.
        expected: StateFile,
        /// Of the bytes that are there.
        actual: ContentHash,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = OneLine(&self.path);
        match &self.damage {
            Damage::Manifest(error) if error.kind() == ErrorKind::Corrupt => {
                write!(f, "damaged manifest {path}: {error}")
            }
            Damage::Manifest(error) => write!(f, "unreadable manifest {path}: {error}"),
            Damage::Missing(file) => write!(f, "missing file {path}: {} of {} bytes", OneLine(&file.name), file.length),
            Damage::Irregular(error) => write!(f, "no file {path}: {error}"),
            Damage::Length { expected, actual } => {
                let how = if *actual < expected.length { "truncated" } else { "overlong" };
                let name = OneLine(&expected.name);
                write!(f, "{how} file {path}: {name} has {actual} bytes instead of {}", expected.length)
            }
            Damage::Altered { expected, actual } => {
                let name = OneLine(&expected.name);
                write!(f, "altered file {path}: {name} has the hash {actual} instead of {}", expected.hash)
            }
        }
    }
}

/// Checks files, each once however many checkpoints name it.
pub(crate) struct Verifier<'a> {
    storage: &'a CheckpointStorage,
    checked: HashMap<SharedName, Found>,
}

/// What is under a file's name.
enum Found {
    Nothing,
    /// No file, and why.
    Irregular(String),
    /// Of another length than expected: not worth hashing.
    Length(u64),
    Content(ContentHash),
}

impl<'a> Verifier<'a> {
    pub(crate) fn new(storage: &'a CheckpointStorage) -> Self {
        Verifier { storage, checked: HashMap::new() }
    }

    /// Fails with [`Corrupt`](ErrorKind::Corrupt), naming every damaged file, unless all files are sound.
    pub(crate) fn require(&mut self, manifest: &Manifest) -> Result<()> {
        let problems = self.problems(manifest)?;
        if problems.is_empty() {
            return Ok(());
        }
        let problems: Vec<String> = problems.iter().map(Problem::to_string).collect();
        Err(Error::corrupt(problems.join("; ")).with(Context::Checkpoint, manifest.checkpoint))
    }

    /// What is wrong with the files of a checkpoint.
    pub(crate) fn problems(&mut self, manifest: &Manifest) -> Result<Vec<Problem>> {
        let mut seen = HashSet::new();
        let named = manifest.files().map(|file| (SharedName::of(file), file));
        let files: Vec<(SharedName, &StateFile)> = named.filter(|(name, _)| seen.insert(name.clone())).collect();
        self.look_at(&files)?;
        let mut problems = Vec::new();
        for (name, file) in files {
            let expected = file.clone();
            let damage = match self.checked.get(&name) {
                Some(Found::Content(actual)) if *actual == file.hash => continue,
                Some(Found::Content(actual)) => Damage::Altered { expected, actual: *actual },
                Some(Found::Length(actual)) => Damage::Length { expected, actual: *actual },
                Some(Found::Irregular(why)) => Damage::Irregular(Error::corrupt(why)),
                Some(Found::Nothing) | None => Damage::Missing(expected),
            };
            problems.push(Problem { path: self.storage.locate_shared(&name), damage });
        }
        Ok(problems)
    }

    /// Looks at those files that were not looked at before, on several threads: hashing is what a restore of much state
    /// waits for.
    fn look_at(&mut self, files: &[(SharedName, &StateFile)]) -> Result<()> {
        let unchecked: Vec<_> = files.iter().filter(|(name, _)| !self.checked.contains_key(name)).collect();
        let storage = self.storage;
        let found = in_parallel(storage.readers(), &unchecked, |(name, file)| {
            Ok((name.clone(), look_at(storage, name, file.length)?))
        });
        self.checked.extend(found?);
        Ok(())
    }
}

fn look_at(storage: &CheckpointStorage, name: &SharedName, expected_length: u64) -> Result<Found> {
    let opened = match storage.open_shared(name) {
        Ok(Some(opened)) => opened,
        Ok(None) => return Ok(Found::Nothing),
        Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(Found::Irregular(error.to_string())),
        Err(error) => return Err(error),
    };
    if opened.length != expected_length {
        return Ok(Found::Length(opened.length));
    }
    let mut content = HashingReader::new(opened.content);
    io::copy(&mut io::BufReader::with_capacity(READ_BUFFER_BYTES, &mut content), &mut io::sink())
        .map_err(|e| Error::io("a file of the checkpoint cannot be read", storage.locate_shared(name), e))?;
    Ok(Found::Content(content.finish().0))
}
