//! From a location to its store.

use crate::connect;
use crate::options::ObjectStoreOptions;
use crate::store::BucketStore;
use headpond_checkpoint::location::RemoteLocation;
use headpond_checkpoint::{CheckpointStore, Failpoints, LocalStores, Location, Stores};
use headpond_state::{Context, Error, Result};
use std::sync::Arc;

/// Local directories and object stores.
#[derive(Debug, Clone, Default)]
pub struct ObjectStores {
    options: ObjectStoreOptions,
    local: LocalStores,
}

impl ObjectStores {
    /// Stores that are reached in this way.
    pub fn new(options: ObjectStoreOptions) -> Self {
        ObjectStores { options, local: LocalStores::default() }
    }

    /// Sets the hook for crash tests, of local directories.
    #[must_use]
    pub fn with_failpoints(mut self, failpoints: Failpoints) -> Self {
        self.local = LocalStores { failpoints };
        self
    }

    fn bucket(&self, location: &RemoteLocation) -> Result<BucketStore> {
        let options = &self.options;
        let bucket = location.authority();
        match location.scheme() {
            "s3" | "s3a" | "s3p" => connect::s3(bucket, options),
            "gs" => connect::google(bucket, options),
            "az" | "azure" | "abfs" | "abfss" => connect::azure(location, options),
            "hdfs" | "viewfs" | "webhdfs" => {
                Err(Error::unsupported(format!("checkpoints cannot be stored on HDFS (`{}:`) yet", location.scheme()))
                    .hint(WAYS))
            }
            other => Err(Error::unsupported(format!("checkpoints cannot be stored on `{other}:`")).hint(WAYS)),
        }
        .and_then(|connected| connected.below(location, options.clone()))
    }
}

const WAYS: &str = "use `s3://bucket/path`, `gs://bucket/path`, `abfss://container@account.dfs.core.windows.net/path` or a \
                    local directory";

impl Stores for ObjectStores {
    fn open(&self, location: &Location) -> Result<Arc<dyn CheckpointStore>> {
        match location {
            Location::Local(_) => self.local.open(location),
            Location::Remote(remote) => {
                let store = self.bucket(remote).map_err(|error| error.with(Context::Text, location))?;
                Ok(Arc::new(store))
            }
        }
    }
}
