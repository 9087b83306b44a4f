//! CSV files are read as tables.

mod support;

use arrow_schema::DataType::{Boolean, Date32, Decimal128, Float64, Int32, Int64, Utf8};
use headpond_runtime::ErrorKind;
use headpond_state::Context;
use support::source;
use support::{TIMESTAMP, files, read_all, rows_of, timestamp_ltz, write};
use tempfile::tempdir;

#[test]
fn columns_are_found_by_name_in_any_order() {
    let directory = tempdir().unwrap();
    let path = write(directory.path(), "a.csv", "\u{feff}b,extra,a\r\n1,x,one\r\n2,y,two");
    let table = files(&path, "csv", &[("a", Utf8), ("b", Int64)]).with_option("csv.header", "true");
    assert_eq!(rows_of(&table), ["one|1", "two|2"]);
}

#[test]
fn a_column_the_header_lacks_is_named_with_what_there_is() {
    let directory = tempdir().unwrap();
    let path = write(directory.path(), "a.csv", "carrier,flights\nUA,1\n");
    let table = files(&path, "csv", &[("carier", Utf8)]).with_option("csv.header", "true");
    let error = read_all(&*source(&table, None).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.message().contains("'carier'") && error.message().contains("carrier, flights"), "{error}");
    assert_eq!(error.place(Context::Path), Some(path.to_str().unwrap()));
    assert_eq!(error.way_out(), Some("did you mean 'carrier'?"));
}

#[test]
fn quotes_line_breaks_blank_lines_and_comments() {
    let directory = tempdir().unwrap();
    let text = "#c\n\"a,b\",1\n\n\"say \"\"hi\"\"\",2\r\n\"two\nlines\",3\nit\"s,4\n\"\",5\n";
    let path = write(directory.path(), "a.csv", text);
    let table = files(&path, "csv", &[("s", Utf8), ("n", Int32)]).with_option("csv.allow-comments", "true");
    assert_eq!(rows_of(&table), ["a,b|1", "say \"hi\"|2", "two\nlines|3", "it\"s|4", "|5"]);
}

#[test]
fn other_delimiters_quotes_and_escapes() {
    let directory = tempdir().unwrap();
    let path = write(directory.path(), "a.csv", "'a\\'b'\tx\\\ty\nc\td\n");
    let table = files(&path, "csv", &[("a", Utf8), ("b", Utf8)])
        .with_option("csv.field-delimiter", "\\t")
        .with_option("csv.quote-character", "'")
        .with_option("csv.escape-character", "\\");
    assert_eq!(rows_of(&table), ["a'b|x\ty", "c|d"]);
}

#[test]
fn the_null_literal_and_empty_fields_are_null() {
    let directory = tempdir().unwrap();
    let path = write(directory.path(), "a.csv", "NA,NA\n,\n\"NA\",7\n");
    let table = files(&path, "csv", &[("s", Utf8), ("n", Int64)]).with_option("csv.null-literal", "NA");
    assert_eq!(rows_of(&table), ["NULL|NULL", "|NULL", "NA|7"]);
}

#[test]
fn values_of_all_types() {
    let directory = tempdir().unwrap();
    let path = write(
        directory.path(),
        "a.csv",
        " 12 ,-1.5e3,TRUE,12345678901234567890.125,2013-02-28,2013-01-01T10:00:00.250Z,2013-07-01 12:00:00\n\
         9223372036854775807,NaN,false,-0.005,1969-12-31,2013-01-01 10:00,2013-07-01T12:00:00+05:30\n",
    );
    let mut table = files(
        &path,
        "csv",
        &[
            ("i", Int64),
            ("d", Float64),
            ("b", Boolean),
            ("m", Decimal128(38, 3)),
            ("day", Date32),
            ("ts", TIMESTAMP),
            ("ltz", timestamp_ltz()),
        ],
    );
    table.local_time_zone = "Europe/Berlin".to_owned();
    assert_eq!(
        rows_of(&table),
        [
            "12|-1500.0|true|12345678901234567890.125|2013-02-28|2013-01-01T10:00:00.250|2013-07-01T10:00:00Z",
            "9223372036854775807|NaN|false|-0.005|1969-12-31|2013-01-01T10:00:00|2013-07-01T06:30:00Z",
        ]
    );
}

#[test]
fn local_times_that_clocks_skip_or_show_twice() {
    let directory = tempdir().unwrap();
    let path = write(directory.path(), "a.csv", "2013-03-31 02:30:00\n2013-10-27 02:30:00\n");
    let mut table = files(&path, "csv", &[("ltz", timestamp_ltz())]);
    table.local_time_zone = "Europe/Berlin".to_owned();
    assert_eq!(rows_of(&table), ["2013-03-31T01:30:00Z", "2013-10-27T00:30:00Z"]);
}

#[test]
fn a_field_that_does_not_parse_is_named_with_its_place() {
    let directory = tempdir().unwrap();
    let path = write(directory.path(), "a.csv", "a,1\n\"b\nb\",2\nc,three\n");
    let table = files(&path, "csv", &[("s", Utf8), ("n", Int32)]);
    let error = read_all(&*source(&table, None).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(error.place(Context::Path), Some(path.to_str().unwrap()));
    assert_eq!(error.place(Context::Line), Some("4"));
    assert_eq!(error.place(Context::Column), Some("n"));
    assert_eq!(error.place(Context::Text), Some("'three'"));
    assert!(error.way_out().unwrap().contains("csv.ignore-parse-errors"), "{error:?}");
}

#[test]
fn numbers_out_of_range_do_not_wrap() {
    let directory = tempdir().unwrap();
    for (data_type, text) in
        [(Int32, "2147483648"), (Int64, "9223372036854775808"), (Decimal128(3, 0), "1000"), (Int64, "1.5")]
    {
        let path = write(directory.path(), "a.csv", text);
        let error = read_all(&*source(&files(&path, "csv", &[("n", data_type)]), None).unwrap()).unwrap_err();
        assert_eq!(error.place(Context::Text), Some(format!("'{text}'").as_str()));
    }
}

#[test]
fn whole_numbers_of_every_length_are_read_and_what_is_no_digit_is_found_anywhere() {
    let directory = tempdir().unwrap();
    let digits = |len: usize, first: usize| (0..len).map(move |at| char::from(b'0' + ((first + at * 7) % 10) as u8));
    let mut good: Vec<String> = Vec::new();
    for (len, first) in (1..=18).flat_map(|len| (0..10).map(move |first| (len, first))) {
        good.extend(["", "-", "+"].map(|sign| sign.chars().chain(digits(len, first)).collect()));
    }
    good.extend(["9223372036854775807", "-9223372036854775808", "000000000000000000000012"].map(str::to_owned));
    let path = write(directory.path(), "good.csv", good.join("\n"));
    let expected: Vec<String> = good.iter().map(|text| text.parse::<i64>().unwrap().to_string()).collect();
    assert_eq!(rows_of(&files(&path, "csv", &[("n", Int64)])), expected);

    let mut bad = Vec::new();
    for (len, at) in (1..=18).flat_map(|len| (0..len).map(move |at| (len, at))) {
        let with = |other: char| {
            digits(len, len).enumerate().map(|(index, digit)| if index == at { other } else { digit }).collect()
        };
        bad.extend([':', '/', 'x', '@', 'p', '\u{b0}'].map(with).into_iter().collect::<Vec<String>>());
    }
    let path = write(directory.path(), "bad.csv", bad.join("\n"));
    let table = files(&path, "csv", &[("n", Int64)]).with_option("csv.ignore-parse-errors", "true");
    assert_eq!(read_all(&*source(&table, None).unwrap()).unwrap(), (Vec::new(), bad.len() as u64));
}

#[test]
fn fields_of_every_length_end_where_they_end() {
    let directory = tempdir().unwrap();
    let text = |len: usize| "aü-\u{2c00}+~z".chars().cycle().take(len).collect::<String>();
    let lens = (0..18).flat_map(|a| (0..18).map(move |b| (a, b)));
    let rows: Vec<String> = lens.map(|(a, b)| [text(a), text(b), text((a + b) % 9)].join(",")).collect();
    let path = write(directory.path(), "a.csv", rows.join("\n"));
    let expected: Vec<String> = rows[1..].iter().map(|row| row.replace(',', "|")).collect();
    let table = files(&path, "csv", &[("a", Utf8), ("b", Utf8), ("c", Utf8)]);
    assert_eq!(rows_of(&table)[1..], expected);
}

#[test]
fn malformed_rows_are_left_out_and_counted() {
    let directory = tempdir().unwrap();
    let path = write(directory.path(), "a.csv", "a,1\nb\nc,x\nd,4,5\n\"e\"f,6\ng,7\n\"open,8\nh,9\n");
    let table = files(&path, "csv", &[("s", Utf8), ("n", Int32)]).with_option("csv.ignore-parse-errors", "true");
    let (rows, skipped) = read_all(&*source(&table, None).unwrap()).unwrap();
    assert_eq!(rows, ["a|1", "g|7", "h|9"]);
    assert_eq!(skipped, 5);
}

#[test]
fn a_row_with_another_number_of_fields_is_malformed() {
    let directory = tempdir().unwrap();
    let path = write(directory.path(), "a.csv", "a,1\nb,2,3\n");
    let error = read_all(&*source(&files(&path, "csv", &[("s", Utf8), ("n", Int32)]), None).unwrap()).unwrap_err();
    assert_eq!(error.message(), "the row has 3 fields, not 2");
    assert_eq!(error.place(Context::Line), Some("2"));
}

#[test]
fn a_projection_reads_its_columns_only() {
    let directory = tempdir().unwrap();
    let path = write(directory.path(), "a.csv", "x,1,q\ny,2,r\n");
    let table = files(&path, "csv", &[("bad", Int32), ("n", Int32), ("s", Utf8)]);
    let projected = source(&table, Some(&[2, 1])).unwrap();
    assert_eq!(read_all(&*projected).unwrap().0, ["q|1", "r|2"]);
    let counted = source(&table, Some(&[])).unwrap();
    let mut reader = counted.open(&counted.splits().unwrap()[0], None, &support::ONE_READER).unwrap();
    assert_eq!(reader.next(10).unwrap().unwrap().rows.num_rows(), 2);
}

#[test]
fn an_empty_file_has_no_rows() {
    let directory = tempdir().unwrap();
    let path = write(directory.path(), "a.csv", "");
    let table = files(&path, "csv", &[("s", Utf8)]);
    assert_eq!(rows_of(&table), Vec::<String>::new());
    assert_eq!(rows_of(&table.with_option("csv.header", "true")), Vec::<String>::new());
}

#[test]
fn rows_longer_than_a_read_are_whole() {
    let directory = tempdir().unwrap();
    let long = "x".repeat(3 << 20);
    let path = write(directory.path(), "a.csv", format!("1,{long}\n2,\"{long}\"\n3,z\n"));
    let rows = rows_of(&files(&path, "csv", &[("n", Int32), ("s", Utf8)]));
    assert_eq!(rows.iter().map(String::len).collect::<Vec<_>>(), [long.len() + 2, long.len() + 2, 3]);
}
