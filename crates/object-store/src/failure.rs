//! Why a request failed, for the person who must act.
//!
//! What servers answer is taken apart and not shown as it is: the body of a refusal may repeat the key it refuses.

use crate::options::{ObjectStoreOptions, Secret};
use headpond_state::{Context, Error, ErrorKind};
use object_store::client::{HttpError, HttpErrorKind};
use std::error::Error as StdError;

/// What is known about a failed request.
#[derive(Debug)]
pub(crate) struct Failure {
    cause: Cause,
    /// The status of the answer, if there was one.
    pub(crate) status: Option<u16>,
    /// The answer's code, such as `NoSuchBucket`.
    code: Option<String>,
    /// What happened, in the server's words or the system's.
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Absent,
    Exists,
    Refused,
    Transport,
    Other,
}

impl Failure {
    pub(crate) fn of(error: &object_store::Error) -> Self {
        use object_store::Error as E;
        let transport = transport(error);
        let shown = error.to_string();
        let status = status(&shown);
        let code = element(&shown, "Code");
        let cause = match error {
            E::NotFound { .. } => Cause::Absent,
            E::AlreadyExists { .. } | E::Precondition { .. } => Cause::Exists,
            E::PermissionDenied { .. } | E::Unauthenticated { .. } => Cause::Refused,
            _ if transport.is_some() => Cause::Transport,
            _ => Cause::Other,
        };
        let text = match (&transport, status, &code, element(&shown, "Message")) {
            (Some(transport), ..) => transport.clone(),
            (_, _, Some(code), Some(message)) => format!("{code}: {message}"),
            (_, _, Some(code), None) => code.clone(),
            (_, Some(status), None, _) => format!("the store answered with status {status}"),
            // Of the client, before or after a request.
            (_, None, None, _) => innermost(error),
        };
        Failure { cause, status, code, text }
    }

    /// Whether the object is not there. A bucket that is not there is another matter.
    pub(crate) fn is_absent(&self) -> bool {
        self.cause == Cause::Absent && self.code.as_deref() != Some("NoSuchBucket")
    }

    /// Whether a condition of the request was not met, or met another request.
    pub(crate) fn is_exists(&self) -> bool {
        self.cause == Cause::Exists
    }

    /// Whether there was nothing in the range that was asked for: an empty object has none.
    pub(crate) fn may_be_empty_range(&self) -> bool {
        self.status == Some(416) || (self.cause == Cause::Other && self.status.is_none())
    }

    /// Whether the same request may succeed later.
    pub(crate) fn is_transient(&self) -> bool {
        self.cause == Cause::Transport
            || self.status.is_some_and(|status| status >= 500 && status != 501 && status != 507)
            || matches!(self.status, Some(408 | 429))
            || matches!(self.code.as_deref(), Some("SlowDown" | "InternalError" | "RequestTimeout"))
    }

    pub(crate) fn error(&self, what: &str, location: &str, secrets: &[Secret], options: &ObjectStoreOptions) -> Error {
        let (kind, why, way_out) = self.reaction(options);
        let mut text = self.text.clone();
        for secret in secrets.iter().filter(|secret| !secret.expose().is_empty()) {
            text = text.replace(secret.expose(), "******");
        }
        let message = if why.is_empty() { what.to_owned() } else { format!("{what}: {why}") };
        Error::new(kind, message).with(Context::Path, location).hint(way_out).because(text)
    }

    /// The kind of the error, why it is of that kind, and the way out.
    fn reaction(&self, options: &ObjectStoreOptions) -> (ErrorKind, &'static str, String) {
        use ErrorKind::{Invalid, ResourceExhausted, Unavailable, Unsupported};
        match (self.code.as_deref(), self.status) {
            (Some("NoSuchBucket"), _) => (
                Invalid,
                "there is no such bucket",
                "create it, or correct `execution.checkpointing.dir`".to_owned(),
            ),
            (Some("AccessDenied"), _) => (
                Invalid,
                "the credentials do not allow it",
                "allow them to list the bucket and to get, put and delete objects in it, or set others: `s3.access-key` \
                 and `s3.secret-key`"
                    .to_owned(),
            ),
            (Some("ExpiredToken" | "InvalidToken" | "TokenRefreshRequired"), _) => {
                (Invalid, "the credentials have expired", CREDENTIALS.to_owned())
            }
            (Some("PermanentRedirect" | "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException"), _)
            | (_, Some(301 | 307)) => {
                (Invalid, "the bucket is in another region", "set `s3.region`".to_owned())
            }
            (Some("QuotaExceeded" | "XMinioStorageFull" | "XMinioAdminBucketQuotaExceeded"), _) | (_, Some(507)) => (
                ResourceExhausted,
                "the store is full",
                "free space there, keep fewer checkpoints, or set `execution.checkpointing.dir` to another store".to_owned(),
            ),
            (Some("NotImplemented"), _) | (_, Some(501)) => {
                (Unsupported, "the store cannot do that", "take a store that has S3's conditional puts".to_owned())
            }
            _ if self.cause == Cause::Refused || matches!(self.status, Some(401 | 403)) => {
                (Invalid, "the store refuses the credentials", CREDENTIALS.to_owned())
            }
            _ if self.is_transient() || self.status.is_none() => (
                Unavailable,
                "",
                format!(
                    "is the store up, and `s3.endpoint` right? Requests are given {} s and repeated for {} s \
                     (`object-store.request-timeout`, `object-store.retry-timeout`)",
                    options.request_timeout.as_secs_f64(),
                    options.retry_timeout.as_secs_f64()
                ),
            ),
            _ => (Invalid, "the store refuses the request", "check `execution.checkpointing.dir` and `s3.endpoint`".to_owned()),
        }
    }
}

const CREDENTIALS: &str = "check `s3.access-key` and `s3.secret-key`, or where they come from when these are not set: the \
                           variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the profile in ~/.aws/credentials, the \
                           role of the machine";

/// What went wrong on the way to the server or back, if that is what it was.
fn transport(error: &object_store::Error) -> Option<String> {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(current) = cause {
        if let Some(http) = current.downcast_ref::<HttpError>() {
            let what = match http.kind() {
                HttpErrorKind::Connect => "no connection",
                HttpErrorKind::Timeout => "timed out",
                HttpErrorKind::Interrupted => "interrupted",
                HttpErrorKind::Decode => "the answer cannot be read",
                _ => "the request failed",
            };
            return Some(match innermost(http) {
                inner if inner.is_empty() => what.to_owned(),
                inner => format!("{what}: {inner}"),
            });
        }
        cause = current.source();
    }
    None
}

/// The text of the last cause.
fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}

fn status(text: &str) -> Option<u16> {
    if text.contains("redirect without LOCATION") {
        return Some(301);
    }
    let (_, rest) = text.split_once("status code: ")?;
    rest.get(..3)?.parse().ok()
}

/// What is between `<name>` and `</name>`.
fn element(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (value, _) = rest.split_once(&format!("</{name}>"))?;
    Some(value.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    /// What `object_store` gives for an answer.
    fn answered(status: &str, body: &str) -> Failure {
        let text = format!(
            "Error performing PUT http://host/b/k in 1ms - Server returned non-2xx status code: {status}: {body}"
        );
        Failure::of(&object_store::Error::Generic { store: "S3", source: text.into() })
    }

    fn coded(status: &str, code: &str) -> Failure {
        answered(status, &format!("<Error><Code>{code}</Code><Message>why</Message></Error>"))
    }

    fn error(failure: &Failure) -> Error {
        let secrets = [Secret::new("AKIA123"), Secret::new("hush")];
        failure.error("it cannot be stored", "s3://b/k", &secrets, &ObjectStoreOptions::default())
    }

    #[test]
    fn each_refusal_has_the_kind_and_the_way_out_that_help() {
        for (failure, kind, way_out) in [
            (coded("404 Not Found", "NoSuchBucket"), ErrorKind::Invalid, "execution.checkpointing.dir"),
            (coded("403 Forbidden", "AccessDenied"), ErrorKind::Invalid, "allow them"),
            (coded("403 Forbidden", "InvalidAccessKeyId"), ErrorKind::Invalid, "s3.access-key"),
            (coded("400 Bad Request", "ExpiredToken"), ErrorKind::Invalid, "s3.access-key"),
            (answered("401 Unauthorized", ""), ErrorKind::Invalid, "s3.access-key"),
            (coded("301 Moved Permanently", "PermanentRedirect"), ErrorKind::Invalid, "s3.region"),
            (coded("507 Insufficient Storage", "XMinioStorageFull"), ErrorKind::ResourceExhausted, "free space"),
            (coded("501 Not Implemented", "NotImplemented"), ErrorKind::Unsupported, "conditional puts"),
            (coded("503 Service Unavailable", "SlowDown"), ErrorKind::Unavailable, "s3.endpoint"),
            (answered("500 Internal Server Error", ""), ErrorKind::Unavailable, "object-store.retry-timeout"),
            (coded("400 Bad Request", "InvalidRequest"), ErrorKind::Invalid, "s3.endpoint"),
        ] {
            let error = error(&failure);
            assert_eq!(error.kind(), kind, "{error:?}");
            assert!(error.way_out().unwrap().contains(way_out), "{error:?}");
            assert_eq!(error.place(Context::Path), Some("s3://b/k"));
            assert_eq!(failure.is_transient(), kind == ErrorKind::Unavailable, "{error:?}");
        }
    }

    #[test]
    fn a_bucket_that_is_not_there_is_no_absent_object() {
        let absent = |body: &str| {
            let source = format!("status code: 404 Not Found: {body}").into();
            Failure::of(&object_store::Error::NotFound { path: "k".to_owned(), source }).is_absent()
        };
        assert!(absent("") && absent("<Error><Code>NoSuchKey</Code></Error>"));
        assert!(!absent("<Error><Code>NoSuchBucket</Code></Error>"));
    }

    #[test]
    fn what_a_server_repeats_of_a_secret_is_not_shown() {
        let body = "<Error><Code>InvalidAccessKeyId</Code><Message>AKIA123 is nobody, nor is hush</Message>\
                    <AWSAccessKeyId>AKIA123</AWSAccessKeyId></Error>";
        let shown = format!("{:?}", error(&answered("403 Forbidden", body)));
        assert!(
            shown.contains("InvalidAccessKeyId") && !shown.contains("AKIA123") && !shown.contains("hush"),
            "{shown}"
        );
    }
}
