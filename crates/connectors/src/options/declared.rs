//! The declarations.

use super::OptionGroup;
use headpond_config::{Character, Choice, ConfigOption, MemorySize, Verbatim, choices};
use std::time::Duration;

choices! {
    /// The form of a file.
    pub enum Format {
        /// Fields between delimiters.
        Csv = Choice::new("csv"),
        /// An object a line.
        Json = Choice::new("json"),
    }
}

choices! {
    /// How timestamps are written.
    pub enum TimestampFormat {
        /// `2013-01-01 10:00:00`.
        Sql = Choice::new("SQL"),
        /// `2013-01-01T10:00:00`.
        Iso = Choice::new("ISO-8601"),
    }
}

choices! {
    /// What follows from what in a made column.
    pub enum FieldKind {
        /// Nothing.
        Random = Choice::new("random"),
        /// A number from the one before.
        Sequence = Choice::new("sequence"),
    }
}

/// The option `connector`.
pub static CONNECTOR: ConfigOption<String> = ConfigOption::unset(
    "connector",
    "required",
    "What stands behind the table: `filesystem`, `datagen`, `nexmark`, `print`, `blackhole`, or a connector of your own.",
);

/// The option `path`.
pub static PATH: ConfigOption<Verbatim> = ConfigOption::unset(
    "path",
    "required",
    "A path or `file:` URI; a relative path begins at the current directory. To read: a file, a directory \
         (all files in it and below it, but none whose name begins with `.` or `_`), or a pattern with `*`, `?`, \
         `[…]` or `**`. Only regular files are read: what is behind a pipe, `/dev/stdin` or a device cannot be read \
         again from where a checkpoint was taken. To write: a directory, made if it is missing.",
);

/// The option `format`.
pub static FORMAT: ConfigOption<Format> = ConfigOption::unset(
    "format",
    "required",
    "The form of the files. `.gz` and `.zst` files are decompressed as they are read.",
);

/// The option `scan.rows-per-second`.
pub static SCAN_ROWS_PER_SECOND: ConfigOption<Option<u64>> = ConfigOption::unset(
    "scan.rows-per-second",
    "no limit",
    "Reads at most this many rows a second, all readers together.",
)
.at_least(1);

/// The option `scan.max-rows-per-file`.
pub static SCAN_MAX_ROWS_PER_FILE: ConfigOption<Option<u64>> =
    ConfigOption::unset("scan.max-rows-per-file", "all", "Reads at most this many rows of each file.");

/// The option `source.monitor-interval`.
pub static SOURCE_MONITOR_INTERVAL: ConfigOption<Option<Duration>> = ConfigOption::unset(
    "source.monitor-interval",
    "never",
    "How often to look for new files while the job runs. A table with it never ends. New files are read from their beginning, so move them \
         in whole (write them under a name that begins with `.` or `_`, or elsewhere on the same disk, then rename); what is \
         appended to a file after it was read to its end is not seen. A file that comes when event time has passed its rows has late rows. \
         Without it, or with `0`: the files that are there when the job starts.",
);

/// The option `sink.rolling-policy.file-size`.
pub static SINK_FILE_SIZE: ConfigOption<MemorySize> = ConfigOption::new(
    "sink.rolling-policy.file-size",
    "128 mb",
    "When written: at how many bytes a file is closed and the next one begun. A checkpoint closes it in any case.",
)
.at_least(1);

/// The option `sink.rolling-policy.rollover-interval`.
pub static SINK_ROLLOVER_INTERVAL: ConfigOption<Duration> = ConfigOption::new(
    "sink.rolling-policy.rollover-interval",
    "30 min",
    "When written: how long after it was begun a file is closed; and how long `auto-compaction` holds files back.",
);

/// The option `auto-compaction`.
pub static AUTO_COMPACTION: ConfigOption<bool> = ConfigOption::new(
    "auto-compaction",
    "false",
    "When written: whether files of several workers and checkpoints are put together. Committed files are held back, safe and unseen, until they          have `compaction.file-size` together, or the oldest has waited for `sink.rolling-policy.rollover-interval`, or the input has ended;          then they are published as one. A stopped job publishes what it has held back when it goes on.",
);

/// The option `compaction.file-size`.
pub static COMPACTION_FILE_SIZE: ConfigOption<Option<MemorySize>> = ConfigOption::unset(
    "compaction.file-size",
    "`sink.rolling-policy.file-size`",
    "When written: the size that files are put together to.",
)
.at_least(1);

/// The option `csv.header`.
pub static CSV_HEADER: ConfigOption<bool> = ConfigOption::new(
    "csv.header",
    "false",
    "Whether the first line of each file names the columns. Read: columns are found by name, in any order; \
         columns that the table does not declare are ignored. Written: each file begins with such a line. Without \
         it, columns are found by position and each row has exactly the table's columns.",
);

/// The option `csv.field-delimiter`.
pub static CSV_FIELD_DELIMITER: ConfigOption<Character> =
    ConfigOption::new("csv.field-delimiter", ",", "What separates fields.");

/// The option `csv.quote-character`.
pub static CSV_QUOTE_CHARACTER: ConfigOption<Character> = ConfigOption::new(
    "csv.quote-character",
    "\"",
    "What encloses a field that has delimiters, quotes or line breaks in it; within such a field it is doubled.",
);

/// The option `csv.disable-quote-character`.
pub static CSV_DISABLE_QUOTE_CHARACTER: ConfigOption<bool> = ConfigOption::new(
    "csv.disable-quote-character",
    "false",
    "Takes quotes as they are. Then no field can have a delimiter or a line break in it.",
);

/// The option `csv.escape-character`.
pub static CSV_ESCAPE_CHARACTER: ConfigOption<Option<Character>> =
    ConfigOption::unset("csv.escape-character", "none", "When read, the character behind this one stands for itself.");

/// The option `csv.null-literal`.
pub static CSV_NULL_LITERAL: ConfigOption<Option<Verbatim>> = ConfigOption::unset(
    "csv.null-literal",
    "nothing",
    "The text, without quotes, that is NULL. An empty field is NULL in any case, unless its column is a \
         `STRING`: there it is NULL only if this option is the empty text. Written, NULL is this text, or \
         nothing.",
);

/// The option `csv.allow-comments`.
pub static CSV_ALLOW_COMMENTS: ConfigOption<bool> =
    ConfigOption::new("csv.allow-comments", "false", "Whether lines that begin with `#` are left out.");

/// The option `csv.ignore-parse-errors`.
pub static CSV_IGNORE_PARSE_ERRORS: ConfigOption<bool> = ConfigOption::new(
    "csv.ignore-parse-errors",
    "false",
    "Whether a malformed row, or one of over 16 MiB, is left out and counted. Else it ends the job with file, line, \
         column and text.",
);

/// The option `json.ignore-parse-errors`.
pub static JSON_IGNORE_PARSE_ERRORS: ConfigOption<bool> = ConfigOption::new(
    "json.ignore-parse-errors",
    "false",
    "Whether a malformed row, or one of over 16 MiB, is left out and counted. Else it ends the job with file, line, \
         column and text.",
);

/// The option `json.timestamp-format.standard`.
pub static JSON_TIMESTAMP_FORMAT: ConfigOption<TimestampFormat> = ConfigOption::new(
    "json.timestamp-format.standard",
    "SQL",
    "How timestamps are written: `2013-01-01 10:00:00` or `2013-01-01T10:00:00`. Both are understood when read.",
);

/// The option `rows-per-second`.
pub static ROWS_PER_SECOND: ConfigOption<u64> =
    ConfigOption::new("rows-per-second", "10000", "Makes at most this many rows a second, all readers together.")
        .at_least(1);

/// The option `number-of-rows`.
pub static NUMBER_OF_ROWS: ConfigOption<Option<u64>> =
    ConfigOption::unset("number-of-rows", "no end", "The number of rows.");

/// The option `seed`.
pub static SEED: ConfigOption<i64> =
    ConfigOption::new("seed", "0", "What the random values follow from. Equal seeds give equal rows.");

/// The option `splits`.
pub static SPLITS: ConfigOption<Option<u64>> = ConfigOption::unset(
    "splits",
    "4 or 1",
    "The number of parts that readers share. Without it: 4 for `datagen` with `number-of-rows`, each a run of \
         rows; else 1. \
         It is part of a job's identity: a checkpoint is restored with the same number.",
)
.within(1, 4096);

/// The option `fields.<field>.kind`.
pub static FIELD_KIND: ConfigOption<FieldKind> = ConfigOption::new(
    "fields.<field>.kind",
    "random",
    "`random`, or `sequence`: start, start + 1, and so on; the table ends with the shortest sequence that has \
         an end. A timestamp is always `start` + row × `step` − up to `max-past`.",
);

/// The option `fields.<field>.min`.
pub static FIELD_MIN: ConfigOption<Option<String>> = ConfigOption::unset(
    "fields.<field>.min",
    "the type's least",
    "The least random value. Without it: the type's least; 0 for `FLOAT` and `DOUBLE` and with `skew`; \
         `2024-01-01` for a `DATE`.",
);

/// The option `fields.<field>.max`.
pub static FIELD_MAX: ConfigOption<Option<String>> = ConfigOption::unset(
    "fields.<field>.max",
    "the type's greatest",
    "The greatest random value. Without it: the type's greatest; 1 for `FLOAT` and `DOUBLE`; `2024-12-31` for \
         a `DATE`.",
);

/// The option `fields.<field>.start`.
pub static FIELD_START: ConfigOption<Option<String>> = ConfigOption::unset(
    "fields.<field>.start",
    "0, or `2024-01-01 00:00:00`",
    "The first number of a sequence, or the first timestamp.",
);

/// The option `fields.<field>.end`.
pub static FIELD_END: ConfigOption<Option<String>> =
    ConfigOption::unset("fields.<field>.end", "no end", "The last number of a sequence.");

/// The option `fields.<field>.length`.
pub static FIELD_LENGTH: ConfigOption<usize> =
    ConfigOption::new("fields.<field>.length", "16", "The length of random texts and bytes.").within(0, 65_536);

/// The option `fields.<field>.skew`.
pub static FIELD_SKEW: ConfigOption<Option<f64>> = ConfigOption::unset(
    "fields.<field>.skew",
    "all alike",
    "Makes small whole numbers frequent: min + (max − min + 1) × u^skew, u being even in [0, 1). 1 is even; 3 \
         gives the first percent of the numbers a fifth of the rows.",
)
.at_least(0);

/// The option `fields.<field>.null-rate`.
pub static FIELD_NULL_RATE: ConfigOption<f64> =
    ConfigOption::new("fields.<field>.null-rate", "0", "The share of NULLs.").within(0, 1);

/// The option `fields.<field>.step`.
pub static FIELD_STEP: ConfigOption<Duration> =
    ConfigOption::new("fields.<field>.step", "1 ms", "How much later each row's timestamp is than its predecessor's.");

/// The option `fields.<field>.max-past`.
pub static FIELD_MAX_PAST: ConfigOption<Duration> = ConfigOption::new(
    "fields.<field>.max-past",
    "0 ms",
    "How much earlier than its turn a row's timestamp may be: how far rows are out of order.",
);

/// The option `events.num`.
pub static NEXMARK_EVENTS: ConfigOption<Option<u64>> =
    ConfigOption::unset("events.num", "no end", "The number of events.");

/// The option `next-event.rate`.
pub static NEXMARK_RATE: ConfigOption<usize> =
    ConfigOption::new("next-event.rate", "10000", "The number of events in a second of event time.").at_least(1);

/// The option `first-event.rate`.
pub static NEXMARK_FIRST_RATE: ConfigOption<Option<usize>> = ConfigOption::unset(
    "first-event.rate",
    "`next-event.rate`",
    "The number of events in a second of event time at first, if it differs: between the two the rate swings in \
         a sine curve of ten minutes.",
)
.at_least(1);

/// The option `base-time`.
pub static NEXMARK_BASE_TIME: ConfigOption<u64> =
    ConfigOption::new("base-time", "1436918400000", "The time of the first event in milliseconds since the epoch.");

/// The option `person.proportion`.
pub static NEXMARK_PERSONS: ConfigOption<usize> = ConfigOption::new(
    "person.proportion",
    "1",
    "How many persons there are among `person.proportion` + `auction.proportion` + `bid.proportion` events.",
)
.at_least(1);

/// The option `auction.proportion`.
pub static NEXMARK_AUCTIONS: ConfigOption<usize> =
    ConfigOption::new("auction.proportion", "3", "How many auctions there are among them.").at_least(1);

/// The option `bid.proportion`.
pub static NEXMARK_BIDS: ConfigOption<usize> =
    ConfigOption::new("bid.proportion", "46", "How many bids there are among them.").at_least(1);

/// The option `out-of-order-group-size`.
pub static NEXMARK_DISORDER: ConfigOption<usize> = ConfigOption::new(
    "out-of-order-group-size",
    "1",
    "So many events at a time come in a mixed order; 1: all in order.",
)
.at_least(1);

/// The option `print-identifier`.
pub static PRINT_IDENTIFIER: ConfigOption<Option<Verbatim>> =
    ConfigOption::unset("print-identifier", "none", "A text that every line begins with, before `> `.");

/// The option `standard-error`.
pub static STANDARD_ERROR: ConfigOption<bool> =
    ConfigOption::new("standard-error", "false", "Whether to print to standard error.");

/// The options of every table.
pub static TABLE: OptionGroup =
    OptionGroup { name: "every table", doc: "What every table has.", options: &[CONNECTOR.definition()] };

/// The options of the connector `filesystem`.
pub static FILESYSTEM: OptionGroup = OptionGroup {
    name: "filesystem",
    doc: "Reads and writes files. Written files appear at a checkpoint, exactly once: \
          `part-<worker>-<checkpoint>` files (a further one of the same worker and checkpoint has `-1`, `-2` and so on behind it) \
          to which nothing is ever added, for a table without a primary key (a changing result has an extra first field, `op`: `+I`, `-U`, `+U` or `-D`); for one with a primary \
          key `current-<worker>-<checkpoint>` files, which together are the current rows: a newer one replaces \
          its predecessor. Names that begin with `.` or `_` are Headpond's bookkeeping. One `INSERT` of one \
          job writes to a directory, and one run of it at a time. A job that goes on from a checkpoint reads \
          each file on from where it was: a file may have grown and new ones may have come; one that has \
          become shorter, also while the job reads it, or is gone is refused, and one that was replaced by \
          another at least as long is not noticed.",
    options: &[
        PATH.definition(),
        FORMAT.definition(),
        SOURCE_MONITOR_INTERVAL.definition(),
        SCAN_ROWS_PER_SECOND.definition(),
        SCAN_MAX_ROWS_PER_FILE.definition(),
        SINK_FILE_SIZE.definition(),
        SINK_ROLLOVER_INTERVAL.definition(),
        AUTO_COMPACTION.definition(),
        COMPACTION_FILE_SIZE.definition(),
    ],
};

/// The options of the connector `datagen`.
pub static DATAGEN: OptionGroup = OptionGroup {
    name: "datagen",
    doc: "Makes rows. A row follows from `seed` and its number alone, so a restored job goes on with exactly \
          the rows that it would have had.",
    options: &[
        ROWS_PER_SECOND.definition(),
        NUMBER_OF_ROWS.definition(),
        SEED.definition(),
        SPLITS.definition(),
        FIELD_KIND.definition(),
        FIELD_MIN.definition(),
        FIELD_MAX.definition(),
        FIELD_START.definition(),
        FIELD_END.definition(),
        FIELD_LENGTH.definition(),
        FIELD_SKEW.definition(),
        FIELD_NULL_RATE.definition(),
        FIELD_STEP.definition(),
        FIELD_MAX_PAST.definition(),
    ],
};

/// The options of the connector `nexmark`.
pub static NEXMARK: OptionGroup = OptionGroup {
    name: "nexmark",
    doc: "Makes the events of the Nexmark benchmark: persons, auctions and bids. The table has all or some of the \
          columns `event_type` (`INT`: 0 person, 1 auction, 2 bid), `person`, `auction` and `bid`, with the types \
          that `examples/nexmark/` declares. An event follows from its number alone.",
    options: &[
        NEXMARK_EVENTS.definition(),
        NEXMARK_RATE.definition(),
        NEXMARK_FIRST_RATE.definition(),
        NEXMARK_BASE_TIME.definition(),
        NEXMARK_PERSONS.definition(),
        NEXMARK_AUCTIONS.definition(),
        NEXMARK_BIDS.definition(),
        NEXMARK_DISORDER.definition(),
        SCAN_ROWS_PER_SECOND.definition(),
        SPLITS.definition(),
    ],
};

/// The options of the connector `print`.
pub static PRINT: OptionGroup = OptionGroup {
    name: "print",
    doc: "Prints a line per change: `+I[UA, 4637]`. A table with a primary key prints its final rows instead, \
          sorted by key, when the input ends; if it never ends, it prints changes. What a job prints twice \
          after a crash stays printed.",
    options: &[PRINT_IDENTIFIER.definition(), STANDARD_ERROR.definition()],
};

/// The options of the connector `blackhole`.
pub static BLACKHOLE: OptionGroup =
    OptionGroup { name: "blackhole", doc: "Takes rows and forgets them: for measurements.", options: &[] };

/// The options of the format `csv`.
pub static CSV: OptionGroup = OptionGroup {
    name: "csv",
    doc: "One row a line, unless a quoted field has line breaks. Lines end with LF or CR LF; empty lines and a \
          byte order mark are left out. Texts are UTF-8. Numbers may have spaces around them. `BYTES` are \
          base64; `ROW`, `ARRAY` and `MAP` are JSON in a field.",
    options: &[
        CSV_HEADER.definition(),
        CSV_FIELD_DELIMITER.definition(),
        CSV_QUOTE_CHARACTER.definition(),
        CSV_DISABLE_QUOTE_CHARACTER.definition(),
        CSV_ESCAPE_CHARACTER.definition(),
        CSV_NULL_LITERAL.definition(),
        CSV_ALLOW_COMMENTS.definition(),
        CSV_IGNORE_PARSE_ERRORS.definition(),
    ],
};

/// The options of the format `json`.
pub static JSON: OptionGroup = OptionGroup {
    name: "json",
    doc: "One object a line. A field that is missing is NULL, one that the table does not declare is ignored; \
          of fields with the same name the last one counts. Whole numbers and decimals are read and written \
          digit by digit, never as floating-point numbers. Numbers may be texts. `NaN` and infinities are the \
          texts `NaN`, `Infinity` and `-Infinity`. `BYTES` are base64. A `STRING` takes any JSON value as it \
          is written.",
    options: &[JSON_IGNORE_PARSE_ERRORS.definition(), JSON_TIMESTAMP_FORMAT.definition()],
};

/// The connectors.
pub static CONNECTORS: [&OptionGroup; 5] = [&FILESYSTEM, &DATAGEN, &NEXMARK, &PRINT, &BLACKHOLE];

/// The formats of the connector `filesystem`.
pub static FORMATS: [&OptionGroup; 2] = [&CSV, &JSON];

/// All groups, in the order of the reference page.
pub fn groups() -> impl Iterator<Item = &'static OptionGroup> {
    std::iter::once(&TABLE).chain(CONNECTORS).chain(FORMATS)
}
