//! `headpond completions` and `headpond man-pages`: what a shell and `man` know of the command line, made from it.

use crate::arguments::{Arguments, CompletionsArguments, ManPagesArguments};
use crate::console;
use clap::CommandFactory;
use headpond_state::{Error, Result};

/// Prints a shell's completion script.
///
/// # Errors
/// As the output's.
pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "headpond", &mut script);
    console::data(&String::from_utf8_lossy(&script))
}

/// Writes a manual page for the binary and one for each command, into a directory that it creates.
///
/// # Errors
/// As the file system's, with the directory.
pub(crate) fn man_pages(arguments: &ManPagesArguments) -> Result<()> {
    let directory = &arguments.directory;
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Arguments::command(), directory))
        .map_err(|cause| Error::io("cannot write the manual pages", directory, cause))
}
