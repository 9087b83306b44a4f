//! What a user hears when a signal asks the job to stop.

use crate::console;
use headpond_launch::signals;
use headpond_runtime::JobControl;
use headpond_state::{Error, Result};
use signal_hook::consts::SIGXFSZ;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Lets a write beyond the limit of file sizes (`ulimit -f`) fail, instead of ending the process without a word.
///
/// # Errors
/// As [`watch`].
pub(crate) fn ignore_file_size_limit() -> Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))
        .map(drop)
        .map_err(|cause| Error::exhausted("signals cannot be watched").because(cause))
}

/// Watches for signals until the process ends.
///
/// # Errors
/// As [`signals::watch`].
pub(crate) fn watch(control: JobControl, has_checkpoints: bool) -> Result<()> {
    let on_stop = move || {
        console::line(match has_checkpoints {
            true => "stopping: finishing what is being processed, then a last checkpoint (once more stops at once)",
            false => "stopping (once more stops at once)",
        });
    };
    signals::watch(control, on_stop, console::clear_status)
}
