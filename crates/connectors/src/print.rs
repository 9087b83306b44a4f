//! The connector `print`: rows as lines on standard output.
//!
//! Without a primary key a line is a change, in Flink's form: `+I[UA, 4637]`. With one, the final rows are printed
//! when the input ends: each writer keeps the current line of every key as state, and the last of the process's
//! writers to finish prints what all of them have, sorted.

use crate::filesystem::{CurrentLines, LineForm, no_state};
use crate::json::writer::write_value;
use crate::options::{Options, declared};
use crate::sink_input::SinkInput;
use crate::table::TableDescription;
use crate::values::timestamp::Standard;
use crate::values::write::{check_writable, is_nested, write_scalar};
use arrow_array::{Array, RecordBatch};
use headpond_config::Verbatim;
use headpond_runtime::sink::{Committable, Sink, SinkContext, SinkJob, SinkSetup, SinkWriter};
use headpond_runtime::{ChangeBatch, Error, Keys, Result};
use headpond_state::{CheckpointId, Context, Migration, StateDescriptor};
use parking_lot::Mutex;
use serde_json::Value;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

/// Beyond this many lines a writer prints its final rows by itself, unsorted, rather than keeping them all.
const SORTED_LINES_MAX: usize = 100_000;
/// How much is printed at once.
const WRITE_BYTES: usize = 1 << 16;

/// Where lines go.
pub type Output = Box<dyn Write + Send>;

/// A sink that prints.
pub struct PrintSink {
    table: TableDescription,
    identifier: Option<String>,
    final_rows: bool,
    upsert: bool,
    shared: Arc<Mutex<Shared>>,
}

/// What the writers of a process share.
struct Shared {
    output: Output,
    /// How many of them have not finished.
    open: usize,
    lines: Vec<FinalLine>,
}

/// A key and the line of its row: lines are sorted by keys.
type FinalLine = (Box<[u8]>, Box<[u8]>);

struct PrintWriter {
    table: TableDescription,
    identifier: Option<String>,
    current: Option<CurrentLines>,
    shared: Arc<Mutex<Shared>>,
}

/// Makes the sink of a table whose connector is `print`.
pub(crate) fn sink(table: &TableDescription, input: &SinkInput) -> Result<Arc<dyn Sink>> {
    let output: Output = if Options::new(table).get(&declared::STANDARD_ERROR)? {
        Box::new(io::stderr())
    } else {
        Box::new(io::stdout())
    };
    PrintSink::to(output, table, input).map(|sink| Arc::new(sink) as Arc<dyn Sink>)
}

impl PrintSink {
    /// A sink that prints to `output`.
    ///
    /// # Errors
    /// [`Unsupported`](headpond_runtime::ErrorKind::Unsupported) for a column whose type has no form as text.
    pub fn to(output: Output, table: &TableDescription, input: &SinkInput) -> Result<Self> {
        for field in table.schema.fields() {
            check_writable(field.data_type()).map_err(|error| error.with(Context::Column, field.name()))?;
        }
        Ok(PrintSink {
            table: table.clone(),
            identifier: Options::new(table).get(&declared::PRINT_IDENTIFIER)?.map(|Verbatim(text)| text),
            upsert: input.upsert,
            final_rows: !table.primary_key.is_empty() && input.bounded,
            shared: Arc::new(Mutex::new(Shared { output, open: 0, lines: Vec::new() })),
        })
    }
}

impl Sink for PrintSink {
    fn states(&self) -> Result<Vec<StateDescriptor>> {
        self.final_rows.then(|| CurrentLines::descriptor(&self.table)).into_iter().collect()
    }

    fn migration(&self, restored: &StateDescriptor, _declared: &StateDescriptor) -> Result<Migration> {
        CurrentLines::migration(&self.table, self.upsert, &LineForm::Print, restored)
    }

    /// A terminal takes nothing back.
    fn can_rewind(&self) -> bool {
        false
    }

    fn check(&self, _job: &SinkJob) -> Result<()> {
        Ok(())
    }

    fn rewind(&self, _job: &SinkJob, _checkpoint: Option<CheckpointId>) -> Result<()> {
        Ok(())
    }

    fn open(&self, setup: SinkSetup<'_>) -> Result<Box<dyn SinkWriter>> {
        self.table.check_schema(&setup.schema)?;
        let current = match (self.final_rows, setup.state) {
            (false, _) => None,
            (true, Some(state)) => Some(CurrentLines::register(&self.table, self.upsert, state)?),
            (true, None) => return Err(no_state()),
        };
        self.shared.lock().open += 1;
        let (table, identifier, shared) = (self.table.clone(), self.identifier.clone(), Arc::clone(&self.shared));
        Ok(Box::new(PrintWriter { table, identifier, current, shared }))
    }

    fn commit(&self, _job: &SinkJob, _checkpoint: CheckpointId, _committables: &[Committable]) -> Result<()> {
        Ok(())
    }
}

impl SinkWriter for PrintWriter {
    fn write(&mut self, batch: &ChangeBatch, keys: Option<&Keys>, cx: &mut SinkContext<'_>) -> Result<()> {
        self.table.check_not_null(batch.rows())?;
        if let Some(current) = &mut self.current {
            let state = cx.state.as_deref_mut().ok_or_else(no_state)?;
            return current.apply(batch, keys, state, |row, out| write_line(batch.rows(), row, "+I", None, out));
        }
        let identifier = self.identifier.as_deref();
        let mut lines = Vec::new();
        for row in 0..batch.num_rows() {
            write_line(batch.rows(), row, batch.kind(row).short(), identifier, &mut lines)?;
            if lines.len() >= WRITE_BYTES {
                self.shared.lock().print(&lines)?;
                lines.clear();
            }
        }
        self.shared.lock().print(&lines)
    }

    fn prepare(&mut self, _checkpoint: CheckpointId, last: bool, cx: &mut SinkContext<'_>) -> Result<Option<Value>> {
        if let (Some(current), true) = (&self.current, last) {
            let state = cx.state.as_deref_mut().ok_or_else(no_state)?;
            let (mut lines, shared) = (Vec::new(), &self.shared);
            let begin = self.identifier.as_ref().map(|identifier| format!("{identifier}> ")).unwrap_or_default();
            current.visit(state, |key, line| {
                lines.push((key.into(), [begin.as_bytes(), line].concat().into()));
                if lines.len() > SORTED_LINES_MAX {
                    shared.lock().print_all(std::mem::take(&mut lines))?;
                }
                Ok(())
            })?;
            self.shared.lock().finish(lines)?;
        }
        Ok(None)
    }
}

impl Shared {
    fn print(&mut self, lines: &[u8]) -> Result<()> {
        match self.output.write_all(lines).and_then(|()| self.output.flush()) {
            Ok(()) => Ok(()),
            Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe => {
                Err(Error::broken_pipe("nobody reads the output any more").because(cause))
            }
            Err(cause) => Err(Error::io("cannot print", "standard output", cause)),
        }
    }

    /// Takes the lines of a writer that has finished, and prints all when it is the last.
    fn finish(&mut self, mut lines: Vec<FinalLine>) -> Result<()> {
        self.lines.append(&mut lines);
        self.open = self.open.saturating_sub(1);
        if self.open > 0 {
            return Ok(());
        }
        let mut lines = std::mem::take(&mut self.lines);
        lines.sort_unstable();
        self.print_all(lines)
    }

    fn print_all(&mut self, lines: Vec<FinalLine>) -> Result<()> {
        let lines: Vec<Box<[u8]>> = lines.into_iter().map(|(_, line)| line).collect();
        self.print(&lines.concat())
    }
}

/// Appends `+I[a, b]`.
fn write_line(rows: &RecordBatch, row: usize, kind: &str, identifier: Option<&str>, out: &mut Vec<u8>) -> Result<()> {
    if let Some(identifier) = identifier {
        out.extend_from_slice(identifier.as_bytes());
        out.extend_from_slice(b"> ");
    }
    out.extend_from_slice(kind.as_bytes());
    out.push(b'[');
    for (index, column) in rows.columns().iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        if is_nested(column.data_type()) || column.is_null(row) {
            write_value(column.as_ref(), row, Standard::Iso, out)?;
        } else {
            write_scalar(column.as_ref(), row, Standard::Iso, out)?;
        }
    }
    out.extend_from_slice(b"]\n");
    Ok(())
}

impl fmt::Debug for PrintSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrintSink")
            .field("table", &self.table.name)
            .field("final_rows", &self.final_rows)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for PrintWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrintWriter").field("table", &self.table.name).finish_non_exhaustive()
    }
}
