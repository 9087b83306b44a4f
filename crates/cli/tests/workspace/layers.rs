//! Who may know whom: dependencies among our crates point to lower levels only, and no crate reaches, over however many
//! others, what it must not know. ARCHITECTURE.md has the table in words. What only tests need is not counted.

use crate::metadata::Metadata;

struct Layer {
    name: &'static str,
    level: u8,
    /// Names of packages; `*` at the end stands for any ending.
    must_not_know: &'static [&'static str],
}

const ENGINES: &str = "rust-rocksdb";
const BACKENDS: &str = "headpond-state-*";
const SQL: [&str; 2] = ["datafusion*", "sqlparser"];
const CODECS: [&str; 3] = ["apache-avro", "prost", "postcard"];
const LAYERS: &[Layer] = &[
    Layer { name: "headpond-config", level: 0, must_not_know: &["headpond-*"] },
    Layer { name: "headpond-files", level: 0, must_not_know: &["headpond-*"] },
    Layer {
        name: "headpond-state",
        level: 1,
        must_not_know: &[
            ENGINES,
            "tokio",
            "timely",
            "object_store",
            "jni",
            "arrow*",
            SQL[0],
            SQL[1],
            CODECS[0],
            CODECS[1],
            CODECS[2],
            "headpond-*",
        ],
    },
    Layer {
        name: "headpond-checkpoint",
        level: 2,
        must_not_know: &[ENGINES, BACKENDS, "tokio", "timely", "arrow*", SQL[0], SQL[1]],
    },
    Layer {
        name: "headpond-rows",
        level: 2,
        must_not_know: &[ENGINES, BACKENDS, "tokio", "timely", SQL[0], SQL[1], CODECS[0], CODECS[1], CODECS[2]],
    },
    Layer {
        name: "headpond-codecs",
        level: 2,
        must_not_know: &[ENGINES, BACKENDS, "tokio", "timely", "arrow*", SQL[0], SQL[1], "headpond-rows"],
    },
    Layer { name: "headpond-state-conformance", level: 2, must_not_know: &[ENGINES, "timely", SQL[0], SQL[1]] },
    Layer { name: "headpond-functions", level: 2, must_not_know: &[ENGINES, BACKENDS, "timely", "headpond-rows"] },
    Layer {
        name: "headpond-object-store",
        level: 3,
        must_not_know: &[ENGINES, BACKENDS, "timely", "arrow*", SQL[0], SQL[1]],
    },
    Layer {
        name: "headpond-store-conformance",
        level: 3,
        must_not_know: &[ENGINES, BACKENDS, "timely", "arrow*", SQL[0], SQL[1]],
    },
    Layer { name: "headpond-state-memory", level: 3, must_not_know: &[ENGINES, "timely", SQL[0], SQL[1]] },
    Layer { name: "headpond-state-rocksdb", level: 3, must_not_know: &["timely", SQL[0], SQL[1]] },
    Layer { name: "headpond-runtime", level: 3, must_not_know: &[ENGINES, BACKENDS, SQL[0], SQL[1]] },
    Layer { name: "headpond-connectors", level: 4, must_not_know: &[ENGINES, BACKENDS, SQL[0], SQL[1]] },
    Layer { name: "headpond-launch", level: 5, must_not_know: &[SQL[0], SQL[1]] },
    Layer { name: "headpond-sql", level: 5, must_not_know: &[ENGINES, BACKENDS] },
    Layer { name: "headpond-inspect", level: 5, must_not_know: &[ENGINES, BACKENDS, "timely"] },
    Layer { name: "headpond", level: 6, must_not_know: &[SQL[0], SQL[1]] },
    Layer { name: "headpond-cli", level: 7, must_not_know: &[] },
    Layer { name: "headpond-bench", level: 7, must_not_know: &[] },
    Layer { name: "headpond-example-own-connector", level: 8, must_not_know: &[] },
    Layer { name: "headpond-example-sessionize", level: 7, must_not_know: &[SQL[0], SQL[1]] },
];

fn layer_of(name: &str) -> &'static Layer {
    let found = LAYERS.iter().find(|layer| layer.name == name);
    found.unwrap_or_else(|| panic!("crate {name} has no level; give it one in this test and in ARCHITECTURE.md"))
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    }
}

#[test]
fn dependencies_point_to_lower_levels() {
    let metadata = Metadata::load();
    let mut wrong = Vec::new();
    for (_, package) in metadata.packages().filter(|(_, package)| package.is_ours) {
        let upper = layer_of(&package.name);
        for needed in package.needs.iter().map(|id| metadata.package(id)).filter(|needed| needed.is_ours) {
            let lower = layer_of(&needed.name);
            if lower.level >= upper.level {
                wrong.push(format!(
                    "{} (level {}) needs {} (level {})",
                    upper.name, upper.level, lower.name, lower.level
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "dependencies that do not point to a lower level:\n{}", wrong.join("\n"));
}

#[test]
fn no_crate_reaches_what_it_must_not_know() {
    let metadata = Metadata::load();
    let mut wrong = Vec::new();
    for (id, package) in metadata.packages().filter(|(_, package)| package.is_ours) {
        for pattern in layer_of(&package.name).must_not_know {
            if let Some(way) = metadata.way(id, |name| matches(pattern, name)) {
                wrong.push(way.join(" -> "));
            }
        }
    }
    assert!(wrong.is_empty(), "crates that reach what they must not know:\n{}", wrong.join("\n"));
}
