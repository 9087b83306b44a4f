//! The tests use the build of the binary: what only tests need asks no other features of what the binary is made of.

use crate::metadata::root;
use std::collections::BTreeMap;
use std::process::Command;

#[test]
fn tests_build_no_dependency_a_second_time() {
    let binary = features("normal,build");
    let tests = features("normal,build,dev");
    let differing: Vec<String> = binary
        .iter()
        .filter_map(|(package, wanted)| {
            let found = tests.get(package).expect("what is built for the binary is built for the tests");
            (found != wanted).then(|| format!("{package}: {wanted:?} for the binary, {found:?} for the tests"))
        })
        .collect();
    assert!(
        differing.is_empty(),
        "these are built twice, and with them all that uses them; ask for the tests' features where the binary's \
         dependencies are declared (crates/object-store/Cargo.toml has examples):\n{}",
        differing.join("\n")
    );
}

/// The features of each package, by name and version, when these kinds of dependencies are built.
fn features(kinds: &str) -> BTreeMap<String, Vec<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--workspace", "--locked", "--prefix", "none", "--format", "{p}|{f}", "--edges", kinds])
        .current_dir(root())
        .output()
        .expect("cargo can be run");
    assert!(output.status.success(), "cargo tree failed: {}", String::from_utf8_lossy(&output.stderr));
    let mut packages: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some((package, found)) = line.trim_end_matches(" (*)").split_once('|') else { continue };
        // A package appears once for the host (procedural macros, build scripts) and once for the target.
        packages.entry(package.to_owned()).or_default().push(found.to_owned());
    }
    for found in packages.values_mut() {
        found.sort();
        found.dedup();
    }
    packages
}
