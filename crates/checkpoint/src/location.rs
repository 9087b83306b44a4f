//! Where checkpoints are, as users write it: a path, a `file:` URI, or the URL of a store.

use headpond_state::{Context, Error, Result};
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

const WAYS: &str = "write a plain path, `file:///path`, or a store's URL such as `s3://bucket/path`";

/// A place: local, or on a store that a URL names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A path of the local file system.
    Local(PathBuf),
    /// Somewhere else.
    Remote(RemoteLocation),
}

/// `scheme://authority/path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteLocation {
    scheme: String,
    authority: String,
    segments: Vec<String>,
}

impl RemoteLocation {
    /// The scheme, in small letters.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// What is between `//` and the path: a bucket, for most stores.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The path without `/` at its ends, as it was written: nothing in it is decoded.
    pub fn path(&self) -> String {
        self.segments.join("/")
    }
}

impl Location {
    /// Reads a location: `file:///…`, `file:/…`, a plain path, or `scheme://authority/path`.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for one that is empty or malformed, or has credentials in it,
    /// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for a file on another host.
    pub fn parse(location: &str) -> Result<Self> {
        if location.trim().is_empty() {
            return Err(Error::invalid("the checkpoint directory is empty").hint(WAYS));
        }
        let Some((scheme, rest)) = location.split_once(':').filter(|(scheme, _)| is_scheme(scheme)) else {
            return Ok(Location::Local(PathBuf::from(location)));
        };
        if scheme.eq_ignore_ascii_case("file") {
            return local(location, rest).map(Location::Local);
        }
        remote(location, scheme, rest).map(Location::Remote)
    }

    /// The place above, and the name in it.
    pub(crate) fn split(&self) -> Option<(Location, String)> {
        match self {
            Location::Local(path) => {
                Some((Location::Local(path.parent()?.to_path_buf()), path.file_name()?.to_str()?.to_owned()))
            }
            Location::Remote(remote) => {
                let mut above = remote.clone();
                let name = above.segments.pop()?;
                Some((Location::Remote(above), name))
            }
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Local(path) => write!(f, "{}", path.display()),
            Location::Remote(RemoteLocation { scheme, authority, segments }) => {
                write!(f, "{scheme}://{authority}")?;
                segments.iter().try_for_each(|segment| write!(f, "/{segment}"))
            }
        }
    }
}

/// A scheme has at least two characters, so that `C:\checkpoints` has none.
fn is_scheme(text: &str) -> bool {
    text.len() >= 2
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

fn local(location: &str, rest: &str) -> Result<PathBuf> {
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(rest) => rest.strip_prefix("localhost").filter(|path| path.starts_with('/')).unwrap_or(rest),
    };
    if !path.starts_with('/') {
        return Err(Error::unsupported("a file URI needs an absolute path and no host")
            .with(Context::Text, location)
            .hint("write `file:///path`, or a plain path if it is relative"));
    }
    percent_decode(path).map(PathBuf::from).ok_or_else(|| {
        Error::invalid("a `%` in a file URI must begin two hexadecimal digits").with(Context::Text, location)
    })
}

fn remote(location: &str, scheme: &str, rest: &str) -> Result<RemoteLocation> {
    let malformed = |what: &str| Error::invalid(what).with(Context::Text, location).hint(WAYS);
    let rest = rest.strip_prefix("//").ok_or_else(|| malformed("a store's URL has `//` after its scheme"))?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    // A secret key may have a `/` in it. Before an `@`, Azure has the name of a container.
    let names_container = matches!(scheme.to_ascii_lowercase().as_str(), "abfs" | "abfss" | "wasb" | "wasbs");
    if rest.contains('@') && (authority.contains(':') || (authority.contains('@') && !names_container)) {
        // Not shown: it would be in every log.
        return Err(Error::invalid("a store's URL must not have credentials in it")
            .hint("set `s3.access-key` and `s3.secret-key`, or the environment variables of the store"));
    }
    if authority.is_empty() {
        return Err(malformed("a store's URL names a bucket or a host"));
    }
    let segments: Vec<String> = path.split('/').filter(|segment| !segment.is_empty()).map(str::to_owned).collect();
    let strange = |segment: &String| segment == "." || segment == ".." || segment.contains(char::is_control);
    if segments.iter().any(strange) {
        return Err(malformed("a store's path has no `.`, `..` or control characters"));
    }
    Ok(RemoteLocation { scheme: scheme.to_ascii_lowercase(), authority: authority.to_owned(), segments })
}

fn percent_decode(text: &str) -> Option<String> {
    let begins_digits = |rest: &str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    if !text.split('%').skip(1).all(begins_digits) {
        return None;
    }
    percent_decode_str(text).decode_utf8().ok().map(Cow::into_owned)
}
