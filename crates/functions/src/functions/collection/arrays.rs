//! Arrays made, counted and joined.

use crate::bind::{Bind, Bound};
use crate::bound::{Kernel, internal};
use crate::columns::{build_ints, build_texts};
use crate::common_type::{array_type, common_type, is_text};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ListArray, MapArray, new_null_array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use headpond_state::Error;
use std::sync::Arc;

/// The array type of an argument; `Some(None)` for NULL.
pub(super) fn item_of(data_type: &DataType) -> Option<Option<&DataType>> {
    match data_type {
        DataType::List(item) => Some(Some(item.data_type())),
        DataType::Null => Some(None),
        _ => None,
    }
}

pub(super) fn array(call: &Bind<'_>) -> Result<Bound, Error> {
    let item = common_type(call.types).ok_or_else(|| call.wrong())?;
    let item = if item.is_null() { DataType::Int32 } else { item };
    let result = array_type(item.clone());
    let data_type = item.clone();
    let width = call.types.len();
    let kernel: Kernel = Arc::new(move |arguments| {
        let columns = (0..width).map(|index| arguments.column(index)).collect::<Result<Vec<_>, _>>()?;
        let columns: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
        let places: Vec<(usize, usize)> =
            (0..arguments.rows).flat_map(|row| (0..width).map(move |index| (index, row))).collect();
        let values = if columns.is_empty() {
            new_null_array(&data_type, 0)
        } else {
            arrow_select::interleave::interleave(&columns, &places).map_err(internal)?
        };
        let offsets = OffsetBuffer::from_repeated_length(width, arguments.rows);
        let field = Arc::new(Field::new("item", data_type.clone(), true));
        Ok(Arc::new(ListArray::try_new(field, offsets, values, None).map_err(internal)?))
    });
    Ok(call.bound(vec![item; width], result, kernel))
}

pub(super) fn cardinality(call: &Bind<'_>) -> Result<Bound, Error> {
    let [of] = call.types else { return Err(call.wrong()) };
    let of = match of {
        DataType::List(_) | DataType::Map(_, _) => of.clone(),
        DataType::Null => array_type(DataType::Int32),
        _ => return Err(call.wrong()),
    };
    let kernel: Kernel = Arc::new(|arguments| {
        let column = arguments.column(0)?;
        let length = |row: usize| -> usize {
            match column.as_any().downcast_ref::<MapArray>() {
                Some(maps) => maps.value_length(row) as usize,
                None => column.as_list::<i32>().value_length(row) as usize,
            }
        };
        build_ints(arguments.rows, |row| Ok(if column.is_null(row) { None } else { i32::try_from(length(row)).ok() }))
    });
    Ok(call.bound(vec![of], DataType::Int32, kernel))
}

pub(super) fn element(call: &Bind<'_>) -> Result<Bound, Error> {
    let [of @ DataType::List(item)] = call.types else { return Err(call.wrong()) };
    let item = item.data_type().clone();
    let kernel: Kernel = Arc::new(|arguments| {
        let column = arguments.column(0)?;
        let lists: &ListArray = column.as_list();
        let mut places = Vec::with_capacity(arguments.rows);
        for row in 0..arguments.rows {
            let (start, length) = (lists.value_offsets()[row], lists.value_length(row));
            match length {
                _ if lists.is_null(row) => places.push(None),
                0 => places.push(None),
                1 => places.push(Some(start as u32)),
                more => return Err(Error::invalid(format!("ELEMENT: the array has {more} elements, not one"))),
            }
        }
        let places = arrow_array::UInt32Array::from(places);
        arrow_select::take::take(lists.values(), &places, None).map_err(internal)
    });
    Ok(call.bound(vec![of.clone()], item, kernel))
}

pub(super) fn join(call: &Bind<'_>) -> Result<Bound, Error> {
    let (of, rest) = call.types.split_first().ok_or_else(|| call.wrong())?;
    let texts = matches!(item_of(of), Some(item) if item.is_none_or(is_text));
    let rest_texts =
        (1..=2).contains(&rest.len()) && rest.iter().all(|data_type| is_text(data_type) || data_type.is_null());
    if !texts || !rest_texts {
        return Err(call.wrong());
    }
    let mut arguments = vec![array_type(DataType::Utf8)];
    arguments.extend(rest.iter().map(|_| DataType::Utf8));
    let kernel: Kernel = Arc::new(|arguments| {
        let column = arguments.column(0)?;
        let lists: &ListArray = column.as_list();
        let values = lists.values().as_string::<i32>();
        let delimiters = arguments.texts(1)?;
        let of_null = if arguments.values.len() > 2 { Some(arguments.texts(2)?) } else { None };
        build_texts(arguments.rows, |row, text| {
            let Some(delimiter) = delimiters.get(row).filter(|_| lists.is_valid(row)) else { return Ok(false) };
            let of_null = match &of_null {
                Some(of_null) => match of_null.get(row) {
                    None => return Ok(false),
                    some => some,
                },
                None => None,
            };
            let offsets = lists.value_offsets();
            let mut first = true;
            for index in offsets[row] as usize..offsets[row + 1] as usize {
                let part = if values.is_valid(index) { Some(values.value(index)) } else { of_null };
                let Some(part) = part else { continue };
                if !first {
                    text.push_str(delimiter);
                }
                first = false;
                text.push_str(part);
            }
            Ok(true)
        })
    });
    Ok(call.bound(arguments, DataType::Utf8, kernel))
}
