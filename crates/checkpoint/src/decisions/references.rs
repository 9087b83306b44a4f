//! Which files are named by something that matters.
//!
//! # Reuse, upload and collection at once
//!
//! Files are shared between checkpoints, uploads run on several threads, and collection runs while the next checkpoint
//! is under way. Two rules keep a committed checkpoint complete:
//!
//! 1. **Reuse only what the base names.** The base is a committed checkpoint and stays pinned until the new one is
//!    resolved, so its files cannot go. A file that merely exists in `shared/` may be garbage whose deletion has been
//!    decided already: it is stored again.
//! 2. **A decision to delete is only a proposal.** It is checked again, file by file, when the deletion begins; a plan
//!    *claims* a name before it gives a file that name, and waits with that while a file of that name is being deleted.
//!    So for a name that is proposed for deletion and stored anew there are two orders only: deleted, then claimed and
//!    written; or claimed, then spared.
//!
//! Both rules are about one process. Across processes there is one owner (see
//! [`CheckpointStore::acquire`](crate::CheckpointStore::acquire)): only it begins checkpoints and collects, so whatever
//! no retained manifest and no plan of its own names comes from a dead attempt.

use super::{Observed, Record};
use crate::layout::SharedName;
use headpond_state::CheckpointId;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Files by name, with their lengths in bytes.
pub type Names = HashMap<SharedName, u64>;

/// What the checkpoints that are kept take together; a file that several of them name counts once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retained {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The names that committed checkpoints and plans in flight refer to.
#[derive(Debug, Default)]
pub struct References {
    committed: BTreeMap<CheckpointId, Committed>,
    plans: BTreeMap<CheckpointId, Plan>,
    /// Names whose files are being deleted.
    deleting: HashSet<SharedName>,
    /// How many hold a checkpoint that retention may not let go.
    held: BTreeMap<CheckpointId, usize>,
}

#[derive(Debug)]
struct Committed {
    /// `None` when the manifest cannot be read.
    readable: Option<(Record, Arc<Names>)>,
}

/// A checkpoint in flight.
#[derive(Debug)]
struct Plan {
    /// What it may reuse; pinned until it is resolved.
    base: Arc<Names>,
    /// What it has stored or will.
    claimed: HashSet<SharedName>,
}

impl References {
    /// Notes a committed checkpoint whose manifest was read.
    pub fn committed(&mut self, id: CheckpointId, record: Record, names: Names) {
        self.committed.insert(id, Committed { readable: Some((record, Arc::new(names))) });
    }

    /// Notes a checkpoint whose manifest cannot be read.
    pub fn unreadable(&mut self, id: CheckpointId) {
        self.committed.insert(id, Committed { readable: None });
    }

    /// Begins a plan and pins its base, if that is a committed checkpoint that this record describes. Says whether it
    /// is.
    pub fn begin(&mut self, id: CheckpointId, base: Option<(CheckpointId, &Record)>) -> bool {
        let pinned = base.and_then(|(base, record)| {
            let (known, names) = self.committed.get(&base)?.readable.as_ref()?;
            (known == record).then(|| Arc::clone(names))
        });
        let has_base = pinned.is_some();
        self.plans.insert(id, Plan { base: pinned.unwrap_or_default(), claimed: HashSet::new() });
        has_base
    }

    /// Whether the plan may refer to this file without storing it: only if its base names it.
    pub fn may_reuse(&self, id: CheckpointId, name: &SharedName) -> bool {
        self.plans.get(&id).is_some_and(|plan| plan.base.contains_key(name))
    }

    /// Claims a name for a plan, before a file gets it.
    pub fn claim(&mut self, id: CheckpointId, name: SharedName) {
        if let Some(plan) = self.plans.get_mut(&id) {
            plan.claimed.insert(name);
        }
    }

    /// The plan is committed with these names.
    pub fn commit(&mut self, id: CheckpointId, record: Record, names: Names) {
        self.committed(id, record, names);
        self.plans.remove(&id);
    }

    /// The plan came to nothing.
    pub fn abort(&mut self, id: CheckpointId) {
        self.plans.remove(&id);
    }

    /// The checkpoint is to be deleted: its names do not count any more, and it can no longer be a base.
    pub fn forget(&mut self, id: CheckpointId) {
        self.committed.remove(&id);
    }

    /// Somebody reads this checkpoint: it stays, whatever retention says, until they [let go](Self::let_go).
    pub fn hold(&mut self, id: CheckpointId) {
        *self.held.entry(id).or_default() += 1;
    }

    /// One who held it reads it no more.
    pub fn let_go(&mut self, id: CheckpointId) {
        if let Some(count) = self.held.get_mut(&id) {
            *count -= 1;
            if *count == 0 {
                self.held.remove(&id);
            }
        }
    }

    /// Whether somebody holds it.
    pub fn is_held(&self, id: CheckpointId) -> bool {
        self.held.contains_key(&id)
    }

    /// Whether a plan of this number is in flight.
    pub fn in_flight(&self, id: CheckpointId) -> bool {
        self.plans.contains_key(&id)
    }

    /// Whether the file may be deleted now: nothing that matters names it. While a kept manifest cannot be read, nobody
    /// knows what it names, and nothing may be deleted.
    pub fn may_delete(&self, name: &SharedName) -> bool {
        let kept = self.committed.values().any(|kept| match &kept.readable {
            Some((_, names)) => names.contains_key(name),
            None => true,
        });
        !kept && !self.plans.values().any(|plan| plan.base.contains_key(name) || plan.claimed.contains(name))
    }

    /// Of these names those that [may be deleted](Self::may_delete) and are not being deleted: their deletion begins.
    pub fn begin_deletion(&mut self, names: &[SharedName]) -> Vec<SharedName> {
        let free = |name: &&SharedName| self.may_delete(name) && !self.is_being_deleted(name);
        let unnamed: Vec<SharedName> = names.iter().filter(free).cloned().collect();
        self.deleting.extend(unnamed.iter().cloned());
        unnamed
    }

    /// Their deletion has ended, well or badly.
    pub fn end_deletion(&mut self, names: &[SharedName]) {
        names.iter().for_each(|name| {
            self.deleting.remove(name);
        });
    }

    /// Whether a file of this name is being deleted: nobody may claim it now.
    pub fn is_being_deleted(&self, name: &SharedName) -> bool {
        self.deleting.contains(name)
    }

    /// What the committed checkpoints that can be read take together.
    pub fn retained(&self) -> Retained {
        let kept = self.committed.values().filter_map(|kept| kept.readable.as_ref());
        let files: HashMap<&SharedName, u64> =
            kept.flat_map(|(_, names)| names.iter()).map(|(name, length)| (name, *length)).collect();
        Retained { files: files.len() as u64, bytes: files.values().sum() }
    }

    /// The committed checkpoints, for [`retention`](super::retention).
    pub fn observed(&self) -> Vec<Observed> {
        let record = |kept: &Committed| kept.readable.as_ref().map(|(record, _)| record.clone());
        self.committed.iter().map(|(id, kept)| Observed { id: *id, record: record(kept) }).collect()
    }
}
