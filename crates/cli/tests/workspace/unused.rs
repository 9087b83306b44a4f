//! Every dependency that a `Cargo.toml` of ours declares is used by the code beside it.

use crate::metadata::{Metadata, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// These are declared for their features alone (crates/object-store/Cargo.toml says why).
const FOR_FEATURES: [&str; 5] = ["arrayvec", "digest", "digest-0-10", "simdutf8", "subtle"];

#[test]
fn every_declared_dependency_is_used() {
    let metadata = Metadata::load();
    let mut unused = Vec::new();
    for (_, package) in metadata.packages().filter(|(_, package)| package.is_ours) {
        let mut code = String::new();
        read_code(&package.directory, &mut code);
        assert!(!code.is_empty(), "{} has code", package.name);
        let names = package.declared.iter().filter(|name| !FOR_FEATURES.contains(&name.as_str()));
        unused.extend(
            names
                .filter(|name| !has_word(&code, &name.replace('-', "_")))
                .map(|name| format!("{}: {name}", package.name)),
        );
    }
    assert!(unused.is_empty(), "no code uses these; take them out of Cargo.toml: {unused:#?}");
}

#[test]
fn every_dependency_of_the_workspace_has_a_crate_that_declares_it() {
    let metadata = Metadata::load();
    let declared: BTreeSet<&str> =
        metadata.packages().flat_map(|(_, package)| &package.declared).map(String::as_str).collect();
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the workspace has a Cargo.toml");
    let (_, table) = manifest.split_once("[workspace.dependencies]").expect("it has a table of dependencies");
    let unused: Vec<&str> = table
        .lines()
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.contains("path = "))
        .filter_map(|line| line.split_once(" = ").map(|(name, _)| name))
        .filter(|name| !declared.contains(name))
        .collect();
    assert!(unused.is_empty(), "no crate declares these; take them out of Cargo.toml: {unused:?}");
}

#[test]
fn a_name_is_found_as_a_word_only() {
    assert!(has_word("use libc::fsync;", "libc"));
    assert!(!has_word("use my_libc::fsync; // libcs", "libc"));
}

/// Adds all Rust code in a directory and those below it, packages in them not included.
fn read_code(directory: &Path, code: &mut String) {
    for entry in fs::read_dir(directory).expect("the directory can be read").flatten() {
        let path = entry.path();
        if path.is_dir() && path.file_name() != Some("target".as_ref()) && !path.join("Cargo.toml").exists() {
            read_code(&path, code);
        } else if path.extension() == Some("rs".as_ref()) {
            code.push_str(&fs::read_to_string(&path).expect("code can be read"));
        }
    }
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}
