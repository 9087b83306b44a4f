//! How SQL behaves.

use super::section::options;
use crate::{Choice, ConfigOption, choices};
use std::time::Duration;

choices! {
    /// What happens to a whole number that grows beyond its type.
    pub enum IntegerOverflow {
        /// The job fails.
        Fail = Choice::new("fail"),
        /// It wraps around, as in Flink.
        Wrap = Choice::new("wrap"),
    }
}

options! {
    "SQL",
    "How SQL behaves.";

    /// How long state that nobody touches is kept.
    STATE_TTL: Duration = ConfigOption::new(
        "table.exec.state.ttl",
        "0 ms",
        "How long the state of a key is kept after it was last written; 0 keeps it for ever.",
    );
    /// The time zone of the session.
    LOCAL_TIME_ZONE: String = ConfigOption::new(
        "table.local-time-zone",
        "UTC",
        "The time zone in which `TIMESTAMP_LTZ` is read from and shown as text without a zone: `UTC`, or a name such as \
         `America/New_York`. Flink takes the machine's zone; Headpond gives the same result everywhere.",
    );
    /// How long a silent source holds back event time.
    SOURCE_IDLE_TIMEOUT: Duration = ConfigOption::new(
        "table.exec.source.idle-timeout",
        "0 ms",
        "How long a split of a source (a file, a partition) that has nothing to read holds back event time; 0 is for ever. Event time then \
         goes on without it, until it has rows again.",
    );
    /// Whether changes are gathered before they are emitted.
    MINI_BATCH_ENABLED: bool = ConfigOption::new(
        "table.exec.mini-batch.enabled",
        "false",
        "Whether aggregates, deduplication and Top-N gather the changes of a key over several ticks and emit what is left \
         of them. State is written at once; changes of a key within a batch are gathered in any case.",
    );
    /// How long changes are gathered.
    MINI_BATCH_ALLOW_LATENCY: Duration = ConfigOption::new(
        "table.exec.mini-batch.allow-latency",
        "0 ms",
        "How long a mini-batch gathers changes at most; 0 is until the end of the tick. A checkpoint and the end of the \
         input end it too.",
    );
    /// How many rows are gathered.
    MINI_BATCH_SIZE: Option<u64> = ConfigOption::unset(
        "table.exec.mini-batch.size",
        "no limit",
        "How many rows each operator of a worker takes into a mini-batch at most.",
    );
    /// Whether sources repeat changes.
    CDC_EVENTS_DUPLICATE: bool = ConfigOption::new(
        "table.exec.source.cdc-events-duplicate",
        "false",
        "Whether a source that gives all changes of its rows may give some again, after a restart of its own, say. For a table with a \
         primary key the last row of each key is then kept, and what is given again is left out.",
    );
    /// What happens to a whole number that grows beyond its type.
    INTEGER_OVERFLOW: IntegerOverflow = ConfigOption::new(
        "table.exec.integer-overflow",
        "fail",
        "What arithmetic, casts and sums do with a whole number that grows beyond its type: `fail`, or `wrap` around without a word, as \
         Flink does.",
    );
    /// Where rows go that come too late for their windows.
    LATE_ROWS_TABLE: Option<String> = ConfigOption::unset(
        "table.exec.late-rows.table",
        "they are counted and dropped",
        "The table that gets the rows that come too late for all of their windows. Each of its columns is filled from the \
         column of that name of the table that the windows are over.",
    );
}
