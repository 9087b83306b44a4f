//! Errors for people, and their exit codes.

use crate::console;
use headpond_state::{CheckpointId, Error, ErrorKind, Remedy};
use std::error::Error as _;
use std::process::ExitCode;

/// How many errors that were found with another are shown.
const FURTHER_MAX: usize = 19;

/// Says what went wrong and what to do, on stderr; the exit code for it. A reader that went away is not worth a word.
pub(crate) fn failure(error: &Error) -> ExitCode {
    if error.kind() == ErrorKind::BrokenPipe {
        console::clear_status();
        return ExitCode::from(error.kind().exit_code());
    }
    told(error);
    let further = error.further();
    further.iter().take(FURTHER_MAX).for_each(told);
    if further.len() > FURTHER_MAX {
        console::line(format_args!("and {} further errors", further.len() - FURTHER_MAX));
    }
    ExitCode::from(error.kind().exit_code())
}

/// Says what went wrong and what to do.
fn told(error: &Error) {
    let mut shown = error.alone().to_string();
    console::line(format_args!("error: {shown}"));
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
    match ways_out(error) {
        Some(hint) => console::line(format_args!("  hint: {hint}")),
        None if error.kind() == ErrorKind::Internal => {
            console::line("  hint: this is a bug in Headpond: please report it, with what was run");
        }
        None => {}
    }
}

/// What is wrong with the command line, or the help that was asked for; the exit code for it.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    let masked = headpond_config::mask(&text);
    if error.use_stderr() && masked != text {
        console::line(masked.trim_end());
    } else {
        // With colours. A terminal that is gone has no use for either.
        let _ = error.print();
    }
    ExitCode::from(error.exit_code() as u8)
}

/// Something the user should know, on stderr.
pub(crate) fn warning(text: impl std::fmt::Display) {
    console::line(format_args!("warning: {text}"));
}

/// What the user can do about an error, by the flags of this program.
pub(crate) fn ways_out(error: &Error) -> Option<String> {
    error.ways_out(|remedy| match remedy {
        Remedy::StartAnew => {
            "start anew with `--restore none` (the output is then made again from the beginning)".into()
        }
        Remedy::RestoreAnother => "restore another checkpoint with `--restore PATH`".into(),
        Remedy::AllowDuplicates => "accept with `--allow-duplicates` that rows are published again".into(),
        Remedy::AllowDroppedState => "leave that state behind with `--allow-dropped-state`".into(),
        Remedy::AllowEmptyState => "let it start empty with `--allow-empty-state`".into(),
        Remedy::TakeOver => "see that the job does not run, then say `--take-over`".into(),
        other => other.to_string(),
    })
}

/// Warns of checkpoints that are damaged and were not taken.
pub(crate) fn skipped(skipped: &[(CheckpointId, String)], located: impl Fn(CheckpointId) -> String) {
    for (id, why) in skipped {
        warning(format_args!("checkpoint {id} is damaged and was skipped: {why} ({})", located(*id)));
    }
}
