//! Keys as columns: the form in which the exchange wants them.

use arrow_array::ArrayRef;
use arrow_schema::Field;
use headpond_rows::arrow::{column_of, data_type};
use headpond_state::Result;
use headpond_state::encoding::{KeyComponent, KeyReader, KeySchema};
use headpond_state::schema::{Datum, FieldType};

/// Keys being collected, a column per component.
#[derive(Debug)]
pub(super) struct KeyColumns {
    types: Vec<FieldType>,
    values: Vec<Vec<Datum>>,
    key: Vec<u8>,
}

impl KeyColumns {
    /// Columns for keys of type `K`.
    pub(super) fn of<K: KeyComponent>() -> Self {
        let types = KeySchema::of::<K>().types().to_vec();
        KeyColumns { values: vec![Vec::new(); types.len()], types, key: Vec::new() }
    }

    /// The columns' fields.
    pub(super) fn fields(&self) -> impl Iterator<Item = Field> {
        self.types.iter().enumerate().map(|(index, ty)| field(&format!("key.{index}"), ty))
    }

    /// Adds a key, of the type the columns were made for.
    pub(super) fn push<K: KeyComponent>(&mut self, key: &K) -> Result<()> {
        self.key.clear();
        key.encode(&mut self.key);
        let mut reader = KeyReader::new(&self.key);
        for (ty, values) in self.types.iter().zip(&mut self.values) {
            values.push(reader.datum(ty)?);
        }
        Ok(())
    }

    /// The columns of the keys added since the last call.
    pub(super) fn finish(&mut self) -> Result<Vec<ArrayRef>> {
        let columns = self.types.iter().zip(&mut self.values).map(|(ty, values)| {
            let column = column_of(&data_type(&ty.kind), values);
            values.clear();
            column
        });
        columns.collect()
    }
}

fn field(name: &str, ty: &FieldType) -> Field {
    Field::new(name, data_type(&ty.kind), ty.nullable)
}
