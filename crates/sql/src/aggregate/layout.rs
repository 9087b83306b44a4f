//! What an aggregate keeps for a group.

use super::cell::CellKind;
use crate::mini_batch::MiniBatch;
use crate::script::type_name;
use arrow_schema::{DataType, SchemaRef, TimeUnit};
use headpond_rows::arrow::field_type;
use headpond_rows::sums::{EXACT_PARTS, IS_SET, LOST};
use headpond_rows::{FieldGroup, RowCodec, RowEvolution, RowFormat};
use headpond_state::encoding::KeySchema;
use headpond_state::schema::{DataKind, Datum, Field, FieldType, RowSchema};
use headpond_state::ttl::TtlConfig;
use headpond_state::{Error, Result};

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
    /// Whether a value counts once, however many rows have it.
    pub(crate) distinct: bool,
    /// The input column that says which rows count.
    pub(crate) filter: Option<usize>,
    /// The argument and the filter as text.
    pub(crate) text: String,
    /// What people call the result.
    pub(crate) name: String,
    /// The type of the result.
    pub(crate) output: DataType,
}

impl AggregateCall {
    /// The call as people write it.
    pub(crate) fn shown(&self) -> String {
        let distinct = if self.distinct { "DISTINCT " } else { "" };
        format!("{}({distinct}{})", self.function.name(), self.text)
    }
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
    /// What people call the key's columns.
    pub(crate) key_names: Vec<String>,
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
    /// Whether sums of whole numbers wrap around in the type of their result.
    pub(crate) wraps: bool,
    /// Whether and how long changes are buffered.
    pub(crate) mini_batch: Option<MiniBatch>,
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
    /// The sets of values that cells need.
    pub(super) sets: Vec<SetSpec>,
    /// Whether rows may be taken back.
    pub(super) retracts: bool,
    /// Whether the row says since when the group's values in sets count.
    pub(super) has_since: bool,
    /// The row of a group.
    pub(crate) schema: RowSchema,
    /// The fields of calls that have several.
    field_groups: Vec<FieldGroup>,
}

/// What a cell folds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CellSpec {
    pub(super) kind: CellKind,
    pub(super) feed: Feed,
    pub(super) argument: Option<usize>,
    pub(super) filter: Option<usize>,
    pub(super) name: String,
}

/// What a cell is fed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feed {
    /// Rows.
    Rows,
    /// Values as they enter a set and leave it, by one of the set's filters.
    Distinct { set: usize, filter: usize },
    /// The first value of a set.
    First { set: usize },
}

/// A set of the values of a group, with how many rows have each.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SetSpec {
    /// The input column of the values.
    pub(super) argument: usize,
    /// Which rows are counted: a count each.
    pub(super) filters: Vec<Option<usize>>,
    /// In which order the values are.
    pub(super) order: SetOrder,
    /// What it is, for people and for comparison at restore.
    pub(super) name: String,
}

/// The order of a set's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SetOrder {
    /// Nobody asks for it.
    Any,
    /// The least value is the first.
    Least,
    /// The greatest value is the first.
    Greatest,
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
    /// The layout for calls over rows of `input`. `retracts`: rows may be taken back; `expires`: the state has a TTL.
    /// `rows_name` names the count of rows.
    ///
    /// # Errors
    /// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for an aggregate that its type rules out.
    pub(crate) fn new(
        calls: &[AggregateCall],
        input: &SchemaRef,
        retracts: bool,
        expires: bool,
        rows_name: &str,
    ) -> Result<Self> {
        let mut parts = Parts { retracts, cells: Vec::new(), sets: Vec::new() };
        let mut of_calls = Vec::with_capacity(calls.len());
        for call in calls {
            let data_type = call.argument.map(|argument| input.field(argument).data_type());
            of_calls.push(parts.call(call, data_type)?);
        }
        let Parts { cells, sets, .. } = parts;
        let has_since = expires && !sets.is_empty();
        let mut fields = vec![Field::new(rows_name, DataKind::Int64.required())];
        if has_since {
            fields.push(Field::new("values count since", DataKind::Timestamp.required()));
        }
        let mut of_cells = Vec::with_capacity(cells.len());
        for cell in &cells {
            let begin = fields.len();
            cell.fields(input, &mut fields)?;
            of_cells.push(begin..fields.len());
        }
        let together = calls.iter().zip(&of_calls).map(|(call, of_call)| {
            let cells = [of_call.value, of_call.count].into_iter().flatten();
            let fields = cells.flat_map(|cell| &fields[of_cells[cell].clone()]).map(|field| field.name.clone());
            FieldGroup { what: call.shown(), fields: fields.collect() }
        });
        let together = together.filter(|together| together.fields.len() > 1).collect();
        Ok(Layout {
            cells,
            of_calls,
            sets,
            retracts,
            has_since,
            field_groups: together,
            schema: RowSchema::new(fields),
        })
    }

    /// What a changed query means for rows of this layout: the count of rows tells what a group is, and an aggregate
    /// that comes counts from then on.
    pub(super) fn evolution(&self) -> RowEvolution {
        let closed = if self.retracts {
            "rows from before it may be taken back, which it has never seen; where they only come, aggregates can be added"
        } else {
            ""
        };
        RowEvolution {
            accumulates: true,
            fixed: self.schema.fields().first().map(|rows| rows.name.clone()).into_iter().collect(),
            field_groups: self.field_groups.clone(),
            closed: closed.to_owned(),
            ..RowEvolution::default()
        }
    }

    /// What tells states with the same fields apart.
    pub(super) fn basis(&self) -> &'static str {
        if self.retracts { "rows that come and go" } else { "rows that come" }
    }

    /// Whether there are sets of values beside the row.
    pub(crate) fn has_sets(&self) -> bool {
        !self.sets.is_empty()
    }

    /// What the sets hold, for readers of a checkpoint and for comparison at restore.
    pub(crate) fn sets_schema(&self) -> String {
        let counted = if self.retracts { "counts" } else { "presence" };
        Layout::schema_of_sets(counted, &self.sets)
    }

    fn schema_of_sets(counted: &str, sets: &[SetSpec]) -> String {
        let names = sets.iter().enumerate().map(|(index, set)| format!("{index}: {}", set.name));
        format!("{counted} of {}", names.collect::<Vec<_>>().join(", "))
    }

    /// The sets that come to those of an older schema, which have the same numbers as before; `None`: it has others.
    pub(super) fn new_sets(&self, older: &str) -> Option<&[SetSpec]> {
        let counted = if self.retracts { "counts" } else { "presence" };
        let known =
            (1..self.sets.len()).find(|known| Layout::schema_of_sets(counted, &self.sets[..*known]) == older)?;
        (!self.retracts).then(|| &self.sets[known..])
    }
}

/// The cells and sets of the calls so far.
struct Parts {
    retracts: bool,
    cells: Vec<CellSpec>,
    sets: Vec<SetSpec>,
}

impl Parts {
    fn call(&mut self, call: &AggregateCall, data_type: Option<&DataType>) -> Result<CallCells> {
        let needs_count = self.retracts;
        Ok(match (call.function, data_type) {
            (AggregateFunction::Count, None) if call.filter.is_none() => CallCells { value: None, count: None },
            (AggregateFunction::Count, _) => {
                CallCells { value: Some(self.cell(call, CellKind::Count, "count")), count: None }
            }
            (AggregateFunction::Sum, Some(data_type)) => {
                let value = Some(self.cell(call, sum_kind(data_type, self.retracts)?, "sum"));
                CallCells { value, count: needs_count.then(|| self.cell(call, CellKind::Count, "count")) }
            }
            (AggregateFunction::Avg, Some(data_type)) => {
                let value = Some(self.cell(call, sum_kind(data_type, self.retracts)?, "sum"));
                CallCells { value, count: Some(self.cell(call, CellKind::Count, "count")) }
            }
            (AggregateFunction::Min, Some(data_type)) => {
                CallCells { value: Some(self.cell(call, extreme_kind(data_type, false)?, "min")), count: None }
            }
            (AggregateFunction::Max, Some(data_type)) => {
                CallCells { value: Some(self.cell(call, extreme_kind(data_type, true)?, "max")), count: None }
            }
            (_, None) => return Err(Error::internal("an aggregate lacks its argument")),
        })
    }

    /// The cell of this kind for a call: one that there is, or a new one.
    fn cell(&mut self, call: &AggregateCall, kind: CellKind, name: &str) -> usize {
        let feed = self.feed(call, kind);
        let distinct = if matches!(feed, Feed::Distinct { .. }) { "distinct " } else { "" };
        let name = format!("{name}({distinct}{})", call.text);
        let spec = CellSpec { kind, feed, argument: call.argument, filter: call.filter, name };
        self.cells.iter().position(|cell| *cell == spec).unwrap_or_else(|| {
            self.cells.push(spec);
            self.cells.len() - 1
        })
    }

    fn feed(&mut self, call: &AggregateCall, kind: CellKind) -> Feed {
        let Some(argument) = call.argument else { return Feed::Rows };
        match call.function {
            // An extreme is the same however often a value occurs.
            AggregateFunction::Min | AggregateFunction::Max if !self.retracts => Feed::Rows,
            AggregateFunction::Min | AggregateFunction::Max => {
                let (order, word) = match kind.is_greatest() {
                    true => (SetOrder::Greatest, "greatest"),
                    false => (SetOrder::Least, "least"),
                };
                let name = format!("{word} {}", call.text);
                let spec = SetSpec { argument, filters: vec![call.filter], order, name };
                let set = self.sets.iter().position(|set| *set == spec).unwrap_or_else(|| {
                    self.sets.push(spec);
                    self.sets.len() - 1
                });
                Feed::First { set }
            }
            _ if !call.distinct => Feed::Rows,
            // One entry of a value has the counts of all filters.
            _ => {
                let of_argument = |set: &SetSpec| set.argument == argument && set.order == SetOrder::Any;
                let set = self.sets.iter().position(of_argument).unwrap_or_else(|| {
                    let name = "distinct".to_owned();
                    self.sets.push(SetSpec { argument, filters: Vec::new(), order: SetOrder::Any, name });
                    self.sets.len() - 1
                });
                let spec = &mut self.sets[set];
                let filter = spec.filters.iter().position(|filter| *filter == call.filter).unwrap_or_else(|| {
                    spec.filters.push(call.filter);
                    spec.name.push_str(&format!(" ({})", call.text));
                    spec.filters.len() - 1
                });
                Feed::Distinct { set, filter }
            }
        }
    }
}

impl CellSpec {
    /// Appends the fields of the cell's state.
    fn fields(&self, input: &SchemaRef, fields: &mut Vec<Field>) -> Result<()> {
        let name = &self.name;
        let mut field = |name: String, ty: FieldType| fields.push(Field::new(name, ty));
        match self.kind {
            CellKind::Count => field(name.clone(), DataKind::Int64.required()),
            CellKind::SumInteger => field(name.clone(), DataKind::Int64.nullable()),
            CellKind::SumDecimal { scale } => {
                field(name.clone(), DataKind::Decimal { precision: 38, scale }.nullable());
            }
            CellKind::SumFloat => {
                field(name.clone(), DataKind::Float64.nullable());
                field(format!("{name}{LOST}"), DataKind::Float64.required());
            }
            CellKind::SumExact => {
                let parts = || DataKind::List(Box::new(DataKind::Float64.required())).required();
                field(format!("{name}{IS_SET}"), DataKind::Bool.required());
                let counts = || DataKind::Int64.required();
                let types = [parts(), parts(), counts(), counts(), counts()];
                for (part, ty) in EXACT_PARTS.iter().zip(types) {
                    field(format!("{name}{part}"), ty);
                }
            }
            _ => {
                let argument = self.argument.ok_or_else(|| Error::internal("an aggregate lacks its argument"))?;
                field(name.clone(), field_type(input.field(argument))?.kind.nullable());
            }
        }
        Ok(())
    }
}

fn sum_kind(data_type: &DataType, retracts: bool) -> Result<CellKind> {
    Ok(match data_type {
        DataType::Int64 => CellKind::SumInteger,
        DataType::Float64 if retracts => CellKind::SumExact,
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
