//! Expressions: the functions that queries may call, and expressions compiled to run over batches.
//!
//! Functions are those of the crate `functions`; evaluation is DataFusion's. Here are those whose meaning is
//! streaming's: windows ([`window`]).

mod compile;
mod depth;
mod functions;
mod project;
mod row_number;
mod watermark;
mod window;

pub(crate) use compile::{Compiler, substitute};
pub(crate) use depth::{LEVELS_OF_A_STEP, levels};
pub(crate) use functions::Functions;
pub(crate) use headpond_functions::{is_processing_time, is_random};
pub(crate) use project::{ProjectionFactory, failed};
pub(crate) use row_number::{ROW_NUMBER, row_number};
pub(crate) use watermark::watermark_factory;
pub(crate) use window::{
    HopFactory, WindowCall, WindowKind, WindowPart, WindowShape, interval_ms, window_start, window_udf,
};
