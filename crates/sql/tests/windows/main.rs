//! Windows: tumbling, hopping, sessions; windows over windows; late rows; processing time.

#[path = "../common/mod.rs"]
mod common;

mod hop;
mod input;
mod refused;
mod session;
mod syntax;
mod tumble;
