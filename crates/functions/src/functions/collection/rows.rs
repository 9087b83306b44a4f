//! Rows made, and what is taken out of rows, arrays and maps.

use super::maps::key_and_value;
use crate::bind::{Bind, Bound};
use crate::bound::{Kernel, internal};
use crate::common_type::{common_type, is_integer};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray, UInt64Array};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, Field, Fields};
use headpond_state::Error;
use headpond_state::names::{listed, nearest};
use std::sync::Arc;

pub(super) fn row(call: &Bind<'_>) -> Result<Bound, Error> {
    if call.types.is_empty() {
        return Err(call.wrong());
    }
    let arguments: Vec<DataType> = call
        .types
        .iter()
        .map(|data_type| if data_type.is_null() { DataType::Int32 } else { data_type.clone() })
        .collect();
    let fields = arguments.iter().enumerate().map(|(index, of)| Field::new(format!("EXPR${index}"), of.clone(), true));
    let fields: Fields = fields.collect();
    let result = DataType::Struct(fields.clone());
    let kernel: Kernel = Arc::new(move |arguments| {
        let columns = (0..fields.len()).map(|index| arguments.column(index)).collect::<Result<Vec<_>, _>>()?;
        let rows = StructArray::try_new_with_length(fields.clone(), columns, None, arguments.rows);
        Ok(Arc::new(rows.map_err(internal)?))
    });
    Ok(call.bound(arguments, result, kernel))
}

pub(super) fn item(call: &Bind<'_>) -> Result<Bound, Error> {
    let [of, key] = call.types else { return Err(call.wrong()) };
    match of {
        DataType::List(element) if is_integer(key) || key.is_null() => element_at(call, element.data_type().clone()),
        DataType::Map(_, _) => value_of(call),
        DataType::Struct(fields) => field_of(call, fields),
        _ => Err(call.wrong()),
    }
}

fn element_at(call: &Bind<'_>, element: DataType) -> Result<Bound, Error> {
    if let Some(index) = call.literal_whole(1).filter(|index| *index < 1) {
        return Err(Error::unsupported(format!("the index {index} of an array is not supported"))
            .hint("elements are counted from 1"));
    }
    let kernel: Kernel = Arc::new(|arguments| {
        let column = arguments.column(0)?;
        let lists: &ListArray = column.as_list();
        let indexes = arguments.longs(1)?;
        let place = |row: usize| {
            let index = indexes.get(row).filter(|_| lists.is_valid(row))?;
            let within = (1..=i64::from(lists.value_length(row))).contains(&index);
            within.then(|| (i64::from(lists.value_offsets()[row]) + index - 1) as u64)
        };
        let places: UInt64Array = (0..arguments.rows).map(place).collect();
        arrow_select::take::take(lists.values(), &places, None).map_err(internal)
    });
    Ok(call.bound(vec![call.types[0].clone(), DataType::Int64], element, kernel))
}

fn value_of(call: &Bind<'_>) -> Result<Bound, Error> {
    let (key, value) = key_and_value(&call.types[0]).ok_or_else(|| call.wrong())?;
    let wanted = common_type([&key, &call.types[1]]).filter(|common| *common == key).ok_or_else(|| call.wrong())?;
    let kernel: Kernel = Arc::new(|arguments| {
        let column = arguments.column(0)?;
        let maps: &MapArray = column.as_map();
        let wanted = arguments.column(1)?;
        let converter = RowConverter::new(vec![SortField::new(wanted.data_type().clone())]).map_err(internal)?;
        let keys = converter.convert_columns(&[Arc::clone(maps.keys())]).map_err(internal)?;
        let sought = converter.convert_columns(&[Arc::clone(&wanted)]).map_err(internal)?;
        let place = |row: usize| {
            if maps.is_null(row) || wanted.is_null(row) {
                return None;
            }
            let offsets = maps.value_offsets();
            let mut places = offsets[row] as usize..offsets[row + 1] as usize;
            places.find(|index| keys.row(*index) == sought.row(row)).map(|index| index as u64)
        };
        let places: UInt64Array = (0..arguments.rows).map(place).collect();
        arrow_select::take::take(maps.values(), &places, None).map_err(internal)
    });
    Ok(call.bound(vec![call.types[0].clone(), wanted], value, kernel))
}

fn field_of(call: &Bind<'_>, fields: &Fields) -> Result<Bound, Error> {
    let found = match (call.literal_text(1), call.literal_whole(1)) {
        (Some(name), _) => {
            let found = fields.iter().position(|field| field.name() == name);
            Some(found.ok_or_else(|| {
                let names = || fields.iter().map(|field| field.name().as_str());
                let error = Error::invalid(format!("the row has no field `{name}`"));
                match nearest(name, names()) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error.hint(format!("its fields are {}", listed(names()))),
                }
            })?)
        }
        (None, Some(number)) => usize::try_from(number - 1).ok().filter(|index| *index < fields.len()),
        _ => None,
    };
    let index = found.ok_or_else(|| call.wrong())?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let column = arguments.column(0)?;
        let rows: &StructArray = column.as_struct();
        let field: &ArrayRef = rows.column(index);
        let Some(nulls) = rows.nulls() else { return Ok(Arc::clone(field)) };
        let places: UInt64Array = (0..arguments.rows).map(|row| nulls.is_valid(row).then_some(row as u64)).collect();
        arrow_select::take::take(field, &places, None).map_err(internal)
    });
    let result = fields[index].data_type().clone();
    Ok(call.bound(call.types.to_vec(), result, kernel))
}
