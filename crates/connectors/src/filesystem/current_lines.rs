//! The current line of every key, as state.
//!
//! Where changes of a key come in order, a key has one line, which the next replaces. Where they do not (the result of
//! a join that is written by another key than it is joined by, say), a new row may come before the old one is taken
//! back. So a key then has all rows that have come and have not been taken back, each with a count, and its current
//! line is the last of them that came.
//!
//! A stored value begins with a version. After 1 follows the only line; after 2 follow lines in the order in which they
//! came, each after its count (int64) and its length (uint32), big-endian. A count below zero is of a row that was
//! taken back before it came.

use super::line_migration::{LineForm, LineMigration};
use crate::options::declared;
use crate::table::TableDescription;
use crate::values::sql_type;
use headpond_rows::arrow::row_schema;
use headpond_runtime::{ChangeBatch, Error, Keys, Result};
use headpond_state::backend::{KeyBatch, ScanRange};
use headpond_state::{
    CodecId, Context, Entry, EntryConversion, KeyedStateBackend, Migration, StateColumns, StateDescriptor, StateId,
    StateKind, WriteBatch,
};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The name of the state.
const NAME: &str = "lines";
/// What stands between columns and options in a schema.
const AS: &str = " as ";
/// The version of a single line.
const ONE_LINE: u8 = 1;
/// The version of counted lines.
const COUNTED_LINES: u8 = 2;

/// The options that a line's form depends on.
static LINE_OPTIONS: [&str; 7] = [
    declared::FORMAT.key(),
    declared::CSV_FIELD_DELIMITER.key(),
    declared::CSV_QUOTE_CHARACTER.key(),
    declared::CSV_DISABLE_QUOTE_CHARACTER.key(),
    declared::CSV_ESCAPE_CHARACTER.key(),
    declared::CSV_NULL_LITERAL.key(),
    declared::JSON_TIMESTAMP_FORMAT.key(),
];

/// The lines.
#[derive(Debug)]
pub(crate) struct CurrentLines {
    state: StateId,
    upsert: bool,
    writes: WriteBatch,
}

/// The lines of a key, each with a count, which is not 0.
type Counted = Vec<(i64, Vec<u8>)>;

impl CurrentLines {
    /// Registers the state. `upsert`: changes of a key come in order.
    pub(crate) fn register(table: &TableDescription, upsert: bool, state: &mut dyn KeyedStateBackend) -> Result<Self> {
        let state = state.register(&CurrentLines::descriptor(table)?)?;
        Ok(CurrentLines { state, upsert, writes: WriteBatch::new() })
    }

    /// The declaration of the state. Lines of another form are not restored: the table's columns and format are its
    /// schema.
    ///
    /// # Errors
    /// [`Unsupported`](headpond_runtime::ErrorKind::Unsupported) for a key that state cannot hold.
    pub(crate) fn descriptor(table: &TableDescription) -> Result<StateDescriptor> {
        let (columns, options) = CurrentLines::schema(table);
        let fields = table.schema.fields();
        let key = row_schema(table.primary_key.iter().map(|column| &fields[*column]))?;
        Ok(StateDescriptor::new(NAME, StateKind::Value, CodecId::new("line", COUNTED_LINES))
            .with_key_schema(listed(table, table.primary_key.iter().copied()))
            .with_value_schema(format!("{columns}{AS}{options}"))
            .with_columns(StateColumns { key, ..StateColumns::default() }))
    }

    /// The columns of lines, and the options that their form depends on.
    fn schema(table: &TableDescription) -> (String, String) {
        let options = table.options.iter().filter(|(key, _)| LINE_OPTIONS.contains(&key.as_str()));
        let options: Vec<String> = options.map(|(key, value)| format!("{key}={value}")).collect();
        (listed(table, 0..table.schema.fields().len()), options.join(" "))
    }

    /// How lines of other columns become lines of the table.
    ///
    /// # Errors
    /// [`Incompatible`](headpond_runtime::ErrorKind::Incompatible) for a change that lines do not bear.
    pub(crate) fn migration(
        table: &TableDescription,
        upsert: bool,
        form: &LineForm,
        restored: &StateDescriptor,
    ) -> Result<Migration> {
        CurrentLines::descriptor(table)?.check_restored_key(restored)?;
        let (_, options) = CurrentLines::schema(table);
        let is_known = restored.codec.name == "line" && restored.codec.version <= COUNTED_LINES;
        let columns = restored.value_schema.strip_suffix(&format!("{AS}{options}")).filter(|_| is_known);
        let columns = columns.ok_or_else(|| {
            Error::incompatible(format!(
                "the rows that the table has are `{}`, which is another form than it is to have",
                restored.value_schema
            ))
            .with(Context::State, NAME)
        })?;
        if !upsert {
            return Err(Error::incompatible(
                "the table's columns have changed, and rows that were written without them may be taken back",
            )
            .with(Context::State, NAME));
        }
        let lines =
            LineMigration::new(form, columns, &table.schema).map_err(|error| error.with(Context::State, NAME))?;
        Ok(Migration { changes: lines.changes.clone(), conversion: Arc::new(lines) })
    }

    /// Applies changes; `line` appends the line of a row.
    pub(crate) fn apply(
        &mut self,
        batch: &ChangeBatch,
        keys: Option<&Keys>,
        state: &mut dyn KeyedStateBackend,
        line: impl FnMut(usize, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let keys = keys.ok_or_else(|| Error::internal("rows of a table with a primary key come without keys"))?;
        if self.upsert {
            self.replace(batch, keys, line)?
        } else {
            self.count(batch, keys, state, line)?
        }
        if self.writes.is_empty() {
            return Ok(());
        }
        state.write(&mut self.writes)
    }

    fn replace(
        &mut self,
        batch: &ChangeBatch,
        keys: &Keys,
        mut line: impl FnMut(usize, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        for row in 0..batch.num_rows() {
            let key = keys.get(row);
            if batch.kind(row).is_retraction() {
                // Mostly the new form of the row follows at once.
                let is_replaced =
                    row + 1 < batch.num_rows() && keys.get(row + 1) == key && !batch.kind(row + 1).is_retraction();
                if !is_replaced {
                    self.writes.delete(self.state, key);
                }
                continue;
            }
            let mut outcome = Ok(());
            self.writes.put_with(self.state, key, |out| {
                out.push(ONE_LINE);
                outcome = line(row, out);
            });
            outcome?;
        }
        Ok(())
    }

    fn count(
        &mut self,
        batch: &ChangeBatch,
        keys: &Keys,
        state: &mut dyn KeyedStateBackend,
        mut line: impl FnMut(usize, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut lines: BTreeMap<&[u8], Counted> =
            (0..batch.num_rows()).map(|row| (keys.get(row), Counted::new())).collect();
        let mut distinct = KeyBatch::new();
        lines.keys().for_each(|key| distinct.push(key));
        let mut known = Vec::with_capacity(lines.len());
        state.read_many(self.state, &distinct, &mut |_, stored| {
            known.push(stored.map_or(Ok(Vec::new()), counted)?);
            Ok(())
        })?;
        for (lines, known) in lines.values_mut().zip(known) {
            *lines = known;
        }
        let mut text = Vec::new();
        for row in 0..batch.num_rows() {
            text.clear();
            line(row, &mut text)?;
            let change = if batch.kind(row).is_retraction() { -1 } else { 1 };
            let Some(lines) = lines.get_mut(keys.get(row)) else { continue };
            match lines.iter().position(|(_, known)| *known == text) {
                Some(index) if lines[index].0 + change == 0 => {
                    lines.remove(index);
                }
                Some(index) => lines[index].0 += change,
                None => lines.push((change, text.clone())),
            }
        }
        for (key, lines) in lines {
            match &lines[..] {
                [] => self.writes.delete(self.state, key),
                [(1, only)] => self.writes.put_with(self.state, key, |out| {
                    out.push(ONE_LINE);
                    out.extend_from_slice(only);
                }),
                all => self.writes.put_with(self.state, key, |out| put_counted(all, out)),
            }
        }
        Ok(())
    }

    /// Visits keys, without their key groups, and lines, in the order of key groups and keys.
    pub(crate) fn visit(
        &self,
        state: &mut dyn KeyedStateBackend,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let prefix = state.max_parallelism().prefix_len();
        state.scan(self.state, &ScanRange::all(), &mut |entry| {
            match entry.value.split_first() {
                Some((&ONE_LINE, line)) => visit(&entry.key[prefix..], line)?,
                _ => {
                    if let Some((_, line)) = counted(entry.value)?.iter().rev().find(|(count, _)| *count > 0) {
                        visit(&entry.key[prefix..], line)?;
                    }
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }
}

/// Columns with their types.
fn listed(table: &TableDescription, columns: impl Iterator<Item = usize>) -> String {
    let fields = table.schema.fields();
    let listed = columns.map(|column| format!("{} {}", fields[column].name(), sql_type(fields[column].data_type())));
    listed.collect::<Vec<_>>().join(", ")
}

impl EntryConversion for LineMigration {
    fn convert(&self, entry: Entry<'_>, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<()> {
        key.extend_from_slice(entry.key);
        if let Some((&ONE_LINE, line)) = entry.value.split_first() {
            value.push(ONE_LINE);
            return LineMigration::convert(self, line, value);
        }
        let mut lines = counted(entry.value)?;
        for (_, line) in &mut lines {
            let mut converted = Vec::with_capacity(line.len());
            LineMigration::convert(self, line, &mut converted)?;
            *line = converted;
        }
        put_counted(&lines, value);
        Ok(())
    }
}

/// Appends the value of several lines.
fn put_counted(lines: &[(i64, Vec<u8>)], out: &mut Vec<u8>) {
    out.push(COUNTED_LINES);
    for (count, line) in lines {
        out.extend_from_slice(&count.to_be_bytes());
        out.extend_from_slice(&(line.len() as u32).to_be_bytes());
        out.extend_from_slice(line);
    }
}

/// The lines of a stored value.
fn counted(stored: &[u8]) -> Result<Counted> {
    let unknown = || Error::corrupt("a stored line has no form that this release knows");
    match stored.split_first() {
        Some((&ONE_LINE, line)) => Ok(vec![(1, line.to_vec())]),
        Some((&COUNTED_LINES, mut rest)) => {
            let mut lines = Vec::new();
            while !rest.is_empty() {
                let (count, after) = rest.split_first_chunk::<8>().ok_or_else(unknown)?;
                let (length, after) = after.split_first_chunk::<4>().ok_or_else(unknown)?;
                let (line, after) = after.split_at_checked(u32::from_be_bytes(*length) as usize).ok_or_else(unknown)?;
                lines.push((i64::from_be_bytes(*count), line.to_vec()));
                rest = after;
            }
            Ok(lines)
        }
        _ => Err(unknown()),
    }
}
