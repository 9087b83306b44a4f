//! When a writer closes a file and begins the next.

use super::compaction::CompactionPolicy;
use crate::options::{Options, declared};
use crate::table::TableDescription;
use headpond_runtime::{Error, Result};
use headpond_state::Context;
use std::time::Duration;

/// When a writer closes a file. A checkpoint closes it in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RollingPolicy {
    /// At how many bytes.
    pub(super) file_size: u64,
    /// How long after it was begun.
    pub(super) rollover_interval: Duration,
}

/// The policies of a table: of its writers, and of its commits.
pub(super) fn policies(table: &TableDescription) -> Result<(RollingPolicy, Option<CompactionPolicy>)> {
    let options = Options::new(table);
    let file_size = options.get(&declared::SINK_FILE_SIZE)?;
    let rollover_interval = options.get(&declared::SINK_ROLLOVER_INTERVAL)?;
    let compacted_size = options.get(&declared::COMPACTION_FILE_SIZE)?.unwrap_or(file_size);
    let compaction = options
        .get(&declared::AUTO_COMPACTION)?
        .then_some(CompactionPolicy { file_size: compacted_size.bytes(), rollover_interval });
    Ok((RollingPolicy { file_size: file_size.bytes(), rollover_interval }, compaction))
}

/// Checks that a table whose files are its current rows is not asked to roll them.
pub(super) fn check_current(table: &TableDescription) -> Result<()> {
    let rolling = [
        declared::SINK_FILE_SIZE.key(),
        declared::SINK_ROLLOVER_INTERVAL.key(),
        declared::AUTO_COMPACTION.key(),
        declared::COMPACTION_FILE_SIZE.key(),
    ];
    match rolling.into_iter().find(|key| table.options.contains_key(*key)) {
        Some(key) => Err(Error::invalid(format!(
            "table {} has a primary key: its files are its current rows, and each checkpoint replaces them",
            table.name
        ))
        .with(Context::Option, key)
        .hint("leave out the option, or the primary key to have a file of changes behind the other")),
        None => Ok(()),
    }
}
