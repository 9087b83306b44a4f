//! Rows of numbers, written and read without a [`Datum`](super::Datum) for each field.
//!
//! The bytes are those of the format `row`. Nearly all state of aggregates is such rows, and most of what a small one takes to read
//! is making values of it that may be anything.

use super::codec::{RowCodec, RowFormat, VERSION};
use super::schema::{DataKind, Field};

/// The most fields of a row that is read here.
const FIELDS_MAX: usize = 64;

/// What the fields of rows of numbers are. A bit of a mask is a field.
#[derive(Debug, Clone, Default)]
pub(super) struct NumberFields {
    /// How many bytes each field takes; `None`: it is no number.
    widths: Vec<Option<Width>>,
    numbers: u64,
    nullable: u64,
    /// Whether every number takes eight bytes.
    are_long: bool,
    /// Whether there are rows of numbers: no format but `row` has them, and no row of very many fields is one.
    is_known: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    One,
    Two,
    Four,
    Eight,
}

impl NumberFields {
    pub(super) fn new(format: RowFormat, fields: &[Field]) -> Self {
        if format != RowFormat::Row || fields.len() > FIELDS_MAX {
            return NumberFields::default();
        }
        let mask = |holds: &dyn Fn(&Field) -> bool| {
            fields.iter().enumerate().fold(0, |mask, (index, field)| mask | u64::from(holds(field)) << index)
        };
        let widths: Vec<Option<Width>> = fields.iter().map(width).collect();
        NumberFields {
            numbers: mask(&|field| width(field).is_some()),
            nullable: mask(&|field| field.ty.nullable),
            are_long: widths.iter().flatten().all(|width| *width == Width::Eight),
            is_known: true,
            widths,
        }
    }

    /// The fields that have values when `nulls` have none; `None`: that is no row of numbers.
    #[inline]
    fn present(&self, nulls: u64) -> Option<u64> {
        let all = u64::MAX.checked_shr(64 - self.widths.len() as u32).unwrap_or(0);
        let present = all & !nulls;
        (self.is_known && nulls & !(self.nullable & all) == 0 && present & !self.numbers == 0).then_some(present)
    }
}

fn width(field: &Field) -> Option<Width> {
    match field.ty.kind {
        DataKind::Int8 => Some(Width::One),
        DataKind::Int16 => Some(Width::Two),
        DataKind::Int32 | DataKind::Date => Some(Width::Four),
        DataKind::Int64 | DataKind::UInt64 | DataKind::Timestamp | DataKind::TimestampLtz | DataKind::Float64 => {
            Some(Width::Eight)
        }
        _ => None,
    }
}

impl RowCodec {
    /// Reads a row whose fields are integers, dates, timestamps and `float64`s (as their bits), or NULL. `false`: it is another row,
    /// or one that only [`decode`](Self::decode) can judge; what `numbers` holds is then of no use.
    #[inline]
    pub fn decode_numbers(&self, bytes: &[u8], numbers: &mut Vec<Option<i64>>) -> bool {
        numbers.clear();
        let fields = self.number_fields();
        let len = fields.widths.len();
        let [VERSION, count, rest @ ..] = bytes else { return false };
        let Some((bitmap, mut rest)) = rest.split_at_checked(len.div_ceil(8)) else { return false };
        if usize::from(*count) != len || bitmap.len() > 8 {
            return false;
        }
        let nulls = bitmap.iter().rev().fold(0, |nulls, byte| nulls << 8 | u64::from(*byte));
        let Some(present) = fields.present(nulls) else { return false };
        if fields.are_long {
            let (values, []) = rest.as_chunks::<8>() else { return false };
            if values.len() != present.count_ones() as usize {
                return false;
            }
            let mut values = values.iter();
            let is_present = |index: usize| present >> index & 1 != 0;
            let mut value = |index: usize| if is_present(index) { values.next() } else { None };
            numbers.extend((0..len).map(|index| value(index).map(|bytes| i64::from_le_bytes(*bytes))));
            return true;
        }
        for (index, width) in fields.widths.iter().enumerate() {
            if present >> index & 1 == 0 {
                numbers.push(None);
                continue;
            }
            let number = match width {
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
        let len = fields.widths.len();
        if numbers.len() != len {
            return false;
        }
        let is_null = |(index, number): (usize, &Option<i64>)| u64::from(number.is_none()) << index;
        let nulls = numbers.iter().take(FIELDS_MAX).enumerate().map(is_null).fold(0, |nulls, null| nulls | null);
        if fields.present(nulls).is_none() {
            return false;
        }
        let before = out.len();
        out.reserve(2 + len.div_ceil(8) + 8 * len);
        out.extend_from_slice(&[VERSION, len as u8]);
        out.extend_from_slice(&nulls.to_le_bytes()[..len.div_ceil(8)]);
        if fields.are_long {
            numbers.iter().flatten().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
            return true;
        }
        for (width, number) in fields.widths.iter().zip(numbers) {
            let Some(number) = *number else { continue };
            let fits = match width {
                Some(Width::Eight) => put(out, Some(number.to_le_bytes())),
                Some(Width::Four) => put(out, i32::try_from(number).ok().map(i32::to_le_bytes)),
                Some(Width::Two) => put(out, i16::try_from(number).ok().map(i16::to_le_bytes)),
                Some(Width::One) => put(out, i8::try_from(number).ok().map(i8::to_le_bytes)),
                None => false,
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
