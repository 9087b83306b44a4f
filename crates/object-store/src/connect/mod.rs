//! Clients of the stores.

mod credentials;
mod s3;

pub(crate) use s3::s3;

use crate::objects::Objects;
use crate::options::{ObjectStoreOptions, Secret};
use crate::store::BucketStore;
use headpond_checkpoint::Location;
use headpond_checkpoint::location::RemoteLocation;
use headpond_state::{Error, Result};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use std::sync::Arc;
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time bounds the repetitions, not their number.
const RETRIES_MAX: usize = 1_000;

/// A client of a bucket.
pub(crate) struct Connected {
    store: Arc<dyn ObjectStore>,
    secrets: Vec<Secret>,
}

impl Connected {
    /// The checkpoint store at `location`, which is in this bucket.
    pub(crate) fn below(self, location: &RemoteLocation, options: ObjectStoreOptions) -> Result<BucketStore> {
        let shown = Location::Remote(location.clone()).to_string();
        BucketStore::over(Objects::new(self.store, shown, location.path(), self.secrets, options)?)
    }
}

/// Google Cloud Storage, with credentials from the environment or the machine.
pub(crate) fn google(bucket: &str, options: &ObjectStoreOptions) -> Result<Connected> {
    let store = GoogleCloudStorageBuilder::from_env()
        .with_bucket_name(bucket)
        .with_client_options(client(options, false))
        .with_retry(retries(options))
        .build()
        .map_err(|e| unusable("Google Cloud Storage", "GOOGLE_APPLICATION_CREDENTIALS and other GOOGLE_…", &e))?;
    Ok(Connected { store: Arc::new(store), secrets: Vec::new() })
}

/// Azure Blob Storage, with credentials from the environment or the machine.
pub(crate) fn azure(location: &RemoteLocation, options: &ObjectStoreOptions) -> Result<Connected> {
    let builder =
        MicrosoftAzureBuilder::from_env().with_client_options(client(options, false)).with_retry(retries(options));
    let builder = match location.authority().split_once('@') {
        // `container@account.dfs.core.windows.net`
        Some((container, host)) => {
            builder.with_container_name(container).with_account(host.split('.').next().unwrap_or(host))
        }
        None => builder.with_container_name(location.authority()),
    };
    let store = builder.build().map_err(|e| {
        unusable("Azure Blob Storage", "AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY and other AZURE_…", &e)
    })?;
    Ok(Connected { store: Arc::new(store), secrets: Vec::new() })
}

fn client(options: &ObjectStoreOptions, plain_http: bool) -> ClientOptions {
    ClientOptions::new()
        .with_allow_http(plain_http)
        .with_timeout(options.request_timeout)
        .with_connect_timeout(CONNECT_TIMEOUT.min(options.request_timeout))
}

fn retries(options: &ObjectStoreOptions) -> RetryConfig {
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(100),
        max_backoff: Duration::from_secs(10).min(options.retry_timeout.max(Duration::from_millis(100))),
        base: 2.0,
    };
    RetryConfig { backoff, max_retries: RETRIES_MAX, retry_timeout: options.retry_timeout }
}

/// The error of settings that a client cannot be made of.
fn unusable(store: &str, variables: &str, cause: &object_store::Error) -> Error {
    // Not the cause's text as it is: settings are in it.
    let what = match cause {
        object_store::Error::UnknownConfigurationKey { key, .. } => format!("unknown setting {key}"),
        _ => "something is missing or malformed".to_owned(),
    };
    Error::invalid(format!("{store} cannot be reached with these settings: {what}"))
        .hint(format!("check the variables {variables} variables of the environment"))
}
