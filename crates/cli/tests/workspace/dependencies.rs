//! `docs/dependencies.md` has a row for every direct dependency, and for nothing else.

use crate::metadata::{Metadata, host, root};
use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn every_direct_dependency_says_what_it_is_for() {
    let metadata = Metadata::load();
    let used: BTreeSet<&str> =
        metadata.packages().flat_map(|(_, package)| &package.direct).map(String::as_str).collect();
    let page = std::fs::read_to_string(root().join("docs/dependencies.md")).expect("the page is in docs");
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    assert!(
        rows.iter().all(|row| row.len() == 3 && row.iter().all(|cell| !cell.is_empty())),
        "a row has an empty cell"
    );
    let explained: BTreeSet<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    let unexplained: Vec<&&str> = used.difference(&explained).collect();
    let unused: Vec<&&str> = explained.difference(&used).collect();
    assert!(
        unexplained.is_empty() && unused.is_empty(),
        "docs/dependencies.md lacks rows for {unexplained:?} and has rows for {unused:?}, which nothing uses"
    );
}

/// `Cargo.lock` of the program outside the workspace lists what our crates depend on, too.
#[test]
fn the_example_outside_the_workspace_is_locked_to_what_our_crates_depend_on() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = root().join("examples/wordcount/Cargo.toml");
    let arguments = ["metadata", "--format-version", "1", "--locked", "--filter-platform", &host(), "--manifest-path"];
    let output = Command::new(cargo).args(arguments).arg(&manifest).output().expect("cargo can be run");
    assert!(
        output.status.success(),
        "run `cargo update --workspace --manifest-path examples/wordcount/Cargo.toml`: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
