//! Codecs of values in other people's formats.

use headpond_codecs::{AvroCodec, ProstCodec, SerdeCodec};
use headpond_state::codec::Codec;
use headpond_state::{CodecId, ErrorKind, StateDescriptor, StateKind};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

fn encoded<T>(codec: &dyn Codec<T>, value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    codec.encode(value, &mut bytes).expect("the value can be written");
    bytes
}

fn reads_back<T: PartialEq + Debug>(codec: &dyn Codec<T>, value: T) {
    let bytes = encoded(codec, &value);
    assert_eq!(codec.decode(&bytes).expect("the value reads back"), value);
    assert_eq!(bytes[0], codec.id().version);
    let mut newer = bytes;
    newer[0] += 1;
    assert_eq!(codec.decode(&newer).expect_err("a newer version").kind(), ErrorKind::Incompatible);
    assert_eq!(codec.decode(&[]).expect_err("nothing").kind(), ErrorKind::Corrupt);
}

#[test]
fn values_read_back_and_begin_with_their_version() {
    reads_back(&SerdeCodec::new("order", 3), order());
    reads_back(&avro(ORDER), order());
    reads_back(&ProstCodec::new("shop.Visit"), Visit { page: "/".to_owned(), seconds: 12 });
}

#[test]
fn what_is_left_over_is_corrupt() {
    let one_more = |mut bytes: Vec<u8>| {
        bytes.push(0);
        bytes
    };
    let kinds = [
        SerdeCodec::<Order>::new("order", 3)
            .decode(&one_more(encoded(&SerdeCodec::new("order", 3), &order())))
            .map(drop),
        avro::<Order>(ORDER).decode(&one_more(encoded(&avro(ORDER), &order()))).map(drop),
    ]
    .map(|result| result.expect_err("a byte is left over").kind());
    assert_eq!(kinds, [ErrorKind::Corrupt; 2]);
}

proptest! {
    #[test]
    fn any_bytes_are_a_value_or_an_error(mut bytes in any::<Vec<u8>>()) {
        if let Some(version) = bytes.first_mut() {
            *version = 1;
        }
        let _ = SerdeCodec::<Order>::new("order", 1).decode(&bytes);
        let _ = ProstCodec::<Visit>::new("shop.Visit").decode(&bytes);
        // Behind a fingerprint that is known, so that the datum is read.
        let mut datum = encoded(&avro(ORDER), &order())[..9].to_vec();
        datum.extend(&bytes);
        let _ = avro::<Order>(ORDER).decode(&datum);
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    id: i64,
    item: String,
}

fn order() -> Order {
    Order { id: 7, item: "bolt".to_owned() }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename = "Order")]
struct PricedOrder {
    id: i64,
    price: Option<f64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Visit {
    #[prost(string, tag = "1")]
    page: String,
    #[prost(uint32, tag = "2")]
    seconds: u32,
}

const ORDER: &str = r#"{"type":"record","name":"Order","fields":[
    {"name":"id","type":"long"},{"name":"item","type":"string"}]}"#;
const PRICED_ORDER: &str = r#"{"type":"record","name":"Order","fields":[
    {"name":"id","type":"long"},{"name":"price","type":["null","double"],"default":null}]}"#;

fn avro<T>(schema: &str) -> AvroCodec<T> {
    AvroCodec::new(schema).expect("an Avro schema")
}

#[test]
fn avro_data_survive_a_change_of_schema() {
    let old = avro::<Order>(ORDER);
    let bytes = encoded(&old, &order());
    let new = AvroCodec::<PricedOrder>::evolved(PRICED_ORDER, &old.schema()).expect("both schemas are Avro's");
    assert_eq!(new.decode(&bytes).expect("an old value"), PricedOrder { id: 7, price: None });
    reads_back(&new, PricedOrder { id: 8, price: Some(2.5) });

    let error = avro::<PricedOrder>(PRICED_ORDER).decode(&bytes).expect_err("the old schema is not known");
    assert_eq!(error.kind(), ErrorKind::Incompatible);
}

#[test]
fn a_descriptor_with_an_evolved_schema_matches_what_was_restored() {
    let old = avro::<Order>(ORDER);
    let new = AvroCodec::<PricedOrder>::evolved(PRICED_ORDER, &old.schema()).expect("both schemas are Avro's");
    let descriptor =
        |id: CodecId, schema: String| StateDescriptor::new("s", StateKind::Value, id).with_value_schema(schema);
    let restored = descriptor(old.id(), old.schema());
    descriptor(new.id(), new.schema()).check_restored(&restored).expect("the new codec knows the old schema");
    let ignorant = descriptor(new.id(), avro::<PricedOrder>(PRICED_ORDER).schema());
    assert_eq!(ignorant.check_restored(&restored).expect_err("unknown").kind(), ErrorKind::Incompatible);
}

#[test]
fn a_value_that_does_not_fit_its_avro_schema_is_invalid() {
    let codec = AvroCodec::<Order>::new(PRICED_ORDER).expect("an Avro schema");
    let error = codec.encode(&order(), &mut Vec::new()).expect_err("the schema has no item");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(AvroCodec::<Order>::new("{").expect_err("no JSON").kind(), ErrorKind::Invalid);
    assert_eq!(AvroCodec::<Order>::new(r#""text""#).expect_err("no schema").kind(), ErrorKind::Invalid);
}
