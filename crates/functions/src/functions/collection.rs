//! Functions of arrays, maps and rows.

mod arrays;
mod elements;
mod maps;
mod rows;

use crate::bind::{Category, Function};

const CHAPTER: Category = Category::Collection;

pub(super) const FUNCTIONS: &[Function] = &[
    function!(&["ARRAY"], "ARRAY[value, …]", "An array of values.", &[("ARRAY[1, 2]", "[1, 2]")], arrays::array),
    function!(
        &["CARDINALITY"],
        "CARDINALITY(array), CARDINALITY(map)",
        "How many elements an array or entries a map has.",
        &[("CARDINALITY(ARRAY[1, 2])", "2")],
        arrays::cardinality
    ),
    function!(
        &["ITEM"],
        "array[index], map[key], row.field",
        "An element of an array, counted from 1, a value of a map, or a field of a row; NULL where there is none.",
        &[("ARRAY['a', 'b'][2]", "b"), ("MAP['a', 1]['a']", "1")],
        rows::item
    ),
    function!(
        &["ELEMENT"],
        "ELEMENT(array)",
        "The only element of an array; NULL for an empty one, an error for one with more.",
        &[("ELEMENT(ARRAY[5])", "5")],
        arrays::element
    ),
    function!(
        &["ARRAY_CONTAINS"],
        "ARRAY_CONTAINS(array, value)",
        "Whether an array has an element that equals a value; NULL equals NULL.",
        &[("ARRAY_CONTAINS(ARRAY[1, 2], 2)", "true")],
        elements::contains
    ),
    function!(
        &["ARRAY_POSITION"],
        "ARRAY_POSITION(array, value)",
        "Where the first element that equals a value is, counted from 1; 0 if there is none.",
        &[("ARRAY_POSITION(ARRAY[4, 5], 5)", "2")],
        elements::position
    ),
    function!(
        &["ARRAY_DISTINCT"],
        "ARRAY_DISTINCT(array)",
        "The array with the first of equal elements only.",
        &[("ARRAY_DISTINCT(ARRAY[1, 2, 1])", "[1, 2]")],
        |call| elements::of_one(call, elements::distinct)
    ),
    function!(
        &["ARRAY_REVERSE"],
        "ARRAY_REVERSE(array)",
        "The array from its end to its beginning.",
        &[("ARRAY_REVERSE(ARRAY[1, 2])", "[2, 1]")],
        |call| elements::of_one(call, elements::reversed)
    ),
    function!(
        &["ARRAY_REMOVE"],
        "ARRAY_REMOVE(array, value)",
        "The array without the elements that equal a value.",
        &[("ARRAY_REMOVE(ARRAY[1, 2, 1], 1)", "[2]")],
        elements::remove
    ),
    function!(
        &["ARRAY_UNION"],
        "ARRAY_UNION(array, array)",
        "The elements of both arrays, each once.",
        &[("ARRAY_UNION(ARRAY[1, 2], ARRAY[2, 3])", "[1, 2, 3]")],
        |call| elements::of_two(call, elements::union)
    ),
    function!(
        &["ARRAY_EXCEPT"],
        "ARRAY_EXCEPT(array, array)",
        "The elements of the first array that are not in the second, each once.",
        &[("ARRAY_EXCEPT(ARRAY[1, 2], ARRAY[2])", "[1]")],
        |call| elements::of_two(call, elements::except)
    ),
    function!(
        &["ARRAY_INTERSECT"],
        "ARRAY_INTERSECT(array, array)",
        "The elements of the first array that are in the second, too, each once.",
        &[("ARRAY_INTERSECT(ARRAY[1, 2], ARRAY[2, 3])", "[2]")],
        |call| elements::of_two(call, elements::intersect)
    ),
    function!(
        &["ARRAY_CONCAT"],
        "ARRAY_CONCAT(array, …)",
        "The elements of all arrays, one after another.",
        &[("ARRAY_CONCAT(ARRAY[1], ARRAY[2, 3])", "[1, 2, 3]")],
        elements::concat
    ),
    function!(
        &["ARRAY_APPEND"],
        "ARRAY_APPEND(array, value)",
        "The array with a value behind its elements.",
        &[("ARRAY_APPEND(ARRAY[1], 2)", "[1, 2]")],
        |call| elements::with_value(call, false)
    ),
    function!(
        &["ARRAY_PREPEND"],
        "ARRAY_PREPEND(array, value)",
        "The array with a value before its elements.",
        &[("ARRAY_PREPEND(ARRAY[1], 2)", "[2, 1]")],
        |call| elements::with_value(call, true)
    ),
    function!(
        &["ARRAY_MAX"],
        "ARRAY_MAX(array)",
        "The greatest element; NULLs are passed over.",
        &[("ARRAY_MAX(ARRAY[1, 3, 2])", "3")],
        |call| elements::extreme(call, true)
    ),
    function!(
        &["ARRAY_MIN"],
        "ARRAY_MIN(array)",
        "The least element; NULLs are passed over.",
        &[("ARRAY_MIN(ARRAY[1, 3, 2])", "1")],
        |call| elements::extreme(call, false)
    ),
    function!(
        &["ARRAY_SORT"],
        "ARRAY_SORT(array[, ascending[, nulls first]])",
        "The array sorted; NULLs come first where it ascends, last where it descends, unless said.",
        &[("ARRAY_SORT(ARRAY[2, 1])", "[1, 2]"), ("ARRAY_SORT(ARRAY[1, 2], FALSE)", "[2, 1]")],
        elements::sort
    ),
    function!(
        &["ARRAY_SLICE"],
        "ARRAY_SLICE(array, start[, end])",
        "The elements from one position to another, both counted from 1 and, below 0, from the end.",
        &[("ARRAY_SLICE(ARRAY[1, 2, 3], 2)", "[2, 3]")],
        elements::slice
    ),
    function!(
        &["ARRAY_JOIN"],
        "ARRAY_JOIN(array, delimiter[, of NULL])",
        "The texts of an array in one; NULLs are passed over, unless a text for them is given.",
        &[("ARRAY_JOIN(ARRAY['a', 'b'], '-')", "a-b")],
        arrays::join
    ),
    function!(&["MAP"], "MAP[key, value, …]", "A map.", &[("MAP['a', 1]", "{a=1}")], maps::map),
    function!(&["MAP_KEYS"], "MAP_KEYS(map)", "The keys of a map.", &[("MAP_KEYS(MAP['a', 1])", "[a]")], |call| {
        maps::parts(call, 0)
    }),
    function!(
        &["MAP_VALUES"],
        "MAP_VALUES(map)",
        "The values of a map.",
        &[("MAP_VALUES(MAP['a', 1])", "[1]")],
        |call| maps::parts(call, 1)
    ),
    function!(
        &["MAP_ENTRIES"],
        "MAP_ENTRIES(map)",
        "The entries of a map, as rows of `key` and `value`.",
        &[("MAP_ENTRIES(MAP['a', 1])", "[(a, 1)]")],
        maps::entries
    ),
    function!(
        &["MAP_FROM_ARRAYS"],
        "MAP_FROM_ARRAYS(keys, values)",
        "The map of an array of keys and one of values, of the same length.",
        &[("MAP_FROM_ARRAYS(ARRAY['a'], ARRAY[1])", "{a=1}")],
        maps::from_arrays
    ),
    function!(
        &["MAP_UNION"],
        "MAP_UNION(map, …)",
        "The entries of all maps; of equal keys the last map's.",
        &[("MAP_UNION(MAP['a', 1], MAP['b', 2])", "{a=1, b=2}")],
        maps::union
    ),
    function!(&["ROW"], "ROW(value, …), (value, …)", "A row.", &[("ROW(1, 'a')", "(1, a)")], rows::row),
];
