//! Columns that are NOT NULL have no NULL, read or written.

mod support;

use arrow_schema::{DataType, Field, Schema};
use headpond_connectors::TableDescription;
use headpond_runtime::{ErrorKind, Result};
use headpond_state::Context;
use std::path::Path;
use std::sync::Arc;
use support::sinks::{Run, changes, input};
use support::{files, read_all, write};
use support::{sink, source};
use tempfile::tempdir;

fn table(path: &Path, format: &str) -> TableDescription {
    let schema = Schema::new(vec![Field::new("k", DataType::Utf8, false), Field::new("n", DataType::Int64, true)]);
    TableDescription { schema: Arc::new(schema), ..files(path, format, &[]) }
}

#[test]
fn a_file_with_null_in_such_a_column_is_malformed() {
    let directory = tempdir().unwrap();
    for (name, text) in [("a.json", "{\"k\":\"a\"}\n{\"n\":1}\n"), ("a.csv", "a,\nNA,1\n")] {
        let path = write(directory.path(), name, text);
        let format = name.rsplit('.').next().unwrap();
        let mut table = table(&path, format);
        if format == "csv" {
            table = table.with_option("csv.null-literal", "NA");
        }
        let error = read_all(&*source(&table, None).unwrap()).unwrap_err();
        assert!(error.message().contains("NOT NULL"), "{error}");
        assert_eq!(error.place(Context::Line), Some("2"));
        let lenient = table.with_option(format!("{format}.ignore-parse-errors"), "true");
        assert_eq!(read_all(&*source(&lenient, None).unwrap()).unwrap(), (vec!["a|NULL".to_owned()], 1));
    }
}

#[test]
fn a_row_with_null_in_such_a_column_is_not_written() -> Result<()> {
    let directory = tempdir().unwrap();
    let table = table(directory.path(), "json");
    let mut run = Run::start("a1", &table, &sink(&table, &input(false))?, 1, None, &[])?;
    let error = run.write(&changes(&["+I NULL 1"])).unwrap_err();
    assert_eq!((error.kind(), error.place(Context::Column)), (ErrorKind::Invalid, Some("k")));
    Ok(())
}
