//! The binary as a user meets it.

mod checkpoints;
mod hostile;
mod mistakes;
mod open_sessions;
mod output;
mod outputs;
mod resumption;
mod running;
mod s3;
mod savepoints;
mod several_files;
mod shell;
mod state_tables;
mod stderr;
mod support;
mod totals;
