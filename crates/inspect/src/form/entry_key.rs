//! What an entry's key is made of.

use headpond_state::columns::{UserKeyColumn, UserKeyColumns};
use headpond_state::encoding::{KeyReader, KeySchema};
use headpond_state::schema::{DataKind, Datum, Field, FieldType, RowSchema};
use headpond_state::{EntryOrder, Error, Result, StateDescriptor, StateKind};

/// The states of windowed aggregates, by which descriptors without columns are known.
const WINDOW_TIMERS: &str = "window ends";
const OLDER_SESSIONS: &str = "older sessions";

/// The parts of an entry's key behind the key group.
#[derive(Debug)]
pub(super) struct EntryKeyForm {
    is_time_first: bool,
    pub(super) key: KeyForm,
    /// The names and types of a window's two ends, in the order of their bytes; or none.
    pub(super) namespace: RowSchema,
    /// Whether an entry may do without its namespace.
    namespace_is_optional: bool,
    pub(super) user_key: UserKeyForm,
}

/// How the key is read.
#[derive(Debug)]
pub(super) enum KeyForm {
    /// Component by component.
    Typed(RowSchema),
    /// As bytes: its schema is in words only, and nothing follows it.
    Bytes,
}

/// How the user key is read.
#[derive(Debug)]
pub(super) enum UserKeyForm {
    /// There is none.
    None,
    /// By its columns.
    Columns(UserKeyColumns),
    /// As bytes: nobody says what it is.
    Bytes,
}

/// What an entry's key says.
#[derive(Debug, Default)]
pub(super) struct EntryKeyParts {
    pub(super) time: Datum,
    pub(super) key: Vec<Datum>,
    pub(super) namespace: Vec<Datum>,
    pub(super) user_key: Vec<Datum>,
}

impl EntryKeyForm {
    /// `has_namespace`: windows are told by keys, if at all.
    pub(super) fn new(state: &StateDescriptor, operator: &[StateDescriptor], has_namespace: bool) -> Result<Self> {
        let columns = &state.columns;
        let key = match state.key_schema.parse::<KeySchema>() {
            Ok(schema) if columns.key.is_empty() => {
                let typed = schema.types().iter().enumerate();
                KeyForm::Typed(RowSchema::new(
                    typed.map(|(index, ty)| Field::new(format!("key_{index}"), ty.clone())).collect(),
                ))
            }
            Err(_) if columns.key.is_empty() => KeyForm::Bytes,
            _ => KeyForm::Typed(columns.key.clone()),
        };
        let namespace = match columns.namespace.is_empty() && columns.key.is_empty() {
            _ if !has_namespace => RowSchema::default(),
            true => namespace_of_old(state, operator),
            false => columns.namespace.clone(),
        };
        Ok(EntryKeyForm {
            is_time_first: is_time_first(state),
            namespace_is_optional: state.kind == StateKind::Timer,
            user_key: UserKeyForm::new(state, &key)?,
            namespace,
            key,
        })
    }

    /// The name of the time before the key, if there is one.
    pub(super) fn time_name(&self, state: &StateDescriptor) -> Option<&'static str> {
        self.is_time_first.then_some(if state.kind == StateKind::Timer { "time" } else { "_bucket" })
    }

    /// Reads what follows the key group.
    pub(super) fn read(&self, bytes: &[u8], parts: &mut EntryKeyParts) -> Result<()> {
        let EntryKeyParts { time, key, namespace, user_key } = parts;
        key.clear();
        namespace.clear();
        user_key.clear();
        let mut reader = KeyReader::new(bytes);
        *time = if self.is_time_first { Datum::Int64(reader.i64()?) } else { Datum::Null };
        let KeyForm::Typed(schema) = &self.key else {
            key.push(Datum::binary(reader.rest()));
            return Ok(());
        };
        for field in schema.fields() {
            key.push(reader.datum(&field.ty)?);
        }
        if !self.namespace_is_optional || !reader.rest().is_empty() {
            for field in self.namespace.fields() {
                namespace.push(reader.datum(&field.ty)?);
            }
        }
        self.user_key.read(&mut reader, user_key)?;
        match reader.rest().len() {
            0 => Ok(()),
            more => Err(Error::corrupt(format!("an entry's key is followed by {more} more bytes"))),
        }
    }
}

impl KeyForm {
    /// The columns' names and types.
    pub(super) fn columns(&self) -> impl Iterator<Item = (&str, FieldType)> {
        let (fields, bytes) = match self {
            KeyForm::Typed(schema) => (schema.fields(), None),
            KeyForm::Bytes => (&[][..], Some(("key", DataKind::Binary.required()))),
        };
        fields.iter().map(|field| (field.name.as_str(), field.ty.clone())).chain(bytes)
    }
}

impl UserKeyForm {
    fn new(state: &StateDescriptor, key: &KeyForm) -> Result<Self> {
        if !state.columns.user_key.is_empty() {
            return Ok(UserKeyForm::Columns(state.columns.user_key.clone()));
        }
        let position = |name| UserKeyColumn::new(name, DataKind::UInt64.required());
        Ok(match (state.kind, key) {
            (_, KeyForm::Bytes) => UserKeyForm::None,
            (StateKind::List, _) if state.order == EntryOrder::TimeFirst => {
                let time = UserKeyColumn::new("_time", DataKind::Timestamp.required());
                UserKeyForm::Columns(UserKeyColumns::all(vec![time, position("_sequence")]))
            }
            (StateKind::List, _) => UserKeyForm::Columns(UserKeyColumns::all(vec![position("position")])),
            (StateKind::Map, _) => match types_of_map(&state.value_schema) {
                Some(schema) => {
                    let typed = schema.types().iter().enumerate();
                    let columns = typed.map(|(index, ty)| UserKeyColumn::new(format!("user_key_{index}"), ty.clone()));
                    UserKeyForm::Columns(UserKeyColumns::all(columns.collect()))
                }
                None => UserKeyForm::Bytes,
            },
            _ => UserKeyForm::None,
        })
    }

    /// The columns' names and types.
    pub(super) fn columns(&self) -> impl Iterator<Item = (String, FieldType)> {
        let (columns, bytes) = match self {
            UserKeyForm::None => (&[][..], None),
            UserKeyForm::Columns(columns) => (columns.components.as_slice(), None),
            UserKeyForm::Bytes => (&[][..], Some(("user_key".to_owned(), DataKind::Binary.required()))),
        };
        columns.iter().map(|column| (column.name.clone(), column.ty.clone())).chain(bytes)
    }

    fn read(&self, reader: &mut KeyReader<'_>, out: &mut Vec<Datum>) -> Result<()> {
        match self {
            UserKeyForm::None => {}
            UserKeyForm::Columns(UserKeyColumns { components, one_of: false }) => {
                for component in components {
                    out.push(read_component(component, reader)?);
                }
            }
            UserKeyForm::Columns(UserKeyColumns { components, one_of: true }) => {
                let number = reader.i16()?;
                let found = usize::try_from(number).ok().filter(|number| *number < components.len());
                let found = found
                    .ok_or_else(|| Error::corrupt(format!("an entry belongs to set {number}, which there is not")))?;
                out.resize(components.len(), Datum::Null);
                out[found] = read_component(&components[found], reader)?;
            }
            UserKeyForm::Bytes => {
                out.push(Datum::binary(reader.rest()));
                *reader = KeyReader::new(&[]);
            }
        }
        Ok(())
    }
}

fn read_component(component: &UserKeyColumn, reader: &mut KeyReader<'_>) -> Result<Datum> {
    if !component.descending && !component.moved_nulls {
        return reader.datum(&component.ty);
    }
    let mut bytes = reader.rest().to_vec();
    if component.descending {
        bytes.iter_mut().for_each(|byte| *byte = !*byte);
    }
    if component.moved_nulls
        && component.ty.nullable
        && let Some(null) = bytes.first_mut()
    {
        *null = !*null;
    }
    let mut flipped = KeyReader::new(&bytes);
    let datum = flipped.datum(&component.ty)?;
    let taken = bytes.len() - flipped.rest().len();
    *reader = KeyReader::new(&reader.rest()[taken..]);
    Ok(datum)
}

/// The types of a map's user keys, from the schema `types -> value`.
fn types_of_map(value_schema: &str) -> Option<KeySchema> {
    value_schema.split_once(" -> ")?.0.parse().ok()
}

/// The namespace of a state whose descriptor has no columns: windowed aggregates are known by their timers.
fn namespace_of_old(state: &StateDescriptor, operator: &[StateDescriptor]) -> RowSchema {
    let window = |names: [&str; 2]| {
        RowSchema::new(names.iter().map(|name| Field::new(*name, DataKind::Timestamp.required())).collect())
    };
    let is_windowed = operator.iter().any(|state| state.name == WINDOW_TIMERS && state.kind == StateKind::Timer);
    let has_sessions = operator.iter().any(|state| state.name == OLDER_SESSIONS);
    match state.kind {
        _ if !is_windowed => RowSchema::default(),
        StateKind::Timer if has_sessions => window(["window_end", "window_start"]),
        StateKind::Aggregating if state.name == OLDER_SESSIONS => window(["window_end", "window_start"]),
        StateKind::Aggregating if has_sessions => RowSchema::default(),
        _ => window(["window_start", "window_end"]),
    }
}

/// Whether a state's entries begin with a time.
fn is_time_first(state: &StateDescriptor) -> bool {
    // Descriptors of timers were written without an order once.
    state.kind == StateKind::Timer || state.order == EntryOrder::TimeFirst
}
