//! The binary as a user meets it.

mod checkpoints;
mod mistakes;
mod output;
mod resumption;
mod running;
mod s3;
mod savepoints;
mod support;
mod totals;
