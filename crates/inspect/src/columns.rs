//! Values of state as columns of a table. Every column may be NULL: values written under an older schema lack the newer
//! fields.

use arrow_array::ArrayRef;
use arrow_schema::Field;
use headpond_rows::arrow::{column_of, data_type};
use headpond_state::schema::{DataKind, Datum, Field as RowField, FieldType};
use headpond_state::{Error, ErrorKind, Result};

/// A column's field.
pub(crate) fn field(name: &str, kind: &DataKind) -> Field {
    Field::new(name, data_type(&nullable(kind)), true)
}

/// A column of values of `kind`.
///
/// # Errors
/// [`Corrupt`](headpond_state::ErrorKind::Corrupt) when a value is not of the type.
pub(crate) fn array(kind: &DataKind, values: &[Datum]) -> Result<ArrayRef> {
    column_of(&data_type(&nullable(kind)), values).map_err(|error| match error.kind() {
        // What is stored is not what the checkpoint declares.
        ErrorKind::Internal => Error::corrupt(format!("a column of type {kind} has another value")).because(error),
        _ => error,
    })
}

/// The type with all parts nullable.
fn nullable(kind: &DataKind) -> DataKind {
    let part = |ty: &FieldType| FieldType { kind: nullable(&ty.kind), nullable: true };
    match kind {
        DataKind::List(element) => DataKind::List(Box::new(part(element))),
        DataKind::Struct(fields) => {
            DataKind::Struct(fields.iter().map(|field| RowField::new(&field.name, part(&field.ty))).collect())
        }
        other => other.clone(),
    }
}
