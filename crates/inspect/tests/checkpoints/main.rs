//! Checkpoints made by hand, looked into.

mod comparing;
mod exporting;
mod forms;
mod queries;
mod support;
mod tables;
