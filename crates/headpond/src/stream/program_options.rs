//! The options a program takes on its command line.

use headpond_config::{Config, options};
use headpond_launch::settings;
use headpond_state::{Error, Remedy, Result};
use std::path::PathBuf;

/// The options that a program takes as the binary `headpond` does. A program with a command line of its own adds them
/// to it with `#[command(flatten)]`; [`headpond::run`](crate::run) is for those without.
#[derive(Debug, Clone, Default, clap::Args)]
#[non_exhaustive]
pub struct ProgramOptions {
    /// Set an option, as docs/reference/configuration.md lists them; may be repeated.
    #[arg(short = 'D', value_name = "KEY=VALUE")]
    pub define: Vec<String>,
    /// Read options from this file instead of headpond.toml.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Run with this many workers: the option 'parallelism.default'.
    #[arg(long, value_name = "N")]
    pub parallelism: Option<String>,
    /// Begin from 'latest', 'none', or the checkpoint or savepoint at a path or URL.
    #[arg(long, value_name = "WHAT")]
    pub restore: Option<String>,
    /// Accept that a sink that cannot take back its output publishes some of it twice.
    #[arg(long)]
    pub allow_duplicates: bool,
    /// Leave behind state of the checkpoint that the program has no place for.
    #[arg(long)]
    pub allow_dropped_state: bool,
    /// Let a function that the checkpoint does not know begin without state.
    #[arg(long)]
    pub allow_empty_state: bool,
}

/// The ways out of an error, as a program with these options has them.
pub(crate) fn ways_out(error: &Error) -> Option<String> {
    error.ways_out(|remedy| match remedy {
        Remedy::StartAnew => {
            "start anew with `--restore none` (the output is then made again from the beginning)".to_owned()
        }
        Remedy::RestoreAnother => "restore another checkpoint with `--restore PATH`".to_owned(),
        Remedy::AllowDuplicates => "accept with `--allow-duplicates` that records are published again".to_owned(),
        Remedy::AllowDroppedState => "leave that state behind with `--allow-dropped-state`".to_owned(),
        Remedy::AllowEmptyState => "let it start empty with `--allow-empty-state`".to_owned(),
        other => other.to_string(),
    })
}

impl ProgramOptions {
    /// The settings of all layers.
    pub(super) fn config(&self) -> Result<Config> {
        let mut config = settings::load(self.config.as_deref(), &self.define)?;
        let flags = [
            (options::PARALLELISM.key(), "--parallelism", &self.parallelism),
            (options::RESTORE.key(), "--restore", &self.restore),
        ];
        settings::set_flags(&mut config, &flags)?;
        Ok(config)
    }
}
