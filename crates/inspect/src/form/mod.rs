//! How the entries of a state become rows.
//!
//! An entry is bytes: `key group | time? | key | namespace? | user key` and a value, behind a stamp where the state
//! expires. A [`Form`] is what a state's descriptor tells of them: which columns there are, and where each one's value
//! is found. Most entries are one row; an entry that holds several things of the same kind (all open sessions of a key,
//! all current lines of one) is a row for each.
//!
//! In reading order: [`entry_key`] (what is before the value), [`value`] (what is in it), [`shown_row`] (fields that
//! are shown as one), [`decoder`] (an entry with all of it).

mod decoder;
mod entry_key;
mod sessions;
mod shown_row;
mod value;

pub(crate) use decoder::{Decoder, Rows};

use entry_key::EntryKeyForm;
use headpond_state::schema::{DataKind, FieldType};
use headpond_state::ttl::TtlConfig;
use headpond_state::{MaxParallelism, Result, StateDescriptor};
use value::ValueForm;

/// The column that says when an entry expires.
const EXPIRES_AT: &str = "expires_at";

/// A column of a state's table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FormColumn {
    pub(crate) name: String,
    pub(crate) ty: FieldType,
    source: ColumnSource,
}

/// Where a column's value is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnSource {
    /// The component of this number of the key.
    Key(usize),
    /// The time before the key.
    Time,
    /// The part of this number of the namespace.
    Namespace(usize),
    /// The component of this number of the user key.
    UserKey(usize),
    /// What the value gives under this number.
    Value(usize),
    /// The stamp and the time to live.
    ExpiresAt,
}

/// How a state's entries are read.
#[derive(Debug)]
pub(crate) struct Form {
    columns: Vec<FormColumn>,
    key: EntryKeyForm,
    value: ValueForm,
    ttl: Option<TtlConfig>,
    max_parallelism: MaxParallelism,
}

impl Form {
    /// The form of the entries of `state`, one of the states `operator` of an operator.
    ///
    /// # Errors
    /// As schemas that are no schemas.
    pub(crate) fn new(
        state: &StateDescriptor,
        operator: &[StateDescriptor],
        max_parallelism: MaxParallelism,
    ) -> Result<Self> {
        let value = ValueForm::new(state)?;
        // Where an entry is several rows, each has the window that the value tells.
        let of_rows = value.namespace(state);
        let key = EntryKeyForm::new(state, operator, of_rows.is_none())?;
        let mut columns = Columns::default();
        if let Some(name) = key.time_name(state) {
            columns.add(name, DataKind::Timestamp.nullable(), ColumnSource::Time);
        }
        for (index, (name, ty)) in key.key.columns().enumerate() {
            columns.add(name, ty, ColumnSource::Key(index));
        }
        let namespace = of_rows.unwrap_or_else(|| key.namespace.clone());
        // The beginning of a window comes first, whatever the order of its bytes.
        let mut parts: Vec<usize> = (0..namespace.len()).collect();
        parts.sort_by_key(|part| namespace.fields()[*part].name.ends_with("end"));
        for part in parts {
            let field = &namespace.fields()[part];
            columns.add(&field.name, field.ty.clone(), ColumnSource::Namespace(part));
        }
        for (index, (name, ty)) in key.user_key.columns().enumerate() {
            columns.add(&name, ty, ColumnSource::UserKey(index));
        }
        for (index, (name, ty)) in value.columns().into_iter().enumerate() {
            columns.add(&name, ty, ColumnSource::Value(index));
        }
        columns.add(EXPIRES_AT, DataKind::Timestamp.nullable(), ColumnSource::ExpiresAt);
        Ok(Form { columns: columns.0, key, value, ttl: state.ttl, max_parallelism })
    }

    /// The columns.
    pub(crate) fn columns(&self) -> &[FormColumn] {
        &self.columns
    }
}

/// Columns with names of their own.
#[derive(Debug, Default)]
struct Columns(Vec<FormColumn>);

impl Columns {
    /// Adds a column, unless it has no name.
    fn add(&mut self, name: &str, ty: FieldType, source: ColumnSource) {
        if name.is_empty() {
            return;
        }
        let taken = |name: &str| self.0.iter().any(|column| column.name == name);
        let mut own = name.to_owned();
        let mut number = 1;
        while taken(&own) {
            own = format!("{name}_{number}");
            number += 1;
        }
        self.0.push(FormColumn { name: own, ty, source });
    }
}
