//! `INSERT INTO`: a query's columns checked against the table's, and the sink.

use super::column_names::ColumnNames;
use super::flow::{Flow, FlowBuilder};
use super::query::{optimize, plan_query, tables_of};
use super::rank_limit::{is_numbered_within, key_of_one_row};
use super::session::Session;
use super::table::Table;
use super::types::is_assignable;
use crate::expression::Compiler;
use crate::position::At;
use crate::script::{Insert, SourceQuery, TableOption, type_name};
use arrow_schema::{DataType, Field, Schema};
use datafusion_common::ScalarValue;
use datafusion_expr::{Expr, LogicalPlan, lit};
use headpond_connectors::SinkInput;
use headpond_runtime::{Node, NodeKind};
use headpond_state::{Error, Result};
use std::sync::Arc;

/// What the rows of a query by itself are called: the ids of its operators begin with it.
pub(super) const PRINTED: &str = "query";

/// An insert whose query is planned.
#[derive(Debug)]
pub(super) struct PlannedInsert<'s> {
    query: &'s SourceQuery,
    table: Arc<Table>,
    /// The query's plan.
    pub(super) plan: LogicalPlan,
    /// For each column of the query, the column of the table that it fills.
    targets: Vec<usize>,
}

impl<'s> PlannedInsert<'s> {
    /// Plans an insert's query and checks its columns against the table's.
    pub(super) fn of(insert: &'s Insert, session: &Session) -> Result<Self> {
        let table = session.table(&insert.table).at(insert.table_position)?;
        let plan = plan_query(&insert.query, session, true)?;
        let plan = optimize(plan, session).at(insert.query.position)?;
        let targets = targets(insert, &table, &plan)?;
        Ok(PlannedInsert { query: &insert.query, table, plan, targets })
    }

    /// Plans a query by itself, whose rows are printed.
    pub(super) fn printed(query: &'s SourceQuery, session: &Session) -> Result<Self> {
        let plan = optimize(plan_query(query, session, true)?, session).at(query.position)?;
        let field = |field: &Arc<Field>| match field.data_type() {
            // What `canonical` has for it.
            DataType::Null => Field::new(field.name(), DataType::Boolean, true),
            data_type => Field::new(field.name(), data_type.clone(), true),
        };
        let schema = Arc::new(Schema::new(plan.schema().fields().iter().map(field).collect::<Vec<_>>()));
        let option = |key: &str, value: &str| TableOption {
            key: key.to_owned(),
            value: value.to_owned(),
            position: query.position,
        };
        let table = Table {
            name: PRINTED.to_owned(),
            position: query.position,
            schema: Arc::clone(&schema),
            expressions: Vec::new(),
            physical: schema,
            primary_key: Vec::new(),
            watermark: None,
            options: vec![option("connector", "print")],
        };
        let targets = (0..table.physical.fields().len()).collect();
        Ok(PlannedInsert { query, table: Arc::new(table), plan, targets })
    }

    /// The query as it is written.
    pub(super) fn query(&self) -> &SourceQuery {
        self.query
    }

    /// The names of the tables that are read or filled.
    pub(super) fn names(&self) -> Result<Vec<String>> {
        let mut names = tables_of(&self.plan)?;
        names.push(self.table_name().to_owned());
        Ok(names)
    }

    /// The name of the table that is filled.
    pub(super) fn table_name(&self) -> &str {
        &self.table.name
    }
}

impl FlowBuilder<'_> {
    /// The nodes of an insert.
    pub(super) fn insert(&mut self, planned: &PlannedInsert<'_>, name: &str) -> Result<()> {
        let PlannedInsert { query, table, plan, targets } = planned;
        let key = table.primary_key.iter().map(|column| targets.iter().position(|target| target == column));
        let key = key.collect::<Option<Vec<_>>>();
        let key = key.filter(|key| !key.is_empty());
        self.overwrites = key.as_ref().is_some_and(|key| is_grouped_by(plan, key.clone(), false));
        let is_keyed = key.is_some_and(|key| is_grouped_by(plan, key, true));
        self.names = ColumnNames::of(targets.iter().map(|target| table.physical.field(*target).name().clone()));
        let flow = self.build(plan, false).at(query.position)?;
        let flow = self.fitted(flow, table, targets, plan).at(query.position)?;
        let input = SinkInput {
            insert: name.to_owned(),
            changelog: flow.changing,
            upsert: is_keyed || !flow.changing,
            bounded: flow.bounded,
        };
        let sink = self
            .session
            .connectors()
            .sink(&table.description(&self.settings.time_zone), &input)
            .map_err(|error| table.located(error))?;
        let key = (!table.primary_key.is_empty()).then(|| table.primary_key.clone());
        let description = match &key {
            None => format!("write to table {}", table.name),
            Some(key) => {
                let names = key.iter().map(|column| table.physical.field(*column).name().as_str());
                format!("write to table {} by {}", table.name, names.collect::<Vec<_>>().join(", "))
            }
        };
        let node = Node {
            id: self.next_id("sink"),
            description,
            schema: Arc::clone(&flow.base),
            kind: NodeKind::Sink { input: flow.node, key, sink },
        };
        self.graph.add(node);
        Ok(())
    }

    /// The flow with the table's columns: those that are not filled are NULL.
    fn fitted(&mut self, flow: Flow, table: &Table, targets: &[usize], plan: &LogicalPlan) -> Result<Flow> {
        let compiler = Compiler::new(&flow.base, self.session)?;
        let mut columns: Vec<Expr> = table.physical.fields().iter().map(|_| lit(ScalarValue::Null)).collect();
        for ((target, expr), source) in targets.iter().zip(&flow.columns).zip(plan.schema().fields()) {
            let field = table.physical.field(*target);
            let actual = compiler.data_type(expr)?;
            if !fits(&actual, field.data_type()) {
                return Err(misfit(field, source.name(), &actual, table));
            }
            // Seen in the session's time zone first, so that the cast reads a TIMESTAMP as a time there.
            let localized = self.session.localized(field.data_type());
            columns[*target] = compiler.cast(expr.clone(), &localized)?;
        }
        let fields = table.physical.fields().iter().map(|field| field.as_ref().clone()).collect();
        self.materialize(Flow { columns, ..flow }, fields)
    }
}

/// Whether a plan has one row for each value of `columns`, of one operator that has them as its key.
/// `filtered`: or had, before some were left out.
fn is_grouped_by(plan: &LogicalPlan, columns: Vec<usize>, filtered: bool) -> bool {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => is_grouped_by(&alias.input, columns, filtered),
        LogicalPlan::Projection(projection) => {
            let input = projection.input.schema();
            let column = |index: usize| match projection.expr[index].clone().unalias() {
                Expr::Column(column) => input.maybe_index_of_column(&column),
                _ => None,
            };
            columns
                .into_iter()
                .map(column)
                .collect::<Option<Vec<_>>>()
                .is_some_and(|columns| is_grouped_by(&projection.input, columns, filtered))
        }
        LogicalPlan::Filter(filter) => {
            key_of_one_row(filter).is_some_and(|window| is_numbered_within(window, &columns))
                || filtered && is_grouped_by(&filter.input, columns, filtered)
        }
        LogicalPlan::Aggregate(aggregate) => {
            let groups = aggregate.group_expr.len();
            columns.iter().all(|column| *column < groups) && (0..groups).all(|group| columns.contains(&group))
        }
        _ => false,
    }
}

fn fits(actual: &DataType, wanted: &DataType) -> bool {
    *actual == DataType::Null || is_assignable(actual, wanted)
}

fn misfit(field: &Field, source: &str, actual: &DataType, table: &Table) -> Error {
    let (wanted, actual) = (type_name(field.data_type()), type_name(actual));
    Error::invalid(format!(
        "column `{}` of table `{}` is {wanted}, and `{source}` is {actual}",
        field.name(),
        table.name
    ))
    .hint(format!("cast it: CAST(… AS {wanted}), or declare the column as {actual}"))
}

/// For each column of the query, the column of the table that it fills.
fn targets(insert: &Insert, table: &Table, plan: &LogicalPlan) -> Result<Vec<usize>> {
    let names = || table.physical.fields().iter().map(|field| field.name().as_str());
    let targets = if insert.columns.is_empty() {
        (0..table.physical.fields().len()).collect::<Vec<_>>()
    } else {
        let mut targets = Vec::new();
        for (name, position) in &insert.columns {
            let index = table.physical.index_of(name);
            let index = index.map_err(|_| crate::no_column::no_column(name, &table.name, names()).at(*position))?;
            if targets.contains(&index) {
                return Err(Error::invalid(format!("column `{name}` stands twice")).at(*position));
            }
            targets.push(index);
        }
        targets
    };
    let given = plan.schema().fields().len();
    if given != targets.len() {
        return Err(Error::invalid(format!(
            "table `{}` takes {} columns here, and the query gives {given}",
            table.name,
            targets.len()
        ))
        .hint(format!("the table's columns are {}", headpond_state::names::listed(names())))
        .at(insert.table_position));
    }
    Ok(targets)
}
