//! CSV.
//!
//! [`scan`] finds the fields of the next row in the bytes of the file, [`reader`] turns those that are wanted into
//! values of
//! [`Column`](crate::column::Column)s, [`writer`] writes rows.

mod dialect;
mod header;
pub(crate) mod reader;
mod record_end;
mod scan;
pub(crate) mod writer;

pub(crate) use dialect::Dialect;
