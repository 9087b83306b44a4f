//! `DATE_FORMAT(time, pattern)`: a time as text, in the letters of Java's `DateTimeFormatter`, as Flink has it.

use arrow_array::cast::AsArray;
use arrow_array::timezone::Tz;
use arrow_array::types::TimestampMillisecondType;
use arrow_array::{Array, StringArray};
use arrow_schema::{DataType, TimeUnit};
use chrono::{DateTime, Datelike, NaiveDateTime, TimeZone, Timelike};
use datafusion_common::{DataFusionError, Result, exec_err, plan_err};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use std::fmt::Write;
use std::sync::Arc;

/// The function.
pub(super) fn date_format() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(DateFormat { signature: Signature::user_defined(Volatility::Immutable) }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DateFormat {
    signature: Signature,
}

impl ScalarUDFImpl for DateFormat {
    fn name(&self) -> &str {
        "date_format"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [time, _] = types else { return plan_err!("DATE_FORMAT takes a time and a pattern") };
        let time = match time {
            DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Millisecond, zone.clone()),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Date32 | DataType::Null => {
                DataType::Timestamp(TimeUnit::Millisecond, None)
            }
            _ => return plan_err!("DATE_FORMAT takes a TIMESTAMP, a DATE or a text, and a pattern"),
        };
        Ok(vec![time, DataType::Utf8])
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = arguments.number_rows;
        let [times, patterns] = &arguments.args[..] else { return exec_err!("DATE_FORMAT takes two arguments") };
        let is_scalar = matches!((times, patterns), (ColumnarValue::Scalar(_), ColumnarValue::Scalar(_)));
        let times = times.to_array(rows)?;
        let zone: Option<Tz> = match times.data_type() {
            DataType::Timestamp(_, Some(zone)) => {
                Some(zone.parse().map_err(|error| DataFusionError::ArrowError(Box::new(error), None))?)
            }
            _ => None,
        };
        let times = times.as_primitive::<TimestampMillisecondType>();
        let local = |row: usize| -> Option<NaiveDateTime> {
            let time = DateTime::from_timestamp_millis(times.is_valid(row).then(|| times.value(row))?)?.naive_utc();
            Some(match &zone {
                Some(zone) => zone.from_utc_datetime(&time).naive_local(),
                None => time,
            })
        };
        let patterns = patterns.to_array(rows)?;
        let patterns = patterns.as_string::<i32>();
        let mut known: Option<(&str, Vec<PatternPart>)> = None;
        let mut shown: Vec<Option<String>> = Vec::with_capacity(times.len());
        for row in 0..times.len() {
            let (Some(time), true) = (local(row), patterns.is_valid(row)) else {
                shown.push(None);
                continue;
            };
            let pattern = patterns.value(row);
            if known.as_ref().is_none_or(|(known, _)| *known != pattern) {
                known = Some((pattern, parse(pattern)?));
            }
            let mut text = String::new();
            for part in known.iter().flat_map(|(_, parts)| parts) {
                part.show(&time, &mut text)
                    .map_err(|_| DataFusionError::Execution("a time cannot be shown".to_owned()))?;
            }
            shown.push(Some(text));
        }
        let array = StringArray::from(shown);
        if is_scalar {
            return Ok(ColumnarValue::Scalar(datafusion_common::ScalarValue::try_from_array(&array, 0)?));
        }
        Ok(ColumnarValue::Array(Arc::new(array)))
    }
}

/// A part of a pattern.
#[derive(Debug, PartialEq, Eq)]
enum PatternPart {
    Text(String),
    /// A letter and how often it stands.
    Letter(char, usize),
}

const LETTERS: &str = "yuMLdDEaHkKhmsS";

fn parse(pattern: &str) -> Result<Vec<PatternPart>> {
    let mut parts: Vec<PatternPart> = Vec::new();
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\'' {
            let mut text = String::new();
            if letters.next_if_eq(&'\'').is_some() {
                text.push('\'');
            } else {
                loop {
                    match letters.next() {
                        Some('\'') if letters.next_if_eq(&'\'').is_some() => text.push('\''),
                        Some('\'') => break,
                        Some(other) => text.push(other),
                        None => return exec_err!("the pattern '{pattern}' has a quote that is not closed"),
                    }
                }
            }
            parts.push(PatternPart::Text(text));
        } else if letter.is_ascii_alphabetic() {
            if !LETTERS.contains(letter) {
                return exec_err!("the pattern '{pattern}' has the letter {letter}, which is none of {LETTERS}");
            }
            let mut count = 1;
            while letters.next_if_eq(&letter).is_some() {
                count += 1;
            }
            parts.push(PatternPart::Letter(letter, count));
        } else {
            parts.push(PatternPart::Text(letter.to_string()));
        }
    }
    Ok(parts)
}

impl PatternPart {
    fn show(&self, time: &NaiveDateTime, out: &mut String) -> std::fmt::Result {
        let (letter, count) = match self {
            PatternPart::Text(text) => return out.write_str(text),
            PatternPart::Letter(letter, count) => (*letter, *count),
        };
        let hour = time.hour();
        let number = match letter {
            'y' | 'u' if count == 2 => return write!(out, "{:02}", time.year().rem_euclid(100)),
            'y' | 'u' => return write!(out, "{:0count$}", time.year()),
            'M' | 'L' if count == 3 => return write!(out, "{}", time.format("%b")),
            'M' | 'L' if count > 3 => return write!(out, "{}", time.format("%B")),
            'E' if count > 3 => return write!(out, "{}", time.format("%A")),
            'E' => return write!(out, "{}", time.format("%a")),
            'a' => return out.write_str(if hour < 12 { "AM" } else { "PM" }),
            'S' => {
                let digits = format!("{:09}", time.nanosecond() % 1_000_000_000);
                return write!(out, "{:0<count$}", &digits[..count.min(9)]);
            }
            'M' | 'L' => time.month(),
            'd' => time.day(),
            'D' => time.ordinal(),
            'H' => hour,
            'k' => (hour + 23) % 24 + 1,
            'K' => hour % 12,
            'h' => (hour + 11) % 12 + 1,
            'm' => time.minute(),
            _ => time.second(),
        };
        write!(out, "{number:0count$}")
    }
}
