//! Values from the text of a field.

use super::{Column, Values};
use crate::values::number::{fits, not_whole, parse_decimal, parse_f32, parse_f64, parse_i64, parse_whole};
use crate::values::sql_type::{per_second, sql_type};
use crate::values::timestamp::{Written, parse_date, parse_timestamp};
use crate::values::{Problem, Zone, base64};
use arrow_schema::TimeUnit;

impl Column {
    /// Appends the value that `text` stands for, which is not NULL. After an error the column may have parts of it:
    /// [`truncate`](Self::truncate) removes them.
    #[inline]
    pub(crate) fn append_text(&mut self, text: &[u8], zone: &Zone) -> Result<(), Problem> {
        match &mut self.values {
            Values::Int64(values) => values.push(whole(text, i64::MIN, i64::MAX, "BIGINT")?),
            Values::Text(bytes) => {
                if std::str::from_utf8(text).is_err() {
                    return Err(Problem::new("not UTF-8"));
                }
                bytes.push(text);
            }
            _ => self.append_other(text.trim_ascii(), zone)?,
        }
        self.appended();
        Ok(())
    }

    fn append_other(&mut self, text: &[u8], zone: &Zone) -> Result<(), Problem> {
        let not = |expected: &str| Problem::new(format!("not {expected}"));
        match &mut self.values {
            Values::Int32(values) => values.push(narrow(text, i32::MIN, i32::MAX, "INT")?),
            Values::Int16(values) => values.push(narrow(text, i16::MIN, i16::MAX, "SMALLINT")?),
            Values::Int8(values) => values.push(narrow(text, i8::MIN, i8::MAX, "TINYINT")?),
            Values::Float64(values) => values.push(parse_f64(text).ok_or_else(|| not("a number (DOUBLE)"))?),
            Values::Float32(values) => values.push(parse_f32(text).ok_or_else(|| not("a number (FLOAT)"))?),
            Values::Bool(values) => values.push(match text {
                text if text.eq_ignore_ascii_case(b"true") => true,
                text if text.eq_ignore_ascii_case(b"false") => false,
                _ => return Err(not("true or false (BOOLEAN)")),
            }),
            Values::Decimal { precision, scale, values } => {
                let decimal = parse_decimal(text, *scale).filter(|decimal| fits(decimal.unscaled, *precision));
                let decimal =
                    decimal.ok_or_else(|| not(&format!("a number that DECIMAL({precision}, {scale}) can hold")))?;
                values.push(decimal.unscaled);
            }
            Values::Date(values) => values.push(parse_date(text).ok_or_else(|| not("a DATE such as 2013-01-31"))?),
            Values::Timestamp { unit, local, values } => {
                let written = parse_timestamp(text).ok_or_else(|| not("a timestamp such as 2013-01-31 10:00:00"))?;
                let value = if *local { instant(written, zone, *unit) } else { ticks(written, 0, *unit) };
                values.push(value.ok_or_else(|| Problem::new("out of range for a timestamp"))?);
            }
            Values::Binary(bytes) => {
                base64::decode(text, &mut bytes.bytes).ok_or_else(|| not("base64 (BYTES)"))?;
                bytes.end_value();
            }
            Values::Int64(_) | Values::Text(_) | Values::List { .. } | Values::Struct(_) | Values::Map { .. } => {
                return Err(not(&sql_type(self.field.data_type())));
            }
        }
        Ok(())
    }
}

#[inline]
fn whole(text: &[u8], least: i64, greatest: i64, type_name: &str) -> Result<i64, Problem> {
    let number = match parse_i64(text) {
        Some(number) => Some(number),
        None => parse_whole(text.trim_ascii()),
    };
    number.filter(|number| (least..=greatest).contains(number)).ok_or_else(|| not_whole(type_name, least, greatest))
}

fn narrow<T: TryFrom<i64> + Default + Into<i64>>(
    text: &[u8],
    least: T,
    greatest: T,
    type_name: &str,
) -> Result<T, Problem> {
    let number = whole(text, least.into(), greatest.into(), type_name)?;
    Ok(T::try_from(number).unwrap_or_default())
}

/// The instant that a text means: its zone counts, else `zone` does.
fn instant(written: Written, zone: &Zone, unit: TimeUnit) -> Option<i64> {
    match written.offset {
        Some(offset) => ticks(written, i64::from(offset), unit),
        None => ticks(Written { seconds: zone.to_utc(written.seconds)?, ..written }, 0, unit),
    }
}

fn ticks(written: Written, offset: i64, unit: TimeUnit) -> Option<i64> {
    let per_second = per_second(unit);
    let fraction = i64::from(written.nanos) / (1_000_000_000 / per_second);
    (written.seconds - offset).checked_mul(per_second)?.checked_add(fraction)
}
