//! Names of types in SQL.

use arrow_schema::{DataType, IntervalUnit, TimeUnit};

/// The digits of a second that a unit tells.
pub(crate) fn digits(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// A type's name in SQL; for types that SQL has no name for, Arrow's.
pub fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Boolean => "BOOLEAN".to_owned(),
        DataType::Int8 => "TINYINT".to_owned(),
        DataType::Int16 | DataType::UInt8 => "SMALLINT".to_owned(),
        DataType::Int32 | DataType::UInt16 => "INT".to_owned(),
        DataType::Int64 | DataType::UInt32 | DataType::UInt64 => "BIGINT".to_owned(),
        DataType::Float16 | DataType::Float32 => "FLOAT".to_owned(),
        DataType::Float64 => "DOUBLE".to_owned(),
        DataType::Decimal128(precision, scale) => format!("DECIMAL({precision}, {scale})"),
        DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 => "STRING".to_owned(),
        DataType::Binary | DataType::BinaryView | DataType::LargeBinary | DataType::FixedSizeBinary(_) => {
            "BYTES".to_owned()
        }
        DataType::Date32 | DataType::Date64 => "DATE".to_owned(),
        DataType::Time32(unit) | DataType::Time64(unit) => format!("TIME({})", digits(*unit)),
        DataType::Timestamp(unit, zone) => {
            let name = if zone.is_some() { "TIMESTAMP_LTZ" } else { "TIMESTAMP" };
            format!("{name}({})", digits(*unit))
        }
        DataType::Interval(IntervalUnit::YearMonth) => "INTERVAL MONTH".to_owned(),
        DataType::Interval(_) => "INTERVAL SECOND(3)".to_owned(),
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| format!("{} {}", field.name(), type_name(field.data_type())));
            format!("ROW<{}>", fields.collect::<Vec<_>>().join(", "))
        }
        DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _) => {
            format!("ARRAY<{}>", type_name(element.data_type()))
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => {
                let types = fields.iter().map(|field| type_name(field.data_type()));
                format!("MAP<{}>", types.collect::<Vec<_>>().join(", "))
            }
            other => format!("MAP<{}>", type_name(other)),
        },
        DataType::Null => "NULL".to_owned(),
        other => other.to_string(),
    }
}
