//! SQL's types, casts and functions, as Flink has them.
//!
//! ```text
//! query ─[planner, unbound]─▶ plan without types ─[typing]─▶ plan with types and casts ─▶ kernels over Arrow arrays
//!                                                       │                                        │
//!                              [common_type, decimal, registry, operators]        [cast, operators, functions]
//!                                                                                                │
//!                                                                             plain Rust: [text], [time], [json]
//! ```
//!
//! [`Typing`] is the one place where types are derived. A function is in the [registry]: its name, what it takes and
//! gives, its documentation and examples, and its kernel.

mod aggregates;
pub mod bind;
mod bound;
mod cast;
mod columns;
pub mod common_type;
pub mod decimal;
mod functions;
pub mod json;
mod operators;
mod planner;
pub mod reference;
pub mod registry;
mod settings;
pub mod text;
pub mod time;
mod type_name;
mod typing;
mod unbound;

pub use aggregates::{Aggregate, aggregate};
pub use bound::BoundFunction;
pub use cast::{Fit, Target, is_cast, localized};
pub use functions::{is_processing_time, is_random};
pub use operators::sum_of;
pub use planner::SyntaxPlanner;
pub use settings::Settings;
pub use type_name::type_name;
pub use typing::Typing;
pub use unbound::UnboundFunction;
