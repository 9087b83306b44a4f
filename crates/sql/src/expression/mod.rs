//! Expressions: the functions that queries may call, and expressions compiled to run over batches.
//!
//! Functions and evaluation are DataFusion's. Ours are those whose meaning is streaming's: windows ([`window`]) and the clock
//! ([`clock`]).

mod clock;
mod compile;
mod functions;
mod project;
mod watermark;
mod window;

pub(crate) use clock::{is_processing_time, is_random};
pub(crate) use compile::{Compiler, coerce, substitute};
pub(crate) use functions::Functions;
pub(crate) use project::ProjectionFactory;
pub(crate) use watermark::watermark_factory;
pub(crate) use window::{
    HopFactory, WindowCall, WindowKind, WindowPart, WindowShape, interval_ms, window_start, window_udf,
};
