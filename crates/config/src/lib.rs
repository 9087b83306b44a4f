//! The options of Headpond: one registry, five layers, and the reference page made from them.
//!
//! An *option* has a key, a type, a default and a text that explains it; [`options`] declares each of them once. What a
//! user says about an option is a *setting*, and it comes from a *layer*. A higher layer wins:
//!
//! | layer | example |
//! |---|---|
//! | default | the registry |
//! | file | `headpond.toml`: `state.backend.type = "rocksdb"` |
//! | environment | `HEADPOND_STATE_BACKEND_TYPE=rocksdb` |
//! | statement | `SET 'state.backend.type' = 'rocksdb'` |
//! | command line | `-D state.backend.type=rocksdb` |
//!
//! Every setting remembers where it was written ([`Origin`]), so a message can name the place. Keys are Flink's where
//! Flink has one; *aliases* let people paste what they know from elsewhere ([`Alias`]). A key nobody knows is an error
//! that names the nearest one, and an option that cannot matter here is accepted with a warning ([`Support`]).
//!
//! ```
//! use headpond_config::{Config, Origin, options};
//! use std::time::Duration;
//!
//! let mut config = Config::default();
//! config.define("state.backend=hashmap")?;
//! config.set("execution.checkpointing.interval", "200 ms", Origin::statement(1, 1))?;
//!
//! assert_eq!(config.get(&options::CHECKPOINTING_INTERVAL), Duration::from_millis(200));
//! assert_eq!(config.get(&options::STATE_BACKEND_TYPE), options::StateBackendType::Memory);
//! let misspelt = config.define("state.backend.typ=rocksdb").unwrap_err();
//! assert_eq!(misspelt.hint(), Some("did you mean 'state.backend.type'?"));
//! # Ok::<(), headpond_config::ConfigError>(())
//! ```
//!
//! In reading order: [`options`], [`option`], [`value`], [`units`], [`config`], [`origin`],
//! [`reference`](mod@reference).

pub mod config;
mod environment;
mod error;
mod file;
mod flink_cluster;
mod nearest_key;
pub mod option;
pub mod options;
pub mod origin;
pub mod reference;
mod secret;
mod secret_words;
pub mod units;
pub mod value;

pub use config::{Config, Setting, Warning};
pub use environment::variable_name;
pub use error::{ConfigError, ConfigErrorKind};
pub use nearest_key::nearest_key;
pub use option::{Alias, ConfigOption, Definition, Support};
pub use origin::{Layer, Origin};
pub use secret::{Secrets, is_secret, mask};
pub use secret_words::{MASK, mask_urls};
pub use units::MemorySize;
pub use value::{Character, Choice, Location, OptionValue, Rejection, Value, ValueType, Verbatim};
