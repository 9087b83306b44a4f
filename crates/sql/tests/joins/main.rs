//! Joins against an independent computation.

#[path = "../common/mod.rs"]
mod common;

mod bounds;
mod expiry;
mod interval;
mod planning;
mod regular;
mod rows;
mod windows;
