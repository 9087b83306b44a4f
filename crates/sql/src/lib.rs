//! Streaming SQL: a script of settings, tables and inserts becomes a job graph for the runtime.
//!
//! ```text
//! text ──[script]──▶ statements ──[plan]──▶ logical plans (DataFusion) ──▶ job graph
//!                                              │                             │
//!                                        [expression]                [aggregate, join, rank]
//!                                    filters and projections    keyed state: groups, windows, rows, first rows
//! ```
//!
//! [`parse`] reads a file into a [`Script`]; [`plan`] makes a [`PlannedJob`] of it; [`plan_text`] does both, and names
//! all that is wrong at once. Every error names file, line and column, and nothing starts before the whole file is
//! understood.
//!
//! Words, functions and types are Flink's where there is no reason to differ; `docs/reference/sql.md` lists them, and
//! `docs/reference/differences-from-flink.md` says where they differ.

mod aggregate;
mod changelog_normalize;
mod dialect;
mod expression;
mod faults;
mod join;
mod mini_batch;
mod no_column;
mod plan;
mod planning_stack;
mod position;
mod rank;
pub mod script;
mod settings;
mod stored_rows;
mod words;

pub use plan::{PlannedJob, plan, plan_text};
pub use position::Position;
pub use script::{Script, parse};
