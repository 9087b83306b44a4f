//! The stores of checkpoints: the one place that knows concrete ones.

#[cfg(not(feature = "s3"))]
use headpond_checkpoint::LocalStores;
use headpond_checkpoint::{Failpoints, Location};
use headpond_config::Config;
#[cfg(feature = "s3")]
use headpond_config::options;
#[cfg(feature = "s3")]
use headpond_object_store::{ObjectStoreOptions, ObjectStores, S3Options, Secret};
use headpond_state::Result;
#[cfg(feature = "s3")]
use std::path::PathBuf;

/// Where large state waits for its upload when nobody says: below the current directory, as all local state.
#[cfg(feature = "s3")]
const DEFAULT_SPOOL_DIR: &str = ".headpond";

/// Local directories, and object stores as the settings say.
#[cfg(feature = "s3")]
pub fn stores(config: &Config, failpoints: Failpoints) -> ObjectStores {
    let secret = |text: Option<String>| text.map(Secret::new);
    let options = ObjectStoreOptions {
        s3: S3Options {
            endpoint: config.get(&options::S3_ENDPOINT),
            region: config.get(&options::S3_REGION),
            access_key: secret(config.get(&options::S3_ACCESS_KEY)),
            secret_key: secret(config.get(&options::S3_SECRET_KEY)),
            session_token: secret(config.get(&options::S3_SESSION_TOKEN)),
            path_style: config.get(&options::S3_PATH_STYLE_ACCESS),
        },
        part_bytes: config.get(&options::OBJECT_STORE_PART_SIZE).bytes(),
        transfers_max: config.get(&options::OBJECT_STORE_MAX_TRANSFERS),
        request_timeout: config.get(&options::OBJECT_STORE_REQUEST_TIMEOUT),
        retry_timeout: config.get(&options::OBJECT_STORE_RETRY_TIMEOUT),
        spool_dir: Some(
            config.get(&options::OBJECT_STORE_SPOOL_DIR).unwrap_or_else(|| PathBuf::from(DEFAULT_SPOOL_DIR)),
        ),
    };
    ObjectStores::new(options).with_failpoints(failpoints)
}

/// Local directories: this program knows no object stores.
#[cfg(not(feature = "s3"))]
pub fn stores(_: &Config, failpoints: Failpoints) -> LocalStores {
    LocalStores { failpoints }
}

/// The place that an option or an argument names. Settings have made a path of a `file:` URI.
///
/// # Errors
/// As [`Location::parse`].
pub fn location_of(text: &str) -> Result<Location> {
    match text.contains("://") || text.starts_with("file:") {
        true => Location::parse(text),
        false => Ok(Location::Local(text.into())),
    }
}
