//! Aggregate functions: their names and the types of their results. The runtime's own operators compute them.

use crate::common_type::{is_floating, is_integer, is_number};
use crate::decimal::{self, precision_and_scale};
use crate::type_name::type_name;
use arrow_schema::DataType;
use datafusion_common::{Result as PlanResult, not_impl_err};
use datafusion_expr::function::AccumulatorArgs;
use datafusion_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use headpond_state::Error;
use std::sync::Arc;

/// An aggregate function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// How many rows there are, or how many have a value.
    Count,
    /// The sum.
    Sum,
    /// The least value.
    Min,
    /// The greatest value.
    Max,
    /// The average.
    Avg,
    /// A deviation or a variance, which typing makes of the others.
    Spread(Spread),
    /// One of Flink's that is not here yet.
    Missing(&'static str),
}

/// How far values are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spread {
    /// The deviation of all values.
    StddevPop,
    /// The deviation that a sample tells of.
    StddevSamp,
    /// The variance of all values.
    VarPop,
    /// The variance that a sample tells of.
    VarSamp,
}

/// Deviations and variances by name.
const SPREADS: [(&str, Spread); 6] = [
    ("stddev_pop", Spread::StddevPop),
    ("stddev_samp", Spread::StddevSamp),
    ("stddev", Spread::StddevSamp),
    ("var_pop", Spread::VarPop),
    ("var_samp", Spread::VarSamp),
    ("variance", Spread::VarSamp),
];

/// The deviation or variance that a function is.
pub(crate) fn spread_of(function: &AggregateUDF) -> Option<Spread> {
    match function.inner().downcast_ref::<Planned>()?.aggregate {
        Aggregate::Spread(spread) => Some(spread),
        _ => None,
    }
}

/// Flink's aggregate functions that are not here yet.
const MISSING: [&str; 12] = [
    "collect",
    "listagg",
    "first_value",
    "last_value",
    "array_agg",
    "json_objectagg",
    "json_arrayagg",
    "approx_count_distinct",
    "percentile",
    "lag",
    "lead",
    "ntile",
];

impl Aggregate {
    /// All of them.
    pub const ALL: [Aggregate; 5] = [Aggregate::Count, Aggregate::Sum, Aggregate::Min, Aggregate::Max, Aggregate::Avg];

    /// Its name in plans.
    pub fn name(self) -> &'static str {
        match self {
            Aggregate::Count => "count",
            Aggregate::Sum => "sum",
            Aggregate::Min => "min",
            Aggregate::Max => "max",
            Aggregate::Avg => "avg",
            Aggregate::Spread(Spread::StddevPop) => "stddev_pop",
            Aggregate::Spread(Spread::StddevSamp) => "stddev_samp",
            Aggregate::Spread(Spread::VarPop) => "var_pop",
            Aggregate::Spread(Spread::VarSamp) => "var_samp",
            Aggregate::Missing(name) => name,
        }
    }

    /// The type of its result over values of a type; `None` where it does not take them.
    fn result(self, of: &DataType) -> Option<DataType> {
        let is_number_or_null = is_number(of) || of.is_null();
        Some(match self {
            Aggregate::Count => DataType::Int64,
            Aggregate::Missing(_) => return None,
            Aggregate::Min | Aggregate::Max => match of {
                DataType::Null => DataType::Int32,
                DataType::List(_) | DataType::Map(_, _) | DataType::Struct(_) => return None,
                other => other.clone(),
            },
            _ if !is_number_or_null => return None,
            Aggregate::Sum => match of {
                DataType::Null => DataType::Int32,
                DataType::Decimal128(precision, scale) => decimal::total((*precision, *scale)),
                other => other.clone(),
            },
            Aggregate::Avg | Aggregate::Spread(_) => match of {
                DataType::Null => DataType::Int32,
                other if is_integer(other) || is_floating(other) => other.clone(),
                other => decimal::average(precision_and_scale(other)?),
            },
        })
    }
}

/// An aggregate function for planning.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Planned {
    aggregate: Aggregate,
    signature: Signature,
}

impl Planned {
    fn new(aggregate: Aggregate) -> Self {
        Planned { aggregate, signature: Signature::user_defined(Volatility::Immutable) }
    }
}

/// The aggregate function of this name, in any case.
pub fn aggregate(name: &str) -> Option<Arc<AggregateUDF>> {
    let spread = SPREADS.iter().find(|(spread, _)| spread.eq_ignore_ascii_case(name));
    if let Some((_, spread)) = spread {
        return Some(Arc::new(AggregateUDF::new_from_impl(Planned::new(Aggregate::Spread(*spread)))));
    }
    let missing = MISSING.into_iter().map(Aggregate::Missing);
    let found =
        Aggregate::ALL.into_iter().chain(missing).find(|aggregate| aggregate.name().eq_ignore_ascii_case(name))?;
    Some(Arc::new(AggregateUDF::new_from_impl(Planned::new(found))))
}

impl AggregateUDFImpl for Planned {
    fn name(&self) -> &str {
        self.aggregate.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> PlanResult<Vec<DataType>> {
        Ok(types.to_vec())
    }

    fn return_type(&self, types: &[DataType]) -> PlanResult<DataType> {
        // A guess while the plan has no types: see `typed`.
        Ok(types.first().and_then(|of| self.aggregate.result(of)).unwrap_or(DataType::Int64))
    }

    fn is_nullable(&self) -> bool {
        self.aggregate != Aggregate::Count
    }

    fn accumulator(&self, _arguments: AccumulatorArgs) -> PlanResult<Box<dyn Accumulator>> {
        not_impl_err!("{} is not computed by an expression", self.name())
    }
}

/// Whether a function takes values of a type.
///
/// # Errors
/// [`Unsupported`](headpond_state::ErrorKind::Unsupported) when it does not.
pub(crate) fn check(function: &AggregateUDF, of: &DataType) -> Result<(), Error> {
    let Some(planned) = function.inner().downcast_ref::<Planned>() else { return Ok(()) };
    let name = planned.aggregate.name().to_uppercase();
    match planned.aggregate {
        Aggregate::Missing(_) => Err(Error::unsupported(format!("the aggregate {name} is not supported"))),
        aggregate if aggregate.result(of).is_none() => {
            Err(Error::unsupported(format!("{name}({}) is not supported", type_name(of))))
        }
        _ => Ok(()),
    }
}
