//! Rows in all three formats.

use crate::data::{datum, row_schema};
use crate::same;
use headpond_rows::{RowCodec, RowFormat};
use headpond_state::ErrorKind;
use headpond_state::schema::{DataKind, Datum, Field, RowSchema};
use proptest::prelude::*;

fn schema_and_row() -> impl Strategy<Value = (RowSchema, Vec<Datum>)> {
    row_schema().prop_flat_map(|schema| {
        let row: Vec<_> = schema.fields().iter().map(|field| datum(&field.ty)).collect();
        (Just(schema), row)
    })
}

fn any_format() -> impl Strategy<Value = RowFormat> {
    prop::sample::select(&RowFormat::ALL[..])
}

proptest! {
    #[test]
    fn a_row_reads_back((schema, row) in schema_and_row(), format in any_format()) {
        let codec = RowCodec::new(format, schema);
        let mut bytes = vec![42];
        codec.encode(&row, &mut bytes)?;
        prop_assert_eq!(bytes[..2].to_vec(), [42, 1]);
        let mut read = vec![Datum::Null];
        codec.decode(&bytes[1..], &mut read)?;
        prop_assert!(same(&read[1..], &row), "{} {:?} {:?}", codec.schema(), row, read);
    }

    #[test]
    fn a_row_of_numbers_has_the_same_bytes_without_datums((schema, row) in schema_and_row(), format in any_format()) {
        let number = |(field, datum): (&Field, &Datum)| match datum {
            Datum::Null => Some(None),
            Datum::Int64(number) => Some(Some(*number)),
            Datum::Float64(number) => (field.ty.kind == DataKind::Float64).then(|| Some(number.to_bits() as i64)),
            _ => None,
        };
        let numbers: Option<Vec<Option<i64>>> = schema.fields().iter().zip(&row).map(number).collect();
        let codec = RowCodec::new(format, schema);
        let (mut bytes, mut written, mut read) = (Vec::new(), vec![42], Vec::new());
        codec.encode(&row, &mut bytes)?;
        let is_read = codec.decode_numbers(&bytes, &mut read);
        prop_assert_eq!(is_read, numbers.is_some() && format == RowFormat::Row);
        if let Some(numbers) = numbers.filter(|_| is_read) {
            prop_assert_eq!(&read, &numbers);
            prop_assert!(codec.encode_numbers(&numbers, &mut written));
            prop_assert_eq!(&written[1..], &bytes[..]);
        }
    }

    #[test]
    fn a_row_with_rows_of_numbers_has_the_same_bytes_without_datums(
        own in (any::<i64>(), proptest::option::of(any::<i64>())),
        rows in proptest::collection::vec((any::<i64>(), proptest::option::of(any::<i32>())), 0..200),
        format in any_format(),
    ) {
        let schema = "a int64, b timestamp?, more list<struct<c int64, d int32?>>?".parse().expect("a schema");
        let codec = RowCodec::new(format, schema);
        let datum = |number: Option<i64>| number.map_or(Datum::Null, Datum::Int64);
        let listed = rows.iter().map(|(c, d)| Datum::Struct(vec![Datum::Int64(*c), datum(d.map(i64::from))]));
        let more = if rows.is_empty() { Datum::Null } else { Datum::List(listed.collect()) };
        let (mut bytes, mut written, mut read) = (Vec::new(), vec![42], Vec::new());
        codec.encode(&[Datum::Int64(own.0), datum(own.1), more], &mut bytes)?;
        let mut numbers = vec![Some(own.0), own.1];
        rows.iter().for_each(|(c, d)| numbers.extend([Some(*c), d.map(i64::from)]));
        let is_known = format == RowFormat::Row && rows.len() <= 127;
        prop_assert_eq!(codec.decode_number_rows(&bytes, &mut read), is_known.then_some(rows.len()));
        prop_assert_eq!(codec.encode_number_rows(&numbers, rows.len(), &mut written), is_known);
        if is_known {
            prop_assert_eq!(&read, &numbers);
            prop_assert_eq!(&written[1..], &bytes[..]);
        } else {
            prop_assert_eq!(written, [42]);
        }
        for len in 0..bytes.len() {
            prop_assert_eq!(codec.decode_number_rows(&bytes[..len], &mut read), None);
        }
    }

    #[test]
    fn bytes_are_a_row_of_numbers_only_if_they_are_a_row(schema in row_schema(), mut bytes in any::<Vec<u8>>()) {
        let codec = RowCodec::new(RowFormat::Row, schema);
        for (at, byte) in [1, codec.schema().len() as u8].into_iter().enumerate().take(bytes.len()) {
            bytes[at] = byte;
        }
        if codec.decode_numbers(&bytes, &mut Vec::new()) {
            codec.decode(&bytes, &mut Vec::new())?;
        }
    }

    #[test]
    fn a_row_from_before_a_field_was_added_reads_null_there((schema, row) in schema_and_row(), format in any_format()) {
        let mut bytes = Vec::new();
        RowCodec::new(format, schema.clone()).encode(&row, &mut bytes)?;
        let mut fields = schema.fields().to_vec();
        fields.push(Field::new("added", DataKind::Utf8.nullable()));
        fields.push(Field::new("added_too", DataKind::Int64.nullable()));
        let grown = RowSchema::new(fields);
        grown.reads(&schema)?;
        prop_assert_eq!(schema.reads(&grown).map_err(|error| error.kind()), Err(ErrorKind::Incompatible));
        let mut read = Vec::new();
        RowCodec::new(format, grown).decode(&bytes, &mut read)?;
        prop_assert!(same(&read[..row.len()], &row));
        prop_assert_eq!(&read[row.len()..], &[Datum::Null, Datum::Null]);
    }

    #[test]
    fn any_bytes_are_a_row_or_an_error(schema in row_schema(), format in any_format(), mut bytes in any::<Vec<u8>>()) {
        let codec = RowCodec::new(format, schema);
        let mut row = Vec::new();
        if let Some(version) = bytes.first_mut() {
            *version = 1;
        }
        match codec.decode(&bytes, &mut row) {
            Ok(()) => prop_assert_eq!(row.len(), codec.schema().len()),
            Err(error) => {
                prop_assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Incompatible), "{}", error);
                prop_assert!(row.is_empty());
            }
        }
    }

    #[test]
    fn a_damaged_row_never_panics(
        (schema, row) in schema_and_row(),
        format in any_format(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let codec = RowCodec::new(format, schema);
        let mut bytes = Vec::new();
        codec.encode(&row, &mut bytes)?;
        let index = at.index(bytes.len());
        bytes[index] = byte;
        let _ = codec.decode(&bytes, &mut Vec::new());
        let _ = codec.decode(&bytes[..index], &mut Vec::new());
    }
}

#[test]
fn numbers_that_do_not_fit_their_fields_are_not_written() {
    let codec = RowCodec::new(RowFormat::Row, "n int64, small int8?, text utf8?".parse().expect("a schema"));
    let mut out = vec![42];
    for row in [[Some(1), Some(128), None], [None, None, None], [Some(1), None, Some(1)]] {
        assert!(!codec.encode_numbers(&row, &mut out), "{row:?}");
    }
    assert!(!codec.encode_numbers(&[Some(1)], &mut out));
    assert_eq!(out, [42]);
    assert!(codec.encode_numbers(&[Some(1), Some(-128), None], &mut out));
}

#[test]
fn the_row_format_is_what_its_documentation_says() {
    let schema = "n int64, sum float64?, small int16, name utf8?".parse().expect("a schema");
    let mut bytes = Vec::new();
    let row = [Datum::Int64(1), Datum::Null, Datum::Int64(-2), Datum::utf8("UA")];
    RowCodec::new(RowFormat::Row, schema).encode(&row, &mut bytes).expect("the row fits");
    assert_eq!(bytes, [1, 4, 0b0010, 1, 0, 0, 0, 0, 0, 0, 0, 0xfe, 0xff, 2, b'U', b'A']);
}

#[test]
fn a_row_that_does_not_fit_is_refused_with_its_column() {
    for format in RowFormat::ALL {
        let codec = RowCodec::new(format, "n int64, small int8".parse().expect("a schema"));
        let mut out = vec![9];
        for (row, message) in [
            (
                vec![Datum::Int64(1), Datum::Int64(128)],
                "128 is out of range for int8, which holds -128 to 127 (column `small`)",
            ),
            (vec![Datum::utf8("x"), Datum::Int64(1)], "text does not fit int64 (column `n`)"),
            (
                vec![Datum::Null, Datum::Int64(1)],
                "NULL does not fit int64, which is declared without NULL (column `n`)",
            ),
            (vec![Datum::Int64(1)], "a row of 1 fields does not fit its schema, which has 2: `n int64, small int8`"),
        ] {
            let error = codec.encode(&row, &mut out).expect_err("the row does not fit");
            assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Invalid, message), "{format}");
            assert_eq!(out, [9]);
        }
    }
}

#[test]
fn an_unknown_version_is_incompatible_and_nothing_is_corrupt() {
    for format in RowFormat::ALL {
        let codec = RowCodec::new(format, RowSchema::default());
        assert_eq!(codec.decode(&[2], &mut Vec::new()).expect_err("version 2").kind(), ErrorKind::Incompatible);
        assert_eq!(codec.decode(&[], &mut Vec::new()).expect_err("no byte").kind(), ErrorKind::Corrupt);
    }
}

#[test]
fn formats_are_known_by_their_names() {
    assert_eq!("Protobuf".parse::<RowFormat>().expect("a format"), RowFormat::Protobuf);
    assert_eq!("xml".parse::<RowFormat>().expect_err("no format").kind(), ErrorKind::Invalid);
}
