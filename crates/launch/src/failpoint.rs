//! Crashes on demand, for tests that kill a job between two steps of a checkpoint.

use headpond_checkpoint::Failpoints;
use headpond_runtime::checkpointing::{AFTER_SINK_COMMIT, BEFORE_SINK_COMMIT, DURING_SINK_COMMIT};
use headpond_state::{Context, Error, Result};
use std::ffi::OsStr;
use std::sync::atomic::{AtomicU64, Ordering};

/// `<point>` or `<point>:<n>`: the process aborts when it reaches the point for the nth time.
pub const CRASH_VARIABLE: &str = "HEADPOND_CRASH_AT";

/// The failpoints that the environment asks for: none, unless [`CRASH_VARIABLE`] is set.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) for a point that nobody knows.
pub fn from_environment() -> Result<Failpoints> {
    match std::env::var_os(CRASH_VARIABLE) {
        Some(wanted) => crash_at(&wanted),
        None => Ok(Failpoints::default()),
    }
}

fn crash_at(wanted: &OsStr) -> Result<Failpoints> {
    let wanted = wanted.to_string_lossy();
    let (name, count) = match wanted.split_once(':') {
        Some((name, count)) => (name, count.parse().ok().filter(|count| *count > 0)),
        None => (wanted.as_ref(), Some(1)),
    };
    let point = points().find(|point| *point == name);
    let (Some(point), Some(count)) = (point, count) else {
        let known: Vec<&str> = points().collect();
        return Err(Error::invalid(format!("the environment variable {CRASH_VARIABLE} names no point to crash at"))
            .with(Context::Text, &wanted)
            .hint(format!("write <point> or <point>:<n>, n from 1; the points are {}", known.join(", "))));
    };
    let left = AtomicU64::new(count);
    Ok(Failpoints::new(move |reached| {
        if reached == point && left.fetch_sub(1, Ordering::Relaxed) == 1 {
            std::process::abort();
        }
    }))
}

fn points() -> impl Iterator<Item = &'static str> {
    Failpoints::NAMES.into_iter().chain([BEFORE_SINK_COMMIT, DURING_SINK_COMMIT, AFTER_SINK_COMMIT])
}
