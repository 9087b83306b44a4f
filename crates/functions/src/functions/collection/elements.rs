//! Arrays made of the elements of others, which are compared by value; NULL equals NULL here.

use super::arrays::item_of;
use crate::bind::{Bind, Bound};
use crate::bound::{Arguments, Kernel, internal};
use crate::columns::{build_booleans, build_ints};
use crate::common_type::{array_type, common_type, is_integer};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_row::{Row, RowConverter, Rows, SortField};
use arrow_schema::{DataType, Field};
use headpond_state::Error;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// The elements of an argument: those of an array, or one value a row.
pub(super) struct Source {
    array: ArrayRef,
    values: ArrayRef,
    rows: Rows,
}

impl Source {
    /// The elements of several arguments of the same type, as rows that can be compared with each other.
    fn of(arguments: &Arguments<'_>, count: usize) -> Result<Vec<Source>, Error> {
        let arrays = (0..count).map(|index| arguments.column(index)).collect::<Result<Vec<_>, _>>()?;
        let values_of = |array: &ArrayRef| match array.as_any().downcast_ref::<ListArray>() {
            Some(lists) => Arc::clone(lists.values()),
            None => Arc::clone(array),
        };
        let Some(first) = arrays.first().map(values_of) else { return Ok(Vec::new()) };
        let converter = RowConverter::new(vec![SortField::new(first.data_type().clone())]).map_err(internal)?;
        arrays
            .into_iter()
            .map(|array| {
                let values = values_of(&array);
                let rows = converter.convert_columns(&[Arc::clone(&values)]).map_err(internal)?;
                Ok(Source { array, values, rows })
            })
            .collect()
    }

    /// Where a row's elements are; `None` for a NULL array.
    fn range(&self, row: usize) -> Option<Range<usize>> {
        let Some(lists) = self.array.as_any().downcast_ref::<ListArray>() else { return Some(row..row + 1) };
        let offsets = lists.value_offsets();
        lists.is_valid(row).then(|| offsets[row] as usize..offsets[row + 1] as usize)
    }

    fn elements(&self, range: Range<usize>) -> impl Iterator<Item = (usize, Row<'_>)> {
        range.map(|index| (index, self.rows.row(index)))
    }
}

/// A place of an element: the source, and the index in it.
pub(super) type Place = (usize, usize);

/// Arrays made of elements of the sources: `choose` appends the places of a row's and says whether it has an array.
fn gathered(
    sources: &[Source],
    rows: usize,
    mut choose: impl FnMut(usize, &mut Vec<Place>) -> Result<bool, Error>,
) -> Result<ArrayRef, Error> {
    let mut places = Vec::new();
    let mut lengths = Vec::with_capacity(rows);
    let mut valid = Vec::with_capacity(rows);
    for row in 0..rows {
        let before = places.len();
        let is_valid = choose(row, &mut places)?;
        if !is_valid {
            places.truncate(before);
        }
        valid.push(is_valid);
        lengths.push(places.len() - before);
    }
    let values: Vec<&dyn Array> = sources.iter().map(|source| source.values.as_ref()).collect();
    let item = values.first().map_or(DataType::Int32, |values| values.data_type().clone());
    let values = if places.is_empty() {
        arrow_array::new_empty_array(&item)
    } else {
        arrow_select::interleave::interleave(&values, &places).map_err(internal)?
    };
    let field = Arc::new(Field::new("item", item, true));
    let list = ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), values, Some(NullBuffer::from(valid)));
    Ok(Arc::new(list.map_err(internal)?))
}

/// The element type of the first argument, which is an array.
fn first_item(call: &Bind<'_>) -> Result<DataType, Error> {
    let of = call.types.first().ok_or_else(|| call.wrong())?;
    let item = item_of(of).ok_or_else(|| call.wrong())?.cloned().unwrap_or(DataType::Int32);
    if matches!(item, DataType::Map(_, _)) {
        return Err(call.wrong());
    }
    Ok(if item.is_null() { DataType::Int32 } else { item })
}

/// An array and a value of its elements' type.
fn array_and_value(call: &Bind<'_>) -> Result<(DataType, Vec<DataType>), Error> {
    let [_, value] = call.types else { return Err(call.wrong()) };
    let item = common_type([&first_item(call)?, value]).ok_or_else(|| call.wrong())?;
    Ok((item.clone(), vec![array_type(item.clone()), item]))
}

pub(super) fn contains(call: &Bind<'_>) -> Result<Bound, Error> {
    let (_, arguments) = array_and_value(call)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let sources = Source::of(arguments, 2)?;
        let [of, value] = &sources[..] else { return Err(Error::internal("two arguments")) };
        build_booleans(arguments.rows, |row| {
            Ok(of.range(row).map(|range| of.elements(range).any(|(_, element)| element == value.rows.row(row))))
        })
    });
    Ok(call.bound(arguments, DataType::Boolean, kernel))
}

pub(super) fn position(call: &Bind<'_>) -> Result<Bound, Error> {
    let (_, arguments) = array_and_value(call)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let sources = Source::of(arguments, 2)?;
        let [of, value] = &sources[..] else { return Err(Error::internal("two arguments")) };
        build_ints(arguments.rows, |row| {
            let Some(range) = of.range(row).filter(|_| value.array.is_valid(row)) else { return Ok(None) };
            let found = of.elements(range).position(|(_, element)| element == value.rows.row(row));
            Ok(found.map_or(Some(0), |index| i32::try_from(index + 1).ok()))
        })
    });
    Ok(call.bound(arguments, DataType::Int32, kernel))
}

pub(super) fn remove(call: &Bind<'_>) -> Result<Bound, Error> {
    let (item, arguments) = array_and_value(call)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let sources = Source::of(arguments, 2)?;
        let [of, value] = &sources[..] else { return Err(Error::internal("two arguments")) };
        gathered(&sources, arguments.rows, |row, places| {
            let Some(range) = of.range(row) else { return Ok(false) };
            let kept = of.elements(range).filter(|(_, element)| *element != value.rows.row(row));
            places.extend(kept.map(|(index, _)| (0, index)));
            Ok(true)
        })
    });
    Ok(call.bound(arguments, array_type(item), kernel))
}

pub(super) fn with_value(call: &Bind<'_>, before: bool) -> Result<Bound, Error> {
    let (item, arguments) = array_and_value(call)?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let sources = Source::of(arguments, 2)?;
        let [of, _] = &sources[..] else { return Err(Error::internal("two arguments")) };
        gathered(&sources, arguments.rows, |row, places| {
            let Some(range) = of.range(row) else { return Ok(false) };
            if before {
                places.push((1, row));
            }
            places.extend(range.map(|index| (0, index)));
            if !before {
                places.push((1, row));
            }
            Ok(true)
        })
    });
    Ok(call.bound(arguments, array_type(item), kernel))
}

/// What a function makes of one array.
pub(super) type OfOne = fn(&Source, Range<usize>, &mut Vec<Place>);

pub(super) fn of_one(call: &Bind<'_>, make: OfOne) -> Result<Bound, Error> {
    let [_] = call.types else { return Err(call.wrong()) };
    let of = array_type(first_item(call)?);
    let kernel: Kernel = Arc::new(move |arguments| {
        let sources = Source::of(arguments, 1)?;
        gathered(&sources, arguments.rows, |row, places| {
            let Some(range) = sources[0].range(row) else { return Ok(false) };
            make(&sources[0], range, places);
            Ok(true)
        })
    });
    Ok(call.bound(vec![of.clone()], of, kernel))
}

pub(super) fn distinct(of: &Source, range: Range<usize>, places: &mut Vec<Place>) {
    let mut seen = HashSet::new();
    places.extend(of.elements(range).filter(|(_, element)| seen.insert(*element)).map(|(index, _)| (0, index)));
}

pub(super) fn reversed(_of: &Source, range: Range<usize>, places: &mut Vec<Place>) {
    places.extend(range.rev().map(|index| (0, index)));
}

/// What a function makes of two arrays.
pub(super) type OfTwo = fn(&[Source], Range<usize>, Range<usize>, &mut Vec<Place>);

pub(super) fn of_two(call: &Bind<'_>, make: OfTwo) -> Result<Bound, Error> {
    let [_, _] = call.types else { return Err(call.wrong()) };
    let of = arrays_in_common(call)?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let sources = Source::of(arguments, 2)?;
        gathered(&sources, arguments.rows, |row, places| {
            let (Some(first), Some(second)) = (sources[0].range(row), sources[1].range(row)) else { return Ok(false) };
            make(&sources, first, second, places);
            Ok(true)
        })
    });
    Ok(call.bound(vec![of.clone(), of.clone()], of, kernel))
}

/// The array type that all arguments have.
fn arrays_in_common(call: &Bind<'_>) -> Result<DataType, Error> {
    let items = call.types.iter().map(item_of).collect::<Option<Vec<_>>>();
    let items = items.ok_or_else(|| call.wrong())?;
    let common = common_type(items.into_iter().flatten()).ok_or_else(|| call.wrong())?;
    Ok(array_type(if common.is_null() { DataType::Int32 } else { common }))
}

pub(super) fn union(of: &[Source], first: Range<usize>, second: Range<usize>, places: &mut Vec<Place>) {
    let mut seen = HashSet::new();
    let all = of[0].elements(first).map(|(index, element)| ((0, index), element));
    let all = all.chain(of[1].elements(second).map(|(index, element)| ((1, index), element)));
    places.extend(all.filter(|(_, element)| seen.insert(*element)).map(|(place, _)| place));
}

pub(super) fn except(of: &[Source], first: Range<usize>, second: Range<usize>, places: &mut Vec<Place>) {
    let mut seen: HashSet<Row<'_>> = of[1].elements(second).map(|(_, element)| element).collect();
    places.extend(of[0].elements(first).filter(|(_, element)| seen.insert(*element)).map(|(index, _)| (0, index)));
}

pub(super) fn intersect(of: &[Source], first: Range<usize>, second: Range<usize>, places: &mut Vec<Place>) {
    let mut left: HashSet<Row<'_>> = of[1].elements(second).map(|(_, element)| element).collect();
    places.extend(of[0].elements(first).filter(|(_, element)| left.remove(element)).map(|(index, _)| (0, index)));
}

pub(super) fn concat(call: &Bind<'_>) -> Result<Bound, Error> {
    if call.types.is_empty() {
        return Err(call.wrong());
    }
    let of = arrays_in_common(call)?;
    let count = call.types.len();
    let kernel: Kernel = Arc::new(move |arguments| {
        let sources = Source::of(arguments, count)?;
        gathered(&sources, arguments.rows, |row, places| {
            for (number, source) in sources.iter().enumerate() {
                let Some(range) = source.range(row) else { return Ok(false) };
                places.extend(range.map(|index| (number, index)));
            }
            Ok(true)
        })
    });
    Ok(call.bound(vec![of.clone(); count], of, kernel))
}

pub(super) fn extreme(call: &Bind<'_>, greatest: bool) -> Result<Bound, Error> {
    let [_] = call.types else { return Err(call.wrong()) };
    let item = first_item(call)?;
    let kernel: Kernel = Arc::new(move |arguments| {
        let sources = Source::of(arguments, 1)?;
        let [of] = &sources[..] else { return Err(Error::internal("one argument")) };
        let place = |row: usize| {
            let present = of.elements(of.range(row)?).filter(|(index, _)| of.values.is_valid(*index));
            let by = |a: &(usize, Row<'_>), b: &(usize, Row<'_>)| a.1.cmp(&b.1);
            let found = if greatest { present.max_by(by) } else { present.min_by(by) };
            found.map(|(index, _)| index as u64)
        };
        let places: arrow_array::UInt64Array = (0..arguments.rows).map(place).collect();
        arrow_select::take::take(&of.values, &places, None).map_err(internal)
    });
    Ok(call.bound(vec![array_type(item.clone())], item, kernel))
}

pub(super) fn sort(call: &Bind<'_>) -> Result<Bound, Error> {
    let (_, flags) = call.types.split_first().ok_or_else(|| call.wrong())?;
    if flags.len() > 2 || flags.iter().any(|flag| !matches!(flag, DataType::Boolean | DataType::Null)) {
        return Err(call.wrong());
    }
    let of = array_type(first_item(call)?);
    let mut types = vec![of.clone()];
    types.extend(flags.iter().map(|_| DataType::Boolean));
    let kernel: Kernel = Arc::new(|arguments| {
        let sources = Source::of(arguments, 1)?;
        let flag = |index: usize| (arguments.values.len() > index).then(|| arguments.booleans(index)).transpose();
        let (ascending, nulls_first) = (flag(1)?, flag(2)?);
        let of = &sources[0];
        gathered(&sources, arguments.rows, |row, places| {
            let Some(range) = of.range(row) else { return Ok(false) };
            let ascends = match &ascending {
                Some(flags) => match flags.get(row) {
                    Some(flag) => flag,
                    None => return Ok(false),
                },
                None => true,
            };
            let nulls_first = match &nulls_first {
                Some(flags) => match flags.get(row) {
                    Some(flag) => flag,
                    None => return Ok(false),
                },
                None => ascends,
            };
            let mut elements: Vec<(usize, Row<'_>)> = of.elements(range).collect();
            elements.sort_by(|(left, a), (right, b)| {
                let nulls = (of.values.is_null(*left), of.values.is_null(*right));
                match nulls {
                    (true, true) => std::cmp::Ordering::Equal,
                    (true, false) if nulls_first => std::cmp::Ordering::Less,
                    (true, false) => std::cmp::Ordering::Greater,
                    (false, true) if nulls_first => std::cmp::Ordering::Greater,
                    (false, true) => std::cmp::Ordering::Less,
                    _ if ascends => a.cmp(b),
                    _ => b.cmp(a),
                }
            });
            places.extend(elements.into_iter().map(|(index, _)| (0, index)));
            Ok(true)
        })
    });
    Ok(call.bound(types, of, kernel))
}

pub(super) fn slice(call: &Bind<'_>) -> Result<Bound, Error> {
    let (_, bounds) = call.types.split_first().ok_or_else(|| call.wrong())?;
    let whole = |data_type: &DataType| is_integer(data_type) || data_type.is_null();
    if !(1..=2).contains(&bounds.len()) || !bounds.iter().all(whole) {
        return Err(call.wrong());
    }
    let of = array_type(first_item(call)?);
    let mut types = vec![of.clone()];
    types.extend(bounds.iter().map(|_| DataType::Int64));
    let kernel: Kernel = Arc::new(|arguments| {
        let sources = Source::of(arguments, 1)?;
        let starts = arguments.longs(1)?;
        let ends = if arguments.values.len() > 2 { Some(arguments.longs(2)?) } else { None };
        gathered(&sources, arguments.rows, |row, places| {
            let (Some(range), Some(start)) = (sources[0].range(row), starts.get(row)) else { return Ok(false) };
            let length = range.len() as i64;
            let end = match &ends {
                Some(ends) => match ends.get(row) {
                    Some(end) => end,
                    None => return Ok(false),
                },
                None => length,
            };
            let from_start =
                |position: i64| if position < 0 { length.saturating_add(position).saturating_add(1) } else { position };
            let first = from_start(start).max(1);
            let last = from_start(end).min(length);
            if first <= last {
                places.extend((first - 1..last).map(|index| (0, range.start + index as usize)));
            }
            Ok(true)
        })
    });
    Ok(call.bound(types, of, kernel))
}

/// A list column of an argument.
pub(super) fn list(arguments: &Arguments<'_>, index: usize) -> Result<ListArray, Error> {
    Ok(arguments.column(index)?.as_list::<i32>().clone())
}
