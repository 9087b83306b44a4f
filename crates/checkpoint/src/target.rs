//! What a location given by a user points at: a directory of jobs, a job or a checkpoint.

use crate::layout::{MANIFEST, SHARED, parse_checkpoint};
use crate::location::Location;
use crate::store::{CheckpointStore, Stores};
use headpond_state::{CheckpointId, Error, Result};
use std::sync::Arc;

/// What a location given by a user points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A directory of jobs.
    Jobs(Location),
    /// One job's directory: the directory of jobs and the job's directory's name.
    Job(Location, String),
    /// One checkpoint of a job.
    Checkpoint(Location, String, CheckpointId),
}

impl Target {
    /// Finds out from names, and for a directory from what is in it, what `location` is, and opens the store of the
    /// directory of jobs.
    ///
    /// # Errors
    /// As [`Location::parse`] and [`Stores::open`], and as the store's.
    pub fn find(stores: &dyn Stores, location: &str) -> Result<(Arc<dyn CheckpointStore>, Self)> {
        let mut place = match Location::parse(location)? {
            Location::Local(path) => Location::Local(
                std::path::absolute(&path).map_err(|e| Error::io("the path cannot be resolved", &path, e))?,
            ),
            remote => remote,
        };
        if let Some((above, name)) = place.split()
            && name == MANIFEST
        {
            place = above;
        }
        let above = place.split();
        if let Some((job, name)) = &above
            && let Some(id) = parse_checkpoint(name)
            && let Some((root, job)) = job.split()
        {
            return Ok((stores.open(&root)?, Target::Checkpoint(root, job, id)));
        }
        let store = stores.open(&place)?;
        let is_job = above.is_some() && is_job(&store.list("")?);
        match above.filter(|_| is_job) {
            Some((root, job)) => Ok((stores.open(&root)?, Target::Job(root, job))),
            None => Ok((store, Target::Jobs(place))),
        }
    }
}

/// Whether these are the names in a job's directory.
pub(crate) fn is_job(names: &[String]) -> bool {
    names.iter().any(|name| name == SHARED || parse_checkpoint(name).is_some())
}
