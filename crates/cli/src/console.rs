//! Standard output and standard error.
//!
//! Data goes to stdout, where a reader that has gone away is an error the caller must see. Everything else goes to
//! stderr, where nothing is worth failing for. On a terminal the last line of stderr may be the progress, which is
//! written over.

use headpond_state::{Error, Result};
use parking_lot::Mutex;
use std::fmt;
use std::io::{self, Write};

/// Whether the last line on stderr is progress, to be written over.
static STATUS_SHOWN: Mutex<bool> = Mutex::new(false);

const CLEAR: &str = "\r\x1b[K";
/// The terminal cuts the line off at its edge instead of breaking it: a broken line cannot be written over.
const NO_WRAP: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";

/// Writes a line to stderr.
pub(crate) fn line(text: impl fmt::Display) {
    let mut shown = STATUS_SHOWN.lock();
    let clear = if std::mem::take(&mut *shown) { CLEAR } else { "" };
    let _ = writeln!(io::stderr().lock(), "{clear}{text}");
}

/// Writes the progress line over the one before.
pub(crate) fn status(text: impl fmt::Display) {
    let mut shown = STATUS_SHOWN.lock();
    *shown = true;
    let mut stderr = io::stderr().lock();
    let _ = write!(stderr, "{NO_WRAP}{CLEAR}{text}{WRAP}").and_then(|()| stderr.flush());
}

/// Takes the progress line away.
pub(crate) fn clear_status() {
    let mut shown = STATUS_SHOWN.lock();
    if std::mem::take(&mut *shown) {
        let mut stderr = io::stderr().lock();
        let _ = write!(stderr, "{CLEAR}").and_then(|()| stderr.flush());
    }
}

/// Writes data to stdout.
///
/// # Errors
/// [`BrokenPipe`](headpond_state::ErrorKind::BrokenPipe) when nobody reads it any more, else as the output's.
pub(crate) fn data(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|cause| match cause.kind() {
        io::ErrorKind::BrokenPipe => Error::broken_pipe("nobody reads the output any more").because(cause),
        _ => Error::io("cannot write the output", "standard output", cause),
    })
}

/// Where log lines go: stderr, the progress line taken away first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogOutput;

impl Write for LogOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        clear_status();
        io::stderr().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
