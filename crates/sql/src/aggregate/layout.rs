//! What an aggregate keeps for a group.

use super::cell::CellKind;
use crate::script::type_name;
use arrow_schema::{DataType, SchemaRef, TimeUnit};
use headpond_runtime::datum::field_type;
use headpond_state::encoding::KeySchema;
use headpond_state::row::{DataKind, Datum, Field, RowCodec, RowFormat, RowSchema};
use headpond_state::ttl::TtlConfig;
use headpond_state::{Context, Error, Result};

/// The aggregate functions that are ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AggregateFunction {
    /// How many rows, or how many of them have a value.
    Count,
    /// The sum of the values.
    Sum,
    /// The least value.
    Min,
    /// The greatest value.
    Max,
    /// The mean of the values.
    Avg,
}

impl AggregateFunction {
    /// The function's name in SQL.
    pub(crate) fn name(self) -> &'static str {
        match self {
            AggregateFunction::Count => "COUNT",
            AggregateFunction::Sum => "SUM",
            AggregateFunction::Min => "MIN",
            AggregateFunction::Max => "MAX",
            AggregateFunction::Avg => "AVG",
        }
    }
}

/// A call of an aggregate function.
#[derive(Debug, Clone)]
pub(crate) struct AggregateCall {
    /// The function.
    pub(crate) function: AggregateFunction,
    /// The input column of its argument; `None` counts rows.
    pub(crate) argument: Option<usize>,
    /// The input column that says which rows count.
    pub(crate) filter: Option<usize>,
    /// The argument and the filter as text.
    pub(crate) text: String,
    /// The type of the result.
    pub(crate) output: DataType,
}

/// A column of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputColumn {
    /// A column of the key.
    Key(usize),
    /// A part of the window.
    Window(crate::expression::WindowPart),
    /// The result of a call.
    Call(usize),
}

/// What both aggregate operators are made from.
#[derive(Debug, Clone)]
pub(crate) struct AggregatePlan {
    /// The columns of the input; the key's come first.
    pub(crate) input: SchemaRef,
    /// How many columns the key has.
    pub(crate) key_columns: usize,
    /// The types of the key.
    pub(crate) key_schema: KeySchema,
    /// The columns of the result.
    pub(crate) output: SchemaRef,
    /// Where each of them comes from.
    pub(crate) output_columns: Vec<OutputColumn>,
    /// The aggregates.
    pub(crate) calls: Vec<AggregateCall>,
    /// What is kept for a group.
    pub(crate) layout: Layout,
    /// Whether an update needs no `-U`: the new row overwrites the old one.
    pub(crate) overwrites: bool,
    /// The form in which it is kept.
    pub(crate) format: RowFormat,
    /// When it expires.
    pub(crate) ttl: Option<TtlConfig>,
}

impl AggregatePlan {
    /// The codec of a group's accumulators.
    pub(crate) fn codec(&self) -> RowCodec {
        RowCodec::new(self.format, self.layout.schema.clone())
    }

    /// A key as text, for messages.
    pub(crate) fn shown_key(&self, key: &[u8]) -> String {
        let Ok(parts) = self.key_schema.decode(key) else { return "an unreadable key".to_owned() };
        let fields = self.input.fields();
        let shown = parts.iter().zip(fields).map(|(part, field)| format!("{} = {}", field.name(), shown(part)));
        let shown = shown.collect::<Vec<_>>().join(", ");
        if shown.is_empty() { "the only group".to_owned() } else { format!("the group {shown}") }
    }
}

fn shown(datum: &Datum) -> String {
    match datum {
        Datum::Null => "NULL".to_owned(),
        Datum::Bool(value) => value.to_string(),
        Datum::Int64(value) => value.to_string(),
        Datum::Float64(value) => value.to_string(),
        Datum::Decimal(value) => value.to_string(),
        Datum::Utf8(text) => format!("'{text}'"),
        Datum::Binary(bytes) => format!("{} bytes", bytes.len()),
        Datum::List(elements) => format!("[{}]", elements.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Datum::Struct(fields) => format!("({})", fields.iter().map(shown).collect::<Vec<_>>().join(", ")),
    }
}

/// What is kept for a group: the count of its rows, then cells. Calls share cells: `SUM(x)` and `AVG(x)` have one sum.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// The cells.
    pub(super) cells: Vec<CellSpec>,
    /// For each call, the cells of its value and of its count.
    pub(super) of_calls: Vec<CallCells>,
    /// The row of a group.
    pub(crate) schema: RowSchema,
}

/// What a cell folds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CellSpec {
    pub(super) kind: CellKind,
    pub(super) argument: Option<usize>,
    pub(super) filter: Option<usize>,
    name: String,
}

/// The cells of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallCells {
    /// The cell of the value; `None`: the count of the group's rows.
    pub(super) value: Option<usize>,
    /// The cell that counts the values, where it is needed.
    pub(super) count: Option<usize>,
}

impl Layout {
    /// The layout for calls over rows of `input`. `retracts`: rows may be taken back. `rows_name` names the count of rows.
    ///
    /// # Errors
    /// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for an aggregate that its input or its type rules out.
    pub(crate) fn new(calls: &[AggregateCall], input: &SchemaRef, retracts: bool, rows_name: &str) -> Result<Self> {
        let mut cells: Vec<CellSpec> = Vec::new();
        let mut of_calls = Vec::with_capacity(calls.len());
        for call in calls {
            let mut cell = |kind: CellKind, name: &str| {
                let name = format!("{name}({})", call.text);
                let spec = CellSpec { kind, argument: call.argument, filter: call.filter, name };
                cells.iter().position(|cell| *cell == spec).unwrap_or_else(|| {
                    cells.push(spec);
                    cells.len() - 1
                })
            };
            let data_type = call.argument.map(|argument| input.field(argument).data_type());
            of_calls.push(match (call.function, data_type) {
                (AggregateFunction::Count, None) if call.filter.is_none() => CallCells { value: None, count: None },
                (AggregateFunction::Count, _) => CallCells { value: Some(cell(CellKind::Count, "count")), count: None },
                (AggregateFunction::Sum, Some(data_type)) => {
                    let value = Some(cell(sum_kind(data_type)?, "sum"));
                    CallCells { value, count: retracts.then(|| cell(CellKind::Count, "count")) }
                }
                (AggregateFunction::Avg, Some(data_type)) => {
                    let value = Some(cell(sum_kind(data_type)?, "sum"));
                    CallCells { value, count: Some(cell(CellKind::Count, "count")) }
                }
                (AggregateFunction::Min | AggregateFunction::Max, Some(_)) if retracts => {
                    return Err(Error::unsupported("MIN and MAX over rows that may be taken back are not supported")
                        .with(Context::Column, &call.text)
                        .hint("aggregate the table itself instead of another aggregate's changing result"));
                }
                (AggregateFunction::Min, Some(data_type)) => {
                    CallCells { value: Some(cell(extreme_kind(data_type, false)?, "min")), count: None }
                }
                (AggregateFunction::Max, Some(data_type)) => {
                    CallCells { value: Some(cell(extreme_kind(data_type, true)?, "max")), count: None }
                }
                (_, None) => return Err(Error::internal("an aggregate lacks its argument")),
            });
        }
        let mut fields = vec![Field::new(rows_name, DataKind::Int64.required())];
        for cell in &cells {
            let argument = cell.argument.map(|argument| input.field(argument));
            match cell.kind {
                CellKind::Count => fields.push(Field::new(&cell.name, DataKind::Int64.required())),
                CellKind::SumInteger => fields.push(Field::new(&cell.name, DataKind::Int64.nullable())),
                CellKind::SumDecimal { scale } => {
                    fields.push(Field::new(&cell.name, DataKind::Decimal { precision: 38, scale }.nullable()));
                }
                CellKind::SumFloat => {
                    fields.push(Field::new(&cell.name, DataKind::Float64.nullable()));
                    fields.push(Field::new(format!("{} lost", cell.name), DataKind::Float64.required()));
                }
                _ => {
                    let argument = argument.ok_or_else(|| Error::internal("an aggregate lacks its argument"))?;
                    fields.push(Field::new(&cell.name, field_type(argument)?.kind.nullable()));
                }
            }
        }
        Ok(Layout { cells, of_calls, schema: RowSchema::new(fields) })
    }
}

fn sum_kind(data_type: &DataType) -> Result<CellKind> {
    Ok(match data_type {
        DataType::Int64 => CellKind::SumInteger,
        DataType::Float64 => CellKind::SumFloat,
        DataType::Decimal128(_, scale) => CellKind::SumDecimal {
            scale: u8::try_from(*scale)
                .map_err(|_| Error::unsupported("sums of a negative scale are not supported"))?,
        },
        other => return Err(Error::unsupported(format!("a sum of {} is not supported", type_name(other)))),
    })
}

fn extreme_kind(data_type: &DataType, greatest: bool) -> Result<CellKind> {
    Ok(match data_type {
        DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Date32
        | DataType::Timestamp(TimeUnit::Millisecond, _) => CellKind::ExtremeInteger { greatest },
        DataType::Float32 | DataType::Float64 => CellKind::ExtremeFloat { greatest },
        DataType::Decimal128(_, _) => CellKind::ExtremeDecimal { greatest },
        DataType::Utf8 | DataType::Binary | DataType::Boolean => CellKind::ExtremeOther { greatest },
        other => return Err(Error::unsupported(format!("MIN and MAX of {} are not supported", type_name(other)))),
    })
}
