//! SIGINT and SIGTERM: the first asks the job to stop, the second stops the process.

use crate::console;
use headpond_runtime::JobControl;
use headpond_state::{Error, Result};
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

/// What a shell adds to a signal's number.
const SIGNAL_EXIT_CODE: i32 = 128;

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
/// [`ResourceExhausted`](headpond_state::ErrorKind::ResourceExhausted) when the system has no room for it.
pub(crate) fn watch(control: JobControl, has_checkpoints: bool) -> Result<()> {
    let failed = |cause| Error::exhausted("signals cannot be watched").because(cause);
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let watch = move || {
        for signal in signals.forever() {
            if control.is_stopping() {
                console::clear_status();
                // Nothing is cleaned up: that is what "at once" means, and what a crash would leave is all that is
                // left.
                signal_hook::low_level::exit(SIGNAL_EXIT_CODE + signal);
            }
            console::line(match has_checkpoints {
                true => "stopping: finishing what is being processed, then a last checkpoint (once more stops at once)",
                false => "stopping (once more stops at once)",
            });
            control.stop();
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(watch).map_err(failed)?;
    Ok(())
}
