//! A higher layer wins, and every setting remembers where it was written.

use headpond_config::{Config, Layer, Origin, options};
use std::ffi::OsString;
use std::path::Path;

fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

#[test]
fn each_layer_wins_over_the_one_before() {
    let mut config = Config::default();
    let mut seen = vec![config.get(&options::PARALLELISM)];
    config.load_text(Path::new("headpond.toml"), "[parallelism]\ndefault = 2\n").unwrap();
    seen.push(config.get(&options::PARALLELISM));
    config.load_environment(variables(&[("HEADPOND_PARALLELISM_DEFAULT", "3")]), &[]).unwrap();
    seen.push(config.get(&options::PARALLELISM));
    config.set("parallelism.default", "4", Origin::statement(7, 1)).unwrap();
    seen.push(config.get(&options::PARALLELISM));
    config.define("parallelism.default=5").unwrap();
    seen.push(config.get(&options::PARALLELISM));
    assert_eq!(seen, [1, 2, 3, 4, 5]);
}

#[test]
fn the_order_of_loading_does_not_matter() {
    let mut config = Config::default();
    config.define("parallelism.default=5").unwrap();
    config.set("parallelism.default", "4", Origin::statement(7, 1)).unwrap();
    config.load_text(Path::new("headpond.toml"), "parallelism.default = 2").unwrap();
    assert_eq!(config.get(&options::PARALLELISM), 5);
}

#[test]
fn reset_drops_what_set_said_and_nothing_else() {
    let mut config = Config::default();
    config.load_text(Path::new("headpond.toml"), "parallelism.default = 4").unwrap();
    config.set("parallelism.default", "5", Origin::statement(1, 1)).unwrap();
    config.set("state.backend", "rocksdb", Origin::statement(2, 1)).unwrap();
    config.reset("parallelism.default").unwrap();
    assert_eq!(config.get(&options::PARALLELISM), 4);
    assert_eq!(config.get(&options::STATE_BACKEND_TYPE), options::StateBackendType::RocksDb);
    config.set("parallelism.default", "6", Origin::statement(3, 1)).unwrap();
    config.reset_all();
    assert_eq!(config.get(&options::PARALLELISM), 4);
    assert_eq!(config.get(&options::STATE_BACKEND_TYPE), options::StateBackendType::Memory);
    assert!(config.reset("parallelism").is_err());
}

#[test]
fn a_later_set_or_flag_wins_over_an_earlier_one() {
    let mut config = Config::default();
    config.define("pipeline.name=one").unwrap();
    config.set("pipeline.name", "two", Origin::flag("--name")).unwrap();
    assert_eq!(config.get(&options::PIPELINE_NAME).as_deref(), Some("two"));
}

#[test]
fn a_setting_says_where_it_was_written() {
    let mut config = Config::default();
    config.load_text(Path::new("conf/headpond.toml"), "\n[state]\nbackend = \"hashmap\"\n").unwrap();
    let setting = config.setting(&options::STATE_BACKEND_TYPE);
    assert_eq!(setting.origin().layer(), Layer::File);
    assert_eq!(
        setting.to_string(),
        "state.backend.type = memory (conf/headpond.toml, line 3, column 11, as state.backend)"
    );
    let setting = config.setting(&options::CHECKPOINTING_NUM_RETAINED);
    assert_eq!(setting.to_string(), "execution.checkpointing.num-retained = 2 (default)");
    assert!(setting.is_default() && !config.is_set(&options::CHECKPOINTING_NUM_RETAINED));
}

#[test]
fn variables_that_are_no_settings_are_left_alone() {
    let mut config = Config::default();
    let found = variables(&[("HOME", "/root"), ("HEADPOND_LOG", "debug"), ("HEADPOND_STATE_BACKEND", "rocksdb")]);
    config.load_environment(found, &["HEADPOND_LOG"]).unwrap();
    assert_eq!(config.get(&options::STATE_BACKEND_TYPE), options::StateBackendType::RocksDb);
    let error = config.load_environment(variables(&[("HEADPOND_STATE_BAKEND_TYPE", "rocksdb")]), &[]).unwrap_err();
    assert_eq!(error.hint(), Some("did you mean 'HEADPOND_STATE_BACKEND_TYPE'?"));
}
