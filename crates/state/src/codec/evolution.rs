//! Which changes of a value's schema a codec bears.

use crate::schema::RowSchema;

/// Whether values whose descriptor said `written` can be read by the codec of this name under the schema `declared`.
///
/// Rows may get nullable fields at the end. An Avro codec must know every schema that wrote values. Otherwise schemas
/// are equal.
pub(crate) fn reads(codec: &str, written: &str, declared: &str) -> bool {
    if written == declared {
        return true;
    }
    match codec {
        "row" | "protobuf" | "avro" => match (written.parse::<RowSchema>(), declared.parse::<RowSchema>()) {
            (Ok(written), Ok(declared)) => declared.reads(&written).is_ok(),
            _ => false,
        },
        "avro-datum" => match (schemas(written), schemas(declared)) {
            (Some(written), Some(declared)) => written.iter().all(|schema| declared.contains(schema)),
            _ => false,
        },
        _ => false,
    }
}

fn schemas(text: &str) -> Option<Vec<serde_json::Value>> {
    serde_json::from_str(text).ok()
}
