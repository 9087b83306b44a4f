//! What Flink 2.3 answered to hundreds of expressions, and what we answer.
//!
//! `data/flink/expressions.tsv` has each expression with the type and the values that Flink gave, row by row of
//! `input.jsonl`; `differences.tsv` where we answer otherwise on purpose, and why: each reason stands on the page of
//! differences.

#[path = "../common/mod.rs"]
mod common;
mod expression;
mod text;

use expression::{Answer, expressions};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

fn data(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/flink").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Where we answer otherwise: by number and row, our answer and the reason.
fn differences() -> BTreeMap<(u32, String), (String, String)> {
    let mut differences = BTreeMap::new();
    for line in data("differences.tsv").lines().skip(1) {
        let [number, row, ours, reason] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        differences.insert((number.parse().expect("a number"), row.to_owned()), (ours.to_owned(), reason.to_owned()));
    }
    differences
}

#[test]
fn answers_are_flinks_unless_a_reason_is_given() {
    let mut expected = differences();
    let mut wrong = Vec::new();
    let (mut equal, mut all) = (0, 0);
    let (columns, input) = (data("columns.sql"), data("input.jsonl"));
    for expression in expressions(&data("expressions.tsv")) {
        let found = expression.differences(&columns, &input);
        all += 1;
        equal += usize::from(found.is_empty());
        for (row, ours) in found {
            match expected.remove(&(expression.number, row.clone())) {
                Some((answer, _)) if answer == ours => {}
                Some((answer, _)) => wrong.push(format!("{}\t{row}\t{ours}\tnot {answer}", expression.number)),
                None => wrong.push(format!("{}\t{row}\t{ours}\t{}", expression.number, expression.text)),
            }
        }
    }
    wrong.extend(expected.keys().map(|(number, row)| format!("{number}\t{row}\tanswers as Flink: take the line out")));
    assert!(wrong.is_empty(), "{} lines of differences.tsv are wrong or missing:\n{}", wrong.len(), wrong.join("\n"));
    assert!(equal * 100 >= all * 85, "{equal} of {all} are equal");
}

#[test]
fn every_reason_stands_on_the_page_of_differences() {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/differences-from-flink.md");
    let page = std::fs::read_to_string(page).unwrap();
    let reasons: BTreeSet<String> = differences().into_values().map(|(_, reason)| reason).collect();
    for reason in reasons {
        assert!(page.contains(&format!("<a id=\"{reason}\">")), "{reason}");
    }
}

#[test]
fn whole_numbers_wrap_around_where_that_is_asked_for() {
    let reasons = differences();
    let overflows =
        |number: u32| reasons.iter().any(|((of, _), (_, reason))| *of == number && reason == "integer-overflow");
    let (columns, input) = (data("columns.sql"), data("input.jsonl"));
    let mut tried = 0;
    for mut expression in expressions(&data("expressions.tsv")).filter(|expression| overflows(expression.number)) {
        expression.wraps = true;
        assert_eq!(expression.differences(&columns, &input), Vec::<(String, Answer)>::new(), "{}", expression.text);
        tried += 1;
    }
    assert!(tried > 10);
}
