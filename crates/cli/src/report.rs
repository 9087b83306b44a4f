//! Errors for people, and their exit codes.

use crate::console;
use headpond_config::{ConfigError, ConfigErrorKind};
use headpond_connectors::print::NOBODY_READS;
use headpond_state::{CheckpointId, Error, ErrorKind};
use std::error::Error as _;
use std::io;
use std::process::ExitCode;

/// What a shell reports of a program that SIGPIPE ended, which is what happened in all but name.
const NOBODY_READS_EXIT_CODE: u8 = 141;

/// Says what went wrong and what to do, on stderr; the exit code for it. A reader that went away is not worth a word.
pub(crate) fn failure(error: &Error) -> ExitCode {
    if is_closed_pipe(error) {
        console::clear_status();
        return ExitCode::from(NOBODY_READS_EXIT_CODE);
    }
    console::line(format_args!("error: {error}"));
    let mut shown = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let text = deeper.to_string();
        // Most errors print their causes themselves.
        if !shown.contains(&text) {
            console::line(format_args!("  because: {text}"));
            shown.push_str(&text);
        }
        cause = deeper.source();
    }
    match error.way_out() {
        Some(hint) => console::line(format_args!("  hint: {hint}")),
        None if error.kind() == ErrorKind::Internal => {
            console::line("  hint: this is a bug in Headpond: please report it, with what was run");
        }
        None => {}
    }
    ExitCode::from(error.kind().exit_code())
}

/// Something the user should know, on stderr.
pub(crate) fn warning(text: impl std::fmt::Display) {
    console::line(format_args!("warning: {text}"));
}

/// An error about a setting.
pub(crate) fn config_error(error: &ConfigError) -> Error {
    let kind = match error.kind() {
        ConfigErrorKind::Unsupported => ErrorKind::Unsupported,
        _ => ErrorKind::Invalid,
    };
    let ours = Error::new(kind, error.to_string());
    match error.hint() {
        Some(hint) => ours.hint(hint),
        None => ours,
    }
}

/// Whether the reader of our output has gone away: `headpond … | head`.
pub(crate) fn is_closed_pipe(error: &Error) -> bool {
    let mut cause = error.source();
    while let Some(deeper) = cause {
        if deeper.downcast_ref::<io::Error>().is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe) {
            return error.kind() == ErrorKind::Closed;
        }
        cause = deeper.source();
    }
    // An error that has travelled between workers has its cause as text only.
    error.kind() == ErrorKind::Closed && error.message().starts_with(NOBODY_READS)
}

/// Warns of checkpoints that are damaged and were not taken.
pub(crate) fn skipped(skipped: &[(CheckpointId, String)], located: impl Fn(CheckpointId) -> String) {
    for (id, why) in skipped {
        warning(format_args!("checkpoint {id} is damaged and was skipped: {why} ({})", located(*id)));
    }
}
