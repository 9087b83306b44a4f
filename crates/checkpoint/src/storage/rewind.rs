//! Where the newest run began that left checkpoints behind, kept beside them.
//!
//! `rewind.json` is `{"blake3":"…","rewind":{…}}`. It is written before any output is taken back, and replaced by the
//! next run that leaves checkpoints behind; once a checkpoint of its run is there, that one says the same.

use super::{CheckpointStorage, Recovered, Verifier};
use crate::decisions::rewind::{Rewind, Start, considered};
use crate::decisions::{Observed, recovery};
use crate::location::Location;
use crate::manifest::Manifest;
use crate::store::Incoming;
use headpond_state::{CheckpointId, Context, Error, Remedy, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;

/// What a run goes on from that is not told otherwise.
#[derive(Debug)]
pub enum Resume {
    /// Nothing: there is no checkpoint, or the job was started anew and has taken none since.
    Anew,
    /// A checkpoint of the job's own.
    From(Box<Recovered>),
    /// A checkpoint of another directory, which the job was restored from and behind which it has no sound one.
    Elsewhere {
        /// Where it is.
        location: String,
        /// The job's own checkpoints behind it, all damaged, newest first, each with what is wrong with it.
        skipped: Vec<(CheckpointId, String)>,
    },
}

/// The file's content. The hash is that of the rewind as compact JSON.
#[derive(Serialize, Deserialize)]
struct Sealed {
    blake3: String,
    rewind: Rewind,
}

impl Sealed {
    fn hash(rewind: &Rewind) -> serde_json::Result<String> {
        Ok(blake3::hash(&serde_json::to_vec(rewind)?).to_string())
    }
}

impl CheckpointStorage {
    /// Makes sure that this attempt still owns the job.
    ///
    /// # Errors
    /// [`Fenced`](headpond_state::ErrorKind::Fenced) when it does not, else as the store's.
    pub fn check_ownership(&self) -> Result<()> {
        self.ownership()?.check()
    }

    /// Whether a second run waits for the first one to end and is refused, or takes the job away from it.
    pub fn has_locks(&self) -> bool {
        self.inner.store.has_locks()
    }

    /// What a run begins with that restores the checkpoint of this number at `location`.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for a path that cannot be resolved.
    pub fn start_at(&self, location: &str, id: CheckpointId) -> Result<Start> {
        // The next run may begin in another working directory.
        let absolute = |location: &str| match Location::parse(location)? {
            Location::Local(path) => {
                let path = std::path::absolute(&path);
                let path = path.map_err(|e| Error::io("the path cannot be resolved", location, e))?;
                Ok(path.display().to_string())
            }
            remote => Ok(remote.to_string()),
        };
        let location = absolute(location)?;
        match absolute(&self.locate(id))? == location {
            true => Ok(Start::Checkpoint(id)),
            false => Ok(Start::Elsewhere { location }),
        }
    }

    /// Notes durably that the owner begins with `start` and leaves the other checkpoints behind. To be called before
    /// any output is taken back, whenever a restart that names no checkpoint would begin elsewhere.
    ///
    /// # Errors
    /// As the store's.
    pub fn note_rewind(&self, start: Start) -> Result<()> {
        let (attempt, known) = self.as_owner(|owned| (owned.attempt.clone(), owned.known.clone()))?;
        let abandoned_up_to = known.into_iter().max().unwrap_or(CheckpointId(0));
        let (store, key) = (&self.inner.store, self.inner.layout.rewind());
        if start == Start::Anew && abandoned_up_to.0 == 0 && store.length(&key)?.is_none() {
            // Nothing is left behind.
            return Ok(());
        }
        let rewind = Rewind { attempt, start, abandoned_up_to };
        let bad = |e: serde_json::Error| Error::internal("a rewind cannot be written as JSON").because(e);
        let blake3 = Sealed::hash(&rewind).map_err(bad)?;
        let text = serde_json::to_vec(&Sealed { blake3, rewind }).map_err(bad)?;
        let staged = store.stage(self.inner.layout.directory(), &mut Named { bytes: &text, key: &key })?;
        store.sync(&[&staged])?;
        store.publish(vec![(staged, key)])
    }

    /// Where the newest run began that left checkpoints behind, if one did.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_state::ErrorKind::Corrupt) when its bytes are not what was written, else as the store's.
    pub fn rewind(&self) -> Result<Option<Rewind>> {
        let key = self.inner.layout.rewind();
        let Some(mut opened) = self.inner.store.open(&key)? else { return Ok(None) };
        let path = self.inner.store.locate(&key);
        let mut text = String::new();
        let damaged = |why: String| {
            Error::corrupt("what says where the job was restored from is damaged")
                .with(Context::Path, &path)
                .because(why)
                .remedy(Remedy::RestoreAnother)
                .remedy(Remedy::StartAnew)
        };
        match opened.content.read_to_string(&mut text) {
            Err(e) if e.kind() != io::ErrorKind::InvalidData => {
                return Err(Error::io("the file cannot be read", &path, e));
            }
            Err(e) => return Err(damaged(e.to_string())),
            Ok(_) => {}
        }
        let found: Sealed = serde_json::from_str(&text).map_err(|e| damaged(e.to_string()))?;
        let hash = Sealed::hash(&found.rewind).map_err(|e| damaged(e.to_string()))?;
        if hash != found.blake3 {
            return Err(damaged(format!("its content has the hash {hash}, it says {}", found.blake3)));
        }
        Ok(Some(found.rewind))
    }

    /// The checkpoints that no restart takes by itself, since the job went back behind them.
    ///
    /// # Errors
    /// As [`rewind`](Self::rewind).
    pub fn left_behind(&self) -> Result<BTreeSet<CheckpointId>> {
        let Some(rewind) = self.rewind()? else { return Ok(BTreeSet::new()) };
        let observed = self.observe()?;
        let considered: BTreeSet<CheckpointId> = considered(&observed, Some(&rewind)).iter().map(|it| it.id).collect();
        Ok(observed.iter().map(|found| found.id).filter(|id| !considered.contains(id)).collect())
    }

    /// What a run goes on from that is not told otherwise: the newest checkpoint that is sound and was not left behind.
    /// `check` looks at what is outside the checkpoint; like a damaged file, its error of kind
    /// [`Corrupt`](headpond_state::ErrorKind::Corrupt) is a reason to fall back.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_state::ErrorKind::Corrupt) when there are checkpoints and none is sound,
    /// [`Incompatible`](headpond_state::ErrorKind::Incompatible) when the newest was written by a newer Headpond; any
    /// other error of `check`; else as the store's.
    pub fn resume(&self, mut check: impl FnMut(&Manifest) -> Result<()>) -> Result<Resume> {
        let rewind = self.rewind()?;
        let observed = self.observe()?;
        let considered: Vec<Observed> = considered(&observed, rewind.as_ref()).into_iter().cloned().collect();
        let mut verifier = Verifier::new(self);
        let choice = recovery::choose(&considered, |id| {
            let manifest = self.load(id)?;
            verifier.require(&manifest)?;
            check(&manifest)?;
            Ok(manifest)
        })?;
        let skipped: Vec<(CheckpointId, String)> =
            choice.skipped.into_iter().map(|(id, error)| (id, error.to_string())).collect();
        if let Some(manifest) = choice.chosen {
            return Ok(Resume::From(Box::new(Recovered { manifest, skipped })));
        }
        let place = || self.inner.store.locate(self.inner.layout.directory());
        match rewind.map(|rewind| rewind.start) {
            Some(Start::Elsewhere { location }) => Ok(Resume::Elsewhere { location, skipped }),
            _ if !skipped.is_empty() => Err(recovery::all_damaged(&skipped).with(Context::Path, place())),
            Some(Start::Checkpoint(id)) => Err(Error::corrupt(
                "the checkpoint that the job was restored from is gone, and it has taken none since",
            )
            .with(Context::Path, self.locate(id))
            .remedy(Remedy::RestoreAnother)
            .remedy(Remedy::StartAnew)),
            Some(Start::Anew) | None => Ok(Resume::Anew),
        }
    }
}

/// Small bytes with a key.
struct Named<'a> {
    bytes: &'a [u8],
    key: &'a str,
}

impl Read for Named<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(buffer)
    }
}

impl Incoming for Named<'_> {
    fn file(&self) -> Option<&Path> {
        None
    }

    fn key(&mut self) -> Result<Option<String>> {
        Ok(Some(self.key.to_owned()))
    }

    fn wanted(&self) -> Result<()> {
        Ok(())
    }
}
