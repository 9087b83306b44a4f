//! Rows of numbers, written and read without a [`Datum`](super::Datum) for each field.
//!
//! The bytes are those of the format `row`. Nearly all state of aggregates is such rows, and most of what a small one takes to read
//! is making values of it that may be anything.

use super::codec::{RowCodec, RowFormat, VERSION};
use super::schema::{DataKind, Field};

/// The longest row that is read here: its count takes one byte.
const FIELDS_MAX: usize = 0x7f;

/// What a field is to a row of numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct NumberField {
    /// How many bytes it takes; `None`: it is no number.
    width: Option<Width>,
    nullable: bool,
}

#[derive(Debug, Clone, Copy)]
enum Width {
    One,
    Two,
    Four,
    Eight,
}

impl NumberField {
    pub(super) fn of(field: &Field) -> Self {
        let width = match field.ty.kind {
            DataKind::Int8 => Some(Width::One),
            DataKind::Int16 => Some(Width::Two),
            DataKind::Int32 | DataKind::Date => Some(Width::Four),
            DataKind::Int64 | DataKind::UInt64 | DataKind::Timestamp | DataKind::TimestampLtz | DataKind::Float64 => {
                Some(Width::Eight)
            }
            _ => None,
        };
        NumberField { width, nullable: field.ty.nullable }
    }
}

impl RowCodec {
    /// Reads a row whose fields are integers, dates, timestamps and `float64`s (as their bits), or NULL. `false`: it is another row,
    /// or one that only [`decode`](Self::decode) can judge; what `numbers` holds is then of no use.
    #[inline]
    pub fn decode_numbers(&self, bytes: &[u8], numbers: &mut Vec<Option<i64>>) -> bool {
        numbers.clear();
        let fields = self.number_fields();
        let [VERSION, count, rest @ ..] = bytes else { return false };
        if self.format() != RowFormat::Row || usize::from(*count) != fields.len() || fields.len() > FIELDS_MAX {
            return false;
        }
        let Some((bitmap, mut rest)) = rest.split_at_checked(fields.len().div_ceil(8)) else { return false };
        for (index, field) in fields.iter().enumerate() {
            if bitmap[index / 8] & 1 << (index % 8) != 0 {
                if !field.nullable {
                    return false;
                }
                numbers.push(None);
                continue;
            }
            let number = match field.width {
                Some(Width::Eight) => take(&mut rest).map(i64::from_le_bytes),
                Some(Width::Four) => take(&mut rest).map(|bytes| i32::from_le_bytes(bytes).into()),
                Some(Width::Two) => take(&mut rest).map(|bytes| i16::from_le_bytes(bytes).into()),
                Some(Width::One) => take(&mut rest).map(|bytes| i8::from_le_bytes(bytes).into()),
                None => None,
            };
            if number.is_none() {
                return false;
            }
            numbers.push(number);
        }
        rest.is_empty()
    }

    /// Appends the bytes of a row of such fields. `false`: only [`encode`](Self::encode) can write or refuse it, and `out` is as before.
    #[inline]
    pub fn encode_numbers(&self, numbers: &[Option<i64>], out: &mut Vec<u8>) -> bool {
        let fields = self.number_fields();
        if self.format() != RowFormat::Row || numbers.len() != fields.len() || fields.len() > FIELDS_MAX {
            return false;
        }
        let before = out.len();
        out.reserve(2 + fields.len().div_ceil(8) + 8 * fields.len());
        out.extend_from_slice(&[VERSION, fields.len() as u8]);
        let bitmap = out.len();
        out.resize(bitmap + fields.len().div_ceil(8), 0);
        for (index, (field, number)) in fields.iter().zip(numbers).enumerate() {
            let fits = match (number, field.width) {
                (None, _) => {
                    out[bitmap + index / 8] |= 1 << (index % 8);
                    field.nullable
                }
                (Some(number), Some(Width::Eight)) => put(out, Some(number.to_le_bytes())),
                (Some(number), Some(Width::Four)) => put(out, i32::try_from(*number).ok().map(i32::to_le_bytes)),
                (Some(number), Some(Width::Two)) => put(out, i16::try_from(*number).ok().map(i16::to_le_bytes)),
                (Some(number), Some(Width::One)) => put(out, i8::try_from(*number).ok().map(i8::to_le_bytes)),
                (Some(_), None) => false,
            };
            if !fits {
                out.truncate(before);
                return false;
            }
        }
        true
    }
}

#[inline]
fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = rest.split_first_chunk::<N>()?;
    *rest = left;
    Some(*taken)
}

#[inline]
fn put<const N: usize>(out: &mut Vec<u8>, bytes: Option<[u8; N]>) -> bool {
    bytes.map(|bytes| out.extend_from_slice(&bytes)).is_some()
}
