//! Settings in layers.

use crate::environment::{PREFIX, key_of, known_keys, variable_name};
use crate::file;
use crate::flink_cluster;
use crate::nearest_key::nearest_key;
use crate::option::{ConfigOption, Definition, Support};
use crate::options::{self, registry};
use crate::secret::{Secrets, mask};
use crate::secret_words::{MASK, mask_urls};
use crate::value::{OptionValue, Value};
use crate::{ConfigError, ConfigErrorKind, Layer, Origin};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;

/// Bytes of the longest configuration file.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The settings of a run.
///
/// Reading an option gives the value of its highest layer, else its default.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// By key and layer: within a key, the last entry is the one that counts.
    entries: BTreeMap<&'static str, BTreeMap<Layer, Entry>>,
    /// What was said about options that only a Flink cluster has, by key.
    of_flink_cluster: BTreeMap<String, Origin>,
}

#[derive(Debug, Clone)]
struct Entry {
    value: Value,
    origin: Origin,
    /// The key that the user wrote, an alias perhaps.
    written_key: String,
}

/// The value of an option, and where it comes from.
#[derive(Debug, Clone)]
pub struct Setting<'c> {
    definition: &'static Definition,
    value: Option<Value>,
    origin: &'c Origin,
    written_key: &'c str,
}

/// A setting that is accepted and changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The key as it was written.
    pub key: String,
    /// Why it changes nothing.
    pub message: String,
    /// Where it was written.
    pub origin: Origin,
}

impl Config {
    /// The value of an option.
    ///
    /// # Panics
    ///
    /// If the registry's default does not have the option's type, which a test of this crate rules out.
    pub fn get<T: OptionValue>(&self, option: &ConfigOption<T>) -> T {
        let default;
        let value = match self.entry(option.key()) {
            Some(entry) => Some(&entry.value),
            None => {
                default = option.definition().default_value();
                default.as_ref()
            }
        };
        T::from_value(value).expect("a value was read with the option's type when it was set")
    }

    /// The value of an option, with its origin.
    pub fn setting<T: OptionValue>(&self, option: &'static ConfigOption<T>) -> Setting<'_> {
        self.setting_of(option.definition())
    }

    /// Whether some layer other than the default sets the option.
    pub fn is_set<T: OptionValue>(&self, option: &ConfigOption<T>) -> bool {
        self.entry(option.key()).is_some()
    }

    /// Every option with its value and origin, in the order of the registry.
    pub fn settings(&self) -> impl Iterator<Item = Setting<'_>> {
        registry().map(|definition| self.setting_of(definition))
    }

    /// Settings that are accepted and change nothing, for the user to know. A setting that asks for what happens anyway
    /// is not among them.
    pub fn warnings(&self) -> Vec<Warning> {
        let differs = |setting: &Setting<'_>| setting.value != setting.definition.default_value();
        let of_ours = self.settings().filter(differs).filter_map(|setting| match setting.definition.support() {
            Support::NoEffect(why) => Some(Warning {
                key: setting.written_key.to_owned(),
                message: format!("option '{}' has no effect: {why}", setting.written_key),
                origin: setting.origin.clone(),
            }),
            _ => None,
        });
        of_ours.chain(self.cluster_warning()).collect()
    }

    /// One note for all options that only a Flink cluster has.
    fn cluster_warning(&self) -> Option<Warning> {
        let (first, origin) = self.of_flink_cluster.first_key_value()?;
        let keys: Vec<String> = self.of_flink_cluster.keys().map(|key| format!("'{key}'")).collect();
        let message = match keys.as_slice() {
            [key] => format!("option {key} has no effect: it is for a Flink cluster"),
            keys => format!("these options have no effect, they are for a Flink cluster: {}", keys.join(", ")),
        };
        Some(Warning { key: first.clone(), message, origin: origin.clone() })
    }

    /// Sets an option, in the layer that `origin` belongs to. The key may be an alias.
    ///
    /// # Errors
    ///
    /// If nobody knows the key, the value is not one of the option's, or the option is refused.
    pub fn set(&mut self, key: &str, text: &str, origin: Origin) -> Result<(), ConfigError> {
        self.set_at(key, text, origin.clone()).map_err(|error| error.with_key(key).at(origin))
    }

    /// Sets an option from the argument of `-D`: `key=value`.
    ///
    /// # Errors
    ///
    /// As [`Config::set`], and if there is no `=`.
    pub fn define(&mut self, argument: &str) -> Result<(), ConfigError> {
        let origin = Origin::flag("-D");
        match argument.split_once('=') {
            Some((key, text)) => self.set(key.trim(), text, origin),
            None => Err(ConfigError::invalid(format!("'{}' is not a setting", masked_argument(argument)))
                .with_hint("write -D key=value")
                .at(origin)),
        }
    }

    /// Drops what `SET` said about an option. The key may be an alias.
    ///
    /// # Errors
    ///
    /// If nobody knows the key.
    pub fn reset(&mut self, key: &str) -> Result<(), ConfigError> {
        if self.of_flink_cluster.remove(key).is_some() {
            return Ok(());
        }
        let (definition, _) = find(key)?;
        if let Some(layers) = self.entries.get_mut(definition.key()) {
            layers.remove(&Layer::Statement);
        }
        Ok(())
    }

    /// Drops everything that `SET` said.
    pub fn reset_all(&mut self) {
        for layers in self.entries.values_mut() {
            layers.remove(&Layer::Statement);
        }
        self.of_flink_cluster.retain(|_, origin| origin.layer() != Layer::Statement);
    }

    /// Reads a configuration file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is not TOML, an option stands there twice, or a setting is wrong.
    pub fn load_file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let text = read(path).map_err(|error| {
            let message = format!("cannot read the configuration file '{}': {error}", path.display());
            ConfigError::new(ConfigErrorKind::Unreadable, message)
        })?;
        self.load_text(path, &text)
    }

    /// Reads the text of a configuration file; `path` is for messages.
    ///
    /// # Errors
    ///
    /// As [`Config::load_file`].
    pub fn load_text(&mut self, path: &Path, text: &str) -> Result<(), ConfigError> {
        // A parser may quote what it does not understand.
        let settings =
            file::settings(path, text).map_err(|error| error.rewritten(|text_of| Secrets::of(text).hide(text_of)))?;
        for setting in settings {
            self.set_once(&setting.key, &setting.text, setting.origin)?;
        }
        Ok(())
    }

    /// Reads environment variables, as `std::env::vars_os()` gives them: those whose name begins with `HEADPOND_`,
    /// except the `reserved` ones, which mean something else to the caller.
    ///
    /// # Errors
    ///
    /// If a variable belongs to no option, or a setting is wrong.
    pub fn load_environment(
        &mut self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        reserved: &[&str],
    ) -> Result<(), ConfigError> {
        for (variable, text) in variables {
            let Some(variable) = variable.to_str().filter(|variable| variable.starts_with(PREFIX)) else { continue };
            if reserved.contains(&variable) {
                continue;
            }
            let origin = Origin::Environment { variable: variable.to_owned() };
            let Some(text) = text.to_str() else {
                let message = format!("the environment variable {variable} is not UTF-8");
                return Err(ConfigError::invalid(message).with_key(variable).at(origin));
            };
            let Some(key) = key_of(variable) else {
                let names: Vec<String> = known_keys().map(variable_name).collect();
                let message = format!("no option belongs to the environment variable {variable}");
                let error = ConfigError::new(ConfigErrorKind::UnknownKey, message).with_key(variable);
                return Err(with_nearest(error, variable, names.iter().map(String::as_str)).at(origin));
            };
            self.set_once(key, text, origin)?;
        }
        Ok(())
    }

    /// The values that must not be shown.
    pub fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        let entries = self.entries.iter().flat_map(|(key, layers)| layers.values().map(move |entry| (key, entry)));
        for (key, entry) in entries {
            if crate::is_secret(key) {
                secrets.add(&entry.value.to_string());
            }
        }
        secrets
    }

    /// Checks options against each other; call it when all settings are there.
    ///
    /// # Errors
    ///
    /// If two options contradict each other.
    pub fn check(&self) -> Result<(), ConfigError> {
        let parallelism = self.get(&options::PARALLELISM);
        let max_parallelism = self.get(&options::MAX_PARALLELISM);
        if parallelism > max_parallelism as usize {
            let (key, max_key) = (options::PARALLELISM.key(), options::MAX_PARALLELISM.key());
            let message = format!("'{key}' is {parallelism}, more than '{max_key}', which is {max_parallelism}");
            return Err(ConfigError::invalid(message)
                .with_hint(format!("lower '{key}', or raise '{max_key}' before the job first runs"))
                .with_key(key)
                .at(self.setting(&options::PARALLELISM).origin().clone()));
        }
        Ok(())
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.get(key)?.values().next_back()
    }

    fn setting_of(&self, definition: &'static Definition) -> Setting<'_> {
        match self.entry(definition.key()) {
            Some(Entry { value, origin, written_key }) => {
                Setting { definition, value: Some(value.clone()), origin, written_key }
            }
            None => Setting {
                definition,
                value: definition.default_value(),
                origin: &Origin::Default,
                written_key: definition.key(),
            },
        }
    }

    /// Sets an option in a layer that has no order, where a second setting has no reason to win.
    fn set_once(&mut self, key: &str, text: &str, origin: Origin) -> Result<(), ConfigError> {
        if let Ok((definition, _)) = find(key) {
            let layers = self.entries.get(definition.key());
            if let Some(other) = layers.and_then(|layers| layers.get(&origin.layer())) {
                let message = format!("'{key}' and '{}' set the same option", other.written_key);
                return Err(ConfigError::invalid(message)
                    .with_hint(format!("keep one of them; the other stands here: {}", other.origin))
                    .with_key(key)
                    .at(origin));
            }
        }
        self.set(key, text, origin)
    }

    fn set_at(&mut self, key: &str, text: &str, origin: Origin) -> Result<(), ConfigError> {
        let (definition, unit) = match find(key) {
            Err(_) if flink_cluster::has(key) => {
                self.of_flink_cluster.insert(key.to_owned(), origin);
                return Ok(());
            }
            found => found?,
        };
        let value = if !unit.is_empty() && text.trim().parse::<u64>().is_ok() {
            definition.parse(&format!("{} {unit}", text.trim()))?
        } else {
            definition.parse(text)?
        };
        let entry = Entry { value, written_key: key.to_owned(), origin };
        self.entries.entry(definition.key()).or_default().insert(entry.origin.layer(), entry);
        Ok(())
    }
}

impl Setting<'_> {
    /// What the registry knows about the option.
    pub fn definition(&self) -> &'static Definition {
        self.definition
    }

    /// The option's key.
    pub fn key(&self) -> &'static str {
        self.definition.key()
    }

    /// The value; `None` if the option has no default and is not set.
    pub fn value(&self) -> Option<&Value> {
        self.value.as_ref()
    }

    /// Where it was written.
    pub fn origin(&self) -> &Origin {
        self.origin
    }

    /// The key that the user wrote, an alias perhaps.
    pub fn written_key(&self) -> &str {
        self.written_key
    }

    /// Whether the value is the registry's default.
    pub fn is_default(&self) -> bool {
        *self.origin == Origin::Default
    }

    /// The value as it may be shown: a secret is masked, a missing value is empty.
    pub fn shown_value(&self) -> String {
        match &self.value {
            Some(_) if self.definition.is_secret() => MASK.to_owned(),
            Some(value) => mask_urls(&value.to_string()).into_owned(),
            None => String::new(),
        }
    }
}

/// `key = value (origin)`.
impl fmt::Display for Setting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {} ({}", self.key(), self.shown_value(), self.origin)?;
        if self.written_key != self.key() {
            write!(f, ", as {}", self.written_key)?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.origin)
    }
}

/// An argument of `-D` that is none, as it may be shown.
fn masked_argument(argument: &str) -> String {
    const SET: &str = "SET ";
    mask(&format!("{SET}{argument}")).split_off(SET.len())
}

/// A configuration file's text. What is not a file could be read for ever.
fn read(path: &Path) -> std::io::Result<String> {
    use std::io::{Error, ErrorKind, Read};
    if !std::fs::metadata(path)?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut text = String::new();
    std::fs::File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(Error::new(ErrorKind::InvalidData, "it is far longer than a file of settings"));
    }
    Ok(text)
}

/// The option that a key or an alias names, and the unit of bare numbers if the alias implies one.
fn find(key: &str) -> Result<(&'static Definition, &'static str), ConfigError> {
    for definition in registry() {
        if definition.key() == key {
            return Ok((definition, ""));
        }
        if let Some(alias) = definition.aliases().iter().find(|alias| alias.key == key) {
            return Ok((definition, alias.unit));
        }
    }
    let error = ConfigError::new(ConfigErrorKind::UnknownKey, format!("unknown option '{key}'")).with_key(key);
    Err(with_nearest(error, key, known_keys()))
}

fn with_nearest<'a>(error: ConfigError, wanted: &str, names: impl Iterator<Item = &'a str>) -> ConfigError {
    match nearest_key(wanted, names) {
        Some(name) => error.with_hint(format!("did you mean '{name}'?")),
        None => error.with_hint("docs/reference/configuration.md lists every option"),
    }
}
