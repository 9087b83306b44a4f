//! What a cast's target is: an Arrow type, and what SQL's type says beyond it.

use crate::type_name::type_name;
use arrow_schema::{DataType, Field, TimeUnit};
use std::collections::HashMap;
use std::sync::Arc;

/// What a type says beyond its Arrow type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fit {
    /// `CHAR(n)`: texts of just so many characters.
    Char(usize),
    /// `VARCHAR(n)`: texts of at most so many characters.
    Varchar(usize),
    /// `BINARY(n)`: just so many bytes.
    Binary(usize),
    /// `VARBINARY(n)`: at most so many bytes.
    Varbinary(usize),
    /// Times of so many digits behind the second, where no Arrow type has them.
    Digits(u8),
}

/// The type of a cast's result.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// Its Arrow type.
    pub data_type: DataType,
    /// What it says beyond that.
    pub fit: Option<Fit>,
}

const KEY: &str = "headpond.type";

impl Target {
    /// The target that is an Arrow type.
    pub fn of_type(data_type: &DataType) -> Self {
        Target { data_type: data_type.clone(), fit: None }
    }

    /// The target that a field of a plan's cast carries.
    pub fn of_field(field: &Field) -> Self {
        let carried = field.metadata().get(KEY).and_then(|text| Target::parse(text));
        carried.unwrap_or_else(|| Target::of_type(field.data_type()))
    }

    /// The target that a type's SQL text means, where it says more than an Arrow type, or has none that tables know.
    pub fn parse(text: &str) -> Option<Self> {
        let upper = text.trim().to_uppercase();
        let (name, length) = match upper.split_once('(') {
            Some((name, rest)) => {
                let (length, behind) = rest.split_once(')')?;
                (format!("{}{behind}", name.trim_end()), Some(length.trim().parse::<usize>().ok()?))
            }
            None => (upper.clone(), None),
        };
        let text = |fit| Some(Target { data_type: DataType::Utf8, fit: Some(fit) });
        let bytes = |fit| Some(Target { data_type: DataType::Binary, fit: Some(fit) });
        match name.as_str() {
            "CHAR" | "CHARACTER" => text(Fit::Char(length.unwrap_or(1))),
            "VARCHAR" | "CHARACTER VARYING" | "CHAR VARYING" => match length {
                Some(length) => text(Fit::Varchar(length)),
                None => text(Fit::Varchar(1)),
            },
            "BINARY" => bytes(Fit::Binary(length.unwrap_or(1))),
            "VARBINARY" | "BINARY VARYING" => bytes(Fit::Varbinary(length.unwrap_or(1))),
            "TIMESTAMP" | "TIMESTAMP WITHOUT TIME ZONE" => Target::timestamp(length, false),
            "TIMESTAMP_LTZ" | "TIMESTAMP WITH LOCAL TIME ZONE" => Target::timestamp(length, true),
            "TIME" | "TIME WITHOUT TIME ZONE" => {
                let digits = u8::try_from(length.unwrap_or(0)).ok().filter(|digits| *digits <= 9)?;
                let fit = (digits != 3).then_some(Fit::Digits(digits));
                Some(Target { data_type: DataType::Time32(TimeUnit::Millisecond), fit })
            }
            _ => None,
        }
    }

    fn timestamp(digits: Option<usize>, zoned: bool) -> Option<Self> {
        let digits = digits.unwrap_or(6);
        let unit = match digits {
            0 => TimeUnit::Second,
            1..=3 => TimeUnit::Millisecond,
            4..=6 => TimeUnit::Microsecond,
            7..=9 => TimeUnit::Nanosecond,
            _ => return None,
        };
        let fit = (!matches!(digits, 0 | 3 | 6 | 9)).then_some(Fit::Digits(digits as u8));
        let zone: Option<Arc<str>> = zoned.then(|| "UTC".into());
        Some(Target { data_type: DataType::Timestamp(unit, zone), fit })
    }

    /// The target as the field of a plan's cast.
    pub fn field(text: &str) -> Option<Field> {
        let target = Target::parse(text)?;
        let metadata = HashMap::from([(KEY.to_owned(), text.to_owned())]);
        Some(Field::new("", target.data_type, true).with_metadata(metadata))
    }

    /// The target with instants in a session's zone.
    pub fn in_zone(&self, zone: &Arc<str>) -> Self {
        Target { data_type: localized(&self.data_type, zone), fit: self.fit }
    }

    /// The type's name in SQL.
    pub fn name(&self) -> String {
        match self.fit {
            Some(Fit::Char(length)) => format!("CHAR({length})"),
            Some(Fit::Varchar(length)) => format!("VARCHAR({length})"),
            Some(Fit::Binary(length)) => format!("BINARY({length})"),
            Some(Fit::Varbinary(length)) => format!("VARBINARY({length})"),
            Some(Fit::Digits(digits)) => {
                let name = type_name(&self.data_type);
                format!("{}({digits})", name.split('(').next().unwrap_or_default())
            }
            None => type_name(&self.data_type),
        }
    }
}

/// The type with instants in a zone.
pub fn localized(data_type: &DataType, zone: &Arc<str>) -> DataType {
    let field =
        |field: &Arc<Field>| Arc::new(field.as_ref().clone().with_data_type(localized(field.data_type(), zone)));
    match data_type {
        DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some(Arc::clone(zone))),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        DataType::List(element) => DataType::List(field(element)),
        DataType::Map(entries, sorted) => DataType::Map(field(entries), *sorted),
        other => other.clone(),
    }
}
