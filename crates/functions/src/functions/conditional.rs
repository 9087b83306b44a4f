//! Functions that choose among values. Those that are a CASE are typed as one ([`choices`](crate::typing)).

use crate::bind::{Bind, Bound, Category, Function};
use crate::bound::{Kernel, internal};
use crate::common_type::common_type;
use arrow_array::{Array, BooleanArray, Datum};
use arrow_schema::DataType;
use headpond_state::Error;
use std::sync::Arc;

/// The call is typed as a CASE before it would be bound.
fn written_as_case(call: &Bind<'_>) -> Result<Bound, Error> {
    let types: Vec<DataType> = match call.name.to_uppercase().as_str() {
        "NULLIF" => call.types.first().cloned().into_iter().collect(),
        "IF" => call.types.iter().skip(1).cloned().collect(),
        _ => call.types.to_vec(),
    };
    let result = common_type(&types).ok_or_else(|| call.wrong())?;
    let kernel: Kernel = Arc::new(|_| Err(Error::internal("a CASE is computed as a function")));
    Ok(call.bound(call.types.to_vec(), result, kernel))
}

const CHAPTER: Category = Category::Conditional;

pub(super) const FUNCTIONS: &[Function] = &[
    function!(
        &["COALESCE"],
        "COALESCE(value, …)",
        "The first value that is not NULL.",
        &[("COALESCE(CAST(NULL AS INT), 5)", "5")],
        written_as_case
    ),
    function!(
        &["IFNULL"],
        "IFNULL(value, otherwise)",
        "The value, or another where it is NULL.",
        &[("IFNULL(CAST(NULL AS INT), 5)", "5")],
        written_as_case
    ),
    function!(
        &["NULLIF"],
        "NULLIF(value, other)",
        "The value, or NULL where it equals another.",
        &[("NULLIF(7, 8)", "7")],
        written_as_case
    ),
    function!(
        &["IF"],
        "IF(condition, value, otherwise)",
        "One value where a condition is true, another where it is not.",
        &[("IF(1 > 2, 'a', 'b')", "b")],
        written_as_case
    ),
    function!(
        &["GREATEST"],
        "GREATEST(value, …)",
        "The greatest value; NULL if any is NULL.",
        &[("GREATEST(1, 2.5)", "2.5")],
        |call| extreme(call, true)
    ),
    function!(
        &["LEAST"],
        "LEAST(value, …)",
        "The least value; NULL if any is NULL.",
        &[("LEAST(3, 2)", "2")],
        |call| { extreme(call, false) }
    ),
];

fn extreme(call: &Bind<'_>, greatest: bool) -> Result<Bound, Error> {
    let common = common_type(call.types).ok_or_else(|| call.wrong())?;
    let common = if common.is_null() { DataType::Int32 } else { common };
    if call.types.is_empty() || matches!(common, DataType::List(_) | DataType::Map(_, _) | DataType::Struct(_)) {
        return Err(call.wrong());
    }
    let kernel: Kernel = Arc::new(move |arguments| {
        let mut best = arguments.column(0)?;
        for index in 1..arguments.values.len() {
            let next = arguments.column(index)?;
            let (left, right): (&dyn Datum, &dyn Datum) = (&best, &next);
            let keeps = if greatest { arrow_ord::cmp::gt_eq(left, right) } else { arrow_ord::cmp::lt_eq(left, right) };
            let keeps: BooleanArray = keeps.map_err(internal)?;
            // A NULL on either side stays: NULL is taken from the side that has it.
            let rows = (0..best.len()).map(|row| {
                let from_best = if keeps.is_null(row) { best.is_null(row) } else { keeps.value(row) };
                (usize::from(!from_best), row)
            });
            let rows: Vec<(usize, usize)> = rows.collect();
            best = arrow_select::interleave::interleave(&[best.as_ref(), next.as_ref()], &rows).map_err(internal)?;
        }
        Ok(best)
    });
    Ok(call.bound(vec![common.clone(); call.types.len()], common, kernel))
}
