//! From entries as they were written to entries as the job declares them now: what a changed query means for what is
//! stored.
//!
//! Who declares a state also knows which changes of it keep their meaning. Where
//! [`StateDescriptor::check_restored`](crate::StateDescriptor::check_restored) finds a difference, the owner is asked
//! for a [`Migration`]: what changes, in words, and a conversion of every entry. It is made from the two declarations
//! alone, so that it can be told before anything is read. A runtime then fills an empty state with converted entries,
//! once; the next checkpoint needs no migration.

use crate::backend::Entry;
use crate::error::Result;
use std::fmt::Debug;
use std::sync::Arc;

/// How the entries of a restored state become those of its declaration.
#[derive(Debug, Clone)]
pub struct Migration {
    /// What changes, each in a few words for people.
    pub changes: Vec<String>,
    /// What is done with every entry.
    pub conversion: Arc<dyn EntryConversion>,
}

/// Converts entries.
pub trait EntryConversion: Debug + Send + Sync {
    /// Appends the entry's new key, with its key group, and its new value. Different entries must keep different keys.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) for bytes that are not what the restored declaration says.
    fn convert(&self, entry: Entry<'_>, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<()>;
}
