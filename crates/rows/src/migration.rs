//! What becomes of stored rows when the query that declares them changes.

use crate::{RowCodec, RowConversion, RowEvolution, RowFormat};
use headpond_state::schema::RowSchema;
use headpond_state::ttl;
use headpond_state::{Context, Entry, EntryConversion, Error, Migration, Result, StateDescriptor};
use std::sync::Arc;

impl RowEvolution {
    /// The migration of a state whose values are rows, in any of the three formats.
    ///
    /// # Errors
    /// [`Incompatible`](headpond_state::ErrorKind::Incompatible), naming what cannot be, when something else than the
    /// values differs, or a field changes as it must not.
    pub fn migration(&self, restored: &StateDescriptor, declared: &StateDescriptor) -> Result<Migration> {
        declared.check_restored_key(restored)?;
        let located = |error: Error| error.with(Context::State, &declared.name);
        let codec = |descriptor: &StateDescriptor| {
            let format: RowFormat = descriptor.codec.name.parse()?;
            let schema: RowSchema = descriptor.value_schema.parse()?;
            let codec = RowCodec::new(format, schema);
            match descriptor.codec.version <= codec.codec_id().version {
                true => Ok(codec),
                false => Err(headpond_state::codec::unknown_version(
                    format.name(),
                    descriptor.codec.version,
                    codec.codec_id().version,
                )),
            }
        };
        let (from, to) = (codec(restored).map_err(located)?, codec(declared).map_err(located)?);
        let (conversion, mut changes) = self.conversion(from.schema(), to.schema()).map_err(located)?;
        if from.format() != to.format() {
            changes.push(format!("values become {} instead of {}", to.format(), from.format()));
        }
        let stamped = declared.ttl.is_some();
        let conversion = RowEntries { from, to, conversion, stamped, state: declared.name.clone() };
        Ok(Migration { changes, conversion: Arc::new(conversion) })
    }
}

/// Entries whose values are rows; keys stay.
#[derive(Debug)]
struct RowEntries {
    from: RowCodec,
    to: RowCodec,
    conversion: RowConversion,
    /// Whether there is a timestamp before each value.
    stamped: bool,
    state: String,
}

impl EntryConversion for RowEntries {
    fn convert(&self, entry: Entry<'_>, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<()> {
        let located = |error: Error| error.with(Context::State, &self.state);
        let (stamp_ms, stored) = match self.stamped {
            true => ttl::open(entry.value).map(|opened| (Some(opened.stamp_ms), opened.value)).map_err(located)?,
            false => (None, entry.value),
        };
        let mut row = Vec::with_capacity(self.from.schema().len());
        self.from.decode(stored, &mut row).map_err(located)?;
        key.extend_from_slice(entry.key);
        ttl::seal(stamp_ms, value);
        self.to.encode(&self.conversion.apply(row)?, value).map_err(located)
    }
}
