//! The binary as a user meets it.

mod checkpoints;
mod mistakes;
mod output;
mod resumption;
mod support;
mod totals;
