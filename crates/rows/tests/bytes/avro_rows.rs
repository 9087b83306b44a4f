//! Rows as Avro, against the library `apache-avro`.

use crate::data::{datum, row_schema};
use crate::same;
use apache_avro::Schema;
use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::writer::datum::GenericDatumWriter;
use headpond_rows::{RowCodec, RowFormat, avro_schema};
use headpond_state::schema::{Datum, RowSchema};
use proptest::prelude::*;

/// What the library reads from our bytes, it writes as bytes that we read as the same row.
fn through_the_library(schema: &RowSchema, row: &[Datum]) -> Vec<Datum> {
    let codec = RowCodec::new(RowFormat::Avro, schema.clone());
    let mut bytes = Vec::new();
    codec.encode(row, &mut bytes).expect("the row fits");

    let avro = Schema::parse(&avro_schema(schema, "Row")).expect("the schema is Avro's");
    let mut datum = &bytes[1..];
    let reader = GenericDatumReader::builder(&avro).build().expect("a reader");
    let value = reader
        .read_value(&mut datum)
        .unwrap_or_else(|error| panic!("the library does not read {bytes:02x?} of {schema}: {error}"));
    assert!(datum.is_empty(), "the library left {datum:02x?} of {bytes:02x?}");

    let writer = GenericDatumWriter::builder(&avro).build().expect("a writer");
    let mut written = vec![1];
    writer.write_value_ref(&mut written, &value).expect("the library writes the record");
    let mut read = Vec::new();
    codec.decode(&written, &mut read).expect("we read the record");
    read
}

proptest! {
    #[test]
    fn rows_go_through_the_library_and_back(
        (schema, row) in row_schema().prop_flat_map(|schema| {
            let row: Vec<_> = schema.fields().iter().map(|field| datum(&field.ty)).collect();
            (Just(schema), row)
        })
    ) {
        prop_assert!(same(&through_the_library(&schema, &row), &row), "{} {:?}", schema, row);
    }
}

#[test]
fn an_array_in_several_blocks_reads_as_one_list() {
    let codec = RowCodec::new(RowFormat::Avro, "l list<int64>".parse().expect("a schema"));
    let mut row = Vec::new();
    // A block of two, a block of one that says it has one byte, the end.
    codec.decode(&[1, 4, 2, 4, 1, 2, 6, 0], &mut row).expect("a record");
    assert_eq!(row, [Datum::List(vec![1.into(), 2.into(), 3.into()])]);
}
