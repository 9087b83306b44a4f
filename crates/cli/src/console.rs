//! Standard output and standard error.
//!
//! Data goes to stdout, where a reader that has gone away is an error the caller must see. Everything else goes to
//! stderr, where nothing is worth failing or waiting for: a line that cannot be written is dropped and counted. On a
//! terminal the last line of stderr may be the progress, which is written over.
//!
//! Whatever is written here for people is [printable](headpond_state::printable), and nothing on stderr has a
//! [secret](hide) in it.

use headpond_config::Secrets;
use headpond_state::printable::{Lines, OneLine};
use headpond_state::{Error, Result};
use parking_lot::{Mutex, MutexGuard};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fmt;
use std::io::{self, Write};
use std::panic::PanicHookInfo;

static STDERR: Mutex<Stderr> = Mutex::new(Stderr { status_shown: false, stuck: false, dropped: 0, said: 0 });
static SECRETS: Mutex<Option<Secrets>> = Mutex::new(None);

const CLEAR: &str = "\r\x1b[K";
/// The terminal cuts the line off at its edge instead of breaking it: a broken line cannot be written over.
const NO_WRAP: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";

/// What a pipe takes without waiting when it says that it takes something.
const AT_ONCE_BYTES: usize = 4096;
/// How long a line waits for a reader that is slow, not dead: once, until it reads again.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
const NO_PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// What is known of stderr.
struct Stderr {
    /// Whether its last line is progress, to be written over.
    status_shown: bool,
    /// Whether it took nothing for as long as a line waits.
    stuck: bool,
    /// Lines that could not be written.
    dropped: u64,
    /// Those of them that were told about.
    said: u64,
}

/// The width of a terminal that does not tell its own, in characters.
const USUAL_WIDTH: usize = 80;

/// How many characters a line of the terminal holds.
pub(crate) fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stderr());
    size.ok().map(|size| usize::from(size.ws_col)).filter(|width| *width > 0).unwrap_or(USUAL_WIDTH)
}

/// Writes a line to stderr.
pub(crate) fn line(text: impl fmt::Display) {
    let text = hidden(&text.to_string());
    stderr().line(&text);
}

/// Writes the progress line over the one before.
pub(crate) fn status(text: impl fmt::Display) {
    let text = hidden(&text.to_string());
    let mut stderr = stderr();
    // A later one says the same and more.
    stderr.status_shown = stderr.write(&format!("{NO_WRAP}{CLEAR}{}{WRAP}", OneLine(&text)));
}

/// Takes the progress line away.
pub(crate) fn clear_status() {
    let mut stderr = stderr();
    if std::mem::take(&mut stderr.status_shown) {
        stderr.write(CLEAR);
    }
}

/// How many lines of the log, of progress and of messages could not be written so far.
pub(crate) fn dropped_lines() -> u64 {
    stderr().dropped
}

/// Keeps these out of everything on stderr from now on.
pub(crate) fn hide(secrets: Secrets) {
    SECRETS.lock().get_or_insert_default().extend(secrets);
}

/// Says on stderr that a thread has panicked.
pub(crate) fn panicked(panic: &PanicHookInfo<'_>) {
    let current = std::thread::current();
    let text = format!("thread '{}' {panic}", current.name().unwrap_or("without a name"));
    // Not waited for: the thread may have panicked while it wrote.
    if let Some(mut stderr) = STDERR.try_lock() {
        stderr.line(&hidden(&text));
    }
}

/// Writes text for people, or JSON, to stdout.
///
/// # Errors
/// [`BrokenPipe`](headpond_state::ErrorKind::BrokenPipe) when nobody reads it any more, else as the output's.
pub(crate) fn data(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    write!(stdout, "{}", Lines(text)).and_then(|()| stdout.flush()).map_err(|cause| match cause.kind() {
        io::ErrorKind::BrokenPipe => Error::broken_pipe("nobody reads the output any more").because(cause),
        _ => Error::io("cannot write the output", "standard output", cause),
    })
}

/// Where log lines go: stderr, the progress line taken away first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogOutput;

impl Write for LogOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        line(text.strip_suffix('\n').unwrap_or(&text));
        // Whether or not somebody reads it.
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stderr {
    fn line(&mut self, text: &str) {
        let clear = if std::mem::take(&mut self.status_shown) { CLEAR } else { "" };
        let missing = self.dropped - self.said;
        if missing > 0 && self.write(&format!("({missing} lines could not be written here)\n")) {
            self.said += missing;
        }
        if !self.write(&format!("{clear}{}\n", Lines(text))) {
            self.dropped += 1;
        }
    }

    /// Writes a text, unless nobody takes it.
    fn write(&mut self, text: &str) -> bool {
        let stderr = rustix::stdio::stderr();
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            if !self.is_writable() {
                return false;
            }
            match rustix::io::write(stderr, &rest[..rest.len().min(AT_ONCE_BYTES)]) {
                Ok(0) => return false,
                Ok(written) => rest = &rest[written..],
                Err(Errno::INTR) => {}
                // Another program has taken the room; what says that there is some says it again when there is.
                Err(Errno::AGAIN) if self.stuck => return false,
                Err(Errno::AGAIN) => self.stuck = true,
                Err(_) => return false,
            }
        }
        true
    }

    /// Waits until stderr takes something. A reader that goes on reading is waited for; one that does not, once.
    fn is_writable(&mut self) -> bool {
        let stderr = rustix::stdio::stderr();
        let mut fds = [PollFd::new(&stderr, PollFlags::OUT)];
        let patience = if self.stuck { &NO_PATIENCE } else { &PATIENCE };
        self.stuck = match poll(&mut fds, Some(patience)) {
            Ok(0) => true,
            // What fails is said by the write.
            Ok(_) | Err(_) => false,
        };
        !self.stuck
    }
}

/// The text without secrets.
fn hidden(text: &str) -> String {
    match SECRETS.lock().as_ref() {
        Some(secrets) => secrets.hide(text),
        None => headpond_config::mask_urls(text).into_owned(),
    }
}

fn stderr() -> MutexGuard<'static, Stderr> {
    STDERR.lock()
}
