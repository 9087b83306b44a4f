//! Any type, and any data of it.

use headpond_state::schema::{DataKind, Datum, Field, FieldType, RowSchema};
use proptest::collection::vec;
use proptest::prelude::*;

pub(crate) fn field_type() -> impl Strategy<Value = FieldType> {
    let simple = prop_oneof![
        Just(DataKind::Bool),
        Just(DataKind::Int8),
        Just(DataKind::Int16),
        Just(DataKind::Int32),
        Just(DataKind::Int64),
        Just(DataKind::UInt64),
        Just(DataKind::Float32),
        Just(DataKind::Float64),
        Just(DataKind::Decimal { precision: 38, scale: 2 }),
        Just(DataKind::Date),
        Just(DataKind::Timestamp),
        Just(DataKind::TimestampLtz),
        Just(DataKind::Utf8),
        Just(DataKind::Binary),
    ];
    let simple = (simple, any::<bool>()).prop_map(|(kind, nullable)| FieldType { kind, nullable });
    simple.prop_recursive(3, 12, 3, |inner| {
        let kind = prop_oneof![
            inner.clone().prop_map(|element| DataKind::List(Box::new(element))),
            vec(("[a-z`é 0]{0,3}", inner), 1..3)
                .prop_map(|fields| DataKind::Struct(fields.into_iter().map(|(n, ty)| Field::new(n, ty)).collect())),
        ];
        (kind, any::<bool>()).prop_map(|(kind, nullable)| FieldType { kind, nullable })
    })
}

pub(crate) fn row_schema() -> impl Strategy<Value = RowSchema> {
    vec(("[a-z`é 0]{0,3}", field_type()), 0..12)
        .prop_map(|fields| RowSchema::new(fields.into_iter().map(|(name, ty)| Field::new(name, ty)).collect()))
}

/// Any datum of a type, often one of a few, so that equal ones meet.
pub(crate) fn datum(ty: &FieldType) -> BoxedStrategy<Datum> {
    let value = match &ty.kind {
        DataKind::Bool => any::<bool>().prop_map(Datum::Bool).boxed(),
        DataKind::Int8 => any::<i8>().prop_map(|v| Datum::Int64(v.into())).boxed(),
        DataKind::Int16 => any::<i16>().prop_map(|v| Datum::Int64(v.into())).boxed(),
        DataKind::Int32 | DataKind::Date => any::<i32>().prop_map(|v| Datum::Int64(v.into())).boxed(),
        DataKind::Int64 | DataKind::UInt64 | DataKind::Timestamp | DataKind::TimestampLtz => {
            prop_oneof![-2..3i64, any::<i64>()].prop_map(Datum::Int64).boxed()
        }
        DataKind::Float32 => any_f32().prop_map(|v| Datum::Float64(v.into())).boxed(),
        DataKind::Float64 => any_f64().prop_map(Datum::Float64).boxed(),
        DataKind::Decimal { .. } => prop_oneof![-300..300i128, any::<i128>()].prop_map(Datum::Decimal).boxed(),
        DataKind::Utf8 => "[\u{0}\u{1}ab\u{7f}é]{0,4}".prop_map(|text| Datum::utf8(text.as_str())).boxed(),
        DataKind::Binary => {
            vec(prop_oneof![Just(0u8), Just(1), Just(0xff), any::<u8>()], 0..4).prop_map(Datum::binary).boxed()
        }
        DataKind::List(element) => vec(datum(element), 0..4).prop_map(Datum::List).boxed(),
        DataKind::Struct(fields) => {
            fields.iter().map(|field| datum(&field.ty)).collect::<Vec<_>>().prop_map(Datum::Struct).boxed()
        }
    };
    if ty.nullable { prop_oneof![1 => Just(Datum::Null), 3 => value].boxed() } else { value }
}

fn any_f32() -> impl Strategy<Value = f32> {
    prop_oneof![Just(0.0), Just(-0.0), Just(f32::NAN), Just(f32::INFINITY), any::<u32>().prop_map(f32::from_bits)]
}

fn any_f64() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(-0.0), Just(f64::NAN), Just(f64::INFINITY), any::<u64>().prop_map(f64::from_bits)]
}
