//! What `EXPLAIN` shows: a job's operators, with what they keep and for how long.

use super::note::Note;
use headpond_runtime::source::ROW_WATERMARK_COLUMN;
use headpond_runtime::{JobGraph, NodeId};
use headpond_state::OperatorId;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The operators of a graph as text.
pub(super) fn explain(graph: &JobGraph, notes: &BTreeMap<OperatorId, Vec<Note>>) -> String {
    let mut text = String::new();
    for (_, node) in graph.nodes() {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{}: {}", node.id, node.description);
        let inputs: Vec<&str> = node.kind.inputs().into_iter().map(|input| id_of(graph, input)).collect();
        if !inputs.is_empty() {
            let _ = writeln!(text, "  from: {}", inputs.join(", "));
        }
        for note in notes.get(&node.id).into_iter().flatten() {
            let _ = writeln!(text, "  {note}");
        }
        let columns = node.schema.fields().iter().filter(|field| field.name() != ROW_WATERMARK_COLUMN);
        let columns = columns.map(|field| format!("{} {}", field.name(), crate::script::type_name(field.data_type())));
        let _ = writeln!(text, "  columns: {}", columns.collect::<Vec<_>>().join(", "));
    }
    text
}

fn id_of(graph: &JobGraph, node: NodeId) -> &str {
    graph.node(node).id.as_str()
}
