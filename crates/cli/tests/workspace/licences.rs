//! Every package that a binary or its build needs has a licence that `deny.toml` allows. `cargo deny` checks the same
//! and more; this needs nothing but cargo.

use crate::metadata::{Metadata, root};

#[test]
fn every_licence_is_allowed() {
    let allowed = allowed_by_deny_toml();
    let mut wrong = Vec::new();
    for (_, package) in Metadata::load().packages() {
        match &package.licence {
            Some(expression) if is_allowed(expression, &allowed) => {}
            Some(expression) => wrong.push(format!("{}: {expression}", package.name)),
            None => wrong.push(format!("{}: no licence", package.name)),
        }
    }
    assert!(wrong.is_empty(), "licences that deny.toml does not allow:\n{}", wrong.join("\n"));
}

#[test]
fn an_expression_is_allowed_if_one_way_to_fulfil_it_is() {
    let allowed = ["MIT".to_owned(), "Apache-2.0".to_owned(), "Unicode-3.0".to_owned()];
    for expression in
        ["MIT", "MIT OR GPL-3.0", "GPL-2.0/MIT", "(MIT OR Apache-2.0) AND Unicode-3.0", "Apache-2.0 AND MIT"]
    {
        assert!(is_allowed(expression, &allowed), "{expression}");
    }
    for expression in
        ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND GPL-3.0", "Apache-2.0 WITH LLVM-exception"]
    {
        assert!(!is_allowed(expression, &allowed), "{expression}");
    }
}

/// The `allow` list of `[licenses]`: one quoted name a line.
fn allowed_by_deny_toml() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml is at the workspace's root");
    let list =
        text.split_once("\nallow = [").and_then(|(_, rest)| rest.split_once(']')).expect("deny.toml has a list").0;
    let names: Vec<String> = list.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    assert!(names.iter().any(|name| name == "Apache-2.0"), "the list of deny.toml was not understood: {names:?}");
    names
}

/// Whether an SPDX expression can be fulfilled by allowed licences only. `AND` binds stronger than `OR`; old packages
/// write `/` for `OR`.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (result, rest) = any_of(&words, allowed);
    assert!(rest.is_empty(), "not a licence expression: {expression}");
    result
}

fn any_of<'w>(words: &'w [&'w str], allowed: &[String]) -> (bool, &'w [&'w str]) {
    let (mut result, mut rest) = all_of(words, allowed);
    while let ["OR", others @ ..] = rest {
        let (other, after) = all_of(others, allowed);
        result |= other;
        rest = after;
    }
    (result, rest)
}

fn all_of<'w>(words: &'w [&'w str], allowed: &[String]) -> (bool, &'w [&'w str]) {
    let (mut result, mut rest) = licence(words, allowed);
    while let ["AND", others @ ..] = rest {
        let (other, after) = licence(others, allowed);
        result &= other;
        rest = after;
    }
    (result, rest)
}

fn licence<'w>(words: &'w [&'w str], allowed: &[String]) -> (bool, &'w [&'w str]) {
    match words {
        ["(", inner @ ..] => match any_of(inner, allowed) {
            (result, [")", rest @ ..]) => (result, rest),
            _ => panic!("a parenthesis is not closed"),
        },
        [name, "WITH", exception, rest @ ..] => (allowed.contains(&format!("{name} WITH {exception}")), rest),
        [name, rest @ ..] => (allowed.iter().any(|allowed| allowed == name), rest),
        [] => panic!("a licence is missing"),
    }
}
