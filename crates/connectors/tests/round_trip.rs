//! What is written reads as it was.

mod support;

use arrow_array::types::Int64Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int64Array, ListArray, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray, TimestampMillisecondArray,
};
use arrow_schema::{DataType, Field};
use headpond_connectors::TableDescription;
use headpond_runtime::{ChangeBatch, Result};
use std::sync::Arc;
use support::sinks::{Run, input, rows};
use support::{ONE_READER, files};
use support::{sink, source};
use tempfile::tempdir;

fn all_types() -> RecordBatch {
    let strings = vec![Some("plain"), Some("quote \" comma , line\nend\ttab \\ \u{1} é😀"), None];
    let pair = StructArray::from(vec![
        (
            Arc::new(Field::new("a", DataType::Int64, true)),
            Arc::new(Int64Array::from(vec![Some(1), None, Some(3)])) as ArrayRef,
        ),
        (
            Arc::new(Field::new("b", DataType::Utf8, true)),
            Arc::new(StringArray::from(vec![Some("x,\""), Some(""), None])) as ArrayRef,
        ),
    ]);
    rows(vec![
        ("s", Arc::new(StringArray::from(strings)) as ArrayRef),
        ("b", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        ("i8", Arc::new(Int8Array::from(vec![Some(i8::MIN), Some(i8::MAX), None]))),
        ("i64", Arc::new(Int64Array::from(vec![Some(i64::MIN), Some(i64::MAX), None]))),
        ("f32", Arc::new(Float32Array::from(vec![Some(0.1), Some(f32::MIN_POSITIVE), None]))),
        ("f64", Arc::new(Float64Array::from(vec![Some(f64::INFINITY), Some(-1.5e-300), Some(12.106_072_888)]))),
        (
            "m",
            Arc::new(
                Decimal128Array::from(vec![Some(10_i128.pow(38) - 1), Some(-5), None])
                    .with_precision_and_scale(38, 3)
                    .expect("a decimal's precision and scale"),
            ),
        ),
        ("d", Arc::new(Date32Array::from(vec![Some(-719_162), Some(19_782), None]))),
        ("ts", Arc::new(TimestampMillisecondArray::from(vec![Some(-1), Some(1_357_034_400_000), None]))),
        ("us", Arc::new(TimestampMicrosecondArray::from(vec![Some(1), Some(1_357_034_400_000_100), None]))),
        (
            "ltz",
            Arc::new(
                TimestampMillisecondArray::from(vec![Some(0), Some(1_357_034_400_250), None]).with_timezone("UTC"),
            ),
        ),
        ("bytes", Arc::new(BinaryArray::from(vec![Some(b"\x00\xff".as_slice()), Some(b""), None]))),
        (
            "l",
            Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([
                Some(vec![Some(1), None]),
                Some(vec![]),
                None,
            ])),
        ),
        ("r", Arc::new(pair)),
    ])
}

fn written_and_read(table: &TableDescription, rows: &RecordBatch) -> Result<RecordBatch> {
    let sink = sink(table, &input(false))?;
    let mut run = Run::start("a1", table, &sink, 1, None, &[])?;
    run.write(&ChangeBatch::inserts(rows.clone()))?;
    run.checkpoint(1)?;
    let source = source(table, None)?;
    let batch = source.open(&source.splits()?[0], None, &ONE_READER)?.next(100)?;
    Ok(batch.expect("rows").rows.rows().clone())
}

fn columns(rows: &RecordBatch) -> Vec<(&str, DataType)> {
    let schema = rows.schema_ref();
    schema.fields().iter().map(|field| (field.name().as_str(), field.data_type().clone())).collect()
}

#[test]
fn all_types_as_json() -> Result<()> {
    let rows = all_types();
    for standard in ["SQL", "ISO-8601"] {
        let directory = tempdir().unwrap();
        let table =
            files(directory.path(), "json", &columns(&rows)).with_option("json.timestamp-format.standard", standard);
        assert_eq!(written_and_read(&table, &rows)?, rows);
    }
    Ok(())
}

#[test]
fn all_types_as_csv() -> Result<()> {
    // An empty BYTES or a NULL text reads as it was only with a literal for NULL; an empty BYTES does not at all.
    let rows = all_types();
    let index = rows.schema_ref().index_of("bytes").expect("the column");
    let kept: Vec<usize> = (0..rows.num_columns()).filter(|&column| column != index).collect();
    let rows = rows.project(&kept).expect("columns that are there");
    for (delimiter, header) in [(",", "true"), ("|", "false")] {
        let directory = tempdir().unwrap();
        let table = files(directory.path(), "csv", &columns(&rows))
            .with_option("csv.null-literal", "NULL")
            .with_option("csv.field-delimiter", delimiter)
            .with_option("csv.header", header);
        assert_eq!(written_and_read(&table, &rows)?, rows);
    }
    Ok(())
}
