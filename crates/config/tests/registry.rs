//! The registry holds together, and its reference page is current.

use headpond_config::options::registry;
use headpond_config::{Config, Origin, Support, reference, variable_name};
use std::collections::{HashMap, HashSet};
use std::path::Path;

#[test]
fn no_key_alias_or_variable_means_two_things() {
    let mut keys = HashSet::new();
    let mut variables = HashMap::new();
    for option in registry() {
        for key in std::iter::once(option.key()).chain(option.aliases().iter().map(|alias| alias.key)) {
            assert!(keys.insert(key), "{key} is declared twice");
            // Two spellings of one option may share a variable.
            let owner = variables.insert(variable_name(key), option.key());
            assert!(owner.is_none_or(|owner| owner == option.key()), "{key} has another key's variable");
        }
    }
}

#[test]
fn every_default_is_a_value_of_its_option() {
    for option in registry() {
        if let Some(text) = option.default_text() {
            Config::default().set(option.key(), text, Origin::Program).unwrap();
        } else {
            assert!(!option.without_default().is_empty(), "{}", option.key());
        }
        assert!(option.doc().ends_with('.'), "{}", option.key());
    }
    assert_eq!(Config::default().settings().count(), registry().count());
}

#[test]
fn refused_options_have_no_value() {
    for option in registry().filter(|option| matches!(option.support(), Support::Refused(_))) {
        assert!(option.default_text().is_none(), "{}", option.key());
    }
}

/// With `HEADPOND_UPDATE_REFERENCE=1` the page is written instead of compared.
#[test]
fn the_reference_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/configuration.md");
    let page = reference::markdown();
    if std::env::var_os("HEADPOND_UPDATE_REFERENCE").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().expect("the page is in a folder")).unwrap();
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/reference/configuration.md is not current; run: HEADPOND_UPDATE_REFERENCE=1 cargo test --release -p \
         headpond-config"
    );
}
