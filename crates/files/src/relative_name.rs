//! Names that stay below their directory.

use std::fmt;

/// A path that stays below the directory it is relative to, with `/` between its parts.
///
/// ```
/// # use headpond_files::RelativeName;
/// let name = RelativeName::parse("attempt-1/part-0-7.csv")?;
/// assert_eq!(name.parts().collect::<Vec<_>>(), ["attempt-1", "part-0-7.csv"]);
/// assert!(RelativeName::parse("../part-0-7.csv").is_err());
/// # Ok::<(), headpond_files::NotBelow>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelativeName(String);

/// The error for a text that is not a [`RelativeName`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotBelow {
    text: String,
    why: &'static str,
}

impl RelativeName {
    /// Takes a text for a name.
    ///
    /// A backslash may be part of a name, as it may on Unix. It is also taken for a separator, so that a name is safe
    /// whoever reads it.
    ///
    /// # Errors
    /// For a name that is empty or absolute, has an empty part, `.`, `..` or a NUL.
    pub fn parse(text: impl Into<String>) -> Result<Self, NotBelow> {
        let text = text.into();
        match flaw(&text) {
            Some(why) => Err(NotBelow { text, why }),
            None => Ok(RelativeName(text)),
        }
    }

    /// As [`parse`](Self::parse), for a name with one part.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and for a name with a separator.
    pub fn parse_part(text: impl Into<String>) -> Result<Self, NotBelow> {
        let name = Self::parse(text)?;
        match name.0.contains(['/', '\\']) {
            true => Err(NotBelow { text: name.0, why: "it has more than one part" }),
            false => Ok(name),
        }
    }

    /// The name of something in the directory of this name.
    #[must_use]
    pub fn join(&self, name: &RelativeName) -> RelativeName {
        RelativeName(format!("{}/{}", self.0, name.0))
    }

    /// The parts, from the outside in; at least one.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// The name of the directory it is in (`None`: the one it is relative to), and the last part.
    pub fn split(&self) -> (Option<RelativeName>, &str) {
        match self.0.rsplit_once('/') {
            Some((above, last)) => (Some(RelativeName(above.to_owned())), last),
            None => (None, &self.0),
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn flaw(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("it is empty");
    }
    if text.contains('\0') {
        return Some("it has a NUL");
    }
    if text.starts_with(['/', '\\']) {
        return Some("it is absolute");
    }
    text.split(['/', '\\']).find_map(|part| match part {
        "" => Some("a part of it is empty"),
        "." | ".." => Some("it leads elsewhere"),
        _ => None,
    })
}

impl fmt::Display for RelativeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for NotBelow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not a name below a directory: {}", self.text.escape_debug(), self.why)
    }
}

impl std::error::Error for NotBelow {}
