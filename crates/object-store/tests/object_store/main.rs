//! Checkpoints on object stores: on a real S3 server in this process, and in memory.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod conformance;
mod cost;
mod failures;
mod jobs;
mod locations;
mod refusals;
mod server;
