//! Casts of arrays, maps and rows to others: value by value.

use super::mode::{Converter, Mode};
use super::target::Target;
use crate::bound::internal;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray};
use arrow_schema::DataType;
use std::sync::Arc;

/// What finds the cast of values.
type OfType = fn(&DataType, &Target, &Mode) -> Option<Converter>;

/// What converts a collection to another of its kind, whose values `of_type` converts.
pub(super) fn converter(from: &DataType, to: &DataType, mode: &Mode, of_type: OfType) -> Option<Converter> {
    match (from, to) {
        (DataType::List(from), DataType::List(to)) => {
            let convert = of_type(from.data_type(), &Target::of_type(to.data_type()), mode)?;
            let field = Arc::clone(to);
            Some(Arc::new(move |column| {
                let lists: &ListArray = column.as_list();
                let values = convert(lists.values())?;
                let list =
                    ListArray::try_new(Arc::clone(&field), lists.offsets().clone(), values, lists.nulls().cloned());
                Ok(Arc::new(list.map_err(internal)?))
            }))
        }
        (DataType::Struct(from), DataType::Struct(to)) if from.len() == to.len() => {
            let converters: Vec<Converter> = from
                .iter()
                .zip(to)
                .map(|(from, to)| of_type(from.data_type(), &Target::of_type(to.data_type()), mode))
                .collect::<Option<_>>()?;
            let fields = to.clone();
            Some(Arc::new(move |column| {
                let rows: &StructArray = column.as_struct();
                let columns = rows.columns().iter().zip(&converters).map(|(column, convert)| convert(column));
                let columns = columns.collect::<Result<Vec<ArrayRef>, _>>()?;
                let rows = StructArray::try_new_with_length(fields.clone(), columns, rows.nulls().cloned(), rows.len());
                Ok(Arc::new(rows.map_err(internal)?))
            }))
        }
        (DataType::Map(from, _), DataType::Map(to, sorted)) => {
            let convert = converter(from.data_type(), to.data_type(), mode, of_type)?;
            let (field, sorted) = (Arc::clone(to), *sorted);
            Some(Arc::new(move |column| {
                let maps: &MapArray = column.as_map();
                let entries: ArrayRef = Arc::new(maps.entries().clone());
                let entries = convert(&entries)?.as_struct().clone();
                let map = MapArray::try_new(
                    Arc::clone(&field),
                    maps.offsets().clone(),
                    entries,
                    maps.nulls().cloned(),
                    sorted,
                );
                Ok(Arc::new(map.map_err(internal)?))
            }))
        }
        _ => None,
    }
}
