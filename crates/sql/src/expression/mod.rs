//! Expressions: the functions that queries may call, and expressions compiled to run over batches.
//!
//! Functions and evaluation are DataFusion's. Ours are those whose meaning is streaming's: windows ([`window`]) and the
//! clock ([`clock`]); and what Flink has under another meaning ([`date_format`]).

mod clock;
mod compile;
mod date_format;
mod functions;
mod project;
mod row_number;
mod to_timestamp_ltz;
mod watermark;
mod window;

pub(crate) use clock::{is_processing_time, is_random};
pub(crate) use compile::{Compiler, coerce, substitute};
pub(crate) use functions::Functions;
pub(crate) use project::{ProjectionFactory, failed};
pub(crate) use row_number::{ROW_NUMBER, row_number};
pub(crate) use watermark::watermark_factory;
pub(crate) use window::{
    HopFactory, WindowCall, WindowKind, WindowPart, WindowShape, interval_ms, window_start, window_udf,
};
