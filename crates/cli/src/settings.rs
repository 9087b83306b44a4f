//! The layers of settings below the SQL file: configuration file, environment, command line.

use crate::arguments::{CheckArguments, RunArguments, SettingArguments};
use crate::console;
use headpond_config::{Config, options};
use headpond_launch::settings;
use headpond_state::Result;

/// The settings of a command.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) or [`Unsupported`](headpond_state::ErrorKind::Unsupported), naming
/// the option and where it was set.
pub(crate) fn load(arguments: &SettingArguments) -> Result<Config> {
    let config = settings::load(arguments.config.as_deref(), &arguments.define)?;
    console::hide(config.secrets());
    Ok(config)
}

/// The settings of a run: flags that stand for options win over `-D`.
///
/// # Errors
/// As [`load`].
pub(crate) fn load_for_run(arguments: &RunArguments) -> Result<Config> {
    let flags = [
        (options::PARALLELISM.key(), "--parallelism", &arguments.parallelism),
        (options::RESTORE.key(), "--restore", &arguments.restore),
    ];
    load_with_flags(&arguments.settings, &flags)
}

/// The settings of a check, as those of a run.
///
/// # Errors
/// As [`load`].
pub(crate) fn load_for_check(arguments: &CheckArguments) -> Result<Config> {
    load_with_flags(&arguments.settings, &[(options::PARALLELISM.key(), "--parallelism", &arguments.parallelism)])
}

/// The settings with those of flags: key, flag and value.
fn load_with_flags(arguments: &SettingArguments, flags: &[(&str, &'static str, &Option<String>)]) -> Result<Config> {
    let mut config = load(arguments)?;
    settings::set_flags(&mut config, flags)?;
    Ok(config)
}
