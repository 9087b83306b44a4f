//! Rows that come too late for their windows, on their way to the table that `table.exec.late-rows.table` names.
//!
//! They have the columns of the table that the windows are over, by name. A window's operator gives them to an output
//! of its own; those of all operators together are one more insert.

use super::flow::{Flow, FlowBuilder, column};
use super::session::Session;
use super::table::Table;
use super::types::is_assignable;
use crate::aggregate::{LATE_ROWS_PORT, LateRows};
use crate::expression::Compiler;
use crate::script::type_name;
use crate::settings::JobSettings;
use arrow_schema::{Field, Schema};
use datafusion_expr::Expr;
use headpond_config::options;
use headpond_connectors::{Connectors, SinkInput};
use headpond_runtime::{JobGraph, Node, NodeId, NodeKind};
use headpond_state::{Context, Error, OperatorId, Result};
use std::sync::Arc;

/// The table that gets late rows, if there is one.
pub(super) fn late_table(session: &Session, settings: &JobSettings) -> Result<Option<Arc<Table>>> {
    let table = settings.late_rows.as_ref().map(|name| session.table(name)).transpose();
    table.map_err(|error| error.with(Context::Option, options::LATE_ROWS_TABLE.key()))
}

impl FlowBuilder<'_> {
    /// The columns of late rows over a flow's node; `None` when they go nowhere, or the flow's rows are not those of a
    /// table.
    pub(super) fn late_columns(&self, flow: &Flow) -> Result<Option<Vec<Expr>>> {
        let Some(late) = late_table(self.session, self.settings)? else { return Ok(None) };
        let Some(source) = self.sources.at(flow.node) else { return Ok(None) };
        let table = &source.table;
        let compiler = Compiler::new(&flow.base, self.session)?;
        let column = |field: &Arc<Field>| {
            let names = || table.schema.fields().iter().map(|field| field.name().as_str());
            let index = table.schema.index_of(field.name());
            let index = index.map_err(|_| {
                crate::no_column::no_column(field.name(), &table.name, names())
                    .with(Context::Option, options::LATE_ROWS_TABLE.key())
            })?;
            let expr = table.expressions[index].clone();
            let actual = compiler.data_type(&expr)?;
            if !is_assignable(&actual, field.data_type()) {
                let (wanted, actual) = (type_name(field.data_type()), type_name(&actual));
                return Err(Error::invalid(format!(
                    "column `{}` of table `{}`, which gets late rows, is {wanted}, and that of table `{}` is {actual}",
                    field.name(),
                    late.name,
                    table.name
                ))
                .hint(format!("declare it as {actual}"))
                .with(Context::Option, options::LATE_ROWS_TABLE.key()));
            }
            compiler.cast(expr, &self.session.localized(field.data_type()))
        };
        late.physical.fields().iter().map(column).collect::<Result<Vec<_>>>().map(Some)
    }

    /// What a window's operator gives as late rows: these columns of its input, under the names of their table's.
    pub(super) fn late_rows_of(&self, columns: Option<Vec<usize>>, input: &Schema) -> Result<Option<LateRows>> {
        let (Some(columns), Some(table)) = (columns, late_table(self.session, self.settings)?) else { return Ok(None) };
        let named = table.physical.fields().iter().zip(&columns);
        let field = |(field, column): (&Arc<Field>, &usize)| {
            Field::new(field.name(), input.field(*column).data_type().clone(), true)
        };
        let schema = Arc::new(Schema::new(named.map(field).collect::<Vec<_>>()));
        Ok(Some(LateRows { columns, schema }))
    }

    /// Sends what a window's operator gives as late rows on.
    pub(super) fn late_rows(&mut self, operator: NodeId, rows: &LateRows, bounded: bool) -> Result<()> {
        let Some(late) = late_table(self.session, self.settings)? else { return Ok(()) };
        let node = Node {
            id: self.next_id("late-rows"),
            description: "rows that come too late for their windows".to_owned(),
            schema: Arc::clone(&rows.schema),
            kind: NodeKind::SideOutput { input: operator, port: LATE_ROWS_PORT },
        };
        let flow = Flow {
            node: self.graph.add(node),
            base: Arc::clone(&rows.schema),
            row_watermark: false,
            columns: rows.schema.fields().iter().map(|field| column(field.name())).collect(),
            filter: None,
            changing: false,
            bounded,
            event_time: None,
            window: None,
            windows_to_come: None,
        };
        let fields = late.physical.fields().iter().map(|field| field.as_ref().clone()).collect();
        let flow = self.materialize(flow, fields)?;
        self.late.push((flow.node, flow.bounded));
        Ok(())
    }
}

/// Adds the sink of late rows; `name` is the insert's.
pub(super) fn add_sink(
    graph: &mut JobGraph,
    late: &[(NodeId, bool)],
    table: &Table,
    name: &str,
    settings: &JobSettings,
    connectors: &Connectors,
) -> Result<()> {
    let input = match late {
        [] => return Ok(()),
        [(node, _)] => *node,
        several => graph.add(Node {
            id: OperatorId::new(format!("{name}/union/0")),
            description: "late rows of all windows".to_owned(),
            schema: Arc::clone(&table.physical),
            kind: NodeKind::Union { inputs: several.iter().map(|(node, _)| *node).collect() },
        }),
    };
    let bounded = late.iter().all(|(_, bounded)| *bounded);
    let insert = SinkInput { insert: name.to_owned(), changelog: false, upsert: true, bounded };
    let sink = connectors.sink(&table.description(&settings.time_zone), &insert);
    let sink = sink.map_err(|error| table.located(error))?;
    let key = (!table.primary_key.is_empty()).then(|| table.primary_key.clone());
    graph.add(Node {
        id: OperatorId::new(format!("{name}/sink/0")),
        description: format!("write late rows to table {}", table.name),
        schema: Arc::clone(&table.physical),
        kind: NodeKind::Sink { input, key, sink },
    });
    Ok(())
}
