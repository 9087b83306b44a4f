//! The command line of `headpond`: it runs streaming SQL files, explains them and looks into checkpoints.
//!
//! This crate is the edge. It is the only one that names concrete state backends, and the only one that writes to a
//! terminal: data goes to stdout, everything else to stderr. `docs/reference/cli.md` describes what a user sees.
//!
//! [`main`] is all of it, for the binary and for programs that add [connectors](Connectors) of their own.
//!
//! In reading order: `arguments`, `settings` and `script` (what to run), `run` (the job's life: `signals`, `progress`,
//! `figures`, `process`), `check`, `jobs`, `savepoints`, `checkpoints`, `state`, `report` (errors and exit codes),
//! `console`, `format`, `logging`, `clock`; `shell` gives what a shell and `man` know of all this.

mod arguments;
mod check;
mod checkpoints;
mod clock;
mod console;
mod explain;
mod figures;
mod format;
mod jobs;
mod logging;
mod process;
mod progress;
mod report;
mod run;
mod savepoints;
mod script;
mod settings;
mod shell;
mod signals;
mod state;

pub use headpond_connectors::Connectors;

use arguments::{Arguments, Command};
use clap::Parser;
use std::process::ExitCode;

/// Does what the program's arguments say, and returns its exit code. Tables of scripts may name these connectors.
///
/// It is to be called once, by a program's `main`: it installs a panic hook, a logger and signal handlers.
pub fn main(connectors: &Connectors) -> ExitCode {
    std::panic::set_hook(Box::new(console::panicked));
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return report::usage(&error),
    };
    let started = signals::ignore_file_size_limit()
        .and_then(|()| clock::check())
        .and_then(|()| logging::start(arguments.verbose));
    let done = started.and_then(|()| match &arguments.command {
        Command::Run(run) => run::run(run, connectors),
        Command::Explain(explain) => explain::explain(explain, connectors),
        Command::Check(check) => check::check(check, connectors),
        Command::Checkpoint(command) => checkpoints::execute(command),
        Command::Savepoint(command) => savepoints::execute(command),
        Command::Jobs(arguments) => jobs::list(arguments),
        Command::State(command) => state::execute(command),
        Command::Completions(arguments) => shell::completions(arguments),
        Command::ManPages(arguments) => shell::man_pages(arguments),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report::failure(&error),
    }
}
