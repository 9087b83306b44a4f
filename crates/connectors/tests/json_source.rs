//! JSON lines are read as tables.

mod support;

use arrow_schema::DataType::{self, Binary, Boolean, Decimal128, Float64, Int64, List, Map, Struct, Utf8};
use arrow_schema::Field;
use headpond_runtime::ErrorKind;
use headpond_state::Context;
use std::sync::Arc;
use support::source;
use support::{TIMESTAMP, files, read_all, rows_of, timestamp_ltz, write};
use tempfile::tempdir;

fn field(name: &str, data_type: DataType) -> Arc<Field> {
    Arc::new(Field::new(name, data_type, true))
}

fn nested() -> [(&'static str, DataType); 4] {
    let row = Struct(vec![field("a", Int64), field("b", Utf8)].into());
    let entries = Struct(vec![Arc::new(Field::new("key", Utf8, false)), field("value", Float64)].into());
    [
        ("id", Int64),
        ("r", row.clone()),
        ("l", List(field("item", row))),
        ("m", Map(Arc::new(Field::new("entries", entries, false)), false)),
    ]
}

#[test]
fn fields_are_found_by_name_and_missing_ones_are_null() {
    let directory = tempdir().unwrap();
    let text = "{\"b\": true, \"other\": [1, {\"x\": \"}\"}], \"a\": \"one\"}\r\n\n  {\"a\":null}\n{}";
    let path = write(directory.path(), "a.json", text);
    assert_eq!(rows_of(&files(&path, "json", &[("a", Utf8), ("b", Boolean)])), ["one|true", "NULL|NULL", "NULL|NULL"]);
}

#[test]
fn no_digit_is_lost() {
    let directory = tempdir().unwrap();
    let text = "{\"i\":9007199254740993,\"m\":12345678901234567890123456789.123456789,\"d\":0.1}\n\
                {\"i\":\"-9223372036854775808\",\"m\":\"-1e-9\",\"d\":\"NaN\"}\n{\"i\":1.0,\"m\":1E3,\"d\":1e400}\n";
    let path = write(directory.path(), "a.json", text);
    let table = files(&path, "json", &[("i", Int64), ("m", Decimal128(38, 9)), ("d", Float64)]);
    assert_eq!(
        rows_of(&table),
        [
            "9007199254740993|12345678901234567890123456789.123456789|0.1",
            "-9223372036854775808|-0.000000001|NaN",
            "1|1000.000000000|inf",
        ]
    );
}

#[test]
fn rows_lists_and_maps_nest() {
    let directory = tempdir().unwrap();
    let text = "{\"id\":1,\"r\":{\"b\":\"x\",\"a\":2},\"l\":[{\"a\":1},null,{\"b\":\"é\\u00e9\\ud83d\\ude00\"}],\
                \"m\":{\"k\":1.5,\"n\":null}}\n\
                {\"id\":2,\"l\":[],\"m\":{}}\n";
    let path = write(directory.path(), "a.json", text);
    assert_eq!(
        rows_of(&files(&path, "json", &nested())),
        ["1|{a: 2, b: x}|[{a: 1, b: NULL}, NULL, {a: NULL, b: éé😀}]|{k: 1.5, n: NULL}", "2|NULL|[]|{}"]
    );
}

#[test]
fn a_value_deep_inside_is_named_by_its_path() {
    let directory = tempdir().unwrap();
    let path = write(directory.path(), "a.json", "{\"id\":1}\n{\"id\":2,\"l\":[{\"a\":1},{\"a\":\"x\"}]}\n");
    let error = read_all(&*source(&files(&path, "json", &nested()), None).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(error.place(Context::Line), Some("2"));
    assert!(error.place(Context::Column).unwrap().ends_with("(l[1].a)"), "{error}");
    assert!(error.place(Context::Text).unwrap().contains("\"x\""), "{error}");
}

#[test]
fn of_fields_with_the_same_name_the_last_counts() {
    let directory = tempdir().unwrap();
    let path = write(directory.path(), "a.json", "{\"id\":1,\"r\":{\"a\":1,\"a\":5},\"id\":3}\n");
    assert_eq!(rows_of(&files(&path, "json", &nested())), ["3|{a: 5, b: NULL}|NULL|NULL"]);
}

#[test]
fn malformed_rows_are_left_out_and_counted() {
    let directory = tempdir().unwrap();
    let bad = [
        "{\"id\":1,}",
        "[1]",
        "{\"id\":01}",
        "{\"id\":1} x",
        "{\"id\":\"\\q\"}",
        "{\"l\":[{\"a\":1}],\"id\":{}}",
        "{\"id",
    ];
    let text = format!("{{\"id\":0}}\n{}\n{{\"id\":9}}\n", bad.join("\n"));
    let path = write(directory.path(), "a.json", text);
    let table = files(&path, "json", &nested()).with_option("json.ignore-parse-errors", "true");
    let (rows, skipped) = read_all(&*source(&table, None).unwrap()).unwrap();
    assert_eq!(rows, ["0|NULL|NULL|NULL", "9|NULL|NULL|NULL"]);
    assert_eq!(skipped, bad.len() as u64);
}

#[test]
fn timestamps_bytes_and_anything_as_text() {
    let directory = tempdir().unwrap();
    let text = "{\"ts\":\"2013-01-01T10:00:00Z\",\"ltz\":\"2013-01-01 10:00:00.5+01:00\",\
                \"b\":\"aGk=\",\"s\":{\"x\": [1.50]}}\n";
    let path = write(directory.path(), "a.json", text);
    let table = files(&path, "json", &[("ts", TIMESTAMP), ("ltz", timestamp_ltz()), ("b", Binary), ("s", Utf8)]);
    assert_eq!(rows_of(&table), ["2013-01-01T10:00:00|2013-01-01T09:00:00.500Z|6869|{\"x\": [1.50]}"]);
}
