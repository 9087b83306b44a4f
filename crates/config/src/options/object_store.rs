//! How object stores are reached.

use super::section::options;
use crate::{Alias, ConfigOption, MemorySize};
use std::path::PathBuf;
use std::time::Duration;

options! {
    "Object stores",
    "How checkpoints get to S3 and other object stores; [Object stores](../operations/object-stores.md) has a complete \
     example. Credentials that are not set here come from the environment (`AWS_ACCESS_KEY_ID`, …), the shared credentials \
     file or the machine's role.";

    /// The S3 server.
    S3_ENDPOINT: Option<String> = ConfigOption::unset(
        "s3.endpoint",
        "Amazon's, or `AWS_ENDPOINT_URL_S3`",
        "The S3 server: `https://host:port`, or `http://host:port` for one without encryption.",
    )
    .aliases(&[Alias::new("fs.s3a.endpoint"), Alias::new("presto.s3.endpoint")]);
    /// The S3 region.
    S3_REGION: Option<String> = ConfigOption::unset(
        "s3.region",
        "`AWS_REGION`, else `us-east-1`",
        "The region of the bucket.",
    )
    .aliases(&[Alias::new("s3.endpoint.region"), Alias::new("fs.s3a.endpoint.region")]);
    /// Who we are on S3.
    S3_ACCESS_KEY: Option<String> = ConfigOption::unset(
        "s3.access-key",
        "from the environment",
        "The access key. It is never shown.",
    )
    .aliases(&[
        Alias::new("s3.access.key"),
        Alias::new("fs.s3a.access.key"),
        Alias::new("presto.s3.access-key"),
    ]);
    /// Proves it.
    S3_SECRET_KEY: Option<String> = ConfigOption::unset(
        "s3.secret-key",
        "from the environment",
        "The secret key. It is never shown.",
    )
    .aliases(&[
        Alias::new("s3.secret.key"),
        Alias::new("fs.s3a.secret.key"),
        Alias::new("presto.s3.secret-key"),
    ]);
    /// The third part of temporary credentials.
    S3_SESSION_TOKEN: Option<String> = ConfigOption::unset(
        "s3.session-token",
        "none",
        "The session token of temporary credentials. It is never shown.",
    )
    .aliases(&[Alias::new("s3.session.token"), Alias::new("fs.s3a.session.token")]);
    /// How the bucket is addressed.
    S3_PATH_STYLE_ACCESS: Option<bool> = ConfigOption::unset(
        "s3.path.style.access",
        "`true` if there is an endpoint",
        "Whether the bucket is addressed as a part of the path (`endpoint/bucket/…`) and not of the host's name \
         (`bucket.endpoint/…`).",
    )
    .aliases(&[Alias::new("s3.path-style-access"), Alias::new("fs.s3a.path.style.access")]);
    /// The size of a part.
    OBJECT_STORE_PART_SIZE: MemorySize = ConfigOption::new(
        "object-store.part-size",
        "8 mb",
        "Larger files are uploaded in parts of this size, and downloads ask for that much at a time. Each transfer takes \
         as much memory.",
    )
    .aliases(&[Alias::new("s3.upload.min.part.size"), Alias::new("fs.s3a.multipart.size")])
    .within(5 << 20, 1 << 30);
    /// How many transfers there are at a time.
    OBJECT_STORE_MAX_TRANSFERS: usize = ConfigOption::new(
        "object-store.max-transfers",
        "8",
        "How many files, parts and ranges are on their way at a time, of all workers together.",
    )
    .aliases(&[Alias::new("s3.upload.max.concurrent.uploads"), Alias::new("fs.s3a.threads.max")])
    .within(1, 1_024);
    /// How long a request may take.
    OBJECT_STORE_REQUEST_TIMEOUT: Duration = ConfigOption::new(
        "object-store.request-timeout",
        "60 s",
        "How long one request may take, the transfer of a part included.",
    )
    .aliases(&[Alias::new("s3.connection.timeout"), Alias::new("fs.s3a.connection.timeout")])
    .at_least(1);
    /// How long requests are repeated.
    OBJECT_STORE_RETRY_TIMEOUT: Duration = ConfigOption::new(
        "object-store.retry-timeout",
        "2 min",
        "How long a request that fails is repeated, with pauses that grow from 0.1 s to 10 s; after that the checkpoint has \
         failed.",
    );
    /// Where large state waits for its upload.
    OBJECT_STORE_SPOOL_DIR: Option<PathBuf> = ConfigOption::unset(
        "object-store.spool-dir",
        "`.headpond` in the current directory",
        "A local directory for state of the `memory` backend on its way: a file larger than a part is written there first. \
         Files there have no names and go with the process.",
    )
    .aliases(&[Alias::new("fs.s3a.buffer.dir")]);
}
