//! From settings to a running job: what the binary `headpond` and programs in Rust have in common.
//!
//! In reading order: [`settings`] (the layers below a program), [`job_options`] (from settings to the runtime's
//! options), [`backend`] and [`stores`] (backends and stores by name), [`local_state`] and [`memory`] (what a backend
//! is given on this machine), [`signals`], [`control`] (talking to running jobs), [`figures`], [`failpoint`].
//!
//! This is below what talks to people: it writes nothing to a terminal, and but for a second signal it ends no process.

pub mod backend;
pub mod control;
pub mod failpoint;
pub mod figures;
pub mod job_options;
pub mod local_state;
pub mod memory;
pub mod settings;
pub mod signals;
pub mod stores;
