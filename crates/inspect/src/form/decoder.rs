//! Entries to rows.

use super::entry_key::EntryKeyParts;
use super::{ColumnSource, Form};
use headpond_state::schema::Datum;
use headpond_state::ttl;
use headpond_state::{Entry, Error, Result};

/// Reads entries of one form, and of them only what is wanted.
#[derive(Debug)]
pub(crate) struct Decoder<'f> {
    form: &'f Form,
    /// Where the wanted columns are; `None`: NULL.
    wanted: Vec<Option<ColumnSource>>,
    needs_key: bool,
    needs_value: bool,
    parts: EntryKeyParts,
}

/// Rows being collected, column by column.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) columns: Vec<Vec<Datum>>,
    pub(crate) count: usize,
    /// Bytes of the entries they came from.
    pub(crate) bytes: usize,
}

impl Rows {
    /// No rows of so many columns.
    pub(crate) fn new(columns: usize) -> Self {
        Rows { columns: vec![Vec::new(); columns], count: 0, bytes: 0 }
    }

    /// Removes all rows.
    pub(crate) fn clear(&mut self) {
        self.columns.iter_mut().for_each(Vec::clear);
        self.count = 0;
        self.bytes = 0;
    }
}

impl<'f> Decoder<'f> {
    /// A decoder of the columns of these names, in this order; those that the form lacks are NULL.
    pub(crate) fn new(form: &'f Form, wanted: &[&str]) -> Self {
        let source = |name: &&str| form.columns.iter().find(|column| column.name == **name).map(|column| column.source);
        let wanted: Vec<Option<ColumnSource>> = wanted.iter().map(source).collect();
        // The values of some forms say how many rows there are.
        let is_of_value = |source: &ColumnSource| match source {
            ColumnSource::Value(_) => true,
            ColumnSource::Namespace(_) => !form.value.is_one_row(),
            _ => false,
        };
        let is_of_key = |source: &ColumnSource| match source {
            ColumnSource::Key(_) | ColumnSource::Time | ColumnSource::UserKey(_) => true,
            ColumnSource::Namespace(_) => form.value.is_one_row(),
            _ => false,
        };
        Decoder {
            needs_key: wanted.iter().flatten().any(is_of_key),
            needs_value: !form.value.is_one_row() || wanted.iter().flatten().any(is_of_value),
            form,
            wanted,
            parts: EntryKeyParts::default(),
        }
    }

    /// Appends the rows of an entry.
    ///
    /// # Errors
    /// [`Corrupt`](headpond_state::ErrorKind::Corrupt) when the entry is not of the form,
    /// [`Incompatible`](headpond_state::ErrorKind::Incompatible) when a newer release wrote it.
    pub(crate) fn decode(&mut self, entry: Entry<'_>, rows: &mut Rows) -> Result<()> {
        let Decoder { form, wanted, needs_key, needs_value, parts } = self;
        let prefix = form.max_parallelism.prefix_len();
        let key = entry.key.get(prefix..).ok_or_else(|| Error::corrupt("an entry's key has no key group"))?;
        if *needs_key {
            form.key.read(key, parts)?;
        }
        let (stamp_ms, value) = match &form.ttl {
            None => (None, entry.value),
            Some(config) => {
                let stored = ttl::open(entry.value)?;
                (Some(stored.stamp_ms.saturating_add(config.ttl_ms)), stored.value)
            }
        };
        rows.bytes += entry.key.len() + entry.value.len();
        let mut give = |namespace: Option<&[Datum]>, values: &[Datum]| {
            let namespace = namespace.unwrap_or(&parts.namespace);
            for (source, column) in wanted.iter().zip(&mut rows.columns) {
                let datum = match source {
                    None => None,
                    Some(ColumnSource::Key(index)) => parts.key.get(*index).cloned(),
                    Some(ColumnSource::Time) => Some(parts.time.clone()),
                    Some(ColumnSource::Namespace(index)) => namespace.get(*index).cloned(),
                    Some(ColumnSource::UserKey(index)) => parts.user_key.get(*index).cloned(),
                    Some(ColumnSource::Value(index)) => values.get(*index).cloned(),
                    Some(ColumnSource::ExpiresAt) => stamp_ms.map(Datum::Int64),
                };
                column.push(datum.unwrap_or_default());
            }
            rows.count += 1;
            Ok(())
        };
        match *needs_value {
            true => form.value.read(value, &mut give),
            false => give(None, &[]),
        }
    }
}
