//! SIGINT and SIGTERM: the first asks the job to stop, the second stops the process.

use headpond_runtime::JobControl;
use headpond_state::{Error, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::thread;

/// What a shell adds to a signal's number.
const SIGNAL_EXIT_CODE: i32 = 128;

/// Watches for signals until the process ends. `on_stop` is told when the job is asked to stop, `on_exit` when the
/// process is about to exit.
///
/// # Errors
/// [`ResourceExhausted`](headpond_state::ErrorKind::ResourceExhausted) when the system has no room for it.
pub fn watch(
    control: JobControl,
    on_stop: impl Fn() + Send + 'static,
    on_exit: impl Fn() + Send + 'static,
) -> Result<()> {
    let failed = |cause| Error::exhausted("signals cannot be watched").because(cause);
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let watch = move || {
        for signal in signals.forever() {
            if control.is_stopping() {
                on_exit();
                // Nothing is cleaned up: that is what "at once" means, and what a crash would leave is all that is
                // left.
                signal_hook::low_level::exit(SIGNAL_EXIT_CODE + signal);
            }
            on_stop();
            control.stop();
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(watch).map_err(failed)?;
    Ok(())
}
