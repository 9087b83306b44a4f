//! Rows as files.

use crate::support::{TestJob, TestOperator, entry, key, row};
use headpond_inspect::{FileFormat, RowWriter};
use headpond_rows::RowFormat;
use headpond_state::schema::Datum;
use headpond_state::{CodecId, StateDescriptor, StateKind};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::{self, File};
use std::path::Path;

const SCHEMA: &str = "name utf8?, at timestamp, tags list<int64>";

fn job() -> TestJob {
    let state = StateDescriptor::new("state", StateKind::Value, CodecId::new("avro", 1))
        .with_key_schema("int64")
        .with_value_schema(SCHEMA);
    let value =
        |name: Datum, tags: Vec<Datum>| row(RowFormat::Avro, SCHEMA, &[name, Datum::Int64(1_500), Datum::List(tags)]);
    let entries = vec![
        entry(key("int64", &[1.into()]), vec![], value("a, \"b\"".into(), vec![1.into(), 2.into()])),
        entry(key("int64", &[2.into()]), vec![], value(Datum::Null, vec![])),
    ];
    let job = TestJob::new();
    job.checkpoint(&[TestOperator { id: "op", states: vec![(state, entries)] }], 2);
    job
}

fn export(job: &TestJob, sql: &str, name: &str) -> u64 {
    let path = job.path(name);
    let format = FileFormat::of_path(&path).expect("the name tells the format");
    let file = File::create(&path).expect("files can be created");
    let mut writer = RowWriter::new(format, Box::new(file), path.display());
    job.open("job").expect("there is a checkpoint").rows_of(sql, &mut writer).expect("the query runs");
    writer.finish().expect("files can be written")
}

#[test]
fn csv_and_json_have_every_value_as_text() {
    let job = job();
    let sql = "SELECT * FROM op ORDER BY key_0";
    assert_eq!(export(&job, sql, "rows.csv"), 2);
    assert_eq!(
        fs::read_to_string(job.path("rows.csv")).expect("the file is there"),
        "key_0,name,at,tags,expires_at\n1,\"a, \"\"b\"\"\",1970-01-01 00:00:01.500,\"[1, 2]\",\n\
         2,,1970-01-01 00:00:01.500,[],\n"
    );
    assert_eq!(export(&job, sql, "rows.json"), 2);
    assert_eq!(
        fs::read_to_string(job.path("rows.json")).expect("the file is there"),
        "{\"key_0\":1,\"name\":\"a, \\\"b\\\"\",\"at\":\"1970-01-01 00:00:01.500\",\"tags\":[1,2],\"expires_at\":null}\n\
         {\"key_0\":2,\"name\":null,\"at\":\"1970-01-01 00:00:01.500\",\"tags\":[],\"expires_at\":null}\n"
    );
    assert_eq!(export(&job, "SELECT name FROM op WHERE key_0 > 7", "none.csv"), 0);
    assert_eq!(fs::read_to_string(job.path("none.csv")).expect("the file is there"), "name\n");
}

#[test]
fn parquet_is_read_by_others() {
    let job = job();
    assert_eq!(export(&job, "op", "rows.parquet"), 2);
    let file = File::open(job.path("rows.parquet")).expect("the file is there");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("a Parquet file");
    let columns: Vec<String> = reader.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(columns, ["key_0", "name", "at", "tags", "expires_at"]);
    let rows: usize = reader.build().expect("a reader").map(|batch| batch.expect("rows").num_rows()).sum();
    assert_eq!(rows, 2);
}

#[test]
fn a_name_that_tells_no_format_is_a_mistake() {
    let error = FileFormat::of_path(Path::new("rows.xls")).expect_err("there is no such format");
    assert_eq!(error.way_out(), Some("end it in .parquet, .csv or .json, or name the format"));
    assert!("xls".parse::<FileFormat>().is_err());
}
