//! The tables of a checkpoint: what they are called, and which states they show.

use crate::checkpoint::InspectedCheckpoint;
use crate::columns::field;
use crate::form::{Form, FormColumn};
use crate::readers::StateReaders;
use arrow_schema::{Schema, SchemaRef};
use headpond_checkpoint::OperatorState;
use headpond_state::names::{listed, nearest};
use headpond_state::schema::FieldType;
use headpond_state::{Context, Error, KeyedStateHandle, MaxParallelism, Result, StateDescriptor, StateKind, StateSize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The states of a checkpoint as tables.
#[derive(Debug)]
pub struct StateCatalog {
    pub(crate) checkpoint: InspectedCheckpoint,
    pub(crate) readers: Arc<dyn StateReaders>,
    tables: Vec<Arc<StateTable>>,
}

/// A table: a state of an operator, and what other states hold of the same.
#[derive(Debug)]
pub struct StateTable {
    name: String,
    operator: String,
    description: String,
    states: Vec<StateDescriptor>,
    schema: SchemaRef,
    pub(crate) columns: Vec<FormColumn>,
    /// The parts of the state, in the order of their key groups.
    pub(crate) parts: Vec<TablePart>,
    entries: u64,
    bytes: u64,
    is_own: bool,
    is_estimate: bool,
}

/// A handle, with the states in it that the table shows.
#[derive(Debug, Clone)]
pub(crate) struct TablePart {
    pub(crate) handle: Arc<KeyedStateHandle>,
    pub(crate) states: Vec<(usize, Arc<Form>)>,
}

impl StateCatalog {
    /// The tables of a checkpoint, whose handles `readers` can read.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) when a descriptor says what no release has written.
    pub fn open(checkpoint: InspectedCheckpoint, readers: Arc<dyn StateReaders>) -> Result<Self> {
        let max_parallelism = checkpoint.manifest().max_parallelism;
        let mut names = BTreeSet::new();
        let mut tables = Vec::new();
        for operator in &checkpoint.manifest().operators {
            tables.extend(tables_of(operator, max_parallelism, &mut names)?);
        }
        Ok(StateCatalog { checkpoint, readers, tables })
    }

    /// The checkpoint.
    pub fn checkpoint(&self) -> &InspectedCheckpoint {
        &self.checkpoint
    }

    /// The tables, in the order of the job's operators.
    pub fn tables(&self) -> &[Arc<StateTable>] {
        &self.tables
    }

    /// The table of this name.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) when there is none, naming those there are.
    pub fn table(&self, name: &str) -> Result<&Arc<StateTable>> {
        self.tables.iter().find(|table| table.name == name).ok_or_else(|| {
            let names = || self.tables.iter().map(|table| table.name.as_str());
            let error = Error::invalid(format!("there is no table `{name}`"));
            match nearest(name, names()) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None if self.tables.is_empty() => error.hint("the checkpoint has no keyed state"),
                None => error.hint(format!("the tables are {}", listed(names()))),
            }
        })
    }
}

impl StateTable {
    /// The table's name, which needs no quotes in SQL.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The operator's id.
    pub fn operator(&self) -> &str {
        &self.operator
    }

    /// What the operator does.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The states that the table shows. There is one at least.
    pub fn states(&self) -> &[StateDescriptor] {
        &self.states
    }

    /// The columns as Arrow has them.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The columns' names and types as state has them.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &FieldType)> {
        self.columns.iter().map(|column| (column.name.as_str(), &column.ty))
    }

    /// About how many entries the table has; unless [`is_own`](Self::is_own), of all tables of its operator.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// How many bytes the table's entries or their files take; unless [`is_own`](Self::is_own), of all tables of its
    /// operator.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether [`entries`](Self::entries) and [`bytes`](Self::bytes) are those of the table alone: older releases did
    /// not note them by state.
    pub fn is_own(&self) -> bool {
        self.is_own
    }

    /// Whether [`entries`](Self::entries) is an estimate. Where the same keys are written again and again, it is many
    /// times too high.
    pub fn is_estimate(&self) -> bool {
        self.is_estimate
    }
}

/// The tables of an operator.
fn tables_of(
    operator: &OperatorState,
    max_parallelism: MaxParallelism,
    names: &mut BTreeSet<String>,
) -> Result<Vec<Arc<StateTable>>> {
    let mut handles: Vec<Arc<KeyedStateHandle>> =
        operator.subtasks.iter().filter_map(|subtask| subtask.state.clone()).map(Arc::new).collect();
    handles.sort_by_key(|handle| handle.key_groups.start);
    let states = states_of(&handles);
    let forms = states
        .iter()
        .map(|state| {
            let form = Form::new(state, &states, max_parallelism);
            let form = form
                .map_err(|error| error.with(Context::State, &state.name).with(Context::Operator, &operator.operator))?;
            Ok(Arc::new(form))
        })
        .collect::<Result<Vec<_>>>()?;
    // What is a part of another state goes into that one's table, if it has the same columns.
    let same_columns = |a: &Form, b: &Form| {
        let has = |form: &Form, column: &FormColumn| {
            form.columns().iter().any(|other| other.name == column.name && other.ty.kind == column.ty.kind)
        };
        a.columns().len() == b.columns().len() && a.columns().iter().all(|column| has(b, column))
    };
    let whole: Vec<usize> = states
        .iter()
        .enumerate()
        .map(|(index, state)| {
            let name = state.columns.part_of.as_ref();
            let other = name.and_then(|name| states.iter().position(|other| other.name == *name));
            other.filter(|other| same_columns(&forms[index], &forms[*other])).unwrap_or(index)
        })
        .collect();
    let main = main_state(&states, &whole);
    let mut tables = Vec::new();
    for (first, state) in states.iter().enumerate().filter(|(index, _)| whole[*index] == *index) {
        let shown: Vec<usize> = (0..states.len()).filter(|index| whole[*index] == first).collect();
        let parts = handles.iter().map(|handle| {
            let of_handle = shown.iter().filter_map(|index| {
                let number = handle.states.iter().position(|state| state.name == states[*index].name)?;
                Some((number, Arc::clone(&forms[*index])))
            });
            TablePart { handle: Arc::clone(handle), states: of_handle.collect() }
        });
        let operator_name = identifier(operator.operator.as_str());
        let name = match main == Some(first) {
            true => operator_name,
            false => format!("{operator_name}_{}", identifier(&state.name)),
        };
        let all = || StateSize {
            entries: handles.iter().map(|handle| handle.entries).sum(),
            bytes: handles.iter().map(|handle| handle.byte_len()).sum(),
        };
        let own = size_of(&handles, &shown.iter().map(|index| states[*index].name.as_str()).collect::<Vec<_>>());
        let size = own.unwrap_or_else(all);
        let columns = forms[first].columns().to_vec();
        let fields = columns.iter().map(|column| field(&column.name, &column.ty.kind)).collect::<Vec<_>>();
        tables.push(Arc::new(StateTable {
            name: own_name(name, names),
            operator: operator.operator.to_string(),
            description: operator.description.clone(),
            states: shown.iter().map(|index| states[*index].clone()).collect(),
            schema: Arc::new(Schema::new(fields)),
            columns,
            parts: parts.collect(),
            entries: size.entries,
            bytes: size.bytes,
            is_own: own.is_some() || states.len() == shown.len(),
            is_estimate: handles.iter().any(|handle| handle.estimates_entries()),
        }));
    }
    Ok(tables)
}

/// What these states take in all handles; `None` if a handle does not say it.
fn size_of(handles: &[Arc<KeyedStateHandle>], names: &[&str]) -> Option<StateSize> {
    let mut sum = StateSize::default();
    for handle in handles {
        let sizes = handle.state_sizes()?;
        for (state, size) in handle.states.iter().zip(sizes) {
            if names.contains(&state.name.as_str()) {
                sum.entries += size.entries;
                sum.bytes += size.bytes;
            }
        }
    }
    Some(sum)
}

/// The states of all handles, by name.
fn states_of(handles: &[Arc<KeyedStateHandle>]) -> Vec<StateDescriptor> {
    let mut states: Vec<StateDescriptor> = Vec::new();
    for state in handles.iter().flat_map(|handle| &handle.states) {
        if states.iter().all(|known| known.name != state.name) {
            states.push(state.clone());
        }
    }
    states
}

/// The state whose table has the operator's name: the only one, or the only one with a value per key.
fn main_state(states: &[StateDescriptor], whole: &[usize]) -> Option<usize> {
    let tables = || states.iter().enumerate().filter(|(index, _)| whole[*index] == *index);
    let is_single = |kind| matches!(kind, StateKind::Value | StateKind::Reducing | StateKind::Aggregating);
    let only = |mut found: Vec<usize>| if found.len() == 1 { found.pop() } else { None };
    only(tables().map(|(index, _)| index).collect())
        .or_else(|| only(tables().filter(|(_, state)| is_single(state.kind)).map(|(index, _)| index).collect()))
}

/// A name as SQL takes it without quotes.
fn identifier(name: &str) -> String {
    let mut identifier: String =
        name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    if identifier.starts_with(|letter: char| letter.is_ascii_digit()) || identifier.is_empty() {
        identifier.insert(0, '_');
    }
    identifier
}

/// The name, made different from those taken.
fn own_name(name: String, taken: &mut BTreeSet<String>) -> String {
    let mut own = name.clone();
    let mut number = 1;
    while !taken.insert(own.clone()) {
        own = format!("{name}_{number}");
        number += 1;
    }
    own
}
