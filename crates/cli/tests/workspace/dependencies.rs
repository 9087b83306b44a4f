//! `docs/dependencies.md` has a row for every direct dependency, and for nothing else.

use crate::metadata::{Metadata, root};
use std::collections::BTreeSet;

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
