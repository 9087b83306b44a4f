//! `state diff`: what has changed between two checkpoints.

use super::describe::kind;
use super::text_table::{aligned, cells, widths};
use crate::console;
use crate::format::{Count, cell};
use headpond_inspect::{StateCatalog, StateDiff, diff};
use headpond_state::Result;
use std::fmt::Write;

/// Says what has changed in each state, and shows up to `rows` entries of each that differ.
pub(super) fn difference(from: &StateCatalog, to: &StateCatalog, rows: usize) -> Result<()> {
    console::line(format_args!("from {} to {}", from.checkpoint().location(), to.checkpoint().location()));
    let mut table =
        vec![["operator", "state", "kind", "added", "removed", "changed", "unchanged"].map(str::to_owned).to_vec()];
    let mut examples = String::new();
    diff(from, to, rows, &mut |found| {
        table.push(summary(&found));
        let mut text = Vec::new();
        if let Some(batch) = &found.examples {
            text.push(batch.schema().fields().iter().map(|field| cell(field.name())).collect());
            text.extend(cells(batch)?);
            // Writing to a String does not fail.
            let _ = write!(
                examples,
                "\n{}, state `{}`\n{}",
                cell(&found.operator),
                cell(&found.state),
                aligned(&text, &widths(&text))
            );
        }
        if let Some(why) = &found.incomparable {
            let (operator, state) = (cell(&found.operator), cell(&found.state));
            let _ = write!(examples, "\n{operator}, state `{state}` cannot be compared: {why}\n");
        }
        Ok(())
    })?;
    console::data(&(aligned(&table, &widths(&table)) + &examples))
}

fn summary(diff: &StateDiff) -> Vec<String> {
    let counts = [diff.added, diff.removed, diff.changed, diff.unchanged];
    let counts =
        counts.map(|count| if diff.incomparable.is_some() { "?".to_owned() } else { Count(count).to_string() });
    [cell(&diff.operator), cell(&diff.state), kind(diff.kind).to_owned()].into_iter().chain(counts).collect()
}
