//! `UNION ALL`: the rows of several queries as one.

use super::flow::{Flow, FlowBuilder, column};
use arrow_schema::Field;
use datafusion_expr::Union;
use headpond_runtime::{Node, NodeKind};
use headpond_state::{Error, Result};
use std::sync::Arc;

impl FlowBuilder<'_> {
    /// The nodes of a union: each query's rows under the columns of the whole.
    pub(super) fn union(&mut self, union: &Union, row_watermark: bool) -> Result<Flow> {
        let fields: Vec<Field> = union
            .schema
            .fields()
            .iter()
            .enumerate()
            .map(|(index, field)| Field::new(format!("column_{index}"), field.data_type().clone(), true))
            .collect();
        let flows: Vec<Flow> =
            union.inputs.iter().map(|input| self.build(input, row_watermark)).collect::<Result<_>>()?;
        // Without the row watermarks of all queries those of some are of no use.
        let row_watermark = flows.iter().all(|flow| flow.row_watermark);
        let mut parts: Vec<Flow> = Vec::with_capacity(flows.len());
        for flow in flows {
            parts.push(self.materialize_anew(Flow { row_watermark, ..flow }, fields.clone())?);
        }
        let Some(first) = parts.first() else { return Err(Error::internal("a union has no queries")) };
        let event_time =
            first.event_time.clone().filter(|time| parts.iter().all(|part| part.event_time.as_ref() == Some(time)));
        let node = Node {
            id: self.next_id("union"),
            description: format!("all rows of {} queries", parts.len()),
            schema: Arc::clone(&self.graph.node(first.node).schema),
            kind: NodeKind::Union { inputs: parts.iter().map(|part| part.node).collect() },
        };
        Ok(Flow {
            node: self.graph.add(node),
            base: Arc::clone(&first.base),
            row_watermark,
            columns: first.base.fields().iter().map(|field| column(field.name())).collect(),
            filter: None,
            changing: parts.iter().any(|part| part.changing),
            bounded: parts.iter().all(|part| part.bounded),
            event_time,
            window: None,
            windows_to_come: None,
        })
    }
}
