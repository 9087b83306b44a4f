//! The connector `datagen`: rows made from a seed.
//!
//! Each value follows from the seed, its column's name and the number of its row ([`generator`]), so a row is the same
//! whenever and by whomever it is made. A bounded table is cut into runs of rows, so that event time grows within a
//! split as it does in the whole; an unbounded one deals its rows to its splits in turn.

mod generator;
mod source;

pub(crate) use source::source;
