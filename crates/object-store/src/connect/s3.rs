//! S3: Amazon's, and servers that speak its protocol.

use super::credentials::{Chain, Keys};
use super::{Connected, client, retries, unusable};
use crate::options::ObjectStoreOptions;
use headpond_state::{Context, Error, Result};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};
use object_store::{RetryConfig, StaticCredentialProvider};
use std::sync::Arc;
use std::time::Duration;

/// How long to look for the machine's role: where there is none, nobody answers.
const ROLE_TIMEOUT: Duration = Duration::from_secs(3);

/// A client of a bucket.
pub(crate) fn s3(bucket: &str, options: &ObjectStoreOptions) -> Result<Connected> {
    let settings = &options.s3;
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
    if let Some(region) = &settings.region {
        builder = builder.with_region(region);
    }
    let of_environment = || {
        [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint]
            .iter()
            .find_map(|key| builder.get_config_value(key))
    };
    let endpoint = settings.endpoint.clone().or_else(of_environment);
    let path_style = settings.path_style.unwrap_or(endpoint.is_some());
    let mut plain_http = false;
    if let Some(endpoint) = endpoint {
        let server = Server::parse(&endpoint)?;
        plain_http = server.scheme == "http";
        builder = builder.with_config(AmazonS3ConfigKey::S3Endpoint, server.url(bucket, path_style));
    }
    let client = client(options, plain_http);
    builder = builder
        .with_virtual_hosted_style_request(!path_style)
        .with_conditional_put(S3ConditionalPut::ETagMatch)
        .with_client_options(client.clone())
        .with_retry(retries(options));
    let variables = "AWS_…";
    let mut secrets = Vec::new();
    builder = match Keys::find(settings)? {
        Some(keys) => {
            secrets = keys.secrets();
            builder.with_credentials(Arc::new(StaticCredentialProvider::new(keys.credential())))
        }
        None => {
            let role = builder
                .clone()
                .with_retry(RetryConfig { retry_timeout: ROLE_TIMEOUT, max_retries: 2, ..retries(options) })
                .build()
                .map_err(|e| unusable("S3", variables, &e))?;
            builder.with_credentials(Arc::new(Chain::new(Arc::clone(role.credentials()))))
        }
    };
    let store = builder.build().map_err(|e| unusable("S3", variables, &e))?;
    Ok(Connected { store: Arc::new(store), secrets })
}

/// An endpoint.
struct Server<'a> {
    scheme: &'a str,
    host: &'a str,
}

impl<'a> Server<'a> {
    /// Reads `https://host:port`; without a scheme it is `https`.
    fn parse(endpoint: &'a str) -> Result<Self> {
        let (scheme, rest) = endpoint.split_once("://").unwrap_or(("https", endpoint));
        let host = rest.trim_end_matches('/');
        let shown = matches!(scheme, "http" | "https") && !host.is_empty() && !host.contains('@');
        if shown {
            return Ok(Server { scheme, host });
        }
        Err(Error::invalid("this is no address of an S3 server")
            .with(Context::Option, "s3.endpoint")
            .hint("write `https://host:port`, or `http://host:port` for a server without encryption"))
    }

    /// What requests to the bucket begin with; for path style the client adds the bucket.
    fn url(&self, bucket: &str, path_style: bool) -> String {
        let Server { scheme, host } = self;
        if path_style { format!("{scheme}://{host}") } else { format!("{scheme}://{bucket}.{host}") }
    }
}
