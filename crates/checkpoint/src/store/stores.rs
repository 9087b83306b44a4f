//! From a location to its store.

use super::{CheckpointStore, DirectoryStore};
use crate::failpoints::Failpoints;
use crate::location::Location;
use headpond_state::{Context, Error, Result};
use std::fmt::Debug;
use std::sync::Arc;

/// The stores that a program knows.
pub trait Stores: Debug + Send + Sync {
    /// The store whose keys begin at `location`. Creates nothing.
    ///
    /// # Errors
    /// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for a scheme that none of them has,
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for bad settings.
    fn open(&self, location: &Location) -> Result<Arc<dyn CheckpointStore>>;
}

/// Local directories and no others.
#[derive(Debug, Clone, Default)]
pub struct LocalStores {
    /// The hook for crash tests.
    pub failpoints: Failpoints,
}

impl Stores for LocalStores {
    fn open(&self, location: &Location) -> Result<Arc<dyn CheckpointStore>> {
        match location {
            Location::Local(path) => Ok(Arc::new(DirectoryStore::new(path).with_failpoints(self.failpoints.clone()))),
            Location::Remote(remote) => {
                Err(Error::unsupported(format!("this program has no checkpoint store for `{}:`", remote.scheme()))
                    .with(Context::Text, location)
                    .hint("use a local directory: `file:///path` or a plain path"))
            }
        }
    }
}
