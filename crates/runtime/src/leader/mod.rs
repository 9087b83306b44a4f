//! The leader: what a job has once, however many processes run it.
//!
//! It owns the job's storage, restores, decides ticks and cuts, commits, and ends the job.

pub(crate) mod commit;
pub(crate) mod coordinator;
pub(crate) mod enumerator;
pub(crate) mod job_control;
pub(crate) mod outputs;
pub mod restore;
