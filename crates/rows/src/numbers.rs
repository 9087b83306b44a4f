//! Rows of numbers, and of lists of such rows, written and read without a [`Datum`](headpond_state::schema::Datum) for
//! each field.
//!
//! The bytes are those of the format `row`. Nearly all state of aggregates is such rows, and most of what a small one
//! takes to read is making values of it that may be anything.

use super::codec::{RowCodec, RowFormat, VERSION};
use headpond_state::schema::{DataKind, Field};

/// The most fields of a row that is read here.
const FIELDS_MAX: usize = 64;

/// The most rows of a list that is read here: their count takes one byte.
const COUNT_MAX: usize = 0x7f;

/// What the fields of rows of numbers are. A bit of a mask is a field.
#[derive(Debug, Clone, Default)]
pub(crate) struct NumberFields {
    /// How many bytes each field takes; `None`: it is no number.
    widths: Vec<Option<Width>>,
    numbers: u64,
    nullable: u64,
    /// Whether every number takes eight bytes.
    are_long: bool,
    /// Whether there are rows of numbers: no format but `row` has them, and no row of very many fields is one.
    is_known: bool,
    /// The fields of the rows in the last field, where that is a list of rows.
    rows: Option<Box<NumberFields>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    One,
    Two,
    Four,
    Eight,
}

impl NumberFields {
    pub(crate) fn new(format: RowFormat, fields: &[Field]) -> Self {
        if format != RowFormat::Row || fields.len() > FIELDS_MAX {
            return NumberFields::default();
        }
        let mask = |holds: &dyn Fn(&Field) -> bool| {
            fields.iter().enumerate().fold(0, |mask, (index, field)| mask | u64::from(holds(field)) << index)
        };
        let widths: Vec<Option<Width>> = fields.iter().map(width).collect();
        let rows = fields.last().and_then(|field| match &field.ty.kind {
            DataKind::List(element) if !element.nullable => match &element.kind {
                DataKind::Struct(fields) if !fields.is_empty() => Some(NumberFields::new(format, fields)),
                _ => None,
            },
            _ => None,
        });
        NumberFields {
            numbers: mask(&|field| width(field).is_some()),
            nullable: mask(&|field| field.ty.nullable),
            are_long: widths.iter().flatten().all(|width| *width == Width::Eight),
            is_known: true,
            widths,
            rows: rows.filter(|rows| rows.is_known).map(Box::new),
        }
    }

    /// The bit of the last field.
    #[inline]
    fn last(&self) -> u64 {
        self.all() & !(self.all() >> 1)
    }

    #[inline]
    fn all(&self) -> u64 {
        u64::MAX.checked_shr(64 - self.widths.len() as u32).unwrap_or(0)
    }

    /// The fields that have values when `nulls` have none; `None`: that is no row of numbers, and of those of `others`.
    #[inline]
    fn present(&self, nulls: u64, others: u64) -> Option<u64> {
        let present = self.all() & !nulls;
        let is_one = nulls & !(self.nullable & self.all()) == 0 && present & !(self.numbers | others) == 0;
        (self.is_known && is_one).then_some(present)
    }

    /// Reads the numbers of the first `len` fields of a sequence, in which those of `others` may have values too. Gives
    /// the fields that have values and what follows.
    #[inline]
    fn read<'b>(
        &self,
        bytes: &'b [u8],
        (len, others): (usize, u64),
        numbers: &mut Vec<Option<i64>>,
    ) -> Option<(u64, &'b [u8])> {
        let (count, rest) = bytes.split_first()?;
        let (bitmap, mut rest) = rest.split_at_checked(self.widths.len().div_ceil(8))?;
        if usize::from(*count) != self.widths.len() || bitmap.len() > 8 {
            return None;
        }
        let nulls = bitmap.iter().rev().fold(0, |nulls, byte| nulls << 8 | u64::from(*byte));
        let present = self.present(nulls, others)?;
        if self.are_long {
            let (values, rest) = rest.split_at_checked(8 * (present & !others).count_ones() as usize)?;
            let (values, _) = values.as_chunks::<8>();
            let mut values = values.iter();
            let is_present = |index: usize| present >> index & 1 != 0;
            let mut value = |index: usize| if is_present(index) { values.next() } else { None };
            numbers.extend((0..len).map(|index| value(index).map(|bytes| i64::from_le_bytes(*bytes))));
            return Some((present, rest));
        }
        for (index, width) in self.widths[..len].iter().enumerate() {
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
            numbers.push(Some(number?));
        }
        Some((present, rest))
    }

    /// Appends a sequence that begins with these numbers and goes on with NULL, or with values of `others`. `false`: it
    /// is none, and parts of it may have been appended.
    #[inline]
    fn write(&self, numbers: &[Option<i64>], others: u64, out: &mut Vec<u8>) -> bool {
        let is_null = |(index, number): (usize, &Option<i64>)| u64::from(number.is_none()) << index;
        let nulls = numbers.iter().take(FIELDS_MAX).enumerate().map(is_null).fold(0, |nulls, null| nulls | null);
        let beyond = self.all() & !u64::MAX.checked_shr(64 - numbers.len() as u32).unwrap_or(0);
        let nulls = nulls | beyond & !others;
        if self.present(nulls, others).is_none() {
            return false;
        }
        let len = self.widths.len();
        out.reserve(1 + len.div_ceil(8) + 8 * len);
        out.push(len as u8);
        out.extend_from_slice(&nulls.to_le_bytes()[..len.div_ceil(8)]);
        if self.are_long {
            numbers.iter().flatten().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
            return true;
        }
        self.widths.iter().zip(numbers).all(|(width, number)| {
            let Some(number) = *number else { return true };
            match width {
                Some(Width::Eight) => put(out, Some(number.to_le_bytes())),
                Some(Width::Four) => put(out, i32::try_from(number).ok().map(i32::to_le_bytes)),
                Some(Width::Two) => put(out, i16::try_from(number).ok().map(i16::to_le_bytes)),
                Some(Width::One) => put(out, i8::try_from(number).ok().map(i8::to_le_bytes)),
                None => false,
            }
        })
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
    /// Reads a row whose fields are integers, dates, timestamps and `float64`s (as their bits), or NULL. `false`: it is
    /// another row, or one that only [`decode`](Self::decode) can judge; what `numbers` holds is then of no use.
    #[inline]
    pub fn decode_numbers(&self, bytes: &[u8], numbers: &mut Vec<Option<i64>>) -> bool {
        numbers.clear();
        let fields = self.number_fields();
        let [VERSION, rest @ ..] = bytes else { return false };
        fields.read(rest, (fields.widths.len(), 0), numbers).is_some_and(|(_, rest)| rest.is_empty())
    }

    /// Appends the bytes of a row of such fields. `false`: only [`encode`](Self::encode) can write or refuse it, and
    /// `out` is as before.
    #[inline]
    pub fn encode_numbers(&self, numbers: &[Option<i64>], out: &mut Vec<u8>) -> bool {
        let fields = self.number_fields();
        let before = out.len();
        out.push(VERSION);
        let is_row = numbers.len() == fields.widths.len() && fields.write(numbers, 0, out);
        if !is_row {
            out.truncate(before);
        }
        is_row
    }

    /// As [`decode_numbers`](Self::decode_numbers), for a row whose last field is a list of such rows, or NULL: their
    /// numbers follow those of the other fields. Gives how many rows there are in the list.
    #[inline]
    pub fn decode_number_rows(&self, bytes: &[u8], numbers: &mut Vec<Option<i64>>) -> Option<usize> {
        numbers.clear();
        let fields = self.number_fields();
        let rows = fields.rows.as_deref()?;
        let [VERSION, rest @ ..] = bytes else { return None };
        let (present, rest) = fields.read(rest, (fields.widths.len() - 1, fields.last()), numbers)?;
        if present & fields.last() == 0 {
            return rest.is_empty().then_some(0);
        }
        let (&count, rest) = rest.split_first()?;
        let (bitmap, mut rest) = rest.split_at_checked(usize::from(count).div_ceil(8))?;
        if usize::from(count) > COUNT_MAX || bitmap.iter().any(|byte| *byte != 0) {
            return None;
        }
        for _ in 0..count {
            (_, rest) = rows.read(rest, (rows.widths.len(), 0), numbers)?;
        }
        rest.is_empty().then_some(usize::from(count))
    }

    /// Appends the bytes of such a row: `numbers` are those of its fields and then those of `rows` rows. `false`: only
    /// [`encode`](Self::encode) can write or refuse it, and `out` is as before.
    #[inline]
    pub fn encode_number_rows(&self, numbers: &[Option<i64>], rows: usize, out: &mut Vec<u8>) -> bool {
        let before = out.len();
        let fields = self.number_fields();
        let write = |out: &mut Vec<u8>| {
            let of_rows = fields.rows.as_deref()?;
            let (own, listed) = numbers.split_at_checked(fields.widths.len() - 1)?;
            if listed.len() != rows * of_rows.widths.len() || rows > COUNT_MAX {
                return None;
            }
            out.push(VERSION);
            fields.write(own, if rows > 0 { fields.last() } else { 0 }, out).then_some(())?;
            if rows > 0 {
                out.push(rows as u8);
                out.resize(out.len() + rows.div_ceil(8), 0);
            }
            let mut listed = listed.chunks_exact(of_rows.widths.len());
            listed.all(|row| of_rows.write(row, 0, out)).then_some(())
        };
        let is_row = write(out).is_some();
        if !is_row {
            out.truncate(before);
        }
        is_row
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
