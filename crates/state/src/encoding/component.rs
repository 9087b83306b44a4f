//! Rust types that are key components.

use super::read::KeyReader;
use super::write::{
    put_bool, put_bytes, put_f32, put_f64, put_i8, put_i16, put_i32, put_i64, put_null, put_present, put_str, put_u64,
};
use crate::error::{Error, Result};
use crate::schema::{DataKind, FieldType};

/// A type that is one or more components of a key: of a stream's key, or the user key of a map.
///
/// ```
/// use headpond_state::encoding::{KeyComponent, KeyReader};
///
/// let mut bytes = Vec::new();
/// ("UA".to_owned(), 7_i64).encode(&mut bytes);
/// assert_eq!(<(String, i64)>::decode(&mut KeyReader::new(&bytes))?, ("UA".to_owned(), 7));
/// # Ok::<(), headpond_state::Error>(())
/// ```
pub trait KeyComponent: Sized {
    /// Appends the components' types.
    fn types(types: &mut Vec<FieldType>);

    /// Appends the components.
    fn encode(&self, out: &mut Vec<u8>);

    /// Reads the components.
    ///
    /// # Errors
    /// [`Corrupt`](crate::ErrorKind::Corrupt) when the bytes are no such components.
    fn decode(reader: &mut KeyReader<'_>) -> Result<Self>;
}

macro_rules! component {
    ($($ty:ty: $kind:ident, $put:ident, $read:ident;)*) => {
        $(
            impl KeyComponent for $ty {
                fn types(types: &mut Vec<FieldType>) {
                    types.push(DataKind::$kind.required());
                }

                #[inline]
                fn encode(&self, out: &mut Vec<u8>) {
                    $put(*self, out);
                }

                #[inline]
                fn decode(reader: &mut KeyReader<'_>) -> Result<Self> {
                    reader.$read()
                }
            }
        )*
    };
}
component! {
    bool: Bool, put_bool, bool;
    i8: Int8, put_i8, i8;
    i16: Int16, put_i16, i16;
    i32: Int32, put_i32, i32;
    i64: Int64, put_i64, i64;
    u64: UInt64, put_u64, u64;
    f32: Float32, put_f32, f32;
    f64: Float64, put_f64, f64;
}

/// Integers that are written as a wider type, in whose order they are.
macro_rules! widened {
    ($($ty:ty as $wide:ty;)*) => {
        $(
            impl KeyComponent for $ty {
                fn types(types: &mut Vec<FieldType>) {
                    <$wide>::types(types);
                }

                #[inline]
                fn encode(&self, out: &mut Vec<u8>) {
                    (*self as $wide).encode(out);
                }

                #[inline]
                fn decode(reader: &mut KeyReader<'_>) -> Result<Self> {
                    let wide = <$wide>::decode(reader)?;
                    <$ty>::try_from(wide).map_err(|_| {
                        Error::corrupt(format!("a key's component is {wide}, which is no {}", stringify!($ty)))
                    })
                }
            }
        )*
    };
}
widened! {
    u8 as i16;
    u16 as i32;
    u32 as i64;
    usize as u64;
    isize as i64;
}

/// Two components: the upper half, then the lower one.
macro_rules! halved {
    ($($ty:ty as $upper:ty;)*) => {
        $(
            impl KeyComponent for $ty {
                fn types(types: &mut Vec<FieldType>) {
                    <$upper>::types(types);
                    u64::types(types);
                }

                #[inline]
                fn encode(&self, out: &mut Vec<u8>) {
                    ((*self >> 64) as $upper).encode(out);
                    (*self as u64).encode(out);
                }

                #[inline]
                fn decode(reader: &mut KeyReader<'_>) -> Result<Self> {
                    let upper = <$upper>::decode(reader)?;
                    Ok(<$ty>::from(upper) << 64 | <$ty>::from(u64::decode(reader)?))
                }
            }
        )*
    };
}
halved! {
    i128 as i64;
    u128 as u64;
}

/// No component: the one key of all.
impl KeyComponent for () {
    fn types(_: &mut Vec<FieldType>) {}

    fn encode(&self, _: &mut Vec<u8>) {}

    fn decode(_: &mut KeyReader<'_>) -> Result<Self> {
        Ok(())
    }
}

impl KeyComponent for String {
    fn types(types: &mut Vec<FieldType>) {
        types.push(DataKind::Utf8.required());
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_str(self, out);
    }

    fn decode(reader: &mut KeyReader<'_>) -> Result<Self> {
        reader.str().map(std::borrow::Cow::into_owned)
    }
}

impl KeyComponent for Vec<u8> {
    fn types(types: &mut Vec<FieldType>) {
        types.push(DataKind::Binary.required());
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_bytes(self, out);
    }

    fn decode(reader: &mut KeyReader<'_>) -> Result<Self> {
        reader.bytes().map(std::borrow::Cow::into_owned)
    }
}

/// NULL or one component. Of a tuple, as a struct that may be NULL.
impl<T: KeyComponent> KeyComponent for Option<T> {
    fn types(types: &mut Vec<FieldType>) {
        let mut inner = Vec::new();
        T::types(&mut inner);
        let kind = match inner.len() {
            1 => inner.remove(0).kind,
            _ => DataKind::Struct(
                inner.into_iter().enumerate().map(|(i, ty)| crate::schema::Field::new(format!("f{i}"), ty)).collect(),
            ),
        };
        types.push(kind.nullable());
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            None => put_null(out),
            Some(value) => {
                put_present(out);
                value.encode(out);
            }
        }
    }

    fn decode(reader: &mut KeyReader<'_>) -> Result<Self> {
        if reader.present()? { T::decode(reader).map(Some) } else { Ok(None) }
    }
}

macro_rules! tuple {
    ($($name:ident)*) => {
        impl<$($name: KeyComponent),*> KeyComponent for ($($name,)*) {
            fn types(types: &mut Vec<FieldType>) {
                $($name::types(types);)*
            }

            #[allow(non_snake_case)]
            fn encode(&self, out: &mut Vec<u8>) {
                let ($($name,)*) = self;
                $($name.encode(out);)*
            }

            fn decode(reader: &mut KeyReader<'_>) -> Result<Self> {
                Ok(($($name::decode(reader)?,)*))
            }
        }
    };
}
tuple!(A);
tuple!(A B);
tuple!(A B C);
tuple!(A B C D);
tuple!(A B C D E);
tuple!(A B C D E F);
