//! Which files a path means.

use glob::{MatchOptions, Pattern};
use headpond_files::RelativeName;
use headpond_runtime::{Error, Result};
use headpond_state::Context;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// A path as the option `path` gives it: plain, or a `file:` URI.
///
/// # Errors
/// [`Unsupported`](headpond_runtime::ErrorKind::Unsupported) for another scheme.
pub(crate) fn local_path(text: &str) -> Result<PathBuf> {
    if let Some(rest) = text.strip_prefix("file:") {
        // file:///path has an empty authority; file:/path has none.
        let path = rest.strip_prefix("//").unwrap_or(rest);
        let path = path.strip_prefix("localhost").filter(|path| path.starts_with('/')).unwrap_or(path);
        let decoded = percent_decode_str(path).decode_utf8();
        return Ok(PathBuf::from(decoded.map_or_else(|_| path.to_owned(), Cow::into_owned)));
    }
    match text.split_once("://") {
        Some((scheme, _)) if !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            Err(Error::unsupported(format!("paths of the scheme '{scheme}' are not supported"))
                .with(Context::Option, "path")
                .with(Context::Path, text)
                .hint("use a local path or a file: URI"))
        }
        _ => Ok(PathBuf::from(text)),
    }
}

/// A file to read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct InputFile {
    /// Its path relative to the [`Files`]' root, with `/` between the parts.
    pub(crate) id: String,
    /// Where it is.
    pub(crate) path: PathBuf,
}

/// The files a path means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Files {
    path: PathBuf,
    pattern: Option<Pattern>,
}

impl Files {
    pub(crate) fn new(path: PathBuf) -> Result<Self> {
        let text = path.to_string_lossy();
        let has_wildcard = text.contains(['*', '?', '[']);
        // A file whose name has such a character is that file.
        if !has_wildcard || path.exists() {
            return Ok(Files { path, pattern: None });
        }
        let pattern = Pattern::new(&text).map_err(|why| {
            Error::invalid(format!("the path is not a pattern: {}", why.msg))
                .with(Context::Option, "path")
                .with(Context::Path, &text)
        })?;
        Ok(Files { path: path.clone(), pattern: Some(pattern) })
    }

    /// The directory that ids are relative to: the path itself or, before wildcards, its beginning.
    fn root(&self) -> PathBuf {
        if self.pattern.is_none() {
            if self.path.is_dir() {
                return self.path.clone();
            }
            return self.path.parent().map(Path::to_owned).unwrap_or_default();
        }
        let plain = |part: &Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
        self.path.components().take_while(plain).collect()
    }

    /// All files, in the order of their ids; `may_be_none`: there need not be one yet.
    ///
    /// # Errors
    /// [`Invalid`](headpond_runtime::ErrorKind::Invalid) when there is none.
    pub(crate) fn list(&self, may_be_none: bool) -> Result<Vec<InputFile>> {
        let root = self.root();
        let mut files = Vec::new();
        let start = if self.pattern.is_some() { &root } else { &self.path };
        if start.exists() && !start.is_dir() {
            files.push(regular(start.clone())?);
        } else {
            collect(if start.as_os_str().is_empty() { Path::new(".") } else { start }, &mut files)?;
        }
        if let Some(pattern) = &self.pattern {
            files.retain(|file| matches(pattern, file));
            files = files.into_iter().map(regular).collect::<Result<_>>()?;
        } else if start.is_dir() {
            files = files.into_iter().map(regular).collect::<Result<_>>()?;
        }
        let mut files: Vec<InputFile> =
            files.into_iter().map(|path| InputFile { id: id(&root, &path), path }).collect();
        files.sort();
        if files.is_empty() && !may_be_none {
            let what = if self.pattern.is_some() {
                "no file matches the pattern"
            } else {
                "the directory has no file to read"
            };
            return Err(Error::invalid(what)
                .with(Context::Path, self.path.display())
                .hint("correct 'path'; names that begin with '.' or '_' are left out"));
        }
        Ok(files)
    }

    /// The file of an id, which may be there or not.
    ///
    /// # Errors
    /// [`Incompatible`](headpond_runtime::ErrorKind::Incompatible) for an id that no file of this path can have.
    pub(crate) fn find(&self, id: &str) -> Result<PathBuf> {
        let is_ours = match RelativeName::parse(id) {
            Err(_) => None,
            Ok(name) => {
                let path = self.root().join(name.as_str());
                let is_listed = name.parts().all(|part| !is_hidden(part));
                match &self.pattern {
                    Some(pattern) => (is_listed && matches(pattern, &path)).then_some(path),
                    // Of what is gone nobody knows whether it was a directory.
                    None if !self.path.exists() => Some(self.path.join(name.as_str())),
                    None if self.path.is_dir() => is_listed.then_some(path),
                    None => (path == self.path).then_some(path),
                }
            }
        };
        is_ours.ok_or_else(|| {
            Error::incompatible("the checkpoint has a file that is none of the table's")
                .with(Context::Text, id)
                .with(Context::Path, self.path.display())
                .hint("set 'path' back to what it was")
                .remedy(headpond_state::Remedy::RestoreAnother)
                .remedy(headpond_state::Remedy::StartAnew)
        })
    }
}

fn matches(pattern: &Pattern, file: &Path) -> bool {
    let strict = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
    pattern.matches_path_with(file.strip_prefix("./").unwrap_or(file), strict)
        || pattern.matches_path_with(file, strict)
}

fn is_hidden(name: &str) -> bool {
    name.starts_with(['.', '_'])
}

/// The path, if a regular file is there. What is behind a pipe or a device cannot be read again from a position, and
/// may have no end.
fn regular(path: PathBuf) -> Result<PathBuf> {
    let found = fs::metadata(&path).map_err(|cause| Error::io("cannot read the file", &path, cause))?;
    if found.is_file() {
        return Ok(path);
    }
    Err(Error::invalid("this is not a regular file, and only those can be read on from where a checkpoint was taken")
        .with(Context::Path, path.display())
        .with(Context::Option, "path")
        .hint("write what comes through a pipe or from a device to a file, and read that"))
}

fn id(root: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(root).or_else(|_| path.strip_prefix("./")).unwrap_or(path);
    let parts: Vec<_> = relative.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

/// Adds the files in and below `directory`, hidden ones left out.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |cause: std::io::Error| {
        let missing = cause.kind() == std::io::ErrorKind::NotFound;
        let message = if missing { "there is no such file or directory" } else { "cannot list the directory" };
        Error::io(message, directory, cause).hint("correct 'path'; a relative one begins at the current directory")
    };
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if is_hidden(&name.to_string_lossy()) {
            continue;
        }
        let path = entry.path();
        // Follows links: a link to a file is a file.
        let metadata = fs::metadata(&path).map_err(|cause| Error::io("cannot read the file", &path, cause))?;
        if metadata.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
