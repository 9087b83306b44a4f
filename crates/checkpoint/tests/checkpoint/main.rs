//! Behaviour through the public surface, one scenario per test.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod collection;
mod commit_and_restore;
mod conformance;
mod crash_at_every_store_call;
mod failures;
mod hostile;
mod locations_and_names;
mod manifest_bytes;
mod one_owner;
mod rewinds;
mod sinks;
mod support;
mod verify_and_show;
