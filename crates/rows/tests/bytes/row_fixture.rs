//! The bytes of rows in version 1 of the three formats, for ever.
//!
//! A line of the fixture is `schema | row as JSON | row | protobuf | avro`, the formats in hexadecimal. Lines are only
//! ever added.

use crate::fixture::{columns, datum, from_hex, to_hex};
use crate::same;
use headpond_rows::{RowCodec, RowFormat};
use headpond_state::schema::{Datum, RowSchema};
use serde_json::Value;

const FIXTURE: &str = include_str!("../fixtures/row-formats-v1.txt");

#[test]
fn version_1_of_the_row_formats_is_what_it_was() {
    let mut lines = 0;
    for [schema, json, native, protobuf, avro] in columns(FIXTURE) {
        let schema: RowSchema = schema.parse().expect("a schema");
        let Value::Array(values) = serde_json::from_str(json).expect("JSON") else { panic!("`{json}`") };
        let row: Vec<Datum> =
            schema.fields().iter().zip(&values).map(|(field, value)| datum(&field.ty, value)).collect();
        for (format, hex) in RowFormat::ALL.into_iter().zip([native, protobuf, avro]) {
            let codec = RowCodec::new(format, schema.clone());
            let mut bytes = Vec::new();
            codec.encode(&row, &mut bytes).expect("the row fits");
            assert_eq!(to_hex(&bytes), hex, "{schema} {json} as {format}");
            let mut read = Vec::new();
            codec.decode(&from_hex(hex), &mut read).expect("a row");
            assert!(same(&read, &row), "{schema} {json} as {format}: {read:?}");
        }
        lines += 1;
    }
    assert!(lines >= 30, "the fixture has only {lines} lines");
}
