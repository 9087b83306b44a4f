//! The files of each crate know each other in one direction: a file that uses what another declares is not used by it,
//! over however many others. `tools/file-circles.txt` lists the circles there are, each with its reason.
//!
//! A `mod` declaration and a re-export (`pub use`) do not count: they say where things are found. A path is followed
//! through re-exports to the file that declares its item. Methods are not seen: an `impl` may stand in a file of its
//! own.

use crate::metadata::root;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const LIST: &str = "tools/file-circles.txt";

#[test]
fn files_know_each_other_in_one_direction() {
    let listed = listed_circles();
    let mut found = BTreeSet::new();
    let mut crates: Vec<PathBuf> = std::fs::read_dir(root().join("crates"))
        .expect("the crates are in crates/")
        .map(|entry| entry.expect("a folder that can be read").path().join("src"))
        .filter(|sources| sources.is_dir())
        .collect();
    crates.sort();
    for sources in crates {
        for circle in Graph::of_crate(&sources).circles() {
            let names = circle.iter().map(|file| {
                let below = file.strip_prefix(root().join("crates")).expect("a file of a crate");
                below.to_string_lossy().into_owned()
            });
            found.insert(names.collect::<BTreeSet<String>>());
        }
    }
    let shown = |circles: Vec<&BTreeSet<String>>| {
        let lines = circles.iter().map(|circle| circle.iter().map(String::as_str).collect::<Vec<_>>().join(" "));
        lines.collect::<Vec<_>>().join("\n")
    };
    let new: Vec<_> = found.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "circles that {LIST} does not list (untie them: move what both need to a file of its own; or give the reason \
         there):\n{}\ncircles that {LIST} lists and that are not there:\n{}",
        shown(new),
        shown(gone)
    );
}

#[test]
fn circles_are_found_through_re_exports_and_over_other_files() {
    let sources = tempfile::tempdir().expect("a temporary directory can be made");
    let write = |name: &str, text: &str| {
        std::fs::write(sources.path().join(name), text).expect("a temporary file can be written");
    };
    write("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\npub use c::C;\n");
    write("a.rs", "use crate::b::B;\npub struct A(B);\n");
    write("b.rs", "pub struct B;\nimpl B { fn c(&self) -> crate::C { crate::C } }\n");
    write("c.rs", "pub struct C;\nfn text() -> &'static str { super::d::name() }\n");
    write("d.rs", "pub fn name() -> &'static str { \"\" }\n#[cfg(test)]\nmod tests { use crate::a::A; }\n");
    assert_eq!(Graph::of_crate(sources.path()).circles(), []);
    write("d.rs", "use super::a::A;\npub fn name() -> &'static str { \"\" }\n");
    let files = ["a.rs", "b.rs", "c.rs", "d.rs"].map(|name| sources.path().join(name));
    assert_eq!(Graph::of_crate(sources.path()).circles(), [BTreeSet::from(files)]);
}

/// A line each: files, a colon, the reason.
fn listed_circles() -> BTreeSet<BTreeSet<String>> {
    let text = std::fs::read_to_string(root().join(LIST)).expect("the list of circles is in tools/");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| match line.split_once(':') {
            Some((files, reason)) if !reason.trim().is_empty() => files.split_whitespace().map(str::to_owned).collect(),
            _ => panic!("{LIST}: a circle without a reason: {line}"),
        })
        .collect()
}

type ModulePath = Vec<String>;

/// A module: where it stands, what it declares, what it passes on.
#[derive(Debug, Default)]
struct Module {
    file: PathBuf,
    items: BTreeSet<String>,
    /// What `pub use` passes on: the name, and the path behind it.
    passed_on: Vec<(String, Vec<String>)>,
    /// Paths that its code uses.
    used: Vec<Vec<String>>,
}

/// The modules of a crate.
#[derive(Debug, Default)]
struct Graph(BTreeMap<ModulePath, Module>);

impl Graph {
    fn of_crate(sources: &Path) -> Self {
        let mut graph = Graph::default();
        for name in ["lib.rs", "main.rs"] {
            let file = sources.join(name);
            if file.exists() && graph.0.is_empty() {
                graph.add_file(Vec::new(), file, sources);
            }
        }
        graph
    }

    /// Adds the module in a file; its children are looked for in `folder`.
    fn add_file(&mut self, path: ModulePath, file: PathBuf, folder: &Path) {
        let text = std::fs::read_to_string(&file).expect("a module's file can be read");
        let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.add_module(path, &file, folder, tokens);
    }

    fn add_module(&mut self, path: ModulePath, file: &Path, folder: &Path, tokens: TokenStream) {
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        let mut is_public = false;
        while at < tokens.len() {
            if is_test_attribute(&tokens[at..]) {
                at = behind_item(&tokens, at);
                continue;
            }
            if is_punct(&tokens[at], '\'') {
                // A lifetime: `'static` declares nothing.
                at += 2;
                continue;
            }
            let word = ident(&tokens[at]);
            match word.as_deref() {
                Some("pub") => {
                    is_public = true;
                    at += 1;
                    if matches!(tokens.get(at), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis)
                    {
                        at += 1;
                    }
                    continue;
                }
                Some("mod") => {
                    let name = tokens.get(at + 1).and_then(ident).expect("a module has a name");
                    let child: ModulePath = path.iter().cloned().chain([name.clone()]).collect();
                    match tokens.get(at + 2) {
                        Some(TokenTree::Group(body)) => {
                            self.add_module(child, file, &folder.join(&name), body.stream());
                        }
                        _ => {
                            let flat = folder.join(format!("{name}.rs"));
                            let file = if flat.exists() { flat } else { folder.join(&name).join("mod.rs") };
                            self.add_file(child, file, &folder.join(&name));
                        }
                    }
                    at += 3;
                }
                Some("use") => {
                    let end =
                        tokens[at..].iter().position(|token| is_punct(token, ';')).map_or(tokens.len(), |n| at + n);
                    let mut leaves = Vec::new();
                    use_leaves(&tokens[at + 1..end], &[], &mut leaves);
                    for (leaf, name) in leaves {
                        if is_public {
                            module.passed_on.push((name, leaf));
                        } else {
                            module.used.push(leaf);
                        }
                    }
                    at = end + 1;
                }
                Some("struct" | "enum" | "trait" | "fn" | "type" | "const" | "static" | "union") => {
                    if let Some(name) = tokens.get(at + 1).and_then(ident) {
                        let name = if name == "fn" || name == "mut" {
                            tokens.get(at + 2).and_then(ident).unwrap_or(name)
                        } else {
                            name
                        };
                        module.items.insert(name);
                    }
                    at += 1;
                }
                Some("macro_rules") => {
                    if let Some(name) = tokens.get(at + 2).and_then(ident) {
                        module.items.insert(name);
                    }
                    at += 1;
                }
                _ => at = paths_in(&tokens, at, &mut module.used),
            }
            is_public = false;
        }
        self.0.insert(path, module);
    }

    /// The file that declares what a path names, seen from a module; `None`: not of this crate.
    fn file_of(&self, from: &ModulePath, path: &[String], depth: usize) -> Option<&Path> {
        let (first, mut rest) = path.split_first()?;
        let mut module: ModulePath = match first.as_str() {
            "crate" => Vec::new(),
            "self" => from.clone(),
            "super" => from[..from.len().checked_sub(1)?].to_vec(),
            name => {
                let child: ModulePath = from.iter().cloned().chain([name.to_owned()]).collect();
                self.0.get(&child)?;
                child
            }
        };
        while let Some((name, behind)) = rest.split_first() {
            if name == "super" {
                module.pop()?;
                rest = behind;
                continue;
            }
            let child: ModulePath = module.iter().cloned().chain([name.clone()]).collect();
            if self.0.contains_key(&child) {
                module = child;
                rest = behind;
                continue;
            }
            let here = self.0.get(&module)?;
            if here.items.contains(name) || depth > 8 {
                break;
            }
            let passed_on = here.passed_on.iter();
            let named = passed_on.clone().filter(|(known, _)| known == name).find_map(|(_, target)| {
                let target: Vec<String> = target.iter().chain(behind).cloned().collect();
                self.file_of(&module, &target, depth + 1)
            });
            let by_glob = || {
                passed_on.clone().filter(|(known, _)| known == "*").find_map(|(_, target)| {
                    let inner: Vec<String> = target.iter().chain(rest).cloned().collect();
                    self.declares(&module, &inner, depth + 1)
                })
            };
            return named.or_else(by_glob).or(Some(&here.file));
        }
        self.0.get(&module).map(|module| module.file.as_path())
    }

    /// As [`file_of`](Self::file_of), but only where the module declares that name.
    fn declares(&self, from: &ModulePath, path: &[String], depth: usize) -> Option<&Path> {
        let file = self.file_of(from, path, depth)?;
        let name = path.last()?;
        let of_file = self.0.values().filter(|module| module.file == file);
        of_file.clone().any(|module| module.items.contains(name)).then_some(file)
    }

    /// The sets of files that reach each other.
    fn circles(&self) -> Vec<BTreeSet<PathBuf>> {
        let mut edges: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
        for (path, module) in &self.0 {
            let known = module.used.iter().filter_map(|used| self.file_of(path, used, 0));
            edges.entry(&module.file).or_default().extend(known.filter(|file| *file != module.file));
        }
        let reach: BTreeMap<&Path, BTreeSet<&Path>> =
            edges.keys().map(|file| (*file, reachable(file, &edges))).collect();
        let mut circles: BTreeSet<BTreeSet<PathBuf>> = BTreeSet::new();
        for (file, reached) in &reach {
            let circle: BTreeSet<PathBuf> = reached
                .iter()
                .filter(|other| reach.get(*other).is_some_and(|back| back.contains(file)))
                .map(|other| other.to_path_buf())
                .collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }
}

fn reachable<'g>(from: &'g Path, edges: &BTreeMap<&'g Path, BTreeSet<&'g Path>>) -> BTreeSet<&'g Path> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        for next in edges.get(file).into_iter().flatten() {
            if reached.insert(*next) {
                open.push(next);
            }
        }
    }
    reached
}

/// `#[cfg(test)]`: what follows is no part of the crate.
fn is_test_attribute(tokens: &[TokenTree]) -> bool {
    let [TokenTree::Punct(hash), TokenTree::Group(attribute), ..] = tokens else { return false };
    hash.as_char() == '#' && attribute.to_string().replace(' ', "").contains("cfg(test)")
}

/// Where the item that begins at `at` ends.
fn behind_item(tokens: &[TokenTree], at: usize) -> usize {
    let ends = |token: &TokenTree| {
        is_punct(token, ';') || matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
    };
    tokens[at..].iter().position(ends).map_or(tokens.len(), |length| at + length + 1)
}

/// The leaves of a `use` tree with the names they get.
fn use_leaves(tokens: &[TokenTree], before: &[String], leaves: &mut Vec<(Vec<String>, String)>) {
    let mut path = before.to_vec();
    let mut alias = None;
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Ident(word) if *word == "as" => {
                alias = tokens.get(at + 1).and_then(ident);
                at += 1;
            }
            TokenTree::Ident(word) if *word == "self" && !path.is_empty() => {}
            TokenTree::Ident(word) => path.push(word.to_string()),
            TokenTree::Punct(star) if star.as_char() == '*' => {
                leaves.push((path, "*".to_owned()));
                return;
            }
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                inner.split(|token| is_punct(token, ',')).for_each(|branch| {
                    if !branch.is_empty() {
                        use_leaves(branch, &path, leaves);
                    }
                });
                return;
            }
            _ => {}
        }
        at += 1;
    }
    let name = alias.or_else(|| path.last().cloned()).unwrap_or_default();
    leaves.push((path, name));
}

/// Takes the path or token at `at` in, also within groups, and gives where to go on.
fn paths_in(tokens: &[TokenTree], at: usize, used: &mut Vec<Vec<String>>) -> usize {
    match &tokens[at] {
        TokenTree::Group(group) => {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            let mut inside = 0;
            while inside < inner.len() {
                inside = match ident(&inner[inside]).as_deref() {
                    Some("use") => {
                        let end = inner[inside..]
                            .iter()
                            .position(|token| is_punct(token, ';'))
                            .map_or(inner.len(), |n| inside + n);
                        let mut leaves = Vec::new();
                        use_leaves(&inner[inside + 1..end], &[], &mut leaves);
                        used.extend(leaves.into_iter().map(|(leaf, _)| leaf));
                        end + 1
                    }
                    _ if is_test_attribute(&inner[inside..]) => behind_item(&inner, inside),
                    _ => paths_in(&inner, inside, used),
                };
            }
            at + 1
        }
        TokenTree::Ident(first) => {
            let mut path = vec![first.to_string()];
            let mut at = at + 1;
            while let [TokenTree::Punct(a), TokenTree::Punct(b), TokenTree::Ident(name), ..] = &tokens[at..]
                && a.as_char() == ':'
                && b.as_char() == ':'
            {
                path.push(name.to_string());
                at += 3;
            }
            if path.len() > 1 {
                used.push(path);
            }
            at
        }
        _ => at + 1,
    }
}

fn ident(token: &TokenTree) -> Option<String> {
    match token {
        TokenTree::Ident(word) => Some(word.to_string()),
        _ => None,
    }
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}
