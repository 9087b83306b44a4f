//! From entries as they were written to entries as the job declares them now: what a changed query means for what is stored.
//!
//! Who declares a state also knows which changes of it keep their meaning. Where [`StateDescriptor::check_restored`] finds a
//! difference, the owner is asked for a [`Migration`]: what changes, in words, and a conversion of every entry. It is made from
//! the two declarations alone, so that it can be told before anything is read. A runtime then fills an empty state with
//! converted entries, once; the next checkpoint needs no migration.

use crate::backend::Entry;
use crate::descriptor::StateDescriptor;
use crate::error::{Context, Error, Result};
use crate::row::{RowCodec, RowConversion, RowEvolution, RowFormat, RowSchema};
use crate::ttl::STAMP_LEN;
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

impl Migration {
    /// The migration of a state whose values are rows, in any of the three formats; `evolution` says what a changed field means.
    ///
    /// # Errors
    /// [`Incompatible`](crate::ErrorKind::Incompatible), naming what cannot be, when something else than the values differs, or
    /// a field changes as it must not.
    pub fn of_rows(
        restored: &StateDescriptor,
        declared: &StateDescriptor,
        evolution: &RowEvolution,
    ) -> Result<Migration> {
        declared.check_restored_key(restored)?;
        let located = |error: Error| error.with(Context::State, &declared.name);
        let codec = |descriptor: &StateDescriptor| {
            let format: RowFormat = descriptor.codec.name.parse()?;
            let schema: RowSchema = descriptor.value_schema.parse()?;
            let codec = RowCodec::new(format, schema);
            match descriptor.codec.version <= codec.codec_id().version {
                true => Ok(codec),
                false => Err(crate::codec::unknown_version(
                    format.name(),
                    descriptor.codec.version,
                    codec.codec_id().version,
                )),
            }
        };
        let (from, to) = (codec(restored).map_err(located)?, codec(declared).map_err(located)?);
        let (conversion, mut changes) = evolution.conversion(from.schema(), to.schema()).map_err(located)?;
        if from.format() != to.format() {
            changes.push(format!("values become {} instead of {}", to.format(), from.format()));
        }
        let stamp_len = if declared.ttl.is_some() { STAMP_LEN } else { 0 };
        let conversion = RowEntries { from, to, conversion, stamp_len, state: declared.name.clone() };
        Ok(Migration { changes, conversion: Arc::new(conversion) })
    }
}

/// Entries whose values are rows; keys stay.
#[derive(Debug)]
struct RowEntries {
    from: RowCodec,
    to: RowCodec,
    conversion: RowConversion,
    /// The bytes of the timestamp before each value.
    stamp_len: usize,
    state: String,
}

impl EntryConversion for RowEntries {
    fn convert(&self, entry: Entry<'_>, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<()> {
        let located = |error: Error| error.with(Context::State, &self.state);
        let Some((stamp, stored)) = entry.value.split_at_checked(self.stamp_len) else {
            return Err(located(Error::corrupt("a value with a time to live has no timestamp")));
        };
        let mut row = Vec::with_capacity(self.from.schema().len());
        self.from.decode(stored, &mut row).map_err(located)?;
        key.extend_from_slice(entry.key);
        value.extend_from_slice(stamp);
        self.to.encode(&self.conversion.apply(row)?, value).map_err(located)
    }
}
