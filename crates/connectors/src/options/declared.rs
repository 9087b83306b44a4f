//! The declarations.

use super::{OptionGroup, TableOption, ValueType};

macro_rules! options {
    ($($name:ident = $key:literal, $value_type:expr, $default:expr, $doc:literal;)*) => {
        $(
            #[doc = concat!("The option `", $key, "`.")]
            pub const $name: TableOption =
                TableOption { key: $key, value_type: $value_type, default: $default, doc: $doc };
        )*
    };
}

options! {
    CONNECTOR = "connector", ValueType::Word(&["filesystem", "datagen", "nexmark", "print", "blackhole"]), None,
        "What stands behind the table. Required.";

    PATH = "path", ValueType::Text, None,
        "A path or `file:` URI; a relative path begins at the current directory. To read: a file, a directory \
         (all files in it and below it, but none whose name begins with `.` or `_`), or a pattern with `*`, `?`, \
         `[…]` or `**`. Only regular files are read: what is behind a pipe, `/dev/stdin` or a device cannot be read \
         again from where a checkpoint was taken. To write: a directory, made if it is missing. Required.";
    FORMAT = "format", ValueType::Word(&["csv", "json"]), None,
        "The form of the files. `.gz` and `.zst` files are decompressed as they are read. Required.";
    SCAN_ROWS_PER_SECOND = "scan.rows-per-second", ValueType::Int(1), None,
        "Reads at most this many rows a second, all readers together. Without it: as fast as the job goes.";
    SCAN_MAX_ROWS_PER_FILE = "scan.max-rows-per-file", ValueType::Int(0), None,
        "Reads at most this many rows of each file. Without it: all.";

    SOURCE_MONITOR_INTERVAL = "source.monitor-interval", ValueType::Duration, None,
        "How often to look for new files while the job runs. A table with it never ends. New files are read from their beginning, so move them \
         in whole (write them under a name that begins with `.` or `_`, or elsewhere on the same disk, then rename); what is \
         appended to a file after it was read to its end is not seen. A file that comes when event time has passed its rows has late rows. \
         Without it, or with `0`: the files that are there when the job starts.";

    CSV_HEADER = "csv.header", ValueType::Bool, Some("false"),
        "Whether the first line of each file names the columns. Read: columns are found by name, in any order; \
         columns that the table does not declare are ignored. Written: each file begins with such a line. Without \
         it, columns are found by position and each row has exactly the table's columns.";
    CSV_FIELD_DELIMITER = "csv.field-delimiter", ValueType::Char, Some(","),
        "What separates fields.";
    CSV_QUOTE_CHARACTER = "csv.quote-character", ValueType::Char, Some("\""),
        "What encloses a field that has delimiters, quotes or line breaks in it; within such a field it is doubled.";
    CSV_DISABLE_QUOTE_CHARACTER = "csv.disable-quote-character", ValueType::Bool, Some("false"),
        "Takes quotes as they are. Then no field can have a delimiter or a line break in it.";
    CSV_ESCAPE_CHARACTER = "csv.escape-character", ValueType::Char, None,
        "When read, the character behind this one stands for itself. Without it: none does.";
    CSV_NULL_LITERAL = "csv.null-literal", ValueType::Text, None,
        "The text, without quotes, that is NULL. An empty field is NULL in any case, unless its column is a \
         `STRING`: there it is NULL only if this option is the empty text. Written, NULL is this text, or \
         nothing.";
    CSV_ALLOW_COMMENTS = "csv.allow-comments", ValueType::Bool, Some("false"),
        "Whether lines that begin with `#` are left out.";
    CSV_IGNORE_PARSE_ERRORS = "csv.ignore-parse-errors", ValueType::Bool, Some("false"),
        "Whether a malformed row, or one of over 16 MiB, is left out and counted. Else it ends the job with file, line, \
         column and text.";

    JSON_IGNORE_PARSE_ERRORS = "json.ignore-parse-errors", ValueType::Bool, Some("false"),
        "Whether a malformed row, or one of over 16 MiB, is left out and counted. Else it ends the job with file, line, \
         column and text.";
    JSON_TIMESTAMP_FORMAT = "json.timestamp-format.standard", ValueType::Word(&["SQL", "ISO-8601"]), Some("SQL"),
        "How timestamps are written: `2013-01-01 10:00:00` or `2013-01-01T10:00:00`. Both are understood when read.";

    ROWS_PER_SECOND = "rows-per-second", ValueType::Int(1), Some("10000"),
        "Makes at most this many rows a second, all readers together.";
    NUMBER_OF_ROWS = "number-of-rows", ValueType::Int(0), None,
        "The number of rows. Without it: no end.";
    SEED = "seed", ValueType::Int(i64::MIN), Some("0"),
        "What the random values follow from. Equal seeds give equal rows.";
    SPLITS = "splits", ValueType::Int(1), None,
        "The number of parts that readers share. Without it: 4 for `datagen` with `number-of-rows`, each a run of \
         rows; else 1. \
         It is part of a job's identity: a checkpoint is restored with the same number.";
    FIELD_KIND = "fields.<field>.kind", ValueType::Word(&["random", "sequence"]), Some("random"),
        "`random`, or `sequence`: start, start + 1, and so on; the table ends with the shortest sequence that has \
         an end. A timestamp is always `start` + row × `step` − up to `max-past`.";
    FIELD_MIN = "fields.<field>.min", ValueType::Text, None,
        "The least random value. Without it: the type's least; 0 for `FLOAT` and `DOUBLE` and with `skew`; \
         `2024-01-01` for a `DATE`.";
    FIELD_MAX = "fields.<field>.max", ValueType::Text, None,
        "The greatest random value. Without it: the type's greatest; 1 for `FLOAT` and `DOUBLE`; `2024-12-31` for \
         a `DATE`.";
    FIELD_START = "fields.<field>.start", ValueType::Text, None,
        "The first number of a sequence (default 0), or the first timestamp (default `2024-01-01 00:00:00`).";
    FIELD_END = "fields.<field>.end", ValueType::Text, None,
        "The last number of a sequence. Without it: no end.";
    FIELD_LENGTH = "fields.<field>.length", ValueType::Int(0), Some("16"),
        "The length of random texts and bytes.";
    FIELD_SKEW = "fields.<field>.skew", ValueType::Float, None,
        "Makes small whole numbers frequent: min + (max − min + 1) × u^skew, u being even in [0, 1). 1 is even; 3 \
         gives the first percent of the numbers a fifth of the rows.";
    FIELD_NULL_RATE = "fields.<field>.null-rate", ValueType::Float, Some("0"),
        "The share of NULLs, from 0 to 1.";
    FIELD_STEP = "fields.<field>.step", ValueType::Duration, Some("1 ms"),
        "How much later each row's timestamp is than its predecessor's.";
    FIELD_MAX_PAST = "fields.<field>.max-past", ValueType::Duration, Some("0 ms"),
        "How much earlier than its turn a row's timestamp may be: how far rows are out of order.";

    NEXMARK_EVENTS = "events.num", ValueType::Int(0), None,
        "The number of events. Without it: no end.";
    NEXMARK_RATE = "next-event.rate", ValueType::Int(1), Some("10000"),
        "The number of events in a second of event time.";
    NEXMARK_FIRST_RATE = "first-event.rate", ValueType::Int(1), None,
        "The number of events in a second of event time at first, if it differs: between the two the rate swings in \
         a sine curve of ten minutes.";
    NEXMARK_BASE_TIME = "base-time", ValueType::Int(0), Some("1436918400000"),
        "The time of the first event in milliseconds since the epoch.";
    NEXMARK_PERSONS = "person.proportion", ValueType::Int(1), Some("1"),
        "How many persons there are among `person.proportion` + `auction.proportion` + `bid.proportion` events.";
    NEXMARK_AUCTIONS = "auction.proportion", ValueType::Int(1), Some("3"),
        "How many auctions there are among them.";
    NEXMARK_BIDS = "bid.proportion", ValueType::Int(1), Some("46"),
        "How many bids there are among them.";
    NEXMARK_DISORDER = "out-of-order-group-size", ValueType::Int(1), Some("1"),
        "So many events at a time come in a mixed order; 1: all in order.";

    PRINT_IDENTIFIER = "print-identifier", ValueType::Text, None,
        "A text that every line begins with, before `> `.";
    STANDARD_ERROR = "standard-error", ValueType::Bool, Some("false"),
        "Whether to print to standard error.";
}

/// The options of every table.
pub const TABLE: OptionGroup = OptionGroup { name: "every table", doc: "What every table has.", options: &[CONNECTOR] };

/// The options of the connector `filesystem`.
pub const FILESYSTEM: OptionGroup = OptionGroup {
    name: "filesystem",
    doc: "Reads and writes files. Written files appear at a checkpoint, exactly once: \
          `part-<worker>-<checkpoint>` files to which nothing is ever added, for a table without a primary key \
          (a changing result has an extra first field, `op`: `+I`, `-U`, `+U` or `-D`); for one with a primary \
          key `current-<worker>-<checkpoint>` files, which together are the current rows: a newer one replaces \
          its predecessor. Names that begin with `.` or `_` are Headpond's bookkeeping. One `INSERT` of one \
          job writes to a directory, and one run of it at a time. A job that goes on from a checkpoint reads \
          each file on from where it was: a file may have grown and new ones may have come; one that has \
          become shorter, also while the job reads it, or is gone is refused, and one that was replaced by \
          another at least as long is not noticed.",
    options: &[PATH, FORMAT, SOURCE_MONITOR_INTERVAL, SCAN_ROWS_PER_SECOND, SCAN_MAX_ROWS_PER_FILE],
};

/// The options of the connector `datagen`.
pub const DATAGEN: OptionGroup = OptionGroup {
    name: "datagen",
    doc: "Makes rows. A row follows from `seed` and its number alone, so a restored job goes on with exactly \
          the rows that it would have had.",
    options: &[
        ROWS_PER_SECOND,
        NUMBER_OF_ROWS,
        SEED,
        SPLITS,
        FIELD_KIND,
        FIELD_MIN,
        FIELD_MAX,
        FIELD_START,
        FIELD_END,
        FIELD_LENGTH,
        FIELD_SKEW,
        FIELD_NULL_RATE,
        FIELD_STEP,
        FIELD_MAX_PAST,
    ],
};

/// The options of the connector `nexmark`.
pub const NEXMARK: OptionGroup = OptionGroup {
    name: "nexmark",
    doc: "Makes the events of the Nexmark benchmark: persons, auctions and bids. The table has all or some of the \
          columns `event_type` (`INT`: 0 person, 1 auction, 2 bid), `person`, `auction` and `bid`, with the types \
          that `examples/nexmark/` declares. An event follows from its number alone.",
    options: &[
        NEXMARK_EVENTS,
        NEXMARK_RATE,
        NEXMARK_FIRST_RATE,
        NEXMARK_BASE_TIME,
        NEXMARK_PERSONS,
        NEXMARK_AUCTIONS,
        NEXMARK_BIDS,
        NEXMARK_DISORDER,
        SCAN_ROWS_PER_SECOND,
        SPLITS,
    ],
};

/// The options of the connector `print`.
pub const PRINT: OptionGroup = OptionGroup {
    name: "print",
    doc: "Prints a line per change: `+I[UA, 4637]`. A table with a primary key prints its final rows instead, \
          sorted by key, when the input ends; if it never ends, it prints changes. What a job prints twice \
          after a crash stays printed.",
    options: &[PRINT_IDENTIFIER, STANDARD_ERROR],
};

/// The options of the connector `blackhole`.
pub const BLACKHOLE: OptionGroup =
    OptionGroup { name: "blackhole", doc: "Takes rows and forgets them: for measurements.", options: &[] };

/// The options of the format `csv`.
pub const CSV: OptionGroup = OptionGroup {
    name: "csv",
    doc: "One row a line, unless a quoted field has line breaks. Lines end with LF or CR LF; empty lines and a \
          byte order mark are left out. Texts are UTF-8. Numbers may have spaces around them. `BYTES` are \
          base64; `ROW`, `ARRAY` and `MAP` are JSON in a field.",
    options: &[
        CSV_HEADER,
        CSV_FIELD_DELIMITER,
        CSV_QUOTE_CHARACTER,
        CSV_DISABLE_QUOTE_CHARACTER,
        CSV_ESCAPE_CHARACTER,
        CSV_NULL_LITERAL,
        CSV_ALLOW_COMMENTS,
        CSV_IGNORE_PARSE_ERRORS,
    ],
};

/// The options of the format `json`.
pub const JSON: OptionGroup = OptionGroup {
    name: "json",
    doc: "One object a line. A field that is missing is NULL, one that the table does not declare is ignored; \
          of fields with the same name the last one counts. Whole numbers and decimals are read and written \
          digit by digit, never as floating-point numbers. Numbers may be texts. `NaN` and infinities are the \
          texts `NaN`, `Infinity` and `-Infinity`. `BYTES` are base64. A `STRING` takes any JSON value as it \
          is written.",
    options: &[JSON_IGNORE_PARSE_ERRORS, JSON_TIMESTAMP_FORMAT],
};

/// The connectors.
pub const CONNECTORS: &[OptionGroup] = &[FILESYSTEM, DATAGEN, NEXMARK, PRINT, BLACKHOLE];

/// The formats of the connector `filesystem`.
pub const FORMATS: &[OptionGroup] = &[CSV, JSON];

/// All groups, in the order of the reference page.
pub fn groups() -> impl Iterator<Item = &'static OptionGroup> {
    std::iter::once(&TABLE).chain(CONNECTORS).chain(FORMATS)
}
