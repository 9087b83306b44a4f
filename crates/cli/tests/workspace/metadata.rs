//! What `cargo metadata` says about the workspace on this platform.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A package, ours or another's.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) licence: Option<String>,
    pub(crate) is_ours: bool,
    /// Identities of the packages it needs to be built and run, those of its tests not included.
    pub(crate) needs: BTreeSet<String>,
    /// Names of others' packages that one of ours declares, those of its tests included; empty for others' packages.
    pub(crate) direct: BTreeSet<String>,
    /// What a package of ours declares, our own packages included, by the name that its code uses.
    pub(crate) declared: BTreeSet<String>,
    /// Where its `Cargo.toml` lies.
    pub(crate) directory: PathBuf,
}

/// The packages by identity.
#[derive(Debug)]
pub(crate) struct Metadata(BTreeMap<String, Package>);

impl Metadata {
    pub(crate) fn load() -> Self {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let arguments = ["metadata", "--format-version", "1", "--locked", "--filter-platform", &host()];
        let output = Command::new(cargo).args(arguments).current_dir(root()).output().expect("cargo can be run");
        assert!(output.status.success(), "cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
        let document: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata writes JSON");
        Metadata::from_json(&document)
    }

    fn from_json(document: &Value) -> Self {
        let ours: BTreeSet<String> = list(&document["workspace_members"]).iter().map(text).collect();
        let mut packages = BTreeMap::new();
        for package in list(&document["packages"]) {
            let id = text(&package["id"]);
            let name = text(&package["name"]);
            let licence = package["license"].as_str().map(str::to_owned);
            let is_ours = ours.contains(&id);
            let dependencies = || list(&package["dependencies"]).iter().filter(|_| is_ours);
            let others = dependencies().filter(|dependency| dependency["path"].is_null());
            let direct = others.map(|dependency| text(&dependency["name"])).collect();
            let declared = dependencies()
                .map(|dependency| dependency["rename"].as_str().or(dependency["name"].as_str()).unwrap_or_default())
                .map(str::to_owned)
                .collect();
            let directory = Path::new(&text(&package["manifest_path"])).parent().expect("a file is in one").to_owned();
            let needs = BTreeSet::new();
            packages.insert(id, Package { name, licence, is_ours, needs, direct, declared, directory });
        }
        for node in list(&document["resolve"]["nodes"]) {
            let package = packages.get_mut(&text(&node["id"])).expect("every node is a package");
            let needed = list(&node["deps"]).iter().filter(|dependency| {
                list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].as_str() != Some("dev"))
            });
            package.needs = needed.map(|dependency| text(&dependency["pkg"])).collect();
        }
        Metadata(packages)
    }

    pub(crate) fn packages(&self) -> impl Iterator<Item = (&str, &Package)> {
        self.0.iter().map(|(id, package)| (id.as_str(), package))
    }

    pub(crate) fn package(&self, id: &str) -> &Package {
        &self.0[id]
    }

    /// The shortest way from a package to one whose name `is_wanted`, as names.
    pub(crate) fn way(&self, from: &str, is_wanted: impl Fn(&str) -> bool) -> Option<Vec<&str>> {
        let mut seen: BTreeSet<&str> = BTreeSet::from([from]);
        let mut ways: Vec<Vec<&str>> = vec![vec![from]];
        while !ways.is_empty() {
            let mut longer = Vec::new();
            for way in ways {
                let last = way.last().expect("a way has a beginning");
                for next in &self.package(last).needs {
                    if !seen.insert(next) {
                        continue;
                    }
                    let way: Vec<&str> = way.iter().copied().chain([next.as_str()]).collect();
                    if is_wanted(&self.package(next).name) {
                        return Some(way.iter().map(|id| self.package(id).name.as_str()).collect());
                    }
                    longer.push(way);
                }
            }
            ways = longer;
        }
        None
    }
}

/// The workspace's folder.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The platform's name: without it, packages of other platforms would have to be downloaded.
pub(crate) fn host() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().expect("rustc can be run");
    let version = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc names its host").to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
