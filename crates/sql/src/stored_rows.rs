//! One row of each key as state, in the configured format, with its time stamp where a TTL is set.

use headpond_rows::RowCodec;
use headpond_state::backend::KeyBatch;
use headpond_state::schema::Datum;
use headpond_state::ttl::{self, TtlConfig};
use headpond_state::{Context, KeyedStateBackend, Result, StateId, WriteBatch};

/// The state.
#[derive(Debug)]
pub(crate) struct StoredRows {
    /// What it is called.
    pub(crate) name: &'static str,
    pub(crate) state: StateId,
    pub(crate) codec: RowCodec,
    pub(crate) ttl: Option<TtlConfig>,
}

impl StoredRows {
    /// The rows of these keys; `None` where there is none, or it has expired.
    pub(crate) fn load(
        &self,
        keys: &KeyBatch,
        state: &mut dyn KeyedStateBackend,
        now_ms: i64,
    ) -> Result<Vec<Option<Vec<Datum>>>> {
        let mut rows = Vec::with_capacity(keys.len());
        let read = state.read_many(self.state, keys, &mut |_, stored| {
            let value = match stored {
                None => None,
                Some(stored) => ttl::visible(self.ttl.as_ref(), stored, now_ms)?,
            };
            let row = match value {
                None => None,
                Some(value) => {
                    let mut row = Vec::new();
                    self.codec.decode(value, &mut row)?;
                    Some(row)
                }
            };
            rows.push(row);
            Ok(())
        });
        read.map_err(|error| error.with(Context::State, self.name))?;
        Ok(rows)
    }

    /// Adds the row of a key to the writes.
    pub(crate) fn put(&self, key: &[u8], row: &[Datum], now_ms: i64, writes: &mut WriteBatch) -> Result<()> {
        let stamp_ms = self.ttl.map(|ttl| ttl.stamp_ms(now_ms, None));
        let mut written = Ok(());
        writes.put_with(self.state, key, |out| {
            ttl::seal(stamp_ms, out);
            written = self.codec.encode(row, out);
        });
        written.map_err(|error| error.with(Context::State, self.name))
    }
}
