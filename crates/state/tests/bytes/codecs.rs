//! Codecs of single values.

use headpond_state::codec::{Bytes, Codec, Counter, FixedWidth, Utf8};
use headpond_state::{CodecId, ErrorKind, StateDescriptor, StateKind};
use proptest::prelude::*;
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
    reads_back(&FixedWidth, i64::MIN);
    reads_back(&FixedWidth, 7_i128);
    reads_back(&FixedWidth, 7_u8);
    reads_back(&FixedWidth, -0.5_f64);
    reads_back(&FixedWidth, true);
    reads_back(&Utf8, "Grüße".to_owned());
    reads_back(&Bytes, vec![0, 1, 255]);
}

#[test]
fn a_counter_is_what_its_merge_operator_folds() {
    assert_eq!(encoded(&Counter, &258), [2, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(Counter.decode(&[2, 1, 0, 0, 0, 0, 0, 0]).expect("a counter"), 258);
    assert_eq!(Counter.decode(&[2]).expect_err("too short").kind(), ErrorKind::Corrupt);
}

#[test]
fn what_is_left_over_is_corrupt() {
    let one_more = |mut bytes: Vec<u8>| {
        bytes.push(0);
        bytes
    };
    let kinds = [
        Codec::<i64>::decode(&FixedWidth, &one_more(encoded(&FixedWidth, &1_i64))).map(drop),
        Codec::<bool>::decode(&FixedWidth, &one_more(encoded(&FixedWidth, &true))).map(drop),
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
        let _ = Codec::<f32>::decode(&FixedWidth, &bytes);
        let _ = Codec::<bool>::decode(&FixedWidth, &bytes);
        let _ = Utf8.decode(&bytes);
        let _ = Bytes.decode(&bytes);
    }
}

#[test]
fn a_row_may_gain_nullable_fields() {
    let row =
        |schema: &str| StateDescriptor::new("s", StateKind::Value, CodecId::new("row", 1)).with_value_schema(schema);
    row("a int64, b utf8?").check_restored(&row("a int64")).expect("a nullable field was added");
    for other in ["a int64, b utf8", "b int64", "a int64?", "a int32"] {
        assert!(row(other).check_restored(&row("a int64")).is_err(), "{other}");
    }
}
