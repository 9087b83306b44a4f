//! The bytes of the key encoding's version 1, for ever.
//!
//! A line of the fixture is `schema | components as JSON | bytes in hexadecimal`. Lines are only ever added.

use crate::fixture::{columns, datum, from_hex, to_hex};
use headpond_state::encoding::{EntryKeys, KeySchema, VERSION, window_namespace};
use headpond_state::schema::Datum;
use headpond_state::{KeyGroup, MaxParallelism};
use serde_json::Value;

const FIXTURE: &str = include_str!("../fixtures/key-encoding-v1.txt");

#[test]
fn version_1_of_the_key_encoding_is_what_it_was() {
    assert_eq!(VERSION, 1, "a new version has a fixture of its own");
    let mut lines = 0;
    for [schema, json, hex] in columns(FIXTURE) {
        let schema: KeySchema = schema.parse().expect("a schema");
        let Value::Array(components) = serde_json::from_str(json).expect("JSON") else { panic!("`{json}`") };
        let key: Vec<Datum> = schema.types().iter().zip(&components).map(|(ty, value)| datum(ty, value)).collect();
        let mut bytes = Vec::new();
        schema.encode(&key, &mut bytes).expect("the key fits");
        assert_eq!(to_hex(&bytes), hex, "{schema} {json}");
        let mut again = Vec::new();
        schema.encode(&schema.decode(&from_hex(hex)).expect("a key"), &mut again).expect("the key fits");
        assert_eq!(to_hex(&again), hex, "{schema} {json}");
        lines += 1;
    }
    assert!(lines > 60, "the fixture has only {lines} lines");
}

#[test]
fn entries_are_laid_out_as_they_were() {
    let hex = |max: u32, build: &dyn Fn(EntryKeys, &mut Vec<u8>)| {
        let mut out = Vec::new();
        build(EntryKeys::new(MaxParallelism::new(max).expect("a max parallelism")), &mut out);
        to_hex(&out)
    };
    let mut window = Vec::new();
    window_namespace(0, 1000, &mut window);
    assert_eq!(to_hex(&window), "800000000000000080000000000003e8");
    assert_eq!(hex(128, &|keys, out| keys.entry(KeyGroup(5), b"k\0\x01", &[], out)), "056b0001");
    assert_eq!(hex(129, &|keys, out| keys.entry(KeyGroup(5), b"k\0\x01", b"n", out)), "00056b00016e");
    assert_eq!(hex(128, &|keys, out| keys.map_entry(KeyGroup(5), b"k", b"n", b"u", out)), "056b6e75");
    assert_eq!(hex(128, &|keys, out| keys.list_element(KeyGroup(5), b"k", b"", 258, out)), "056b0000000000000102");
    assert_eq!(hex(128, &|keys, out| keys.timer(KeyGroup(5), -1, b"k", b"n", out)), "057fffffffffffffff6b6e");
    assert_eq!(MaxParallelism::DEFAULT.key_group(b"UA\0\x01"), KeyGroup(GROUP_OF_UA));
}

/// The key group of the text `UA` among 128.
const GROUP_OF_UA: u16 = 46;
