//! What people paste from Flink and Spark means what it means there.

use headpond_config::options::{self, Restore, StateBackendType};
use headpond_config::{Config, ConfigErrorKind, Location, MemorySize, Origin};
use std::path::PathBuf;

fn set(key: &str, value: &str) -> Config {
    let mut config = Config::default();
    config.set(key, value, Origin::statement(1, 1)).expect("a known option and value");
    config
}

#[test]
fn names_of_backends_choose_what_they_mean() {
    let memory = [
        "memory",
        "hashmap",
        "filesystem",
        "HashMapStateBackend",
        "MemoryStateBackend",
        "org.apache.flink.runtime.state.hashmap.HashMapStateBackend",
        "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
    ];
    let rocksdb = [
        "rocksdb",
        "RocksDB",
        "EmbeddedRocksDBStateBackend",
        "org.apache.flink.contrib.streaming.state.EmbeddedRocksDBStateBackend",
        "org.apache.flink.contrib.streaming.state.RocksDBStateBackendFactory",
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    ];
    for key in ["state.backend.type", "state.backend", "spark.sql.streaming.stateStore.providerClass"] {
        for name in memory {
            assert_eq!(set(key, name).get(&options::STATE_BACKEND_TYPE), StateBackendType::Memory, "{key} = {name}");
        }
        for name in rocksdb {
            assert_eq!(set(key, name).get(&options::STATE_BACKEND_TYPE), StateBackendType::RocksDb, "{key} = {name}");
        }
    }
}

#[test]
fn tiered_is_known_and_not_yet_available() {
    let error = Config::default().define("state.backend.type=tiered").unwrap_err();
    assert_eq!(error.kind(), ConfigErrorKind::Unsupported);
    assert!(error.to_string().contains("not yet available"), "{error}");
}

#[test]
fn both_spellings_of_compact_on_commit_compact_at_checkpoints() {
    for key in [
        "spark.sql.streaming.stateStore.rocksdb.compactOnCommit",
        "spark.sql.streaming.rocksdb.compactOnCommit.enabled",
        "state.backend.rocksdb.compact-on-checkpoint",
    ] {
        assert!(set(key, "true").get(&options::ROCKSDB_COMPACT_ON_CHECKPOINT), "{key}");
    }
}

#[test]
fn older_keys_stand_for_newer_ones() {
    let directory = set("state.checkpoints.dir", "file:///var/checkpoints").get(&options::CHECKPOINTING_DIR);
    assert_eq!(directory, Some(Location::from("/var/checkpoints")));
    assert!(!set("state.backend.incremental", "false").get(&options::CHECKPOINTING_INCREMENTAL));
    let directories = set("state.backend.rocksdb.localdir", "/a, /b").get(&options::ROCKSDB_LOCAL_DIRS);
    assert_eq!(directories, [PathBuf::from("/a"), PathBuf::from("/b")]);
    let restore = set("execution.savepoint.path", "file:/c/chk-7").get(&options::RESTORE);
    assert_eq!(restore, Restore::From(Location::from("/c/chk-7")));
}

#[test]
fn the_names_of_s3_that_people_have_are_understood() {
    assert_eq!(
        set("fs.s3a.endpoint", "http://minio:9000").get(&options::S3_ENDPOINT).as_deref(),
        Some("http://minio:9000")
    );
    assert_eq!(set("s3.path-style-access", "true").get(&options::S3_PATH_STYLE_ACCESS), Some(true));
    assert_eq!(set("s3.upload.min.part.size", "16mb").get(&options::OBJECT_STORE_PART_SIZE).bytes(), 16 << 20);
    for key in ["s3.access.key", "fs.s3a.secret.key", "s3.session.token"] {
        let config = set(key, "hushhush");
        assert!(config.settings().all(|setting| !setting.to_string().contains("hushhush")), "{key}");
    }
}

#[test]
fn a_key_that_names_its_unit_counts_in_it() {
    let config = set("spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB", "128");
    assert_eq!(config.get(&options::ROCKSDB_MEMORY_BUDGET), MemorySize::from_bytes(128 << 20));
}

#[test]
fn the_last_of_two_spellings_wins_in_statements() {
    let mut config = set("state.backend", "rocksdb");
    config.set("state.backend.type", "hashmap", Origin::statement(2, 1)).unwrap();
    assert_eq!(config.get(&options::STATE_BACKEND_TYPE), StateBackendType::Memory);
}

#[test]
fn options_without_effect_are_accepted_with_a_warning() {
    let config = set("execution.checkpointing.mode", "AT_LEAST_ONCE");
    let warnings: Vec<String> = config.warnings().iter().map(ToString::to_string).collect();
    let expected = "option 'execution.checkpointing.mode' has no effect: every checkpoint is exactly once (SET at line \
                    1, column 1)";
    assert_eq!(warnings, [expected]);
    assert!(set("execution.runtime-mode", "STREAMING").warnings().is_empty());
    assert!(Config::default().warnings().is_empty());
}

#[test]
fn options_of_a_flink_cluster_are_accepted_with_one_note() {
    let mut config = Config::default();
    let written = ["sql-client.execution.result-mode", "table.optimizer.join-reorder-enabled", "restart-strategy.type"];
    for (index, key) in written.iter().enumerate() {
        config.set(key, "anything", Origin::statement(index + 1, 1)).unwrap();
    }
    config.define("pipeline.object-reuse=true").unwrap();
    let warnings = config.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    for key in written.iter().chain(&["pipeline.object-reuse"]) {
        assert!(warnings[0].message.contains(&format!("'{key}'")), "{}", warnings[0].message);
    }
    assert!(!warnings[0].to_string().contains("anything"), "a value may be a secret");
    config.reset("restart-strategy.type").unwrap();
    assert!(!config.warnings()[0].message.contains("restart-strategy"));
    config.reset_all();
    assert_eq!(config.warnings()[0].message, "option 'pipeline.object-reuse' has no effect: it is for a Flink cluster");
}

#[test]
fn misspelt_options_beside_those_of_a_cluster_are_still_errors() {
    for key in ["pipeline.nam", "table.exec.state.tll", "execution.checkpointing.intervall", "state.backend.changelo"] {
        assert!(Config::default().set(key, "1", Origin::statement(1, 1)).is_err(), "{key}");
    }
}
