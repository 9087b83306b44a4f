//! The types of keys and values, as descriptors name them, and a value of one.
//!
//! A descriptor's texts say what a state holds: its key is `utf8?,int64`, its values are rows of `flights int64,
//! delay_sum float64?`. Here are those texts' types. How a [`Datum`] of one becomes bytes is said by
//! [`encoding`](crate::encoding) for keys and by a [`Codec`](crate::codec::Codec) for values.

mod datum;
mod field;
mod text_form;

pub use datum::Datum;
pub use field::{DataKind, Field, FieldType, RowSchema};

pub(crate) use text_form::{display_types, parse_types};
