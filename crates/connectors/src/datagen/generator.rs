//! The values of one column.

use crate::column::{Column, Values};
use crate::options::{Options, declared, key_of};
use crate::table::TableDescription;
use crate::values::number::parse_decimal;
use crate::values::sql_type::per_second;
use crate::values::timestamp::{parse_date, parse_timestamp};
use crate::values::{Problem, sql_type};
use arrow_schema::{DataType, Field};
use headpond_config::{ConfigOption, Definition};
use headpond_runtime::{Error, Result};
use headpond_state::Context;
use std::time::Duration;

const FIRST_TIMESTAMP: &str = "2024-01-01 00:00:00";
const LETTERS: &[u8; 16] = b"0123456789abcdef";

/// Makes the values of a column.
#[derive(Debug, Clone)]
pub(super) struct Generator {
    /// What the column's random values follow from.
    seed: u64,
    null_rate: f64,
    kind: FieldKind,
}

#[derive(Debug, Clone)]
enum FieldKind {
    Bool,
    Whole {
        least: i64,
        greatest: i64,
        skew: Option<f64>,
    },
    Sequence {
        start: i64,
        end: Option<i64>,
    },
    Float {
        least: f64,
        greatest: f64,
    },
    Decimal {
        least: i128,
        greatest: i128,
    },
    /// In ticks of the column's unit.
    Timestamp {
        start: i64,
        step: i64,
        max_past: u64,
    },
    Text {
        length: usize,
    },
    Bytes {
        length: usize,
    },
}

impl Generator {
    /// The generator of a column, as its options say.
    pub(super) fn of(table: &TableDescription, field: &Field) -> Result<Self> {
        let options = Options::new(table);
        let name = field.name();
        let seed = options.get(&declared::SEED)?.cast_unsigned();
        let null_rate = options.get_of(&declared::FIELD_NULL_RATE, name)?;
        let read = Reader { table, options, field };
        if null_rate > 0.0 && !field.is_nullable() {
            return Err(read.refuse(declared::FIELD_NULL_RATE.definition(), "the column is NOT NULL"));
        }
        let kind = match options.get_of(&declared::FIELD_KIND, name)? {
            declared::FieldKind::Sequence => read.sequence()?,
            declared::FieldKind::Random => read.random()?,
        };
        Ok(Generator { seed: mixed(seed ^ name_hash(name)), null_rate, kind })
    }

    /// The number of rows after which the column has no value, if there is one.
    pub(super) fn rows_max(&self) -> Option<u64> {
        match self.kind {
            FieldKind::Sequence { start, end: Some(end) } if end < start => Some(0),
            FieldKind::Sequence { start, end: Some(end) } => Some(end.abs_diff(start).saturating_add(1)),
            _ => None,
        }
    }

    /// Appends the value of a row.
    pub(super) fn append(&self, row: u64, column: &mut Column) -> Result<(), Problem> {
        let bits = mixed(self.seed ^ mixed(row));
        if self.null_rate > 0.0 && share(mixed(bits)) < self.null_rate {
            return column.append_null();
        }
        match (&self.kind, column.values_mut()) {
            (FieldKind::Bool, Values::Bool(values)) => values.push(bits & 1 == 1),
            (FieldKind::Whole { least, greatest, skew }, values) => {
                push_whole(whole(bits, *least, *greatest, *skew), values)
            }
            (FieldKind::Sequence { start, .. }, values) => push_whole(start.wrapping_add_unsigned(row), values),
            (FieldKind::Float { least, greatest }, Values::Float64(values)) => {
                values.push(least + (greatest - least) * share(bits));
            }
            (FieldKind::Float { least, greatest }, Values::Float32(values)) => {
                values.push((least + (greatest - least) * share(bits)) as f32);
            }
            (FieldKind::Decimal { least, greatest }, Values::Decimal { values, .. }) => {
                let wide = u128::from(bits) << 64 | u128::from(mixed(bits ^ 1));
                values.push(match greatest.abs_diff(*least).checked_add(1) {
                    Some(count) => least.wrapping_add_unsigned(wide % count),
                    None => wide.cast_signed(),
                });
            }
            (FieldKind::Timestamp { start, step, max_past }, Values::Timestamp { values, .. }) => {
                let turn = start.wrapping_add(step.wrapping_mul(row.cast_signed()));
                values.push(turn.wrapping_sub_unsigned(below(bits, max_past.saturating_add(1))));
            }
            (FieldKind::Text { length }, Values::Text(values)) => {
                let digits =
                    |position: usize| mixed(bits.wrapping_add(position as u64 / 16)) >> (position % 16 * 4) & 15;
                let text: Vec<u8> = (0..*length).map(|position| LETTERS[digits(position) as usize]).collect();
                values.push(&text);
            }
            (FieldKind::Bytes { length }, Values::Binary(values)) => {
                let byte = |position: usize| mixed(bits.wrapping_add(position as u64 / 8)).to_le_bytes()[position % 8];
                values.push(&(0..*length).map(byte).collect::<Vec<u8>>());
            }
            _ => return Err(Problem::new("the generator is of another type")),
        }
        column.appended();
        Ok(())
    }
}

/// Reads the options of one column.
struct Reader<'a> {
    table: &'a TableDescription,
    options: Options<'a>,
    field: &'a Field,
}

impl Reader<'_> {
    fn random(&self) -> Result<FieldKind> {
        let name = self.field.name();
        Ok(match self.field.data_type() {
            DataType::Boolean => FieldKind::Bool,
            DataType::Int8 => self.whole(i8::MIN.into(), i8::MAX.into())?,
            DataType::Int16 => self.whole(i16::MIN.into(), i16::MAX.into())?,
            DataType::Int32 => self.whole(i32::MIN.into(), i32::MAX.into())?,
            DataType::Int64 => self.whole(i64::MIN, i64::MAX)?,
            DataType::Float32 | DataType::Float64 => {
                let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
                let (least, greatest) = self.bounds(0.0, 1.0, "a number", number)?;
                FieldKind::Float { least, greatest }
            }
            DataType::Decimal128(precision, scale) => {
                let most = 10_i128.checked_pow(u32::from(*precision)).map_or(i128::MAX, |bound| bound - 1);
                let scale = u8::try_from(*scale).unwrap_or(0);
                let number = |text: &str| {
                    let decimal = parse_decimal(text.trim().as_bytes(), scale)?;
                    (decimal.unscaled.abs() <= most).then_some(decimal.unscaled)
                };
                let (least, greatest) = self.bounds(-most, most, &sql_type(self.field.data_type()), number)?;
                FieldKind::Decimal { least, greatest }
            }
            DataType::Date32 => {
                let date = |text: &str| parse_date(text.trim().as_bytes());
                let (least, greatest) = self.bounds(19_723, 20_088, "a DATE such as 2024-01-31", date)?;
                FieldKind::Whole { least: least.into(), greatest: greatest.into(), skew: None }
            }
            DataType::Timestamp(unit, _) => {
                let start = self.options.get_of(&declared::FIELD_START, name)?;
                let text = start.as_deref().unwrap_or(FIRST_TIMESTAMP);
                let per_second = per_second(*unit);
                let start = parse_timestamp(text.as_bytes()).and_then(|written| {
                    let seconds = written.seconds - i64::from(written.offset.unwrap_or(0));
                    let fraction = i64::from(written.nanos) / (1_000_000_000 / per_second);
                    seconds.checked_mul(per_second)?.checked_add(fraction)
                });
                let start = start.ok_or_else(|| {
                    self.refuse(declared::FIELD_START.definition(), "expected a timestamp such as 2024-01-01 00:00:00")
                })?;
                let step = self.ticks(&declared::FIELD_STEP, per_second)?;
                FieldKind::Timestamp {
                    start,
                    step,
                    max_past: self.ticks(&declared::FIELD_MAX_PAST, per_second)?.unsigned_abs(),
                }
            }
            DataType::Utf8 => FieldKind::Text { length: self.length()? },
            DataType::Binary => FieldKind::Bytes { length: self.length()? },
            other => {
                return Err(Error::unsupported(format!("datagen does not make values of {}", sql_type(other)))
                    .with(Context::Column, name)
                    .hint("leave out the column, or compute it in the query"));
            }
        })
    }

    fn sequence(&self) -> Result<FieldKind> {
        let (least, greatest) = match self.field.data_type() {
            DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
            DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
            DataType::Int32 => (i32::MIN.into(), i32::MAX.into()),
            DataType::Int64 => (i64::MIN, i64::MAX),
            DataType::Timestamp(..) => return self.random(),
            _ => {
                return Err(
                    self.refuse(declared::FIELD_KIND.definition(), "only whole numbers and timestamps have sequences")
                );
            }
        };
        let number = |option: &ConfigOption<Option<String>>| match self.options.get_of(option, self.field.name())? {
            None => Ok(None),
            Some(text) => match text.parse::<i64>() {
                Ok(number) if (least..=greatest).contains(&number) => Ok(Some(number)),
                _ => {
                    let why = format!("expected a whole number from {least} to {greatest}");
                    Err(self.refuse(option.definition(), &why))
                }
            },
        };
        let start = number(&declared::FIELD_START)?.unwrap_or(0);
        // A narrow column ends where its type does.
        let end = number(&declared::FIELD_END)?.or((greatest != i64::MAX).then_some(greatest));
        Ok(FieldKind::Sequence { start, end })
    }

    fn whole(&self, least: i64, greatest: i64) -> Result<FieldKind> {
        let skew = self.options.get_of(&declared::FIELD_SKEW, self.field.name())?;
        let number = |text: &str| text.trim().parse().ok().filter(|number| (least..=greatest).contains(number));
        let begin = if skew.is_some() { 0 } else { least };
        let (least, greatest) =
            self.bounds(begin, greatest, &format!("a number from {least} to {greatest}"), number)?;
        Ok(FieldKind::Whole { least, greatest, skew })
    }

    fn bounds<T: PartialOrd>(
        &self,
        least: T,
        greatest: T,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<(T, T)> {
        let bound = |option: &ConfigOption<Option<String>>, default: T| match self
            .options
            .get_of(option, self.field.name())?
        {
            None => Ok(default),
            Some(text) => parse(&text).ok_or_else(|| self.refuse(option.definition(), &format!("expected {expected}"))),
        };
        let (least, greatest) = (bound(&declared::FIELD_MIN, least)?, bound(&declared::FIELD_MAX, greatest)?);
        if least > greatest {
            return Err(self.refuse(declared::FIELD_MAX.definition(), "the greatest value is less than the least"));
        }
        Ok((least, greatest))
    }

    fn length(&self) -> Result<usize> {
        self.options.get_of(&declared::FIELD_LENGTH, self.field.name())
    }

    /// A duration in ticks of the column's unit.
    fn ticks(&self, option: &ConfigOption<Duration>, per_second: i64) -> Result<i64> {
        let duration = self.options.get_of(option, self.field.name())?;
        let ticks = duration.as_nanos() / (1_000_000_000 / per_second.unsigned_abs() as u128);
        i64::try_from(ticks).map_err(|_| self.refuse(option.definition(), "the duration is too long"))
    }

    #[cold]
    fn refuse(&self, option: &Definition, why: &str) -> Error {
        let key = key_of(option, self.field.name());
        let text = self.table.options.get(&key).map_or("", String::as_str);
        self.options.refuse(&key, text, why)
    }
}

fn whole(bits: u64, least: i64, greatest: i64, skew: Option<f64>) -> i64 {
    let count = greatest.abs_diff(least).saturating_add(1);
    let ahead = match skew {
        Some(skew) => ((count as f64 * share(bits).powf(skew)) as u64).min(count - 1),
        None if count == u64::MAX => bits,
        None => below(bits, count),
    };
    least.wrapping_add_unsigned(ahead)
}

/// Appends a number that is in the column's range.
fn push_whole(number: i64, values: &mut Values) {
    match values {
        Values::Int8(values) => values.push(number as i8),
        Values::Int16(values) => values.push(number as i16),
        Values::Int32(values) | Values::Date(values) => values.push(number as i32),
        Values::Int64(values) => values.push(number),
        _ => {}
    }
}

/// Bits that look random (the finalizer of SplitMix64, after Steele, Lea and Flood 2014).
fn mixed(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A number in [0, 1).
fn share(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// A number below `count`.
fn below(bits: u64, count: u64) -> u64 {
    ((u128::from(bits) * u128::from(count)) >> 64) as u64
}

/// FNV-1a.
fn name_hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
