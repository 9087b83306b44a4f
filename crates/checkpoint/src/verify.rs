//! Whether checkpoints are what was written: every file of every manifest, by length and hash.

pub use crate::storage::{Damage, Problem};

use crate::storage::{CheckpointStorage, Verifier, find_checkpoints};
use crate::store::Stores;
use headpond_state::printable::OneLine;
use headpond_state::{CheckpointId, Context, Error, ErrorKind, Result};
use std::collections::BTreeSet;
use std::fmt;

/// The result of a verification.
#[derive(Debug)]
pub struct Report {
    /// Each checkpoint looked at, by job and in ascending order.
    pub checkpoints: Vec<CheckpointReport>,
    /// Directories of checkpoints without a manifest, by job and in ascending order. Their checkpoints were never
    /// completed, or their manifests were removed: nothing tells which, so they do not count as damaged. No restart
    /// takes them.
    pub incomplete: Vec<Incomplete>,
    /// Jobs of which it cannot be told where they were restored from, so that none goes on by itself.
    pub lost_rewinds: Vec<LostRewind>,
}

/// A job whose note about where it was restored from is damaged.
#[derive(Debug)]
pub struct LostRewind {
    /// The name of the job's directory.
    pub job: String,
    /// What is wrong.
    pub error: Error,
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
        self.lost_rewinds.is_empty() && self.checkpoints.iter().all(|checkpoint| checkpoint.problems.is_empty())
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
    /// Whether no restart takes it by itself, since the job went back behind it.
    pub left_behind: bool,
}

/// Verifies what is at `location`: a directory of jobs, a job's directory, or one checkpoint. `stores` opens its store.
///
/// Nothing is locked: a checkpoint that its job deletes meanwhile is left out of the report, and one that it is just
/// committing may be reported as incomplete.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) when there is no such directory or no checkpoint in it, else as the
/// store's. Damage is not an error; it is the report.
pub fn verify(stores: &dyn Stores, location: &str) -> Result<Report> {
    let (mut checkpoints, mut incomplete, mut lost_rewinds) = (Vec::new(), Vec::new(), Vec::new());
    let found = find_checkpoints(stores, location)?;
    for storage in &found.jobs {
        let left_behind = match storage.left_behind() {
            Ok(left_behind) => left_behind,
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                lost_rewinds.push(LostRewind { job: storage.job().to_owned(), error });
                BTreeSet::new()
            }
            Err(error) => return Err(error),
        };
        verify_job(storage, found.only, &left_behind, &mut checkpoints)?;
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
    Ok(Report { checkpoints, incomplete, lost_rewinds })
}

fn verify_job(
    storage: &CheckpointStorage,
    only: Option<CheckpointId>,
    left_behind: &BTreeSet<CheckpointId>,
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
            left_behind: left_behind.contains(&summary.id),
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

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} chk-{}: no manifest (never completed, or its manifest was removed)", OneLine(&self.job), self.id)
    }
}

impl fmt::Display for Report {
    /// One line per checkpoint, and one per problem below it; then one per directory without a checkpoint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for checkpoint in &self.checkpoints {
            let CheckpointReport { job, id, files, bytes, problems, left_behind, .. } = checkpoint;
            let job = OneLine(job);
            let left_behind = if *left_behind { ", left behind" } else { "" };
            match problems.len() {
                0 => writeln!(f, "{job} chk-{id}: sound ({files} files, {bytes} bytes){left_behind}")?,
                1 => writeln!(f, "{job} chk-{id}: 1 problem{left_behind}")?,
                count => writeln!(f, "{job} chk-{id}: {count} problems{left_behind}")?,
            }
            problems.iter().try_for_each(|problem| writeln!(f, "  {problem}"))?;
        }
        self.incomplete.iter().try_for_each(|incomplete| writeln!(f, "{incomplete}"))?;
        let mut lost = self.lost_rewinds.iter();
        lost.try_for_each(|lost| writeln!(f, "{}: {}", OneLine(&lost.job), OneLine(&lost.error.to_string())))
    }
}
