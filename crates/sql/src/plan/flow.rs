//! From a logical plan to nodes of a job graph.
//!
//! A [`Flow`] is a node of the graph with expressions over its columns that are still to be computed. Projections and
//! filters only change the expressions; where a step needs rows (an aggregate, a sink) the flow is *materialized*: one
//! step that filters and projects.

pub(super) use super::row_watermark::with_row_watermark;

use super::column_names::ColumnNames;
use super::error::planning_error;
use super::flow_window::FlowWindow;
use super::note::Note;
use super::operator_ids::OperatorIds;
use super::rank_limit::RankLimit;
use super::session::Session;
use super::source::{Sources, projection, scanned};
use super::table::Table;
use super::ttl::StateTtls;
use super::window_table::WindowTable;
use crate::expression::{
    Compiler, LEVELS_OF_A_STEP, ProjectionFactory, WindowCall, is_processing_time, is_random, levels, substitute,
};
use crate::script::StateUidHint;
use crate::settings::JobSettings;
use crate::words::in_sql;
use arrow_schema::{Field, Schema, SchemaRef};
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, DFSchema};
use datafusion_expr::{Expr, LogicalPlan};
use headpond_runtime::source::ROW_WATERMARK_COLUMN;
use headpond_runtime::{JobGraph, Node, NodeId, NodeKind};
use headpond_state::ttl::TtlConfig;
use headpond_state::{Error, OperatorId, Result};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A node with what is still to be computed from its rows.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    /// Whose rows.
    pub(super) node: NodeId,
    /// The node's columns, without the hidden one.
    pub(super) base: SchemaRef,
    /// Whether the node has the hidden column of row watermarks behind the others.
    pub(super) row_watermark: bool,
    /// The columns, as expressions over the node's.
    pub(super) columns: Vec<Expr>,
    /// Which rows to keep, over the node's columns.
    pub(super) filter: Option<Expr>,
    /// Whether rows may be taken back.
    pub(super) changing: bool,
    /// Whether the rows end.
    pub(super) bounded: bool,
    /// The rows' time, over the node's columns.
    pub(super) event_time: Option<Expr>,
    /// The columns of the node that tell the rows' windows.
    pub(super) window: Option<FlowWindow>,
    /// The hopping windows, or the sessions, that rows do not have as columns yet: an aggregate by them computes them
    /// itself, anything else needs [a row for each](FlowBuilder::with_rows_of_windows).
    pub(super) windows_to_come: Option<WindowCall>,
}

impl Flow {
    /// The window of the rows: that of the node's columns, else the first that a column of the flow computes.
    pub(super) fn window_of_rows(&self) -> Option<FlowWindow> {
        if self.window.is_some() {
            return self.window.clone();
        }
        let mut first: Option<WindowCall> = None;
        let mut window = FlowWindow { start: None, end: None, time: None };
        for expr in &self.columns {
            let Some(Ok(call)) = WindowCall::of(expr) else { continue };
            if call.is_no_value() || is_processing_time(&call.time) {
                continue;
            }
            if first.get_or_insert_with(|| call.clone()).is_same_window(&call) {
                *window.part(call.part) = Some(expr.clone());
            }
        }
        first.map(|_| window)
    }
}

/// Builds the nodes of one `INSERT`.
#[derive(Debug)]
pub(super) struct FlowBuilder<'s> {
    pub(super) session: &'s Session,
    pub(super) settings: &'s JobSettings,
    pub(super) graph: &'s mut JobGraph,
    pub(super) sources: &'s Sources,
    pub(super) ttls: StateTtls,
    /// Whether the next aggregate's updates overwrite the row of its key, so that nobody needs the old row.
    pub(super) overwrites: bool,
    /// What the columns of the next plan become, for those who look into its state.
    pub(super) names: ColumnNames,
    /// What is kept of the rows that the next window numbers.
    pub(super) rank: Option<RankLimit>,
    /// What operators keep, for `EXPLAIN`.
    pub(super) notes: BTreeMap<OperatorId, Vec<Note>>,
    /// The nodes that give late rows, and whether these end.
    pub(super) late: Vec<(NodeId, bool)>,
    ids: OperatorIds,
}

impl<'s> FlowBuilder<'s> {
    /// A builder of nodes whose ids begin with `sink`.
    pub(super) fn new(
        session: &'s Session,
        settings: &'s JobSettings,
        graph: &'s mut JobGraph,
        sources: &'s Sources,
        ttls: StateTtls,
        sink: &str,
        uid: Option<&StateUidHint>,
    ) -> Self {
        let ids = OperatorIds::new(sink, uid);
        FlowBuilder {
            session,
            settings,
            graph,
            sources,
            ttls,
            overwrites: false,
            names: ColumnNames::default(),
            rank: None,
            notes: BTreeMap::new(),
            late: Vec::new(),
            ids,
        }
    }

    /// The id of the next operator of a kind.
    pub(super) fn next_id(&mut self, kind: &'static str) -> OperatorId {
        self.ids.next(kind)
    }

    /// Fails unless all operators that the hint `STATE_UID` names are there, each with an id of its own.
    pub(super) fn check_ids(&self) -> Result<()> {
        self.ids.check()
    }

    /// When the state that an operator keeps of `input` expires.
    pub(super) fn state_ttl(&self, input: &LogicalPlan) -> Option<TtlConfig> {
        self.ttls.of(input)
    }

    /// The nodes of a query whose rows go nowhere.
    pub(super) fn query(&mut self, plan: &LogicalPlan) -> Result<()> {
        let flow = self.build(plan, false)?;
        let fields = self.fields(&flow, plan.schema().fields().iter().map(|field| field.name().clone()))?;
        self.materialize(flow, fields).map(|_| ())
    }

    /// The nodes that compute `plan`. `row_watermark` asks for the hidden column of row watermarks.
    pub(super) fn build(&mut self, plan: &LogicalPlan, row_watermark: bool) -> Result<Flow> {
        self.names = std::mem::take(&mut self.names).through(plan);
        match plan {
            LogicalPlan::TableScan(scan) => {
                let table = scanned(scan)?;
                let flow = self.source(table, &projection(scan, table), row_watermark)?;
                scan.filters.iter().try_fold(flow, |flow, filter| self.filter(flow, plan.schema(), filter))
            }
            LogicalPlan::SubqueryAlias(alias) => self.build(&alias.input, row_watermark),
            LogicalPlan::Projection(projection) => self.projection(projection, row_watermark),
            LogicalPlan::Filter(filter) => self.filtered(filter, row_watermark, true),
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate),
            LogicalPlan::Join(join) => self.join(join),
            LogicalPlan::Union(union) => self.union(union, row_watermark),
            LogicalPlan::Values(values) => self.values(values),
            LogicalPlan::EmptyRelation(empty) if empty.produce_one_row => self.one_row(),
            LogicalPlan::Window(window) => self.rank(window),
            LogicalPlan::Extension(extension) if WindowTable::of(extension).is_some() => {
                self.window_table(extension, row_watermark)
            }
            other => Err(Error::unsupported(format!("{} is not supported", name_of(other)))),
        }
    }

    fn source(&mut self, table: &Table, projection: &[usize], row_watermark: bool) -> Result<Flow> {
        let source = self.sources.of(table)?.clone();
        Ok(Flow {
            node: source.node,
            base: source.base,
            row_watermark: row_watermark && source.row_watermark,
            columns: projection.iter().map(|&column| table.expressions[column].clone()).collect(),
            filter: None,
            changing: source.changing,
            bounded: source.bounded,
            event_time: table.watermark.as_ref().map(|watermark| watermark.time.clone()),
            window: None,
            windows_to_come: None,
        })
    }

    pub(super) fn project(&mut self, flow: Flow, schema: &DFSchema, exprs: &[Expr]) -> Result<Flow> {
        let mut flow = self.computed_once(flow, exprs)?;
        flow.columns = exprs.iter().map(|expr| over_base(expr, schema, &flow)).collect::<Result<_>>()?;
        Ok(flow)
    }

    pub(super) fn filter(&mut self, flow: Flow, schema: &DFSchema, predicate: &Expr) -> Result<Flow> {
        let mut flow = self.computed_once(flow, std::slice::from_ref(predicate))?;
        let predicate = over_base(predicate, schema, &flow)?;
        flow.filter = Some(match flow.filter {
            Some(filter) => filter.and(predicate),
            None => predicate,
        });
        Ok(flow)
    }

    /// The flow, materialized if an expression would compute a random value a second time, or nest too deep.
    fn computed_once(&mut self, flow: Flow, exprs: &[Expr]) -> Result<Flow> {
        let is_random = flow.columns.iter().any(is_random);
        let is_deep = flow.columns.iter().any(|column| levels(column) >= LEVELS_OF_A_STEP);
        if !is_random && !is_deep || exprs.iter().all(|expr| matches!(expr, Expr::Column(_))) {
            return Ok(flow);
        }
        let fields = self.fields(&flow, (0..flow.columns.len()).map(|index| format!("column_{index}")))?;
        self.materialize(flow, fields)
    }

    /// Fields for the flow's columns, with these names.
    fn fields(&self, flow: &Flow, names: impl Iterator<Item = String>) -> Result<Vec<Field>> {
        let compiler = Compiler::new(&flow.base, self.session)?;
        let typed = flow.columns.iter().zip(names);
        typed.map(|(expr, name)| Ok(Field::new(name, compiler.data_type(expr)?, true))).collect()
    }

    /// The flow as a node that has its columns under these names and types; the row watermark stays.
    pub(super) fn materialize(&mut self, flow: Flow, fields: Vec<Field>) -> Result<Flow> {
        self.materialized(flow, fields, false)
    }

    /// As [`materialize`](Self::materialize), by a node of its own even where the flow's has the columns.
    pub(super) fn materialize_anew(&mut self, flow: Flow, fields: Vec<Field>) -> Result<Flow> {
        self.materialized(flow, fields, true)
    }

    fn materialized(&mut self, flow: Flow, fields: Vec<Field>, anew: bool) -> Result<Flow> {
        let flow = self.with_rows_of_windows(flow)?;
        let compiler = Compiler::new(&flow.base, self.session)?;
        let mut columns = Vec::with_capacity(fields.len() + 1);
        for (expr, field) in flow.columns.iter().zip(&fields) {
            columns.push(compiler.cast(expr.clone(), field.data_type())?);
        }
        let base: SchemaRef = Arc::new(Schema::new(fields));
        let kept = |expr: &Expr| {
            let index = flow.columns.iter().position(|column| column == expr)?;
            Some(column(base.field(index).name()))
        };
        let window = flow.window_of_rows().and_then(|window| window.renamed(kept));
        let event_time = flow.event_time.as_ref().and_then(|time| {
            // A window's last millisecond is event time, too, where the rows' own time is gone.
            kept(time).or_else(|| window.as_ref().and_then(|window| window.time.clone()))
        });
        let same_columns = base.fields() == flow.base.fields()
            && columns.iter().zip(base.fields()).all(|(expr, field)| *expr == column(field.name()));
        // A node's hidden column is dropped where nobody asked for it.
        let given = self.graph.node(flow.node).schema.fields().len();
        let as_it_is = !anew && same_columns && given == base.fields().len() + usize::from(flow.row_watermark);
        let node = if as_it_is && flow.filter.is_none() { flow.node } else { self.calc(&flow, columns, &base)? };
        let columns = base.fields().iter().map(|field| column(field.name())).collect();
        Ok(Flow { node, base, columns, filter: None, event_time, window, ..flow })
    }

    fn calc(&mut self, flow: &Flow, mut columns: Vec<Expr>, base: &SchemaRef) -> Result<NodeId> {
        let description = describe(flow.filter.as_ref(), &columns);
        let mut input = Arc::clone(&flow.base);
        let mut schema = Arc::clone(base);
        if flow.row_watermark {
            input = with_row_watermark(&input);
            schema = with_row_watermark(&schema);
            columns.push(column(ROW_WATERMARK_COLUMN));
        }
        let compiler = Compiler::new(&input, self.session)?;
        let id = self.next_id("calc");
        let step = ProjectionFactory::new(&compiler, flow.filter.as_ref(), &columns, Arc::clone(&schema))?;
        let kind = NodeKind::Map { input: flow.node, function: step.into_function() };
        Ok(self.graph.add(Node { id, description, schema, kind }))
    }
}

/// An expression over a plan's input as one over the flow's base.
pub(super) fn over_base(expr: &Expr, input: &DFSchema, flow: &Flow) -> Result<Expr> {
    substitute(expr.clone(), &|column| {
        let index = input.maybe_index_of_column(column)?;
        flow.columns.get(index).cloned()
    })
}

/// A column of a base: its name is taken as it is.
pub(super) fn column(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

/// Whether a plan computes windows below its next aggregates.
pub(super) fn has_windows(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply(|node| {
        if matches!(node, LogicalPlan::Aggregate(_)) {
            return Ok(TreeNodeRecursion::Jump);
        }
        found |= node.expressions().iter().any(is_windowed);
        Ok(TreeNodeRecursion::Continue)
    })
    .map_err(planning_error)?;
    Ok(found)
}

/// Whether an expression calls a window function.
pub(super) fn is_windowed(expr: &Expr) -> bool {
    expr.exists(|expr| Ok(WindowCall::of(expr).is_some())).unwrap_or(false)
}

fn describe(filter: Option<&Expr>, columns: &[Expr]) -> String {
    let columns = columns.iter().map(|column| in_sql(&column.to_string())).collect::<Vec<_>>().join(", ");
    match filter {
        Some(filter) => format!("keep rows where {}; compute {columns}", in_sql(&filter.to_string())),
        None => format!("compute {columns}"),
    }
}

/// A plan's node in the words of SQL.
fn name_of(plan: &LogicalPlan) -> &'static str {
    match plan {
        LogicalPlan::Sort(_) => "ORDER BY",
        LogicalPlan::Limit(_) => "LIMIT",
        LogicalPlan::Distinct(_) => "SELECT DISTINCT ON",
        LogicalPlan::Values(_) => "VALUES",
        LogicalPlan::EmptyRelation(_) => "a query without FROM",
        LogicalPlan::Unnest(_) => "UNNEST",
        LogicalPlan::RecursiveQuery(_) => "WITH RECURSIVE",
        LogicalPlan::Subquery(_) => "a subquery in an expression",
        _ => "this query",
    }
}
