//! What functions ask of whole numbers of any width.

/// Applies `$f` to a column of any whole number's type.
macro_rules! for_wholes {
    ($array:expr, $data_type:expr, $otherwise:expr, $f:ident $(, $argument:expr)*) => {
        match $data_type {
            DataType::Int8 => $f::<Int8Type>($array $(, $argument)*),
            DataType::Int16 => $f::<Int16Type>($array $(, $argument)*),
            DataType::Int32 => $f::<Int32Type>($array $(, $argument)*),
            DataType::Int64 => $f::<Int64Type>($array $(, $argument)*),
            _ => $otherwise,
        }
    };
}
pub(super) use for_wholes;

/// What functions ask of whole numbers.
pub(super) trait WholeNumber: Copy {
    fn magnitude(self) -> Option<Self>;
    fn sign(self) -> Self;
    fn to_i128(self) -> i128;
    fn of_i128(number: i128) -> Option<Self>;
    fn wrapped(number: i128) -> Self;
}

macro_rules! whole_numbers {
    ($($t:ty),*) => {$(
        impl WholeNumber for $t {
            fn magnitude(self) -> Option<Self> { self.checked_abs() }
            fn sign(self) -> Self { self.signum() }
            fn to_i128(self) -> i128 { i128::from(self) }
            fn of_i128(number: i128) -> Option<Self> { Self::try_from(number).ok() }
            fn wrapped(number: i128) -> Self { number as Self }
        }
    )*};
}
whole_numbers!(i8, i16, i32, i64);
