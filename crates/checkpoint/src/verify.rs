//! Whether checkpoints are what was written: every file of every manifest, by length and hash.

use crate::layout::SharedName;
use crate::manifest::Manifest;
use crate::parallel::in_parallel;
use crate::storage::{CheckpointStorage, find_checkpoints};
use crate::store::{HashingReader, Stores};
use headpond_state::printable::OneLine;
use headpond_state::{CheckpointId, ContentHash, Context, Error, ErrorKind, Result, StateFile};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io;

const READ_BUFFER_BYTES: usize = 256 << 10;

/// The result of a verification.
#[derive(Debug)]
pub struct Report {
    /// Each checkpoint looked at, by job and in ascending order.
    pub checkpoints: Vec<CheckpointReport>,
    /// Directories of checkpoints without a manifest, by job and in ascending order. Their checkpoints were never completed,
    /// or their manifests were removed: nothing tells which, so they do not count as damaged. No restart takes them.
    pub incomplete: Vec<Incomplete>,
}

/// A checkpoint's directory without a manifest.
#[derive(Debug)]
pub struct Incomplete {
    /// The name of the job's directory.
    pub job: String,
    /// The checkpoint.
    pub id: CheckpointId,
    /// Where it is.
    pub location: String,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.checkpoints.iter().all(|checkpoint| checkpoint.problems.is_empty())
    }
}

/// What was found about one checkpoint.
#[derive(Debug)]
pub struct CheckpointReport {
    /// The name of the job's directory.
    pub job: String,
    /// The checkpoint.
    pub id: CheckpointId,
    /// Where it is.
    pub location: String,
    /// The number of files its manifest names; none when it cannot be read.
    pub files: u64,
    /// Their bytes, as the manifest says.
    pub bytes: u64,
    /// What is wrong; empty for a sound checkpoint.
    pub problems: Vec<Problem>,
}

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

/// Verifies what is at `location`: a directory of jobs, a job's directory, or one checkpoint. `stores` opens its store.
///
/// Nothing is locked: a checkpoint that its job deletes meanwhile is left out of the report, and one that it is just
/// committing may be reported as incomplete.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid) when there is no such directory or no checkpoint in it, else as the store's. Damage is
/// not an error; it is the report.
pub fn verify(stores: &dyn Stores, location: &str) -> Result<Report> {
    let (mut checkpoints, mut incomplete) = (Vec::new(), Vec::new());
    let found = find_checkpoints(stores, location)?;
    for storage in &found.jobs {
        verify_job(storage, found.only, &mut checkpoints)?;
        let ids = storage.without_manifest()?.into_iter().filter(|id| found.only.is_none_or(|only| only == *id));
        incomplete.extend(ids.map(|id| Incomplete { job: storage.job().to_owned(), id, location: storage.locate(id) }));
    }
    if checkpoints.is_empty() {
        let message = match incomplete.as_slice() {
            [] => "there is no checkpoint at this path".to_owned(),
            incomplete => {
                let named: Vec<String> = incomplete.iter().map(Incomplete::to_string).collect();
                format!("there is no complete checkpoint at this path: {}", named.join("; "))
            }
        };
        return Err(Error::invalid(message)
            .with(Context::Path, location)
            .hint("give a checkpoint directory, a job's directory in it, or one `chk-<n>` of a job"));
    }
    Ok(Report { checkpoints, incomplete })
}

fn verify_job(
    storage: &CheckpointStorage,
    only: Option<CheckpointId>,
    reports: &mut Vec<CheckpointReport>,
) -> Result<()> {
    let mut verifier = Verifier::new(storage);
    for summary in storage.list()? {
        if only.is_some_and(|only| only != summary.id) {
            continue;
        }
        let manifest_path = storage.locate_manifest(summary.id);
        let mut report = CheckpointReport {
            job: storage.job().to_owned(),
            id: summary.id,
            location: summary.location,
            files: 0,
            bytes: 0,
            problems: Vec::new(),
        };
        match summary.manifest {
            Err(error) => report.problems.push(Problem { path: manifest_path, damage: Damage::Manifest(error) }),
            Ok(manifest) => {
                report.files = manifest.files().count() as u64;
                report.bytes = manifest.state_bytes();
                report.problems = verifier.problems(&manifest)?;
                let deleted_meanwhile = !report.problems.is_empty() && !storage.exists(summary.id)?;
                if deleted_meanwhile {
                    continue;
                }
            }
        }
        reports.push(report);
    }
    Ok(())
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

    fn problems(&mut self, manifest: &Manifest) -> Result<Vec<Problem>> {
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

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} chk-{}: no manifest (never completed, or its manifest was removed)", OneLine(&self.job), self.id)
    }
}

impl fmt::Display for Report {
    /// One line per checkpoint, and one per problem below it; then one per directory without a checkpoint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for checkpoint in &self.checkpoints {
            let CheckpointReport { job, id, files, bytes, problems, .. } = checkpoint;
            let job = OneLine(job);
            match problems.len() {
                0 => writeln!(f, "{job} chk-{id}: sound ({files} files, {bytes} bytes)")?,
                1 => writeln!(f, "{job} chk-{id}: 1 problem")?,
                count => writeln!(f, "{job} chk-{id}: {count} problems")?,
            }
            problems.iter().try_for_each(|problem| writeln!(f, "  {problem}"))?;
        }
        self.incomplete.iter().try_for_each(|incomplete| writeln!(f, "{incomplete}"))
    }
}
