//! Units, paths and other values are read as Flink reads them.

use headpond_config::{Config, ConfigError, Location, MemorySize, Origin, options};
use std::path::PathBuf;
use std::time::Duration;

fn set(key: &str, value: &str) -> Result<Config, ConfigError> {
    let mut config = Config::default();
    config.set(key, value, Origin::statement(3, 5))?;
    Ok(config)
}

#[test]
fn durations_have_units_and_bare_numbers_are_milliseconds() {
    let cases = [
        ("10 s", 10_000),
        ("200 ms", 200),
        ("7 d", 604_800_000),
        ("1 h", 3_600_000),
        ("5 min", 300_000),
        ("5m", 300_000),
        ("250", 250),
        ("  3sec ", 3_000),
        ("2 Minutes", 120_000),
    ];
    for (text, milliseconds) in cases {
        let config = set("execution.checkpointing.interval", text).unwrap();
        assert_eq!(config.get(&options::CHECKPOINTING_INTERVAL), Duration::from_millis(milliseconds), "{text}");
    }
}

#[test]
fn sizes_have_units_and_bare_numbers_are_bytes() {
    let cases =
        [("64 mb", 64 << 20), ("128mb", 128 << 20), ("1 gb", 1 << 30), ("2048k", 2 << 20), ("2097152", 2 << 20)];
    for (text, bytes) in cases {
        let config = set("state.backend.memory.limit", text).unwrap();
        assert_eq!(config.get(&options::STATE_MEMORY_LIMIT), Some(MemorySize::from_bytes(bytes)), "{text}");
    }
}

#[test]
fn values_are_shown_in_the_largest_whole_unit() {
    let shown = |key, text| {
        let config = set(key, text).unwrap();
        let setting = config.settings().find(|setting| setting.key() == key);
        setting.map(|setting| setting.shown_value())
    };
    assert_eq!(shown("execution.checkpointing.interval", "120000").as_deref(), Some("2 min"));
    assert_eq!(shown("execution.checkpointing.interval", "1500 ms").as_deref(), Some("1500 ms"));
    assert_eq!(shown("table.exec.state.ttl", "0").as_deref(), Some("0 ms"));
    assert_eq!(shown("state.backend.memory.limit", "1024 mb").as_deref(), Some("1 gb"));
}

#[test]
fn paths_may_be_plain_relative_or_file_uris() {
    let cases = [
        ("/a/b", "/a/b"),
        ("file:///a/b", "/a/b"),
        ("file:/a/b", "/a/b"),
        ("file://localhost/a/b", "/a/b"),
        ("file:out/checkpoints", "out/checkpoints"),
        ("out/checkpoints", "out/checkpoints"),
    ];
    for (text, path) in cases {
        let config = set("execution.checkpointing.dir", text).unwrap();
        assert_eq!(config.get(&options::CHECKPOINTING_DIR), Some(Location::from(path)), "{text}");
    }
    for text in ["ftp://host/a", "hdfs://name/a", "file://host/a", "file:", "s3://", ""] {
        assert!(set("execution.checkpointing.dir", text).is_err(), "{text}");
    }
}

#[test]
fn checkpoints_may_be_on_a_store() {
    for text in ["s3://bucket/a", "s3a://bucket", "gs://bucket/a b", "abfss://container@account.dfs.core.windows.net/a"]
    {
        let config = set("execution.checkpointing.dir", text).unwrap();
        assert_eq!(config.get(&options::CHECKPOINTING_DIR), Some(Location::from(text)), "{text}");
        let restore = set("execution.restore", text).unwrap().get(&options::RESTORE);
        assert_eq!(restore, options::Restore::From(Location::from(text)), "{text}");
    }
    let error = set("execution.checkpointing.dir", "hdfs://name/a").unwrap_err();
    assert!(error.to_string().contains("HDFS"), "{error}");
    assert!(set("state.backend.rocksdb.localdir", "s3://bucket/a").is_err());
}

#[test]
fn credentials_in_a_url_are_refused_and_not_shown() {
    let error = set("execution.checkpointing.dir", "s3://AKIA:hushhush@bucket/a").unwrap_err();
    assert!(!error.to_string().contains("hushhush"), "{error}");
    assert!(error.to_string().contains("s3.secret-key"), "{error}");
}

#[test]
fn lists_of_paths_keep_their_order() {
    let config = set("state.backend.rocksdb.localdir", "file:/disk1; /disk2 ,/disk3").unwrap();
    let expected = ["/disk1", "/disk2", "/disk3"].map(PathBuf::from);
    assert_eq!(config.get(&options::ROCKSDB_LOCAL_DIRS), expected);
    assert!(Config::default().get(&options::ROCKSDB_LOCAL_DIRS).is_empty());
}

#[test]
fn names_are_read_without_case() {
    let config = set("state.backend.rocksdb.compression.per.level", "zstd_compression").unwrap();
    assert_eq!(config.get(&options::ROCKSDB_COMPRESSION), options::Compression::Zstd);
}

#[test]
fn wrong_values_are_refused_with_what_was_expected() {
    let cases = [
        ("execution.checkpointing.interval", "soon", "expected a duration such as '10 s' or '200 ms'"),
        ("execution.checkpointing.interval", "10 parsecs", "'parsecs' is not a unit"),
        ("execution.checkpointing.interval", "99999999999999 d", "the number is too large"),
        ("execution.checkpointing.interval", "0", "expected at least 1 ms"),
        ("execution.checkpointing.incremental", "yes", "expected true or false"),
        ("parallelism.default", "0", "expected from 1 to 32768"),
        ("parallelism.default", "-1", "expected a whole number from 0"),
        ("parallelism.default", "two", "expected a whole number"),
        ("state.backend.type", "mysql", "expected memory or rocksdb"),
        ("state.backend.rocksdb.memory.write-buffer-ratio", "1.5", "expected from 0 to 1"),
        ("pipeline.name", " ", "expected a text that is not empty"),
    ];
    for (key, text, expected) in cases {
        let error = set(key, text).unwrap_err();
        assert!(error.message().starts_with(&format!("option '{key}' cannot be '{}'", text.trim())), "{error}");
        assert!(error.message().contains(expected), "{error}");
        assert_eq!((error.key(), error.line(), error.column()), (Some(key), Some(3), Some(5)));
    }
}
