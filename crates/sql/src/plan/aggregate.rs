//! From an aggregate of a logical plan to a keyed operator.

use super::column_names::ColumnNames;
use super::flow::{Flow, FlowBuilder, column, has_windows, is_windowed, over_base};
use super::flow_window::FlowWindow;
use super::note::Note;
use super::types::canonical;
use crate::aggregate::{
    AggregateCall, AggregateFunction, AggregatePlan, GroupAggregateFactory, Layout, OutputColumn, RowTime,
    WindowAggregateFactory, WindowSpec, Windows,
};
use crate::expression::{Compiler, WindowCall, WindowShape};
use crate::script::not_supported;
use crate::words::in_sql;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_common::DFSchema;
use datafusion_expr::expr::AggregateFunction as LogicalCall;
use datafusion_expr::{Aggregate, Expr};
use headpond_runtime::key::KeyEncoder;
use headpond_runtime::operator::KeyedOperatorFactory;
use headpond_runtime::{KeyedInput, Node, NodeKind};
use headpond_state::{Error, MaxParallelism, OperatorId, Result};
use std::sync::Arc;

impl FlowBuilder<'_> {
    /// The nodes of an aggregate.
    pub(super) fn aggregate(&mut self, aggregate: &Aggregate) -> Result<Flow> {
        let overwrites = std::mem::take(&mut self.overwrites);
        let names = std::mem::take(&mut self.names);
        let windowed = aggregate.group_expr.iter().any(is_windowed) || has_windows(&aggregate.input)?;
        let flow = self.build(&aggregate.input, windowed)?;
        let (flow, group_filter) = self.with_grouped_windows(flow, aggregate)?;
        let mut input = AggregateInput::new(&flow, aggregate, self)?;
        let window = input.windows()?;
        if window.is_some() && flow.changing {
            return Err(Error::unsupported("windows over a changing result are not supported")
                .hint("compute windows over the table itself"));
        }
        let calls = input.calls(&names)?;
        let key_names = input.key_names(&names);
        let late = match &window {
            Some(Windows::OfTime { time: RowTime::Event(_), .. }) => self.late_columns(&flow)?,
            _ => None,
        };
        let late: Option<Vec<usize>> = late.map(|columns| columns.into_iter().map(|expr| input.other(expr)).collect());
        let key_columns = input.keys.len();
        let (columns, fields) = input.columns_and_fields()?;
        let output_columns = input.output_columns.clone();
        let rows_name = input.rows_name(window.as_ref());
        let (changing, bounded) = (flow.changing, flow.bounded);
        let row_watermark = flow.row_watermark && window.is_some();
        let materialized = Flow { columns, row_watermark, event_time: None, window: None, ..flow.clone() };
        let materialized = self.materialize(materialized, fields)?;

        let schema = self.graph.node(materialized.node).schema.clone();
        let ttl = if window.is_some() { None } else { self.state_ttl(&aggregate.input) };
        let layout = Layout::new(&calls, &schema, changing, ttl.is_some(), &rows_name)?;
        let is_session = matches!(window, Some(Windows::OfTime { shape: WindowShape::Session { .. }, .. }));
        if is_session && layout.has_sets() {
            return Err(not_supported("an aggregate of DISTINCT values in sessions", Some(DISTINCT_IN_SESSIONS)));
        }
        let id = self.next_id(if window.is_some() { "window-aggregate" } else { "group-aggregate" });
        let key: Vec<usize> = (0..key_columns).collect();
        let key_schema = KeyEncoder::new(&schema, &key, MaxParallelism::DEFAULT)?.schema();
        let output = output_schema(aggregate, &output_columns, &schema, &calls)?;
        let plan = AggregatePlan {
            input: Arc::clone(&schema),
            key_columns,
            key_schema,
            key_names,
            output: Arc::clone(&output),
            output_columns,
            calls,
            layout,
            overwrites,
            wraps: self.settings.functions.wraps,
            mini_batch: if window.is_some() { None } else { self.settings.mini_batch },
            format: self.settings.format,
            ttl,
        };
        let late = self.late_rows_of(late, &schema)?;
        let row_watermark = row_watermark.then(|| schema.fields().len() - 1);
        let window = window.map(|windows| WindowSpec { windows, row_watermark, late: late.clone() });
        self.note_state(&id, &plan, window.as_ref());
        let description = describe(&plan, window.as_ref());
        let has_calls = !plan.calls.is_empty();
        let result_window = match &window {
            Some(window) if window.is_event_time() => AggregateInput::result_window(&plan.output_columns, &output),
            _ => None,
        };
        let filter = group_filter.over_result(aggregate, &flow, &output)?;
        let operator: Arc<dyn KeyedOperatorFactory> = match window {
            None => Arc::new(GroupAggregateFactory::new(plan)),
            Some(window) => Arc::new(WindowAggregateFactory::new(plan, window)),
        };
        let kind = NodeKind::Keyed { inputs: vec![KeyedInput::by_key(materialized.node, key)], operator };
        // A group of rows that only come does not change when nothing is computed of it.
        let changing = !description.is_windowed && (changing || has_calls);
        let node = self.graph.add(Node { id, description: description.text, schema: Arc::clone(&output), kind });
        if let Some(late) = &late {
            self.late_rows(node, late, bounded)?;
        }
        let columns = logical_columns(&output, aggregate.schema.as_ref());
        Ok(Flow {
            node,
            base: output,
            row_watermark: false,
            columns,
            filter,
            changing,
            bounded,
            event_time: result_window.as_ref().and_then(|window| window.time.clone()),
            window: result_window,
            windows_to_come: None,
        })
    }
}

/// What an aggregate needs of its input: the columns of the key, then those of arguments, filters and time.
pub(super) struct AggregateInput<'a> {
    aggregate: &'a Aggregate,
    pub(super) flow: &'a Flow,
    pub(super) compiler: Compiler,
    pub(super) keys: Vec<Expr>,
    others: Vec<Expr>,
    pub(super) window_calls: Vec<WindowCall>,
    /// The window that the input's rows have in columns, if it is grouped by.
    pub(super) assigned: Option<FlowWindow>,
    output_columns: Vec<OutputColumn>,
}

impl<'a> AggregateInput<'a> {
    fn new(flow: &'a Flow, aggregate: &'a Aggregate, builder: &FlowBuilder<'_>) -> Result<Self> {
        let mut input = AggregateInput {
            aggregate,
            flow,
            compiler: Compiler::new(&flow.base, builder.session)?,
            keys: Vec::new(),
            others: Vec::new(),
            window_calls: Vec::new(),
            assigned: None,
            output_columns: Vec::new(),
        };
        let mut groups = Vec::with_capacity(aggregate.group_expr.len());
        for group in &aggregate.group_expr {
            if matches!(group, Expr::GroupingSet(_)) {
                return Err(Error::unsupported("GROUPING SETS, ROLLUP and CUBE are not supported")
                    .hint("write an INSERT INTO of its own for each grouping"));
            }
            groups.push(over_base(group, aggregate.input.schema(), flow)?);
        }
        input.assigned = AggregateInput::assigned(&groups, flow);
        for expr in groups {
            let assigned = input.assigned.as_ref().and_then(|window| window.part_of(&expr));
            match WindowCall::of(&expr) {
                _ if assigned.is_some() => input.output_columns.extend(assigned.map(OutputColumn::Window)),
                Some(call) => {
                    let call = call?;
                    input.output_columns.push(OutputColumn::Window(call.part));
                    input.window_calls.push(call);
                }
                None => {
                    input.output_columns.push(OutputColumn::Key(input.keys.len()));
                    input.keys.push(expr);
                }
            }
        }
        Ok(input)
    }

    /// The input column of an expression that is no key.
    pub(super) fn other(&mut self, expr: Expr) -> usize {
        let position = self.others.iter().position(|other| *other == expr);
        let index = position.unwrap_or_else(|| {
            self.others.push(expr);
            self.others.len() - 1
        });
        self.keys.len() + index
    }

    /// What people call the key's columns: by their own names, and expressions by what the query makes of them.
    fn key_names(&self, names: &ColumnNames) -> Vec<String> {
        let name = |key: usize| {
            let expr = &self.keys[key];
            let index = self.output_columns.iter().position(|column| *column == OutputColumn::Key(key));
            let given = index.and_then(|index| names.get(index)).filter(|_| !matches!(expr, Expr::Column(_)));
            given.cloned().unwrap_or_else(|| text_of(expr))
        };
        (0..self.keys.len()).map(name).collect()
    }

    fn calls(&mut self, names: &ColumnNames) -> Result<Vec<AggregateCall>> {
        let mut calls = Vec::new();
        for (index, expr) in self.aggregate.aggr_expr.iter().enumerate() {
            let call = match expr.clone().unalias() {
                Expr::AggregateFunction(call) => call,
                other => return Err(not_supported(&format!("the aggregate {}", text_of(&other)), None)),
            };
            let position = self.aggregate.group_expr.len() + index;
            let output = canonical(self.aggregate.schema.field(position).data_type())?;
            let mut call = self.call(&call, output)?;
            if let Some(name) = names.get(position) {
                call.name.clone_from(name);
            }
            calls.push(call);
            self.output_columns.push(OutputColumn::Call(index));
        }
        Ok(calls)
    }

    fn call(&mut self, call: &LogicalCall, output: DataType) -> Result<AggregateCall> {
        let name = call.func.name();
        let function = match name {
            "count" => AggregateFunction::Count,
            "sum" => AggregateFunction::Sum,
            "min" => AggregateFunction::Min,
            "max" => AggregateFunction::Max,
            "avg" => AggregateFunction::Avg,
            other => return Err(not_supported(&format!("the aggregate {other}"), None)),
        };
        if !call.params.order_by.is_empty() {
            return Err(Error::unsupported(format!("{name}(… ORDER BY …) is not supported")));
        }
        let schema = self.aggregate.input.schema();
        let argument = match &call.params.args[..] {
            [Expr::Literal(literal, _)] if function == AggregateFunction::Count && !literal.is_null() => None,
            [argument] => Some(self.argument(argument, schema, function, call.params.distinct)?),
            _ => return Err(Error::unsupported(format!("{name} of more than one argument is not supported"))),
        };
        let filter = match &call.params.filter {
            None => None,
            Some(filter) => {
                let filter = over_base(filter, schema, self.flow)?;
                Some(self.other(filter))
            }
        };
        let argument_text = argument.map_or_else(|| "*".to_owned(), |argument| self.text(argument));
        let text = match filter {
            None => argument_text,
            Some(filter) => format!("{argument_text} where {}", self.text(filter)),
        };
        let distinct = call.params.distinct;
        let name = format!("{}({}{text})", function.name(), if distinct { "DISTINCT " } else { "" });
        Ok(AggregateCall { function, argument, distinct, filter, text, name, output })
    }

    fn argument(
        &mut self,
        argument: &Expr,
        schema: &DFSchema,
        function: AggregateFunction,
        distinct: bool,
    ) -> Result<usize> {
        let argument = over_base(argument, schema, self.flow)?;
        let data_type = self.compiler.data_type(&argument)?;
        // Counting asks only whether there is a value, whatever its type.
        let wanted = match function {
            AggregateFunction::Count if !distinct => data_type,
            AggregateFunction::Sum | AggregateFunction::Avg => summed(&data_type)?,
            _ => canonical(&data_type)?,
        };
        let argument = self.compiler.cast(argument, &wanted)?;
        Ok(self.other(argument))
    }

    fn text(&self, column: usize) -> String {
        text_of(&self.others[column - self.keys.len()])
    }

    fn columns_and_fields(&self) -> Result<(Vec<Expr>, Vec<Field>)> {
        let mut columns = Vec::new();
        let mut fields: Vec<Field> = Vec::new();
        let keys = self.keys.iter().map(|expr| (expr, true));
        let others = self.others.iter().map(|expr| (expr, false));
        for (expr, is_key) in keys.chain(others) {
            let data_type = self.compiler.data_type(expr)?;
            let data_type = if is_key { canonical(&data_type)? } else { data_type };
            fields.push(Field::new(unique(text_of(expr), &fields), data_type, true));
            columns.push(expr.clone());
        }
        Ok((columns, fields))
    }

    /// The name of the count of a group's rows, which tells what a group is: a query with another key has another
    /// state.
    fn rows_name(&self, windows: Option<&Windows>) -> String {
        let keys = self.keys.iter().map(text_of).collect::<Vec<_>>().join(", ");
        let by = if keys.is_empty() { String::new() } else { format!(" by {keys}") };
        match windows {
            None => format!("rows{by}"),
            Some(windows) => {
                let column = |column: usize| text_of(&self.others[column - self.keys.len()]);
                format!("rows{by} in {}", windows.in_full(&column))
            }
        }
    }
}

/// The type that values are summed in.
fn summed(data_type: &DataType) -> Result<DataType> {
    Ok(match canonical(data_type)? {
        DataType::Boolean | DataType::Int8 | DataType::Int16 | DataType::Int32 => DataType::Int64,
        DataType::Float32 => DataType::Float64,
        other => other,
    })
}

const DISTINCT_IN_SESSIONS: &str = "aggregates of DISTINCT values are supported without windows and in TUMBLE and HOP";

/// An expression as people write it; casts are left out.
pub(super) fn text_of(expr: &Expr) -> String {
    in_sql(&expr.schema_name().to_string())
}

/// The name, made different from those of the fields.
pub(super) fn unique(name: String, fields: &[Field]) -> String {
    let taken = |name: &str| fields.iter().any(|field| field.name() == name);
    if !taken(&name) {
        return name;
    }
    let numbered = (1..).map(|number| format!("{name}_{number}")).find(|name| !taken(name));
    numbered.unwrap_or(name)
}

fn output_schema(
    aggregate: &Aggregate,
    columns: &[OutputColumn],
    input: &Schema,
    calls: &[AggregateCall],
) -> Result<SchemaRef> {
    let mut fields: Vec<Field> = Vec::new();
    for (index, output) in columns.iter().enumerate() {
        let logical = aggregate.schema.field(index);
        let data_type = match output {
            OutputColumn::Key(key) => input.field(*key).data_type().clone(),
            OutputColumn::Window(_) => canonical(logical.data_type())?,
            OutputColumn::Call(call) => calls[*call].output.clone(),
        };
        fields.push(Field::new(unique(logical.name().clone(), &fields), data_type, true));
    }
    Ok(Arc::new(Schema::new(fields)))
}

/// The columns of the output with the types that the logical plan gives them.
pub(super) fn logical_columns(output: &Schema, logical: &DFSchema) -> Vec<Expr> {
    let typed = output.fields().iter().zip(logical.fields());
    let columns = typed.map(|(actual, logical)| {
        let expr = column(actual.name());
        if actual.data_type() == logical.data_type() {
            expr
        } else {
            datafusion_expr::cast(expr, logical.data_type().clone())
        }
    });
    columns.collect()
}

struct Description {
    text: String,
    is_windowed: bool,
}

fn describe(plan: &AggregatePlan, window: Option<&WindowSpec>) -> Description {
    let keys = plan.input.fields()[..plan.key_columns].iter().map(|field| field.name().as_str()).collect::<Vec<_>>();
    let calls = plan.calls.iter().map(AggregateCall::shown).collect::<Vec<_>>();
    let mut text = if keys.is_empty() { "one group".to_owned() } else { format!("group by {}", keys.join(", ")) };
    if let Some(window) = window {
        text.push_str(&format!(", {}", window.windows.text()));
    }
    if !calls.is_empty() {
        text.push_str(&format!("; {}", calls.join(", ")));
    }
    Description { text, is_windowed: window.is_some() }
}

impl FlowBuilder<'_> {
    /// Remembers what an operator keeps, for `EXPLAIN`.
    fn note_state(&mut self, id: &OperatorId, plan: &AggregatePlan, window: Option<&WindowSpec>) {
        let key = if plan.key_columns == 0 { "none, one group".to_owned() } else { plan.key_schema.to_string() };
        let states = match window {
            None => vec![("accumulators", plan.layout.schema.clone())],
            Some(window) => window.states(plan),
        };
        let states = states.iter().map(|(name, schema)| format!("state `{name}` ({}): {schema}", plan.format));
        let mut notes: Vec<Note> = std::iter::once(format!("key: {key}")).chain(states).map(Note::Line).collect();
        if plan.layout.has_sets() {
            notes.push(Note::Line(format!("state `values`: {}", plan.layout.sets_schema())));
        }
        notes.push(match (window, plan.ttl) {
            (Some(_), _) => Note::Line("expiry: when a window closes".to_owned()),
            (None, Some(ttl)) => Note::Line(format!("expiry: {} ms after the last write", ttl.ttl_ms)),
            (None, None) if plan.key_columns == 0 => Note::Line("expiry: never; there is one group".to_owned()),
            (None, None) => Note::Unbounded,
        });
        self.notes.insert(id.clone(), notes);
    }
}
