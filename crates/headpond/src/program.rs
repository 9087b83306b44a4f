//! A program's life from its command line to its exit code.

use crate::stream::internal::ways_out;
use crate::stream::{JobExecutionResult, ProgramOptions, StreamExecutionEnvironment};
use clap::Parser;
use headpond_runtime::Ending;
use headpond_state::{Error, ErrorKind, Result};
use std::error::Error as _;
use std::process::ExitCode;

/// The command line of a program that has none of its own.
#[derive(Debug, Parser)]
#[command(about = "A streaming job on Headpond")]
struct Arguments {
    #[command(flatten)]
    options: ProgramOptions,
    /// What the program itself takes.
    arguments: Vec<String>,
}

/// Runs a program: takes [options](ProgramOptions) from the command line, lets `describe` make the streams (it is given
/// what else stands there), and executes the job under this name. How it went is said on standard error, and by the
/// exit code, which is that of the binary `headpond` for the same error.
///
/// ```no_run
/// use headpond::prelude::*;
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     headpond::run("numbers", |env, _| {
///         env.from_iter(0..1_000_000_u64).filter(|n| n % 7 == 0).print();
///         Ok(())
///     })
/// }
/// ```
pub fn run(job_name: &str, describe: impl FnOnce(&StreamExecutionEnvironment, &[String]) -> Result<()>) -> ExitCode {
    let Arguments { options, arguments } = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // The text of `--help`, or what is wrong with the command line.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(1));
        }
    };
    let ran = StreamExecutionEnvironment::with_options(&options).and_then(|env| {
        describe(&env, &arguments)?;
        env.execute(job_name)
    });
    match ran {
        Ok(result) => {
            eprintln!("{}", ended(job_name, &result));
            ExitCode::SUCCESS
        }
        Err(error) => {
            report(&error);
            ExitCode::from(error.kind().exit_code())
        }
    }
}

fn ended(job_name: &str, result: &JobExecutionResult) -> String {
    let from = result.restored_from.map(|id| format!(", resumed from checkpoint {id}")).unwrap_or_default();
    let last = result.metrics.checkpoints().last.map(|last| last.id);
    let rows = result.metrics.rows_read();
    match (result.ending, last) {
        (Ending::Finished, _) => format!("job {job_name} has finished: {rows} records read{from}"),
        (Ending::Stopped, Some(id)) => {
            format!(
                "job {job_name} stopped after checkpoint {id}: {rows} records read{from}; the next run goes on from there"
            )
        }
        (Ending::Stopped, None) => format!("job {job_name} stopped: {rows} records read{from}"),
    }
}

fn report(error: &Error) {
    let mut shown = error.to_string();
    eprintln!("error: {shown}");
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let text = deeper.to_string();
        if !shown.contains(&text) {
            eprintln!("  because: {text}");
            shown.push_str(&text);
        }
        cause = deeper.source();
    }
    match ways_out(error) {
        Some(hint) => eprintln!("  hint: {hint}"),
        None if error.kind() == ErrorKind::Internal => {
            eprintln!("  hint: this is a bug in Headpond: please report it, with what was run");
        }
        None => {}
    }
}
