//! State in a checkpoint as SQL tables: decoded, queried, exported, compared.
//!
//! A checkpoint has all that is needed to understand it: each state's descriptor says how its keys and values are
//! encoded and what the query calls them. This crate turns that into tables: a [`StateCatalog`] has one for each state
//! of each operator, with columns for keys, windows and values, and one for when an entry expires. Tables are queried
//! with DataFusion, written to files, and compared with those of another checkpoint. The job that took the checkpoint
//! may run on meanwhile: nothing is written, and nothing is locked.
//!
//! State is read as a stream, whatever its size. Which backend reads a handle is said by who knows backends
//! ([`StateReaders`]).
//!
//! In reading order: `checkpoint`, `catalog`, `form` (entries to rows), `columns`, `readers`, `reading`, `query`,
//! `export`, `diff`.

mod catalog;
mod checkpoint;
mod columns;
mod diff;
mod export;
mod form;
mod query;
mod readers;
mod reading;

pub use arrow_array::RecordBatch;
pub use arrow_schema::SchemaRef;
pub use catalog::{StateCatalog, StateTable};
pub use checkpoint::InspectedCheckpoint;
pub use diff::{StateDiff, diff};
pub use export::{FileFormat, RowWriter, as_text};
pub use query::RowSink;
pub use readers::StateReaders;
