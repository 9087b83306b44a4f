//! Who we are on S3: options, environment, the shared credentials file, then what the machine is.

use crate::options::{S3Options, Secret};
use headpond_files::RegularFile;
use headpond_state::{Context, Error, Result};
use object_store::CredentialProvider;
use object_store::aws::{AwsCredential, AwsCredentialProvider};
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes of the longest file of credentials.
const CREDENTIALS_BYTES_MAX: u64 = 1 << 20;

/// Keys that do not change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Keys {
    access_key: Secret,
    secret_key: Secret,
    session_token: Option<Secret>,
}

impl Keys {
    /// The keys of the options, else of the environment, else of the shared credentials file.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) when one of two is missing.
    pub(super) fn find(options: &S3Options) -> Result<Option<Self>> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty()).map(Secret::new);
        let of_options = Keys::both(
            ("s3.access-key", options.access_key.clone()),
            ("s3.secret-key", options.secret_key.clone()),
            options.session_token.clone(),
        )?;
        if of_options.is_some() {
            return Ok(of_options);
        }
        let of_environment = Keys::both(
            ("AWS_ACCESS_KEY_ID", variable("AWS_ACCESS_KEY_ID")),
            ("AWS_SECRET_ACCESS_KEY", variable("AWS_SECRET_ACCESS_KEY")),
            variable("AWS_SESSION_TOKEN"),
        )?;
        if of_environment.is_some() {
            return Ok(of_environment);
        }
        let named = std::env::var_os("AWS_SHARED_CREDENTIALS_FILE").map(PathBuf::from);
        let file = named.or_else(|| std::env::home_dir().map(|home| home.join(".aws").join("credentials")));
        let profile = std::env::var("AWS_PROFILE").unwrap_or_else(|_| "default".to_owned());
        // What is no file, or far too long, has no keys.
        let read = |file: PathBuf| RegularFile::open(file).and_then(|file| file.read(CREDENTIALS_BYTES_MAX)).ok();
        match file.and_then(read) {
            Some(bytes) => Keys::of_profile(&String::from_utf8_lossy(&bytes), &profile),
            None => Ok(None),
        }
    }

    /// The keys of a profile in the text of a credentials file.
    fn of_profile(text: &str, profile: &str) -> Result<Option<Self>> {
        let (mut inside, mut values) = (false, [None, None, None]);
        for line in text.lines().map(str::trim) {
            if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                inside = section.trim() == profile;
            } else if let Some((name, value)) = line.split_once('=').filter(|_| inside) {
                let names = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];
                if let Some(index) = names.iter().position(|known| *known == name.trim()) {
                    values[index] = Some(Secret::new(value.trim()));
                }
            }
        }
        let [access_key, secret_key, session_token] = values;
        Keys::both(("aws_access_key_id", access_key), ("aws_secret_access_key", secret_key), session_token)
    }

    fn both(
        access_key: (&str, Option<Secret>),
        secret_key: (&str, Option<Secret>),
        session_token: Option<Secret>,
    ) -> Result<Option<Self>> {
        let missing = |name: &str, other: &str| {
            Error::invalid(format!("`{other}` is set and `{name}` is not"))
                .with(Context::Option, name)
                .hint(format!("set both, or neither of `{other}` and `{name}`"))
        };
        match (access_key, secret_key) {
            ((_, Some(access_key)), (_, Some(secret_key))) => Ok(Some(Keys { access_key, secret_key, session_token })),
            ((_, None), (_, None)) => Ok(None),
            ((set, Some(_)), (name, None)) | ((name, None), (set, Some(_))) => Err(missing(name, set)),
        }
    }

    pub(super) fn credential(&self) -> AwsCredential {
        AwsCredential {
            key_id: self.access_key.expose().to_owned(),
            secret_key: self.secret_key.expose().to_owned(),
            token: self.session_token.as_ref().map(|token| token.expose().to_owned()),
        }
    }

    pub(super) fn secrets(&self) -> Vec<Secret> {
        let token = self.session_token.iter().cloned();
        [self.access_key.clone(), self.secret_key.clone()].into_iter().chain(token).collect()
    }
}

/// What the machine is, by the usual order: a web identity, a container's role, an instance's role.
#[derive(Debug)]
pub(super) struct Chain {
    role: AwsCredentialProvider,
}

impl Chain {
    pub(super) fn new(role: AwsCredentialProvider) -> Self {
        Chain { role }
    }
}

#[async_trait::async_trait]
impl CredentialProvider for Chain {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        // To have no credentials is not to have no store.
        self.role.get_credential().await.map_err(|_| object_store::Error::Unauthenticated {
            path: String::new(),
            source: "no credentials were found".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    const FILE: &str = "[default]\naws_access_key_id = AK1\naws_secret_access_key=SK1\n\n# a comment\n[other]\n\
                        aws_access_key_id=AK2\naws_secret_access_key = SK2\naws_session_token = T2\n[half]\n\
                        aws_access_key_id = AK3\n";

    #[test]
    fn a_profile_of_the_credentials_file_is_read() {
        let keys = Keys::of_profile(FILE, "default").unwrap().unwrap();
        assert_eq!((keys.access_key.expose(), keys.secret_key.expose(), &keys.session_token), ("AK1", "SK1", &None));
        let other = Keys::of_profile(FILE, "other").unwrap().unwrap().credential();
        assert_eq!((other.key_id.as_str(), other.token.as_deref()), ("AK2", Some("T2")));
        assert_eq!(Keys::of_profile(FILE, "nobody").unwrap(), None);
    }

    #[test]
    fn one_key_without_the_other_is_an_error_that_names_both_and_shows_none() {
        let error = format!("{:?}", Keys::of_profile(FILE, "half").unwrap_err());
        assert!(error.contains("aws_access_key_id") && error.contains("aws_secret_access_key"), "{error}");
        let options = S3Options { secret_key: Some(Secret::new("hushhush")), ..S3Options::default() };
        let error = format!("{:?}", Keys::find(&options).unwrap_err());
        assert!(error.contains("s3.access-key") && !error.contains("hushhush"), "{error}");
        assert!(!format!("{options:?}").contains("hushhush"), "{options:?}");
    }
}
