//! The layers of settings of every program: configuration file, environment, command line.

use crate::failpoint::CRASH_VARIABLE;
use headpond_config::{Config, ConfigError, ConfigErrorKind, Origin};
use headpond_state::{Error, ErrorKind, Result};
use std::path::Path;

/// The configuration file that is read when none is named, if it is there.
const DEFAULT_FILE: &str = "headpond.toml";
/// What is logged, in the syntax of `tracing`'s filters: `info`, `headpond_runtime=debug`, …
pub const LOG_VARIABLE: &str = "HEADPOND_LOG";
/// Variables that begin like options and are none.
const RESERVED: [&str; 2] = [CRASH_VARIABLE, LOG_VARIABLE];

/// The settings of a configuration file, else of `headpond.toml` if that is there; of the environment; and of arguments
/// of `-D`.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) or [`Unsupported`](headpond_state::ErrorKind::Unsupported), naming
/// the option and where it was set.
pub fn load(file: Option<&Path>, define: &[String]) -> Result<Config> {
    let mut config = Config::default();
    let file = file.or_else(|| Some(Path::new(DEFAULT_FILE)).filter(|file| file.exists()));
    if let Some(file) = file {
        config.load_file(file).map_err(|error| config_error(&error))?;
    }
    config.load_environment(std::env::vars_os(), &RESERVED).map_err(|error| config_error(&error))?;
    for argument in define {
        config.define(argument).map_err(|error| config_error(&error))?;
    }
    Ok(config)
}

/// Sets what flags of the command line set: key, flag and value.
///
/// # Errors
/// As [`load`].
pub fn set_flags(config: &mut Config, flags: &[(&str, &'static str, &Option<String>)]) -> Result<()> {
    for (key, flag, value) in flags {
        if let Some(value) = value {
            config.set(key, value, Origin::flag(*flag)).map_err(|error| config_error(&error))?;
        }
    }
    Ok(())
}

/// An error about a setting.
pub fn config_error(error: &ConfigError) -> Error {
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
