//! Rows as Protobuf, against the library `prost`.

use headpond_rows::{RowCodec, RowFormat, proto_schema};
use headpond_state::schema::Datum;
use prost::Message;

/// What `proto_schema` says of the schema below.
#[derive(Clone, PartialEq, Message)]
struct Total {
    #[prost(string, optional, tag = "1")]
    carrier: Option<String>,
    #[prost(sint64, optional, tag = "2")]
    flights: Option<i64>,
    #[prost(double, optional, tag = "3")]
    delay: Option<f64>,
    #[prost(sint32, optional, tag = "4")]
    day: Option<i32>,
    #[prost(uint64, optional, tag = "5")]
    id: Option<u64>,
    #[prost(bool, optional, tag = "6")]
    late: Option<bool>,
    #[prost(bytes = "vec", optional, tag = "7")]
    fare: Option<Vec<u8>>,
    #[prost(float, optional, tag = "8")]
    ratio: Option<f32>,
    #[prost(message, optional, tag = "9")]
    gate: Option<GateValue>,
    #[prost(message, optional, tag = "10")]
    codes: Option<CodesValue>,
}

#[derive(Clone, PartialEq, Message)]
struct GateValue {
    #[prost(string, optional, tag = "1")]
    hall: Option<String>,
    #[prost(sint32, optional, tag = "2")]
    number: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
struct CodesValue {
    #[prost(message, repeated, tag = "1")]
    element: Vec<Code>,
}

#[derive(Clone, PartialEq, Message)]
struct Code {
    #[prost(sint64, optional, tag = "1")]
    value: Option<i64>,
}

const SCHEMA: &str = "carrier utf8?, flights int64, delay float64?, day date?, id uint64, late bool?, \
    fare decimal(10,2)?, ratio float32?, gate struct<hall utf8,number int16?>?, codes list<int64?>?";

fn codec() -> RowCodec {
    RowCodec::new(RowFormat::Protobuf, SCHEMA.parse().expect("a schema"))
}

#[test]
fn rows_are_what_the_library_reads_and_writes() {
    let rows = [
        vec![
            Datum::utf8("UA"),
            Datum::Int64(-4637),
            Datum::Float64(38342.5),
            Datum::Int64(-1),
            Datum::Int64(-1),
            Datum::Bool(false),
            Datum::Decimal(-12345),
            Datum::Float64(0.5),
            Datum::Struct(vec![Datum::utf8("A"), Datum::Null]),
            Datum::List(vec![Datum::Int64(1), Datum::Null, Datum::Int64(0)]),
        ],
        [vec![Datum::Null, Datum::Int64(0), Datum::Null, Datum::Null, Datum::Int64(0)], vec![Datum::Null; 5]].concat(),
    ];
    let messages = [
        Total {
            carrier: Some("UA".to_owned()),
            flights: Some(-4637),
            delay: Some(38342.5),
            day: Some(-1),
            id: Some(u64::MAX),
            late: Some(false),
            fare: Some(vec![0xcf, 0xc7]),
            ratio: Some(0.5),
            gate: Some(GateValue { hall: Some("A".to_owned()), number: None }),
            codes: Some(CodesValue {
                element: vec![Code { value: Some(1) }, Code { value: None }, Code { value: Some(0) }],
            }),
        },
        Total { flights: Some(0), id: Some(0), ..Total::default() },
    ];
    for (row, message) in rows.iter().zip(messages) {
        let mut bytes = Vec::new();
        codec().encode(row, &mut bytes).expect("the row fits");
        assert_eq!(Total::decode(&bytes[1..]).expect("a message"), message);
        let mut written = vec![1];
        message.encode(&mut written).expect("a vector takes it");
        let mut read = Vec::new();
        codec().decode(&written, &mut read).expect("a row");
        assert_eq!(&read, row);
    }
}

#[test]
fn fields_beyond_the_schema_are_skipped() {
    let mut bytes = Vec::new();
    codec()
        .encode(
            &[vec![Datum::Null, Datum::Int64(7), Datum::Null, Datum::Null, Datum::Int64(8)], vec![Datum::Null; 5]]
                .concat(),
            &mut bytes,
        )
        .expect("the row fits");
    let mut read = Vec::new();
    RowCodec::new(RowFormat::Protobuf, "carrier utf8?, flights int64".parse().expect("a schema"))
        .decode(&bytes, &mut read)
        .expect("a row");
    assert_eq!(read, [Datum::Null, Datum::Int64(7)]);
}

#[test]
fn the_message_is_printed_as_proto() {
    let proto = proto_schema(codec().schema(), "Total");
    assert_eq!(
        proto,
        r#"syntax = "proto3";

message Total {
  message GateValue {
    optional string hall = 1;
    optional sint32 number = 2;  // int16
  }
  message CodesValue {
    message Element {
      optional sint64 value = 1;
    }
    repeated Element element = 1;
  }
  optional string carrier = 1;
  optional sint64 flights = 2;
  optional double delay = 3;
  optional sint32 day = 4;  // days since 1970-01-01
  optional uint64 id = 5;
  optional bool late = 6;
  optional bytes fare = 7;  // big-endian two's complement, 2 digits behind the point
  optional float ratio = 8;
  optional GateValue gate = 9;
  optional CodesValue codes = 10;
}
"#
    );
}

#[test]
fn names_that_protobuf_does_not_know_are_adapted_and_differ() {
    let schema: headpond_state::schema::RowSchema =
        "`é-1` int64, `é_1` int64, a_b struct<x int64>, aB struct<x int64>, a_b int64".parse().expect("a schema");
    let proto = proto_schema(&schema, "Odd");
    for line in ["sint64 __1_1 = 1;", "sint64 __1_2 = 2;", "ABValue a_b = 3;", "ABValue_4 aB = 4;", "sint64 a_b_5 = 5;"]
    {
        assert!(proto.contains(line), "`{line}` is not in {proto}");
    }
}
