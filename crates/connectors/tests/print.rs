//! Rows are printed.

mod support;

use arrow_array::{ArrayRef, Float64Array, Int32Array, ListArray, TimestampMillisecondArray, types::Int32Type};
use arrow_schema::DataType::{Int64, Utf8};
use headpond_connectors::TableDescription;
use headpond_connectors::print::PrintSink;
use headpond_runtime::sink::Sink;
use headpond_runtime::{ChangeBatch, ErrorKind, Result};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use support::schema;
use support::sinks::{Run, changes, input, rows};

/// An output that a test can look at.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("no panic").clone()).expect("text")
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An output whose reader has gone.
struct ClosedPipe;

impl Write for ClosedPipe {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn table() -> TableDescription {
    TableDescription::new("t", schema(&[("k", Utf8), ("n", Int64)])).with_option("connector", "print")
}

fn run(table: &TableDescription, output: impl Write + Send + 'static, parallelism: usize) -> Result<Run> {
    let sink: Arc<dyn Sink> = Arc::new(PrintSink::to(Box::new(output), table, &input(true))?);
    Run::start("a1", table, &sink, parallelism, None, &[])
}

#[test]
fn a_line_is_a_change() -> Result<()> {
    let paper = Paper::default();
    let mut run = run(&table(), paper.clone(), 1)?;
    run.write(&changes(&["+I a 1", "-U a 1", "+U a 2", "-D NULL x"]))?;
    assert_eq!(paper.text(), "+I[a, 1]\n-U[a, 1]\n+U[a, 2]\n-D[null, null]\n");
    Ok(())
}

#[test]
fn an_identifier_stands_before_each_line() -> Result<()> {
    let paper = Paper::default();
    let mut run = run(&table().with_option("print-identifier", "out"), paper.clone(), 1)?;
    run.write(&changes(&["+I a 1"]))?;
    assert_eq!(paper.text(), "out> +I[a, 1]\n");
    Ok(())
}

#[test]
fn a_table_with_a_primary_key_prints_its_final_rows_sorted() -> Result<()> {
    let paper = Paper::default();
    let mut run = run(&table().with_primary_key([1]), paper.clone(), 3)?;
    run.write(&changes(&["+I c 100", "+I b 20", "+I a 3", "+I x 7", "-U c 100", "+U e 100", "-D a 3"]))?;
    run.checkpoint(1)?;
    assert_eq!(paper.text(), "");
    run.prepare(2, true)?;
    assert_eq!(paper.text(), "+I[x, 7]\n+I[b, 20]\n+I[e, 100]\n");
    Ok(())
}

#[test]
fn an_unbounded_input_prints_changes_all_the_same() -> Result<()> {
    let mut unbounded = input(true);
    unbounded.bounded = false;
    let sink = PrintSink::to(Box::new(Paper::default()), &table().with_primary_key([0]), &unbounded)?;
    assert!(!sink.is_stateful());
    Ok(())
}

#[test]
fn values_are_shown_as_flink_shows_them() -> Result<()> {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1), None])]);
    let rows = rows(vec![
        ("f", Arc::new(Float64Array::from(vec![38342.0])) as ArrayRef),
        ("i", Arc::new(Int32Array::from(vec![-7])) as ArrayRef),
        ("ts", Arc::new(TimestampMillisecondArray::from(vec![1_357_034_400_500])) as ArrayRef),
        ("l", Arc::new(list) as ArrayRef),
    ]);
    let table = TableDescription::new("t", rows.schema()).with_option("connector", "print");
    let paper = Paper::default();
    run(&table, paper.clone(), 1)?.write(&ChangeBatch::inserts(rows))?;
    assert_eq!(paper.text(), "+I[38342.0, -7, 2013-01-01T10:00:00.5, [1,null]]\n");
    Ok(())
}

#[test]
fn a_closed_pipe_is_an_end_not_a_crash() -> Result<()> {
    let mut run = run(&table(), ClosedPipe, 1)?;
    assert_eq!(run.write(&changes(&["+I a 1"])).unwrap_err().kind(), ErrorKind::BrokenPipe);
    Ok(())
}
