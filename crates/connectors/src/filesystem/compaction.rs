//! Which committed files are put together, and when: `auto-compaction`.
//!
//! Without it each file is published as it is when its checkpoint is committed. With it files are held back until there
//! are enough of them, or the oldest has waited long enough, or the table has ended; then they are published as one.
//! Readers see each row once, whole files only, and never a file that is replaced by another.

use super::committed::{Committed, HeldBack};
use super::directory::Directory;
use super::prepared_file::Prepared;
use super::staged_file::PreparedFile;
use headpond_runtime::Result;
use headpond_state::CheckpointId;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The most files that are held back, whatever their size: each is an entry of the note of the last commit.
const FILES_MAX: usize = 1_000;

/// When files are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CompactionPolicy {
    /// Bytes of a file that has enough; none is put together to more.
    pub(super) file_size: u64,
    /// How long a file is held back.
    pub(super) rollover_interval: Duration,
}

/// What becomes of committed files.
#[derive(Debug, Default, PartialEq, Eq)]
struct Plan {
    /// Files that are published together.
    together: Vec<Vec<HeldBack>>,
    held_back: Vec<HeldBack>,
}

impl Directory {
    /// Publishes prepared files, or holds them back, as the policy says; and what has been held back before. Gives the
    /// note of the commit.
    ///
    /// # Errors
    /// As [`publish`](Directory::publish).
    pub(super) fn commit(
        &self,
        checkpoint: CheckpointId,
        prepared: Vec<Prepared<'_>>,
        policy: Option<CompactionPolicy>,
        last: bool,
    ) -> Result<Committed> {
        self.abort_compaction()?;
        let now_ms = now_ms();
        let mut files = self.committed()?.map(|committed| committed.held_back).unwrap_or_default();
        for Prepared { file, .. } in prepared {
            if files.iter().any(|known| known.file.staged == file.staged) {
                continue;
            }
            match self.is_staged(&file)? {
                true => files.push(HeldBack { file, since_ms: now_ms }),
                false => self.check_staged(&file)?,
            }
        }
        let Plan { together, held_back } = plan(self.not_compacted(files)?, self, policy, now_ms, last);
        for group in together {
            match group.as_slice() {
                [alone] => self.publish(&alone.file)?,
                several => self.compact(&several.iter().map(|held_back| &held_back.file).collect::<Vec<_>>())?,
            }
        }
        Ok(Committed { checkpoint, held_back })
    }

    /// Those of committed files that no published one has in it. A run that died may have left such.
    pub(super) fn not_compacted(&self, files: Vec<HeldBack>) -> Result<Vec<HeldBack>> {
        let names = files.iter().filter_map(|held_back| self.parse_staged(&held_back.file.staged));
        let Some((_, first)) = names.min_by_key(|(_, name)| *name) else { return Ok(files) };
        let compacted = self.compacted_since(first)?;
        let (done, files): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|held_back| compacted.contains(&held_back.file.staged));
        done.iter().try_for_each(|held_back| self.unstage(&held_back.file))?;
        Ok(files)
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// Groups files that are alike, in the order of their names, up to the size the policy asks for.
fn plan(
    mut files: Vec<HeldBack>,
    directory: &Directory,
    policy: Option<CompactionPolicy>,
    now_ms: u64,
    last: bool,
) -> Plan {
    files.sort_by_key(|held_back| directory.parse_staged(&held_back.file.staged).map(|(_, name)| name));
    let Some(policy) = policy else {
        return Plan { together: files.into_iter().map(|file| vec![file]).collect(), held_back: Vec::new() };
    };
    let mut plan = Plan::default();
    let (mut group, mut size) = (Vec::<HeldBack>::new(), 0);
    for held_back in files {
        let length = length(&held_back.file);
        let differs = group.last().is_some_and(|other| other.file.form != held_back.file.form);
        if differs || !group.is_empty() && size + length > policy.file_size {
            plan.together.push(std::mem::take(&mut group));
            size = 0;
        }
        size += length;
        group.push(held_back);
    }
    let oldest_ms = group.iter().map(|held_back| held_back.since_ms).min().unwrap_or(now_ms);
    let has_waited = u128::from(now_ms.saturating_sub(oldest_ms)) >= policy.rollover_interval.as_millis();
    if last || has_waited || size >= policy.file_size || group.len() >= FILES_MAX {
        plan.together.extend((!group.is_empty()).then_some(group));
    } else {
        plan.held_back = group;
    }
    plan
}

fn length(file: &PreparedFile) -> u64 {
    file.content.as_ref().map_or(0, |content| content.length)
}
