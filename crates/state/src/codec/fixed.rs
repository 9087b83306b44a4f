//! Numbers and truth values in their own width.

use super::{Codec, trailing, unknown_version};
use crate::bytes::{ByteReader, truth};
use crate::descriptor::CodecId;
use crate::error::Result;

const VERSION: u8 = 1;

/// Integers, floating-point numbers (little-endian) and truth values, after the version byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FixedWidth;

macro_rules! fixed_width {
    ($($ty:ident),*) => {
        $(
            impl Codec<$ty> for FixedWidth {
                fn id(&self) -> CodecId {
                    CodecId::new(stringify!($ty), VERSION)
                }

                fn schema(&self) -> String {
                    stringify!($ty).to_owned()
                }

                #[inline]
                fn encode(&self, value: &$ty, out: &mut Vec<u8>) -> Result<()> {
                    out.push(VERSION);
                    out.extend_from_slice(&value.to_le_bytes());
                    Ok(())
                }

                #[inline]
                fn decode(&self, bytes: &[u8]) -> Result<$ty> {
                    let mut input = ByteReader(bytes);
                    match input.byte()? {
                        VERSION => {}
                        other => return Err(unknown_version(stringify!($ty), other, VERSION)),
                    }
                    let value = <$ty>::from_le_bytes(input.array()?);
                    if input.is_empty() { Ok(value) } else { Err(trailing(input.len())) }
                }
            }
        )*
    };
}
fixed_width!(i8, i16, i32, i64, i128, u8, u16, u32, u64, f32, f64);

impl Codec<bool> for FixedWidth {
    fn id(&self) -> CodecId {
        CodecId::new("bool", VERSION)
    }

    fn schema(&self) -> String {
        "bool".to_owned()
    }

    fn encode(&self, value: &bool, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&[VERSION, u8::from(*value)]);
        Ok(())
    }

    fn decode(&self, bytes: &[u8]) -> Result<bool> {
        let mut input = ByteReader(bytes);
        match input.byte()? {
            VERSION => {}
            other => return Err(unknown_version("bool", other, VERSION)),
        }
        let value = truth(input.byte()?)?;
        if input.is_empty() { Ok(value) } else { Err(trailing(input.len())) }
    }
}

/// Counters that [`MergeOperator::AddI64`](crate::MergeOperator::AddI64) folds: an `i64`, little-endian, and nothing
/// else.
///
/// The one codec whose values have no version byte: the merge operator's bytes are fixed by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counter;

impl Codec<i64> for Counter {
    fn id(&self) -> CodecId {
        CodecId::new("counter", VERSION)
    }

    fn schema(&self) -> String {
        "i64".to_owned()
    }

    #[inline]
    fn encode(&self, value: &i64, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&value.to_le_bytes());
        Ok(())
    }

    #[inline]
    fn decode(&self, bytes: &[u8]) -> Result<i64> {
        let mut input = ByteReader(bytes);
        let value = i64::from_le_bytes(input.array()?);
        if input.is_empty() { Ok(value) } else { Err(trailing(input.len())) }
    }
}
