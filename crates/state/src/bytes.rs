//! Reading bytes that may be anything.

use crate::error::{Error, Result};

/// Bytes still to be read. Every method fails with [`Corrupt`](crate::ErrorKind::Corrupt) instead of reading beyond the
/// end.
#[derive(Debug, Clone, Copy)]
pub struct ByteReader<'a>(pub &'a [u8]);

impl<'a> ByteReader<'a> {
    /// How many are left.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next `len` bytes.
    #[inline]
    pub fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        match self.0.split_at_checked(len) {
            Some((taken, rest)) => {
                self.0 = rest;
                Ok(taken)
            }
            None => Err(too_short(len, self.0.len())),
        }
    }

    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.0.split_first_chunk::<N>() {
            Some((taken, rest)) => {
                self.0 = rest;
                Ok(*taken)
            }
            None => Err(too_short(N, self.0.len())),
        }
    }

    /// The next byte.
    #[inline]
    pub fn byte(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// An unsigned LEB128 number of at most 64 bits.
    #[inline]
    pub fn varint(&mut self) -> Result<u64> {
        if let [first, rest @ ..] = self.0
            && *first < 0x80
        {
            self.0 = rest;
            return Ok(u64::from(*first));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error::corrupt("a variable-length number takes more than 64 bits"))
    }

    /// A signed number in zigzag form.
    #[inline]
    pub fn zigzag(&mut self) -> Result<i64> {
        let raw = self.varint()?;
        Ok((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    /// A length or count as a variable-length number.
    #[inline]
    pub fn length(&mut self) -> Result<usize> {
        let raw = self.varint()?;
        usize::try_from(raw).map_err(|_| too_short(usize::MAX, self.0.len()))
    }

    /// Bytes after their length.
    #[inline]
    pub fn delimited(&mut self) -> Result<&'a [u8]> {
        let len = self.length()?;
        self.take(len)
    }
}

#[cold]
fn too_short(wanted: usize, left: usize) -> Error {
    Error::corrupt(format!("{wanted} more bytes are needed and {left} are left"))
}

/// Text from bytes.
#[inline]
pub fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|cause| Error::corrupt("text is not UTF-8").because(cause))
}

/// A truth value from its byte.
#[inline]
pub fn truth(byte: u8) -> Result<bool> {
    match byte {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Error::corrupt(format!("a truth value is 0 or 1, not {other}"))),
    }
}

/// Appends an unsigned LEB128 number.
#[inline]
pub fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number in zigzag form.
#[inline]
pub fn put_zigzag(value: i64, out: &mut Vec<u8>) {
    put_varint(((value << 1) ^ (value >> 63)) as u64, out);
}

/// Appends bytes after their length.
#[inline]
pub fn put_delimited(bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// The shortest big-endian two's-complement form of a decimal's unscaled value, as Avro has it.
pub fn decimal_to_bytes(value: i128, buffer: &mut [u8; 16]) -> &[u8] {
    *buffer = value.to_be_bytes();
    let sign = if value < 0 { 0xff } else { 0 };
    let mut start = 0;
    while start < 15 && buffer[start] == sign && (buffer[start + 1] ^ sign) < 0x80 {
        start += 1;
    }
    &buffer[start..]
}

/// The unscaled value of a decimal from a big-endian two's-complement form of any length.
pub fn decimal_from_bytes(bytes: &[u8]) -> Result<i128> {
    let Some(first) = bytes.first() else { return Ok(0) };
    let sign = if *first >= 0x80 { 0xff } else { 0 };
    if bytes.len() > 16 {
        return Err(Error::corrupt(format!("a decimal takes {} bytes, more than 16", bytes.len())));
    }
    let mut value = [sign; 16];
    value[16 - bytes.len()..].copy_from_slice(bytes);
    Ok(i128::from_be_bytes(value))
}
