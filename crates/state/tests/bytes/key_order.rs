//! Keys sort as their values do.

use crate::data::{datum, field_type};
use headpond_state::encoding::{EntryKeys, KeyReader, KeySchema, put_datum, window_namespace, window_of_namespace};
use headpond_state::schema::{DataKind, Datum, FieldType};
use headpond_state::{ErrorKind, KeyGroup, MaxParallelism};
use proptest::prelude::*;
use std::cmp::Ordering;

fn bytes(ty: &FieldType, datum: &Datum) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_datum(ty, datum, &mut bytes).expect("the datum fits");
    bytes
}

fn two_of_one_type() -> impl Strategy<Value = (FieldType, Datum, Datum)> {
    field_type().prop_flat_map(|ty| {
        let (a, b) = (datum(&ty), datum(&ty));
        (Just(ty), a, b)
    })
}

fn any_key() -> impl Strategy<Value = (KeySchema, Vec<Datum>)> {
    proptest::collection::vec(field_type(), 0..4).prop_flat_map(|types| {
        let key: Vec<_> = types.iter().map(datum).collect();
        (Just(KeySchema::new(types)), key)
    })
}

proptest! {
    #[test]
    fn bytes_sort_as_values_do((ty, a, b) in two_of_one_type()) {
        prop_assert_eq!(bytes(&ty, &a).cmp(&bytes(&ty, &b)), order(&ty, &a, &b), "{} {:?} {:?}", ty, a, b);
    }

    #[test]
    fn no_component_is_the_beginning_of_another((ty, a, b) in two_of_one_type()) {
        let (a, b) = (bytes(&ty, &a), bytes(&ty, &b));
        prop_assert!(a == b || !b.starts_with(&a), "{} {:02x?} {:02x?}", ty, a, b);
    }

    #[test]
    fn a_key_reads_back_and_ends_where_it_ends((schema, key) in any_key(), behind in any::<Vec<u8>>()) {
        let mut bytes = Vec::new();
        schema.encode(&key, &mut bytes)?;
        let read = schema.decode(&bytes)?;
        for (ty, (a, b)) in schema.types().iter().zip(key.iter().zip(&read)) {
            prop_assert!(order(ty, a, b).is_eq(), "{} {:?} {:?}", ty, a, b);
        }
        let len = bytes.len();
        bytes.extend(&behind);
        prop_assert_eq!(schema.split(&bytes)?, (&bytes[..len], behind.as_slice()));
    }

    #[test]
    fn any_bytes_are_a_key_in_its_one_form_or_corrupt(ty in field_type(), input in any::<Vec<u8>>()) {
        let mut reader = KeyReader::new(&input);
        match reader.datum(&ty) {
            Ok(datum) => {
                let read = &input[..input.len() - reader.rest().len()];
                prop_assert_eq!(bytes(&ty, &datum), read, "{} {:?}", ty, datum);
            }
            Err(error) => prop_assert_eq!(error.kind(), ErrorKind::Corrupt),
        }
    }

    #[test]
    fn a_damaged_key_never_panics(
        (ty, a, _) in two_of_one_type(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = bytes(&ty, &a);
        prop_assume!(!bytes.is_empty());
        let index = at.index(bytes.len());
        bytes[index] = byte;
        let _ = KeyReader::new(&bytes).datum(&ty);
        let _ = KeyReader::new(&bytes[..index]).datum(&ty);
    }

    #[test]
    fn timers_sort_by_group_then_time(a in any::<(u16, i64)>(), b in any::<(u16, i64)>(), key in any::<Vec<u8>>()) {
        let keys = EntryKeys::new(MaxParallelism::new(32_768)?);
        let entry = |(group, time): (u16, i64)| {
            let mut entry = Vec::new();
            keys.timer(KeyGroup(group), time, &key, &[], &mut entry);
            entry
        };
        prop_assert_eq!(entry(a).cmp(&entry(b)), a.cmp(&b));
        let timer = entry(a);
        let parts = keys.split_timer(&timer)?;
        prop_assert_eq!((parts.key_group.0, parts.time_ms, parts.key_and_namespace), (a.0, a.1, key.as_slice()));
    }

    #[test]
    fn windows_sort_by_start_then_end(a in any::<(i64, i64)>(), b in any::<(i64, i64)>()) {
        let namespace = |(start, end)| {
            let mut namespace = Vec::new();
            window_namespace(start, end, &mut namespace);
            namespace
        };
        prop_assert_eq!(namespace(a).cmp(&namespace(b)), a.cmp(&b));
        prop_assert_eq!(window_of_namespace(&namespace(a))?, a);
    }
}

#[test]
fn a_datum_of_another_type_is_refused_with_its_place() {
    let schema: KeySchema = "int8,utf8?".parse().expect("a schema");
    let mut out = vec![7];
    let error = schema.encode(&[Datum::Int64(300), Datum::Null], &mut out).expect_err("300 is no int8");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(error.to_string(), "300 is out of range for int8, which holds -128 to 127 (column 1 of the key)");
    assert_eq!(out, [7]);
    assert!(schema.encode(&[Datum::Null, Datum::Null], &mut out).is_err());
    assert!(schema.encode(&[Datum::Int64(3)], &mut out).is_err());
}

/// The order of values: NULL first, NaN last and equal to itself, −0.0 equal to 0.0.
fn order(ty: &FieldType, a: &Datum, b: &Datum) -> Ordering {
    match (&ty.kind, a, b) {
        (_, Datum::Null, Datum::Null) => Ordering::Equal,
        (_, Datum::Null, _) => Ordering::Less,
        (_, _, Datum::Null) => Ordering::Greater,
        (_, Datum::Bool(a), Datum::Bool(b)) => a.cmp(b),
        (DataKind::UInt64, Datum::Int64(a), Datum::Int64(b)) => (*a as u64).cmp(&(*b as u64)),
        (_, Datum::Int64(a), Datum::Int64(b)) => a.cmp(b),
        (_, Datum::Float64(a), Datum::Float64(b)) => a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
        (_, Datum::Decimal(a), Datum::Decimal(b)) => a.cmp(b),
        (_, Datum::Utf8(a), Datum::Utf8(b)) => a.cmp(b),
        (_, Datum::Binary(a), Datum::Binary(b)) => a.cmp(b),
        (DataKind::List(element), Datum::List(a), Datum::List(b)) => a
            .iter()
            .zip(b)
            .map(|(a, b)| order(element, a, b))
            .find(|order| order.is_ne())
            .unwrap_or_else(|| a.len().cmp(&b.len())),
        (DataKind::Struct(fields), Datum::Struct(a), Datum::Struct(b)) => fields
            .iter()
            .zip(a.iter().zip(b))
            .map(|(field, (a, b))| order(&field.ty, a, b))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal),
        _ => panic!("{a:?} and {b:?} are not of {ty}"),
    }
}
