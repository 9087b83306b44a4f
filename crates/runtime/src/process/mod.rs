//! A process: workers, readers and I/O threads.

pub(crate) mod dataflow;
pub(crate) mod in_flight;
pub(crate) mod message;
mod reader;
pub(crate) mod restore;
pub(crate) mod shared;
pub(crate) mod uploads;
