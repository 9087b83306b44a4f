//! Reading components back from bytes that may be anything.

use super::{BYTES_END, ESCAPED_ZERO, LIST_END, NULL, PRESENT};
use crate::bytes::{ByteReader, truth};
use crate::error::{Error, Result};
use crate::schema::{DataKind, Datum, FieldType};
use std::borrow::Cow;

/// Reads components one after the other.
///
/// Every method fails with [`Corrupt`](crate::ErrorKind::Corrupt), and never panics, where the bytes are not what the
/// encoding would have written: also where they hold a second form of a value, such as −0.0.
#[derive(Debug, Clone, Copy)]
pub struct KeyReader<'a> {
    input: ByteReader<'a>,
}

impl<'a> KeyReader<'a> {
    /// A reader at the beginning of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        KeyReader { input: ByteReader(bytes) }
    }

    /// What is still to be read.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.input.0
    }

    /// Reads whether a value follows: `false` for the NULL of a nullable component.
    #[inline]
    pub fn present(&mut self) -> Result<bool> {
        match self.input.byte()? {
            PRESENT => Ok(true),
            NULL => Ok(false),
            other => Err(Error::corrupt(format!("{other:#04x} says neither NULL nor a value"))),
        }
    }

    /// Reads whether a list's element follows (`None`: the list ends) and whether it is a value (`false`: NULL).
    #[inline]
    pub fn element(&mut self) -> Result<Option<bool>> {
        match self.input.byte()? {
            LIST_END => Ok(None),
            PRESENT => Ok(Some(true)),
            NULL => Ok(Some(false)),
            other => Err(Error::corrupt(format!("{other:#04x} begins no element and ends no list"))),
        }
    }

    /// Reads a `bool`.
    #[inline]
    pub fn bool(&mut self) -> Result<bool> {
        self.input.byte().and_then(truth)
    }

    /// Reads an `int8`.
    #[inline]
    pub fn i8(&mut self) -> Result<i8> {
        Ok(i8::from_be_bytes(self.input.array()?) ^ i8::MIN)
    }

    /// Reads an `int16`.
    #[inline]
    pub fn i16(&mut self) -> Result<i16> {
        Ok(i16::from_be_bytes(self.input.array()?) ^ i16::MIN)
    }

    /// Reads an `int32` or a `date`.
    #[inline]
    pub fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.input.array()?) ^ i32::MIN)
    }

    /// Reads an `int64` or a timestamp.
    #[inline]
    pub fn i64(&mut self) -> Result<i64> {
        Ok(i64::from_be_bytes(self.input.array()?) ^ i64::MIN)
    }

    /// Reads a `uint64`.
    #[inline]
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_be_bytes(self.input.array()?))
    }

    /// Reads the unscaled value of a `decimal`.
    #[inline]
    pub fn decimal(&mut self) -> Result<i128> {
        Ok(i128::from_be_bytes(self.input.array()?) ^ i128::MIN)
    }

    /// Reads a `float32`.
    pub fn f32(&mut self) -> Result<f32> {
        let ordered = u32::from_be_bytes(self.input.array()?);
        let value = f32::from_bits(if ordered >> 31 == 1 { ordered ^ 1 << 31 } else { !ordered });
        let mut again = Vec::with_capacity(4);
        super::put_f32(value, &mut again);
        if again == ordered.to_be_bytes() { Ok(value) } else { Err(second_form(f64::from(value))) }
    }

    /// Reads a `float64`.
    pub fn f64(&mut self) -> Result<f64> {
        let ordered = u64::from_be_bytes(self.input.array()?);
        let bits = if ordered >> 63 == 1 { ordered ^ 1 << 63 } else { !ordered };
        let value = f64::from_bits(bits);
        let nan = f64::NAN.to_bits() & (u64::MAX >> 1);
        if bits == 1 << 63 || (value.is_nan() && bits != nan) { Err(second_form(value)) } else { Ok(value) }
    }

    /// Reads a `utf8`.
    pub fn str(&mut self) -> Result<Cow<'a, str>> {
        let not_text = |cause| Error::corrupt("text is not UTF-8").because(cause);
        match self.bytes()? {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(not_text),
            Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).map_err(|cause| not_text(cause.utf8_error())),
        }
    }

    /// Reads a `binary`. Borrows where no byte is zero.
    pub fn bytes(&mut self) -> Result<Cow<'a, [u8]>> {
        let (mut part, mut ends) = self.part_of_bytes()?;
        if ends {
            return Ok(Cow::Borrowed(part));
        }
        let mut unescaped = Vec::new();
        loop {
            unescaped.extend_from_slice(part);
            if ends {
                return Ok(Cow::Owned(unescaped));
            }
            unescaped.push(0);
            (part, ends) = self.part_of_bytes()?;
        }
    }

    /// Reads bytes up to an escaped zero (`false`) or the end (`true`).
    #[inline]
    fn part_of_bytes(&mut self) -> Result<(&'a [u8], bool)> {
        let bytes = self.input.0;
        let zero = bytes.iter().position(|byte| *byte == 0).ok_or_else(unended)?;
        let follower = *bytes.get(zero + 1).ok_or_else(unended)?;
        self.input.take(zero + 2)?;
        match follower {
            BYTES_END => Ok((&bytes[..zero], true)),
            ESCAPED_ZERO => Ok((&bytes[..zero], false)),
            other => Err(Error::corrupt(format!("00 {other:02x} is neither a zero byte nor an end"))),
        }
    }

    /// Passes over a component of the declared type.
    ///
    /// Looks only for where the component ends: bytes that are no UTF-8 or another form of a float pass.
    pub fn skip(&mut self, ty: &FieldType) -> Result<()> {
        if ty.nullable && !self.present()? { Ok(()) } else { self.skip_value(&ty.kind) }
    }

    fn skip_value(&mut self, kind: &DataKind) -> Result<()> {
        let width = match kind {
            DataKind::Bool | DataKind::Int8 => 1,
            DataKind::Int16 => 2,
            DataKind::Int32 | DataKind::Date | DataKind::Float32 => 4,
            DataKind::Int64 | DataKind::UInt64 | DataKind::Float64 | DataKind::Timestamp | DataKind::TimestampLtz => 8,
            DataKind::Decimal { .. } => 16,
            DataKind::Utf8 | DataKind::Binary => {
                while !self.part_of_bytes()?.1 {}
                return Ok(());
            }
            DataKind::List(element) => {
                while let Some(is_value) = self.element()? {
                    if is_value {
                        self.skip_value(&element.kind)?;
                    }
                }
                return Ok(());
            }
            DataKind::Struct(fields) => return fields.iter().try_for_each(|field| self.skip(&field.ty)),
        };
        self.input.take(width).map(drop)
    }

    /// Reads a component of the declared type.
    pub fn datum(&mut self, ty: &FieldType) -> Result<Datum> {
        if ty.nullable && !self.present()? {
            return Ok(Datum::Null);
        }
        self.value(&ty.kind)
    }

    fn value(&mut self, kind: &DataKind) -> Result<Datum> {
        Ok(match kind {
            DataKind::Bool => Datum::Bool(self.bool()?),
            DataKind::Int8 => Datum::Int64(i64::from(self.i8()?)),
            DataKind::Int16 => Datum::Int64(i64::from(self.i16()?)),
            DataKind::Int32 | DataKind::Date => Datum::Int64(i64::from(self.i32()?)),
            DataKind::Int64 | DataKind::Timestamp | DataKind::TimestampLtz => Datum::Int64(self.i64()?),
            DataKind::UInt64 => Datum::Int64(self.u64()? as i64),
            DataKind::Float32 => Datum::Float64(f64::from(self.f32()?)),
            DataKind::Float64 => Datum::Float64(self.f64()?),
            DataKind::Decimal { .. } => Datum::Decimal(self.decimal()?),
            DataKind::Utf8 => Datum::Utf8(self.str()?.into()),
            DataKind::Binary => Datum::Binary(self.bytes()?.into()),
            DataKind::List(element) => {
                let mut elements = Vec::new();
                while let Some(is_value) = self.element()? {
                    elements.push(match (is_value, element.nullable) {
                        (true, _) => self.value(&element.kind)?,
                        (false, true) => Datum::Null,
                        (false, false) => return Err(Error::corrupt(format!("a NULL in a list of {element}"))),
                    });
                }
                Datum::List(elements)
            }
            DataKind::Struct(fields) => {
                Datum::Struct(fields.iter().map(|field| self.datum(&field.ty)).collect::<Result<_>>()?)
            }
        })
    }
}

#[cold]
fn unended() -> Error {
    Error::corrupt("bytes in a key have no end")
}

#[cold]
fn second_form(value: f64) -> Error {
    Error::corrupt(format!("a key holds another form of {value} than the one there is"))
}
