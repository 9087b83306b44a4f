//! What a finished job's input has that it had not when the job ended.

use crate::graph::{JobGraph, NodeKind};
use crate::source::{ReaderContext, Source, SourceSplit};
use headpond_checkpoint::manifest::{Manifest, SplitState};
use std::collections::BTreeMap;

/// The most splits that are opened to see whether they have grown.
const OPENED_MAX: usize = 64;

/// Splits that are new or have more rows, by their ids. What cannot be read has nothing new.
pub(crate) fn new_input(graph: &JobGraph, finished: &Manifest) -> Vec<String> {
    let mut new = Vec::new();
    for (_, node) in graph.nodes() {
        let (NodeKind::Source(source), Some(before)) = (&node.kind, finished.source(&node.id)) else { continue };
        let source = source.source.as_ref();
        let before: BTreeMap<&str, &SplitState> =
            before.splits.iter().map(|state| (state.id.as_str(), state)).collect();
        for (place, split) in source.splits().unwrap_or_default().into_iter().enumerate() {
            let is_new = match before.get(split.id.as_str()) {
                None => true,
                Some(state) => place < OPENED_MAX && source.splits_end() && has_more(source, &split, state),
            };
            if is_new {
                new.push(split.id);
            }
        }
    }
    new
}

fn has_more(source: &dyn Source, split: &SourceSplit, state: &SplitState) -> bool {
    let position = (!state.position.is_null()).then_some(&state.position);
    let reader = source.open(split, position, &ReaderContext { subtask: 0, readers: 1 });
    let next = reader.and_then(|mut reader| reader.next(1));
    next.is_ok_and(|batch| batch.is_some_and(|batch| batch.rows.num_rows() > 0))
}
