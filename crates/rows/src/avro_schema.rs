//! The Avro schema of a row's record.

use super::names::identifiers;
use headpond_state::schema::{DataKind, Field, FieldType, RowSchema};
use serde_json::{Value, json};

/// The Avro schema of the record `name` that the format `avro` writes after its version byte.
///
/// | type | in Avro |
/// |---|---|
/// | `bool`, `utf8`, `binary` | `boolean`, `string`, `bytes` |
/// | `int8`, `int16`, `int32`; `int64` | `int`; `long` |
/// | `uint64` | `bytes`, logical type `decimal(20,0)` |
/// | `float32`, `float64` | `float`, `double` |
/// | `decimal` | `bytes`, logical type `decimal` |
/// | `date` | `int`, logical type `date` |
/// | `timestamp`, `timestamp_ltz` | `long`, logical type `local-timestamp-millis`, `timestamp-millis` |
/// | `list`, `struct` | `array`, `record` |
///
/// A nullable type is a union with `null`. Names of fields are adapted where Avro allows only letters, digits and
/// `_`.
pub fn avro_schema(schema: &RowSchema, name: &str) -> Value {
    record(name, schema.fields())
}

fn record(name: &str, fields: &[Field]) -> Value {
    let names = identifiers(fields.iter().map(|field| field.name.as_str()));
    let fields: Vec<Value> = fields
        .iter()
        .zip(names)
        .map(|(field, field_name)| {
            // Records within are named by their path, so that no two have one name.
            let ty = avro_type(&format!("{name}_{field_name}"), &field.ty);
            if field.ty.nullable {
                json!({ "name": field_name, "type": ty, "default": null })
            } else {
                json!({ "name": field_name, "type": ty })
            }
        })
        .collect();
    json!({ "type": "record", "name": name, "fields": fields })
}

fn avro_type(name: &str, ty: &FieldType) -> Value {
    let value = match &ty.kind {
        DataKind::Bool => json!("boolean"),
        DataKind::Int8 | DataKind::Int16 | DataKind::Int32 => json!("int"),
        DataKind::Int64 => json!("long"),
        DataKind::UInt64 => json!({ "type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 0 }),
        DataKind::Float32 => json!("float"),
        DataKind::Float64 => json!("double"),
        DataKind::Decimal { precision, scale } => {
            json!({ "type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale })
        }
        DataKind::Date => json!({ "type": "int", "logicalType": "date" }),
        DataKind::Timestamp => json!({ "type": "long", "logicalType": "local-timestamp-millis" }),
        DataKind::TimestampLtz => json!({ "type": "long", "logicalType": "timestamp-millis" }),
        DataKind::Utf8 => json!("string"),
        DataKind::Binary => json!("bytes"),
        DataKind::List(element) => json!({ "type": "array", "items": avro_type(&format!("{name}_element"), element) }),
        DataKind::Struct(fields) => record(name, fields),
    };
    if ty.nullable { json!(["null", value]) } else { value }
}
