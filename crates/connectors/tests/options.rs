//! Options of tables are known or refused.

mod support;

use arrow_schema::DataType::{Int64, Utf8};
use headpond_connectors::options::{declared::groups, reference};
use headpond_connectors::{SinkInput, TableDescription};
use headpond_runtime::ErrorKind;
use headpond_state::Context;
use std::path::Path;
use support::{check, sink, source};
use support::{files, schema};

#[test]
fn an_unknown_option_is_refused_with_the_nearest() {
    let table = files(Path::new("x"), "csv", &[("a", Utf8)]).with_option("csv.headers", "true");
    let error = check(&table).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(error.place(Context::Option), Some("csv.headers"));
    assert_eq!(error.way_out(), Some("did you mean 'csv.header'?"));
}

#[test]
fn an_option_of_another_format_is_refused() {
    let table = files(Path::new("x"), "json", &[("a", Utf8)]).with_option("csv.header", "true");
    assert_eq!(check(&table).unwrap_err().way_out(), Some("it is an option of csv; leave it out here"));
}

#[test]
fn an_option_about_a_column_needs_that_column() {
    let table = TableDescription::new("t", schema(&[("id", Int64)])).with_option("connector", "datagen");
    check(&table.clone().with_option("fields.id.kind", "sequence")).unwrap();
    let error = check(&table.with_option("fields.ids.kind", "sequence")).unwrap_err();
    assert_eq!(error.way_out(), Some("did you mean 'fields.id.kind'?"));
}

#[test]
fn values_are_checked() {
    let table = |key: &str, value: &str| files(Path::new("x"), "csv", &[("a", Utf8)]).with_option(key, value);
    for (key, value) in [
        ("csv.header", "yes"),
        ("csv.field-delimiter", "ab"),
        ("scan.rows-per-second", "0"),
        ("scan.rows-per-second", "fast"),
        ("format", "parquet"),
        ("connector", "kafka"),
    ] {
        let error = check(&table(key, value)).unwrap_err();
        assert_eq!(error.place(Context::Option), Some(key), "{error}");
    }
}

#[test]
fn a_table_without_connector_or_path_says_what_is_missing() {
    let table = TableDescription::new("t", schema(&[("a", Utf8)]));
    assert_eq!(check(&table).unwrap_err().place(Context::Option), Some("connector"));
    let table = table.with_option("connector", "filesystem").with_option("format", "csv");
    assert_eq!(source(&table, None).unwrap_err().place(Context::Option), Some("path"));
}

#[test]
fn connectors_that_only_read_or_only_write() {
    let table =
        |connector: &str| TableDescription::new("t", schema(&[("a", Utf8)])).with_option("connector", connector);
    let input = SinkInput { insert: "t".to_owned(), changelog: false, upsert: true, bounded: true };
    assert_eq!(source(&table("print"), None).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(sink(&table("datagen"), &input).unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(sink(&table("blackhole"), &input).is_ok());
}

#[test]
fn every_default_can_be_read() {
    for option in groups().flat_map(|group| group.options) {
        if let Some(text) = option.default_text() {
            assert!(option.value(text).is_ok(), "{}: {text}", option.key());
        }
    }
}

#[test]
fn the_reference_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/connectors.md");
    let page = reference::markdown();
    if std::env::var_os("HEADPOND_UPDATE_REFERENCE").is_some_and(|value| value == "1") {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/reference/connectors.md is not current; run: HEADPOND_UPDATE_REFERENCE=1 cargo test --release -p \
         headpond-connectors --test options"
    );
}
