//! A mistake is answered with its place and the way out.

use headpond_config::{Config, ConfigErrorKind, MASK, Origin, is_secret, options};
use std::path::Path;

#[test]
fn an_unknown_key_names_the_nearest_one() {
    let cases = [
        ("state.backend.typ", "state.backend.type"),
        ("execution.checkpoint.interval", "execution.checkpointing.interval"),
        ("checkpointing.interval", "execution.checkpointing.interval"),
        ("spark.sql.streaming.statestore.providerclass", "spark.sql.streaming.stateStore.providerClass"),
        ("Parallelism.Default", "parallelism.default"),
    ];
    for (written, nearest) in cases {
        let error = Config::default().set(written, "1", Origin::statement(4, 2)).unwrap_err();
        assert_eq!(error.kind(), ConfigErrorKind::UnknownKey);
        assert_eq!(error.to_string(), format!("unknown option '{written}' (SET at line 4, column 2)"));
        assert_eq!(error.hint(), Some(format!("did you mean '{nearest}'?").as_str()));
    }
}

#[test]
fn a_key_like_no_other_points_to_the_reference() {
    let error = Config::default().define("colour=blue").unwrap_err();
    assert_eq!(error.hint(), Some("docs/reference/configuration.md lists every option"));
}

#[test]
fn a_definition_needs_an_equals_sign() {
    let error = Config::default().define("state.backend.type").unwrap_err();
    assert_eq!(error.hint(), Some("write -D key=value"));
}

#[test]
fn a_wrong_line_of_a_file_is_named() {
    let mut config = Config::default();
    let path = Path::new("headpond.toml");
    let error = config.load_text(path, "# mine\n[parallelism]\ndefault = \"many\"\n").unwrap_err();
    assert_eq!((error.line(), error.column()), (Some(3), Some(11)));
    let error = config.load_text(path, "[parallelism]\ndefault = = 1\n").unwrap_err();
    assert_eq!(error.line(), Some(2));
    assert!(error.to_string().starts_with("not valid TOML: "), "{error}");
    let error = config.load_text(path, "pipeline.name = 2026-01-01\n").unwrap_err();
    assert!(error.message().contains("cannot be a datetime"), "{error}");
}

#[test]
fn one_option_under_two_names_in_a_file_is_refused() {
    let text =
        "state.backend.type = 'rocksdb'\nspark.sql.streaming.stateStore.providerClass = 'HDFSBackedStateStoreProvider'";
    let error = Config::default().load_text(Path::new("headpond.toml"), text).unwrap_err();
    assert!(error.message().ends_with("set the same option"), "{error}");
    assert_eq!(error.line(), Some(2));
    assert!(error.hint().is_some_and(|hint| hint.contains("headpond.toml, line 1")), "{error:?}");
}

#[test]
fn a_missing_file_is_named() {
    let error = Config::default().load_file(Path::new("no/such/headpond.toml")).unwrap_err();
    assert_eq!(error.kind(), ConfigErrorKind::Unreadable);
    assert!(error.to_string().contains("no/such/headpond.toml"), "{error}");
}

#[test]
fn what_cannot_be_honoured_is_refused_with_the_way_out() {
    let cases = [
        ("execution.runtime-mode=BATCH", "streams"),
        ("state.backend.rocksdb.compaction.style=FIFO", "table.exec.state.ttl"),
        ("state.backend.rocksdb.memory.fixed-per-slot=64 mb", "fixed-per-tm"),
        ("execution.checkpointing.storage=jobmanager", "execution.checkpointing.dir"),
        ("execution.checkpointing.dir=hdfs://namenode/checkpoints", "s3://bucket/path"),
    ];
    for (argument, way_out) in cases {
        let error = Config::default().define(argument).unwrap_err();
        assert_eq!(error.kind(), ConfigErrorKind::Unsupported, "{argument}");
        let told = format!("{error} {}", error.hint().unwrap_or_default());
        assert!(told.contains(way_out), "{told}");
    }
}

#[test]
fn parallelism_beyond_the_key_groups_is_a_contradiction() {
    let mut config = Config::default();
    config.set("parallelism.default", "200", Origin::flag("--parallelism")).unwrap();
    let error = config.check().unwrap_err();
    assert_eq!(error.key(), Some(options::PARALLELISM.key()));
    assert!(error.to_string().contains("command line, --parallelism"), "{error}");
    config.define("pipeline.max-parallelism=256").unwrap();
    config.check().unwrap();
}

#[test]
fn keys_that_hold_secrets_are_recognized() {
    for key in ["jdbc.password", "s3.secret-key", "s3.access-key", "api-key", "auth.TOKEN"] {
        assert!(is_secret(key), "{key}");
    }
    for setting in Config::default().settings() {
        let shown = setting.shown_value();
        assert!(!is_secret(setting.key()) || shown == MASK || shown.is_empty(), "{}", setting.key());
    }
    assert!(!is_secret("state.backend.type"));
}
