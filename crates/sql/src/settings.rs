//! The options that planning depends on.

use crate::mini_batch::MiniBatch;
use headpond_config::{Config, ConfigError, ConfigErrorKind, options};
use headpond_functions::Settings;
use headpond_rows::RowFormat;
use headpond_state::ttl::TtlConfig;
use headpond_state::{Context, Error, Result};
use std::sync::Arc;

/// The options that planning depends on.
#[derive(Debug, Clone)]
pub(crate) struct JobSettings {
    /// `table.local-time-zone`.
    pub(crate) time_zone: String,
    /// What functions follow: the time zone, and `table.exec.integer-overflow`.
    pub(crate) functions: Arc<Settings>,
    /// `table.exec.state.ttl`.
    pub(crate) ttl: Option<TtlConfig>,
    /// `state.serialization.format`.
    pub(crate) format: RowFormat,
    /// `table.exec.mini-batch.*`, where it is enabled.
    pub(crate) mini_batch: Option<MiniBatch>,
    /// `table.exec.late-rows.table`.
    pub(crate) late_rows: Option<String>,
    /// `table.exec.source.cdc-events-duplicate`.
    pub(crate) cdc_events_duplicate: bool,
}

impl JobSettings {
    /// Reads them.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for a time zone that does not exist.
    pub(crate) fn of(config: &Config) -> Result<Self> {
        let time_zone = config.get(&options::LOCAL_TIME_ZONE);
        let wraps = config.get(&options::INTEGER_OVERFLOW) == options::IntegerOverflow::Wrap;
        let known = time_zone.parse::<arrow_array::timezone::Tz>().ok();
        let functions = known.and_then(|_| Settings::new(&time_zone, wraps)).ok_or_else(|| {
            Error::invalid(format!("there is no time zone `{time_zone}`"))
                .hint("use a name such as America/New_York, or an offset such as +02:00")
                .with(Context::Option, options::LOCAL_TIME_ZONE.key())
        })?;
        let functions = Arc::new(functions);
        let ttl_ms = i64::try_from(config.get(&options::STATE_TTL).as_millis()).unwrap_or(i64::MAX);
        let format = match config.get(&options::STATE_SERIALIZATION_FORMAT) {
            options::SerializationFormat::Row => RowFormat::Row,
            options::SerializationFormat::Protobuf => RowFormat::Protobuf,
            options::SerializationFormat::Avro => RowFormat::Avro,
        };
        let mini_batch = config.get(&options::MINI_BATCH_ENABLED).then(|| MiniBatch {
            latency_ms: i64::try_from(config.get(&options::MINI_BATCH_ALLOW_LATENCY).as_millis()).unwrap_or(i64::MAX),
            rows: config.get(&options::MINI_BATCH_SIZE).unwrap_or(u64::MAX),
        });
        let ttl = (ttl_ms > 0).then(|| TtlConfig::new(ttl_ms));
        let late_rows = config.get(&options::LATE_ROWS_TABLE);
        let cdc_events_duplicate = config.get(&options::CDC_EVENTS_DUPLICATE);
        Ok(JobSettings { time_zone, functions, ttl, format, mini_batch, late_rows, cdc_events_duplicate })
    }
}

/// An error of an option as ours.
pub(crate) fn option_error(error: &ConfigError) -> Error {
    let ours = match error.kind() {
        ConfigErrorKind::Unsupported => Error::unsupported(error.message()),
        _ => Error::invalid(error.message()),
    };
    let ours = match error.key() {
        Some(key) => ours.with(Context::Option, key),
        None => ours,
    };
    match error.hint() {
        Some(hint) => ours.hint(hint),
        None => ours,
    }
}
