//! The layers of settings below the SQL file: configuration file, environment, command line.

use crate::arguments::{CheckArguments, RunArguments, SettingArguments};
use crate::console;
use crate::failpoint::CRASH_VARIABLE;
use crate::logging::LOG_VARIABLE;
use crate::report::config_error;
use headpond_config::{Config, Origin, options};
use headpond_state::Result;
use std::path::Path;

/// The configuration file that is read when none is named, if it is there.
const DEFAULT_FILE: &str = "headpond.toml";
/// Variables that begin like options and are none.
const RESERVED: [&str; 2] = [CRASH_VARIABLE, LOG_VARIABLE];

/// The settings of a command.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) or [`Unsupported`](headpond_state::ErrorKind::Unsupported), naming
/// the option and where it was set.
pub(crate) fn load(arguments: &SettingArguments) -> Result<Config> {
    let mut config = Config::default();
    let file = arguments.config.as_deref().or_else(|| Some(Path::new(DEFAULT_FILE)).filter(|file| file.exists()));
    if let Some(file) = file {
        config.load_file(file).map_err(|error| config_error(&error))?;
    }
    config.load_environment(std::env::vars_os(), &RESERVED).map_err(|error| config_error(&error))?;
    for argument in &arguments.define {
        config.define(argument).map_err(|error| config_error(&error))?;
    }
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
    for (key, flag, value) in flags {
        if let Some(value) = value {
            config.set(key, value, Origin::flag(*flag)).map_err(|error| config_error(&error))?;
        }
    }
    Ok(config)
}
