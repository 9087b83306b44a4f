//! Names of types in messages.

use arrow_schema::{DataType, TimeUnit};

/// The SQL name of a type.
pub(crate) fn sql_type(data_type: &DataType) -> String {
    match data_type {
        DataType::Utf8 => "STRING".to_owned(),
        DataType::Boolean => "BOOLEAN".to_owned(),
        DataType::Int8 => "TINYINT".to_owned(),
        DataType::Int16 => "SMALLINT".to_owned(),
        DataType::Int32 => "INT".to_owned(),
        DataType::Int64 => "BIGINT".to_owned(),
        DataType::Float32 => "FLOAT".to_owned(),
        DataType::Float64 => "DOUBLE".to_owned(),
        DataType::Decimal128(precision, scale) => format!("DECIMAL({precision}, {scale})"),
        DataType::Date32 => "DATE".to_owned(),
        DataType::Timestamp(unit, zone) => {
            let name = if zone.is_some() { "TIMESTAMP_LTZ" } else { "TIMESTAMP" };
            format!("{name}({})", digits(*unit))
        }
        DataType::Binary => "BYTES".to_owned(),
        DataType::Struct(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|field| format!("{} {}", field.name(), sql_type(field.data_type()))).collect();
            format!("ROW<{}>", fields.join(", "))
        }
        DataType::List(element) => format!("ARRAY<{}>", sql_type(element.data_type())),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                format!("MAP<{}, {}>", sql_type(fields[0].data_type()), sql_type(fields[1].data_type()))
            }
            other => other.to_string(),
        },
        other => other.to_string(),
    }
}

/// The digits behind the point that a unit of time has.
fn digits(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// How many of a unit a second has.
pub(crate) fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}
