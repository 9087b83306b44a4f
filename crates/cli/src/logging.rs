//! Log lines on stderr, and the allocator's background thread.

use crate::console::LogOutput;
use headpond_launch::settings::LOG_VARIABLE;
use headpond_state::{Context, Error, Result};
use tracing_subscriber::EnvFilter;

/// Begins to log: warnings, and more with `-v`. [`LOG_VARIABLE`] wins over both.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) for a filter that is none.
pub(crate) fn start(verbose: u8) -> Result<()> {
    let level = match verbose {
        0 => "warn",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let wanted = std::env::var(LOG_VARIABLE).unwrap_or_else(|_| level.to_owned());
    let filter = EnvFilter::try_new(&wanted).map_err(|cause| {
        Error::invalid(format!("the environment variable {LOG_VARIABLE} is not a filter of log lines"))
            .with(Context::Text, &wanted)
            .because(cause)
            .hint("write a level (error, warn, info, debug, trace), or levels by module: warn,headpond_runtime=debug")
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        // Its own complaint that a line cannot be written would panic where it cannot be written either.
        .log_internal_errors(false)
        .with_writer(|| LogOutput)
        .init();
    // Without it, freed memory goes back to the system only when its thread allocates again.
    if let Err(error) = tikv_jemalloc_ctl::background_thread::write(true) {
        tracing::debug!(%error, "the allocator has no background thread");
    }
    Ok(())
}
