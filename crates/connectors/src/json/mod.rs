//! JSON lines.
//!
//! A [`Cursor`](cursor::Cursor) walks over the text of one value; [`reader`] takes what it finds into columns, number
//! by number as text, so that no digit is lost; [`writer`] writes rows.

mod cursor;
pub(crate) mod reader;
pub(crate) mod writer;
