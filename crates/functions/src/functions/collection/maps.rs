//! Maps made and taken apart.

use super::elements::list;
use crate::bind::{Bind, Bound};
use crate::bound::{Kernel, internal};
use crate::common_type::{array_type, common_type, map_type};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, Field, Fields};
use headpond_state::Error;
use std::collections::HashMap;
use std::sync::Arc;

/// The types of a map's keys and values.
pub(super) fn key_and_value(data_type: &DataType) -> Option<(DataType, DataType)> {
    let DataType::Map(entries, _) = data_type else { return None };
    let DataType::Struct(fields) = entries.data_type() else { return None };
    match &fields[..] {
        [key, value] => Some((key.data_type().clone(), value.data_type().clone())),
        _ => None,
    }
}

/// Maps of keys and values; `choose` gives a row's entries, as places in both, of which the last of equal keys counts.
fn built(
    data_type: &DataType,
    rows: usize,
    keys: &ArrayRef,
    values: &ArrayRef,
    mut choose: impl FnMut(usize) -> Result<Option<Vec<(usize, usize)>>, Error>,
) -> Result<ArrayRef, Error> {
    let DataType::Map(field, sorted) = data_type else { return Err(Error::internal("a map has no map's type")) };
    let DataType::Struct(fields) = field.data_type() else { return Err(Error::internal("a map has no entries")) };
    let converter = RowConverter::new(vec![SortField::new(keys.data_type().clone())]).map_err(internal)?;
    let key_rows = converter.convert_columns(&[Arc::clone(keys)]).map_err(internal)?;
    let (mut key_places, mut value_places): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
    let (mut lengths, mut valid) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    for row in 0..rows {
        let chosen = choose(row)?;
        valid.push(chosen.is_some());
        let mut of_key: HashMap<_, usize> = HashMap::new();
        let before = key_places.len();
        for (key, value) in chosen.into_iter().flatten() {
            if keys.is_null(key) {
                return Err(
                    Error::invalid("MAP: a key is NULL").hint("leave such entries out, or give the key a value")
                );
            }
            match of_key.get(&key_rows.row(key)) {
                Some(place) => value_places[*place] = value as u64,
                None => {
                    of_key.insert(key_rows.row(key), key_places.len());
                    key_places.push(key as u64);
                    value_places.push(value as u64);
                }
            }
        }
        lengths.push(key_places.len() - before);
    }
    let take = |array: &ArrayRef, places: Vec<u64>| {
        arrow_select::take::take(array, &arrow_array::UInt64Array::from(places), None).map_err(internal)
    };
    let columns = vec![take(keys, key_places)?, take(values, value_places)?];
    let entries = StructArray::try_new(fields.clone(), columns, None).map_err(internal)?;
    let nulls = Some(NullBuffer::from(valid));
    let map = MapArray::try_new(Arc::clone(field), OffsetBuffer::from_lengths(lengths), entries, nulls, *sorted);
    Ok(Arc::new(map.map_err(internal)?))
}

pub(super) fn map(call: &Bind<'_>) -> Result<Bound, Error> {
    if call.types.is_empty() || !call.types.len().is_multiple_of(2) {
        return Err(call.wrong());
    }
    let (keys, values) = (call.types.iter().step_by(2), call.types.iter().skip(1).step_by(2));
    let key = common_type(keys).ok_or_else(|| call.wrong())?;
    let value = common_type(values).ok_or_else(|| call.wrong())?;
    let value = if value.is_null() { DataType::Int32 } else { value };
    if key.is_null() {
        return Err(call.wrong());
    }
    let result = map_type(key.clone(), value.clone());
    let (data_type, pairs) = (result.clone(), call.types.len() / 2);
    let kernel: Kernel = Arc::new(move |arguments| {
        let of = |first: usize| -> Result<ArrayRef, Error> {
            let columns = (0..pairs).map(|pair| arguments.column(2 * pair + first)).collect::<Result<Vec<_>, _>>()?;
            let columns: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
            arrow_select::concat::concat(&columns).map_err(internal)
        };
        let rows = arguments.rows;
        built(&data_type, rows, &of(0)?, &of(1)?, |row| {
            Ok(Some((0..pairs).map(|pair| (pair * rows + row, pair * rows + row)).collect()))
        })
    });
    let arguments = (0..call.types.len()).map(|index| if index % 2 == 0 { key.clone() } else { value.clone() });
    Ok(call.bound(arguments.collect(), result, kernel))
}

pub(super) fn parts(call: &Bind<'_>, part: usize) -> Result<Bound, Error> {
    let [of] = call.types else { return Err(call.wrong()) };
    let (key, value) = key_and_value(of).ok_or_else(|| call.wrong())?;
    let item = if part == 0 { key } else { value };
    let data_type = item.clone();
    let kernel: Kernel = Arc::new(move |arguments| {
        let column = arguments.column(0)?;
        let maps: &MapArray = column.as_map();
        let field = Arc::new(Field::new("item", data_type.clone(), true));
        let values = Arc::clone(maps.entries().column(part));
        let lists = ListArray::try_new(field, maps.offsets().clone(), values, maps.nulls().cloned());
        Ok(Arc::new(lists.map_err(internal)?))
    });
    Ok(call.bound(vec![of.clone()], array_type(item), kernel))
}

pub(super) fn entries(call: &Bind<'_>) -> Result<Bound, Error> {
    let [of] = call.types else { return Err(call.wrong()) };
    let (key, value) = key_and_value(of).ok_or_else(|| call.wrong())?;
    let fields = Fields::from(vec![Field::new("key", key, true), Field::new("value", value, true)]);
    let item = DataType::Struct(fields.clone());
    let kernel: Kernel = Arc::new(move |arguments| {
        let column = arguments.column(0)?;
        let maps: &MapArray = column.as_map();
        let rows = StructArray::try_new(fields.clone(), maps.entries().columns().to_vec(), None).map_err(internal)?;
        let field = Arc::new(Field::new("item", DataType::Struct(fields.clone()), true));
        let lists = ListArray::try_new(field, maps.offsets().clone(), Arc::new(rows), maps.nulls().cloned());
        Ok(Arc::new(lists.map_err(internal)?))
    });
    Ok(call.bound(vec![of.clone()], array_type(item), kernel))
}

pub(super) fn from_arrays(call: &Bind<'_>) -> Result<Bound, Error> {
    let [DataType::List(key), DataType::List(value)] = call.types else { return Err(call.wrong()) };
    let result = map_type(key.data_type().clone(), value.data_type().clone());
    let data_type = result.clone();
    let kernel: Kernel = Arc::new(move |arguments| {
        let (keys, values) = (list(arguments, 0)?, list(arguments, 1)?);
        built(&data_type, arguments.rows, keys.values(), values.values(), |row| {
            if keys.is_null(row) || values.is_null(row) {
                return Ok(None);
            }
            if keys.value_length(row) != values.value_length(row) {
                return Err(Error::invalid(format!(
                    "MAP_FROM_ARRAYS: there are {} keys and {} values",
                    keys.value_length(row),
                    values.value_length(row)
                )));
            }
            let (first_key, first_value) = (keys.value_offsets()[row] as usize, values.value_offsets()[row] as usize);
            let length = keys.value_length(row) as usize;
            Ok(Some((0..length).map(|index| (first_key + index, first_value + index)).collect()))
        })
    });
    Ok(call.bound(call.types.to_vec(), result, kernel))
}

pub(super) fn union(call: &Bind<'_>) -> Result<Bound, Error> {
    let common = common_type(call.types).ok_or_else(|| call.wrong())?;
    if key_and_value(&common).is_none() {
        return Err(call.wrong());
    }
    let (data_type, count) = (common.clone(), call.types.len());
    let kernel: Kernel = Arc::new(move |arguments| {
        let maps = (0..count)
            .map(|index| Ok(arguments.column(index)?.as_map().clone()))
            .collect::<Result<Vec<MapArray>, Error>>()?;
        let all = |part: usize| {
            let columns: Vec<&dyn Array> = maps.iter().map(|map| map.entries().column(part).as_ref()).collect();
            arrow_select::concat::concat(&columns).map_err(internal)
        };
        let mut bases = Vec::with_capacity(count);
        let mut base = 0;
        for map in &maps {
            bases.push(base);
            base += map.entries().len();
        }
        built(&data_type, arguments.rows, &all(0)?, &all(1)?, |row| {
            let mut places = Vec::new();
            for (map, base) in maps.iter().zip(&bases) {
                if map.is_null(row) {
                    return Ok(None);
                }
                let offsets = map.value_offsets();
                places.extend(
                    (offsets[row] as usize..offsets[row + 1] as usize).map(|index| (base + index, base + index)),
                );
            }
            Ok(Some(places))
        })
    });
    Ok(call.bound(vec![common.clone(); count], common, kernel))
}
