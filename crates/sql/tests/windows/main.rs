//! Windows: tumbling, hopping, sessions; windows over windows; late rows; processing time.

#[path = "../common/mod.rs"]
mod common;

mod cascades;
mod hop;
mod input;
mod late_rows;
mod processing_time;
mod refused;
mod session;
mod syntax;
mod tumble;
