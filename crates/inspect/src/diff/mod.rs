//! What has changed between two checkpoints.
//!
//! Both are read in the order of their keys, state by state, and merged: an entry is in one of them, or in the other,
//! or in both with the same or another value. Parallelism and backends may differ, since entries do not know of them.

mod entries;

use crate::catalog::StateCatalog;
use crate::columns::{array, field};
use crate::form::{Decoder, Form, Rows};
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use entries::{Entries, check_key_groups};
use headpond_checkpoint::OperatorState;
use headpond_state::schema::Datum;
use headpond_state::{Context, Entry, Error, MaxParallelism, Result, StateDescriptor, StateKind};
use std::cmp::Ordering;
use std::sync::Arc;

/// The name of the column that says what happened to a row.
const CHANGE: &str = "change";

/// What has changed in a state.
#[derive(Debug, Clone)]
pub struct StateDiff {
    /// The operator's id.
    pub operator: String,
    /// The state's name.
    pub state: String,
    /// What shape of state it is.
    pub kind: StateKind,
    /// Entries that only the second checkpoint has.
    pub added: u64,
    /// Entries that only the first one has.
    pub removed: u64,
    /// Entries that both have, with other values. A stamp from which they expire is a part of the value.
    pub changed: u64,
    /// Entries that both have with the same value.
    pub unchanged: u64,
    /// Why the entries cannot be compared, if they cannot: then none of them is counted.
    pub incomparable: Option<String>,
    /// Rows of the first entries that differ, if they were asked for: `+I`, `-D`, `-U` before a change and `+U` after
    /// it.
    pub examples: Option<RecordBatch>,
}

impl StateDiff {
    /// Whether both checkpoints have the same of it.
    pub fn is_empty(&self) -> bool {
        self.added == 0 && self.removed == 0 && self.changed == 0 && self.incomparable.is_none()
    }
}

/// Compares the checkpoint `a` with `b`, usually a later one, and tells of each state, as soon as it is compared, what
/// has changed. `rows`: up to so many entries that differ are shown of each.
///
/// # Errors
/// [`Incompatible`](headpond_state::ErrorKind::Incompatible) when the checkpoints have different numbers of key groups,
/// [`Corrupt`](headpond_state::ErrorKind::Corrupt) for damaged state, and as the stores' and `tell`'s.
pub fn diff(
    a: &StateCatalog,
    b: &StateCatalog,
    rows: usize,
    tell: &mut dyn FnMut(StateDiff) -> Result<()>,
) -> Result<()> {
    let manifests = [a.checkpoint().manifest(), b.checkpoint().manifest()];
    check_key_groups(manifests[0].max_parallelism, manifests[1].max_parallelism)?;
    let mut operators: Vec<&str> = Vec::new();
    for operator in manifests.iter().flat_map(|manifest| &manifest.operators) {
        if !operators.contains(&operator.operator.as_str()) {
            operators.push(operator.operator.as_str());
        }
    }
    for id in operators {
        let find = |side: usize| manifests[side].operators.iter().find(|operator| operator.operator.as_str() == id);
        let sides = [find(0), find(1)];
        let compared = compare([a, b], sides, rows, tell);
        compared.map_err(|error| error.with(Context::Operator, id))?;
    }
    Ok(())
}

/// A state as the checkpoints have it.
struct Compared {
    name: String,
    descriptors: [Option<StateDescriptor>; 2],
    incomparable: Option<String>,
}

fn compare(
    catalogs: [&StateCatalog; 2],
    operators: [Option<&OperatorState>; 2],
    rows: usize,
    tell: &mut dyn FnMut(StateDiff) -> Result<()>,
) -> Result<()> {
    let states = operators.map(|operator| operator.map(states_of).unwrap_or_default());
    let compared = compared(&states);
    let comparable = compared.iter().filter(|state| state.incomparable.is_none());
    let names: Vec<String> = comparable.map(|state| state.name.clone()).collect();
    let mut sides =
        [Entries::read(catalogs[0], operators[0], &names)?, Entries::read(catalogs[1], operators[1], &names)?];
    let id = operators.iter().flatten().next().map(|operator| operator.operator.to_string()).unwrap_or_default();
    let max_parallelism = catalogs[0].checkpoint().manifest().max_parallelism;
    for state in compared {
        let Some(newest) = state.descriptors[1].as_ref().or(state.descriptors[0].as_ref()) else { continue };
        let mut diff = StateDiff {
            operator: id.clone(),
            state: state.name.clone(),
            kind: newest.kind,
            added: 0,
            removed: 0,
            changed: 0,
            unchanged: 0,
            incomparable: state.incomparable.clone(),
            examples: None,
        };
        if diff.incomparable.is_none() {
            let mut examples = Examples::new(&state.descriptors, &states, max_parallelism, rows)?;
            sides.iter_mut().for_each(Entries::begin_state);
            merge(&mut sides, &mut diff, &mut examples).map_err(|error| error.with(Context::State, &state.name))?;
            diff.examples = examples.batch()?;
        }
        tell(diff)?;
    }
    Ok(())
}

fn merge(sides: &mut [Entries; 2], diff: &mut StateDiff, examples: &mut Examples) -> Result<()> {
    let [a, b] = sides;
    loop {
        let (before, after) = (a.peek()?, b.peek()?);
        let order = match (before, after) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((left, _)), Some((right, _))) => left.cmp(right),
        };
        match (order, before, after) {
            (Ordering::Equal, Some((_, left)), Some((_, right))) if examples.is_same_form && left == right => {
                diff.unchanged += 1;
            }
            (Ordering::Equal, Some(before), Some(after)) => match examples.add_change(before, after)? {
                true => diff.changed += 1,
                false => diff.unchanged += 1,
            },
            (Ordering::Less, Some(before), _) => {
                diff.removed += 1;
                examples.add(0, before)?;
            }
            (_, _, Some(after)) => {
                diff.added += 1;
                examples.add(1, after)?;
            }
            _ => return Err(Error::internal("two entries are neither equal nor in an order")),
        }
        if order != Ordering::Greater {
            a.pass();
        }
        if order != Ordering::Less {
            b.pass();
        }
    }
}

/// The states of an operator, by name.
fn states_of(operator: &OperatorState) -> Vec<StateDescriptor> {
    let mut states: Vec<StateDescriptor> = Vec::new();
    let handles = operator.subtasks.iter().filter_map(|subtask| subtask.state.as_ref());
    for state in handles.flat_map(|handle| &handle.states) {
        if states.iter().all(|known| known.name != state.name) {
            states.push(state.clone());
        }
    }
    states
}

/// The states of both, those of the second first.
fn compared(states: &[Vec<StateDescriptor>; 2]) -> Vec<Compared> {
    let mut names: Vec<&str> = Vec::new();
    for state in states.iter().rev().flatten() {
        if !names.contains(&state.name.as_str()) {
            names.push(&state.name);
        }
    }
    let compared = names.into_iter().map(|name| {
        let find = |side: usize| states[side].iter().find(|state| state.name == name).cloned();
        let descriptors = [find(0), find(1)];
        let incomparable = match &descriptors {
            [Some(a), Some(b)] if a.kind != b.kind => Some(format!("its kind was {:?} and is {:?}", a.kind, b.kind)),
            [Some(a), Some(b)] if a.key_schema != b.key_schema => {
                Some(format!("its key was `{}` and is `{}`", a.key_schema, b.key_schema))
            }
            _ => None,
        };
        Compared { name: name.to_owned(), descriptors, incomparable }
    });
    compared.collect()
}

/// Rows of entries that differ.
#[derive(Debug)]
struct Examples {
    forms: [Option<Form>; 2],
    /// Whether equal values have equal bytes.
    is_same_form: bool,
    /// The columns shown: those of the newer form.
    names: Vec<String>,
    wanted: usize,
    changes: Vec<&'static str>,
    rows: Rows,
}

impl Examples {
    fn new(
        descriptors: &[Option<StateDescriptor>; 2],
        states: &[Vec<StateDescriptor>; 2],
        max_parallelism: MaxParallelism,
        wanted: usize,
    ) -> Result<Self> {
        let form = |side: usize| {
            descriptors[side].as_ref().map(|state| Form::new(state, &states[side], max_parallelism)).transpose()
        };
        let forms = [form(0)?, form(1)?];
        let is_same_form = match descriptors {
            [Some(a), Some(b)] => {
                a.codec == b.codec && a.value_schema == b.value_schema && a.ttl.is_some() == b.ttl.is_some()
            }
            _ => true,
        };
        let names: Vec<String> = forms[1]
            .as_ref()
            .or(forms[0].as_ref())
            .map(|form| form.columns().iter().map(|column| column.name.clone()).collect())
            .unwrap_or_default();
        let rows = Rows::new(names.len());
        Ok(Examples { forms, is_same_form, names, wanted, changes: Vec::new(), rows })
    }

    /// Adds an entry that one side has.
    fn add(&mut self, side: usize, entry: (&[u8], &[u8])) -> Result<()> {
        if self.wanted == 0 {
            return Ok(());
        }
        self.wanted -= 1;
        let rows = self.decoded(side, entry)?;
        self.push(if side == 0 { "-D" } else { "+I" }, &rows);
        Ok(())
    }

    /// Adds an entry that both have, and says whether it has changed. Of an entry of several rows those that differ are
    /// shown.
    fn add_change(&mut self, before: (&[u8], &[u8]), after: (&[u8], &[u8])) -> Result<bool> {
        if self.wanted == 0 && self.is_same_form {
            return Ok(true);
        }
        let (before, after) = (self.decoded(0, before)?, self.decoded(1, after)?);
        if !self.is_same_form && before == after {
            return Ok(false);
        }
        if self.wanted > 0 {
            self.wanted -= 1;
            let gone: Vec<Vec<Datum>> = before.iter().filter(|row| !after.contains(row)).cloned().collect();
            let new: Vec<Vec<Datum>> = after.iter().filter(|row| !before.contains(row)).cloned().collect();
            self.push("-U", &gone);
            self.push("+U", &new);
        }
        Ok(true)
    }

    fn decoded(&self, side: usize, (key, value): (&[u8], &[u8])) -> Result<Vec<Vec<Datum>>> {
        let Some(form) = &self.forms[side] else { return Ok(Vec::new()) };
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let mut rows = Rows::new(names.len());
        Decoder::new(form, &names).decode(Entry { key, value }, &mut rows)?;
        Ok((0..rows.count).map(|row| rows.columns.iter().map(|column| column[row].clone()).collect()).collect())
    }

    fn push(&mut self, change: &'static str, rows: &[Vec<Datum>]) {
        for row in rows {
            self.changes.push(change);
            self.rows.columns.iter_mut().zip(row).for_each(|(column, datum)| column.push(datum.clone()));
        }
    }

    fn batch(self) -> Result<Option<RecordBatch>> {
        let Some(form) = self.forms[1].as_ref().or(self.forms[0].as_ref()).filter(|_| !self.changes.is_empty()) else {
            return Ok(None);
        };
        let mut fields = vec![Field::new(CHANGE, DataType::Utf8, false)];
        let mut columns: Vec<ArrayRef> = vec![Arc::new(StringArray::from(self.changes))];
        for (column, values) in form.columns().iter().zip(&self.rows.columns) {
            fields.push(field(&column.name, &column.ty.kind));
            columns.push(array(&column.ty.kind, values)?);
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns);
        batch.map(Some).map_err(|cause| Error::internal("rows of state do not make a batch").because(cause))
    }
}
