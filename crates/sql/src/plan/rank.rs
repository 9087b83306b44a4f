//! `ROW_NUMBER() OVER (…)` with a condition on the number: deduplication and Top-N.
//!
//! The plan is a filter above a window, with projections and names in between: the optimizer moves the condition down.
//! The part of the condition that bounds the number becomes the operator's limit; the rest stays a filter.

use super::aggregate::unique;
use super::flow::{Flow, FlowBuilder, column, over_base};
use super::note::Note;
use super::rank_limit::{RankLimit, call_of, leaves_out_numbers};
use super::types::canonical;
use crate::expression::{Compiler, ROW_NUMBER};
use crate::rank::{FirstRowFactory, RankPlan, SortColumn, TopRowsFactory};
use crate::script::not_supported;
use crate::words::in_sql;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_common::ScalarValue;
use datafusion_expr::expr::WindowFunction;
use datafusion_expr::{Expr, Filter, LogicalPlan, Projection, Window, lit};
use headpond_runtime::key::KeyEncoder;
use headpond_runtime::operator::KeyedOperatorFactory;
use headpond_runtime::{KeyedInput, Node, NodeKind};
use headpond_state::{Error, MaxParallelism, Result};
use std::sync::Arc;

impl FlowBuilder<'_> {
    /// The nodes of a projection.
    pub(super) fn projection(&mut self, projection: &Projection, row_watermark: bool) -> Result<Flow> {
        let flow = match projection.input.as_ref() {
            LogicalPlan::Filter(filter) => self.filtered(filter, row_watermark, !leaves_out_numbers(projection))?,
            other => self.build(other, row_watermark)?,
        };
        self.project(flow, projection.input.schema(), &projection.expr)
    }

    /// The nodes of a filter. `numbered`: row numbers, if it limits some, are asked for above.
    pub(super) fn filtered(&mut self, filter: &Filter, row_watermark: bool, numbered: bool) -> Result<Flow> {
        let Some(mut limit) = RankLimit::of(filter)? else {
            let flow = self.build(&filter.input, row_watermark)?;
            return self.filter(flow, filter.input.schema(), &filter.predicate);
        };
        limit.numbered |= numbered;
        let rest = std::mem::take(&mut limit.rest);
        self.rank = Some(limit);
        let flow = self.build(&filter.input, false)?;
        rest.iter().try_fold(flow, |flow, condition| self.filter(flow, filter.input.schema(), condition))
    }

    /// The nodes of a window: the first rows of each key.
    pub(super) fn rank(&mut self, window: &Window) -> Result<Flow> {
        let overwrites = std::mem::take(&mut self.overwrites);
        let limit = self.rank.take();
        let [expr] = &window.window_expr[..] else {
            return Err(not_supported("more than one OVER in a SELECT", Some("number rows in a query of its own")));
        };
        let call = call_of(expr).ok_or_else(|| Error::internal("a window has no function"))?;
        if call.fun.name() != ROW_NUMBER {
            return Err(not_supported(&format!("{} OVER", call.fun.name().to_uppercase()), Some(NUMBERED)));
        }
        let limit = limit.ok_or_else(|| not_supported("ROW_NUMBER() without a limit", Some(NUMBERED)))?;
        let flow = self.build(&window.input, false)?;
        let input = RankInput::new(&flow, window, call, self)?;
        let RankInput { columns, fields, key_columns, order, of_flow } = input;
        let later_first = match &call.params.order_by[..] {
            [only] => !only.asc && flow.event_time.as_ref() == Some(&columns[order[0].column]),
            _ => false,
        };
        let (retracts, bounded) = (flow.changing, flow.bounded);
        let flow = self.materialize(Flow { columns, ..flow }, fields)?;

        let schema = Arc::clone(&flow.base);
        let id = self.next_id("rank");
        let key: Vec<usize> = (0..key_columns).collect();
        let key_schema = KeyEncoder::new(&schema, &key, MaxParallelism::DEFAULT)?.schema();
        let output = if limit.numbered { with_number(&schema) } else { Arc::clone(&schema) };
        let plan = RankPlan {
            input: Arc::clone(&schema),
            key_columns,
            key_schema,
            order,
            limit: limit.limit,
            numbered: limit.numbered,
            retracts,
            later_first,
            output: Arc::clone(&output),
            overwrites,
            mini_batch: self.settings.mini_batch,
            format: self.settings.format,
            ttl: self.state_ttl(&window.input),
        };
        let description = describe(&plan);
        let key_types = if key_columns == 0 { "none".to_owned() } else { plan.key_schema.to_string() };
        let mut notes = vec![Note::Line(format!("key: {key_types}"))];
        let expiry = match plan.ttl {
            Some(ttl) => Note::Line(format!("expiry: {} ms after the last write", ttl.ttl_ms)),
            None if key_columns == 0 && !retracts => Note::Line("expiry: never; there is one key".to_owned()),
            None => Note::Unbounded,
        };
        let operator: Arc<dyn KeyedOperatorFactory> = if limit.limit == 1 && !retracts {
            let factory = FirstRowFactory::new(plan)?;
            notes.push(factory.kept().into());
            Arc::new(factory)
        } else {
            let factory = TopRowsFactory::new(plan)?;
            notes.push(factory.kept().into());
            Arc::new(factory)
        };
        notes.push(expiry);
        self.notes.insert(id.clone(), notes);
        let kind = NodeKind::Keyed { inputs: vec![KeyedInput::by_key(flow.node, key)], operator };
        let node = self.graph.add(Node { id, description, schema: Arc::clone(&output), kind });
        let mut columns = Vec::with_capacity(of_flow.len() + 1);
        for (index, logical) in of_flow.iter().zip(window.schema.fields()) {
            let field = output.field(*index);
            let expr = column(field.name());
            let same = field.data_type() == logical.data_type();
            columns.push(if same { expr } else { datafusion_expr::cast(expr, logical.data_type().clone()) });
        }
        columns.push(match limit.numbered {
            true => column(output.field(output.fields().len() - 1).name()),
            false => lit(ScalarValue::Int64(None)),
        });
        Ok(Flow {
            node,
            base: output,
            row_watermark: false,
            columns,
            filter: None,
            changing: true,
            bounded,
            event_time: None,
            window: None,
            windows_to_come: None,
        })
    }
}

const NUMBERED: &str = "ROW_NUMBER() is, with a limit: SELECT … FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) AS rn FROM t) WHERE rn <= 3";

/// What a rank needs of its input: the columns of the key, then the others.
struct RankInput {
    columns: Vec<Expr>,
    fields: Vec<Field>,
    key_columns: usize,
    order: Vec<SortColumn>,
    /// Where the columns of the window's input are.
    of_flow: Vec<usize>,
}

impl RankInput {
    fn new(flow: &Flow, window: &Window, call: &WindowFunction, builder: &FlowBuilder<'_>) -> Result<Self> {
        let compiler = Compiler::new(&flow.base, builder.session)?;
        let schema = window.input.schema();
        let mut input = RankInput {
            columns: Vec::new(),
            fields: Vec::new(),
            key_columns: 0,
            order: Vec::new(),
            of_flow: Vec::new(),
        };
        if call.params.order_by.is_empty() {
            return Err(Error::invalid("ROW_NUMBER() needs an order: which row is the first?")
                .hint("add ORDER BY: ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts)"));
        }
        for expr in &call.params.partition_by {
            input.column(&over_base(expr, schema, flow)?, None, &compiler)?;
        }
        input.key_columns = input.columns.len();
        for (expr, field) in flow.columns.iter().zip(schema.fields()) {
            let index = input.column(expr, Some(field.name()), &compiler)?;
            input.of_flow.push(index);
        }
        for sort in &call.params.order_by {
            let column = input.column(&over_base(&sort.expr, schema, flow)?, None, &compiler)?;
            input.order.push(SortColumn { column, descending: !sort.asc, nulls_first: sort.nulls_first });
        }
        Ok(input)
    }

    /// The column of an expression: one that there is, or a new one.
    fn column(&mut self, expr: &Expr, name: Option<&str>, compiler: &Compiler) -> Result<usize> {
        if let Some(index) = self.columns.iter().position(|column| column == expr) {
            return Ok(index);
        }
        let name = name.map_or_else(|| in_sql(&expr.schema_name().to_string()), str::to_owned);
        let data_type = canonical(&compiler.data_type(expr)?)?;
        self.fields.push(Field::new(unique(name, &self.fields), data_type, true));
        self.columns.push(expr.clone());
        Ok(self.columns.len() - 1)
    }
}

fn with_number(schema: &Schema) -> SchemaRef {
    let fields: Vec<Field> = schema.fields().iter().map(|field| field.as_ref().clone()).collect();
    let number = Field::new(unique("row_number".to_owned(), &fields), DataType::Int64, false);
    Arc::new(Schema::new(fields.into_iter().chain([number]).collect::<Vec<_>>()))
}

fn describe(plan: &RankPlan) -> String {
    let name = |column: usize| plan.input.field(column).name().as_str();
    let keys = (0..plan.key_columns).map(name).collect::<Vec<_>>().join(", ");
    let order = plan.order.iter().map(|sort| {
        let direction = if sort.descending { " DESC" } else { "" };
        format!("{}{direction}", name(sort.column))
    });
    let order = order.collect::<Vec<_>>().join(", ");
    let rows = if plan.limit == 1 { "the first row".to_owned() } else { format!("the first {} rows", plan.limit) };
    match plan.key_columns {
        0 => format!("{rows} by {order}"),
        _ => format!("{rows} of each {keys} by {order}"),
    }
}
