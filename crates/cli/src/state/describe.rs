//! What tables a checkpoint has, and what is in them.

use super::text_table::{aligned, widths};
use crate::console;
use crate::format::{Bytes, Count, cell};
use headpond_inspect::{StateCatalog, StateTable};
use headpond_state::printable::OneLine;
use headpond_state::ttl::TimeDomain;
use headpond_state::{Result, StateDescriptor, StateKind};
use std::fmt::Write;

/// `state tables`: a line for each.
pub(super) fn tables(catalog: &StateCatalog) -> Result<()> {
    let mut rows = vec![["table", "operator", "state", "kind", "rows", "bytes"].map(str::to_owned).to_vec()];
    for table in catalog.tables() {
        let states: Vec<&str> = table.states().iter().map(|state| state.name.as_str()).collect();
        let kind = table.states().first().map_or("", |state| kind(state.kind));
        // Snapshots count what all states of an operator have.
        let of_all = if table.is_own() { "" } else { "<= " };
        let about = if table.is_estimate() { "~ " } else { "" };
        rows.push(vec![
            table.name().to_owned(),
            table.operator().to_owned(),
            states.join(", "),
            kind.to_owned(),
            format!("{}{}", if of_all.is_empty() { about } else { of_all }, Count(table.entries())),
            format!("{of_all}{}", Bytes(table.bytes())),
        ]);
    }
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|text| cell(text)).collect()).collect();
    console::data(&aligned(&rows, &widths(&rows)))
}

/// `state schema`: the columns of one table, or of all.
pub(super) fn schema(catalog: &StateCatalog, table: Option<&str>) -> Result<()> {
    let tables = match table {
        Some(name) => vec![catalog.table(name)?],
        None => catalog.tables().iter().collect(),
    };
    let mut text = String::new();
    for table in tables {
        describe(table, &mut text);
    }
    console::data(&text)
}

fn describe(table: &StateTable, text: &mut String) {
    // Writing to a String does not fail.
    let _ = writeln!(text, "{}", OneLine(table.name()));
    let (operator, description) = (OneLine(table.operator()), OneLine(table.description()));
    let _ = writeln!(text, "  of operator {operator}: {description}");
    for state in table.states() {
        let _ = writeln!(
            text,
            "  state `{}`: {}, values by codec `{}`{}",
            OneLine(&state.name),
            kind(state.kind),
            OneLine(&state.codec.name),
            expiry(state)
        );
    }
    let rows: Vec<Vec<String>> =
        table.columns().map(|(name, ty)| vec![String::new(), cell(name), cell(&ty.kind.to_string())]).collect();
    let _ = write!(text, "{}", aligned(&rows, &widths(&rows)));
}

fn expiry(state: &StateDescriptor) -> String {
    match state.ttl {
        None => String::new(),
        Some(ttl) => {
            let clock = match ttl.domain {
                TimeDomain::EventTime => "event time",
                TimeDomain::ProcessingTime => "processing time",
            };
            format!(", expires after {} ms of {clock}", ttl.ttl_ms)
        }
    }
}

pub(super) fn kind(kind: StateKind) -> &'static str {
    match kind {
        StateKind::Value => "value",
        StateKind::List => "list",
        StateKind::Map => "map",
        StateKind::Reducing => "reducing",
        StateKind::Aggregating => "aggregating",
        StateKind::Timer => "timer",
    }
}
