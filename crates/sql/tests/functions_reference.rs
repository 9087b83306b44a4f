//! The functions' reference: its page is current, and its examples give what they say.

#[path = "common/mod.rs"]
mod common;

use common::{run_json, tables, with_way_out};
use headpond_functions::{reference, registry};
use std::path::Path;

#[test]
fn the_reference_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/functions.md");
    let page = reference::markdown();
    if std::env::var_os("HEADPOND_UPDATE_REFERENCE").is_some_and(|value| value == "1") {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/reference/functions.md is not current; run: HEADPOND_UPDATE_REFERENCE=1 cargo test --release --workspace \
         --test functions_reference"
    );
}

#[test]
fn examples_give_what_they_say() {
    let mut wrong = Vec::new();
    for (call, value) in registry::all().flat_map(|function| function.examples) {
        let sql = format!("{} INSERT INTO out SELECT CAST({call} AS STRING) FROM t;", tables("k INT", "v STRING"));
        let given = match run_json("{\"k\": 1}\n", &sql) {
            Ok(rows) => rows.concat().trim_start_matches("+I ").to_owned(),
            Err(error) => with_way_out(&error),
        };
        // Truth values are shown as SQL's, in small letters.
        let same = given == *value || matches!(*value, "true" | "false") && given.eq_ignore_ascii_case(value);
        if !same {
            wrong.push(format!("{call} is {given}, not {value}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn all_of_flinks_functions_are_there_or_named() {
    // SHOW FUNCTIONS of Flink 2.3.
    let names = include_str!("data/flink/functions.txt");
    let missing: Vec<&str> = names
        .split_whitespace()
        .filter(|name| {
            let known = registry::function(name).is_some() || headpond_functions::aggregate(name).is_some();
            !known && !ELSEWHERE.contains(name)
        })
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Names that are syntax, internal to Flink, or refused by name: bitmaps, VARIANT, models, and what only a runtime of
/// Flink's has.
#[rustfmt::skip]
const ELSEWHERE: &[&str] = &[
    // Syntax, and names that only Flink's Table API has.
    "and", "as", "asc", "at", "between", "cast", "TRY_CAST", "charLength", "convertTz", "currentDatabase", "currentDate",
    "currentRowTimestamp", "currentTime", "currentTimestamp", "dateFormat", "desc", "distinct", "divide", "end", "equals",
    "flatten", "fromBase64", "fromUnixtime", "get", "greaterThan", "greaterThanOrEqual", "ifThenElse", "in", "isFalse",
    "isNotFalse", "isNotNull", "isNotTrue", "isNull", "isTrue", "lessThan", "lessThanOrEqual", "lowerCase", "minus",
    "minusPrefix", "not", "notBetween", "notEquals", "or", "over", "parseUrl", "plus", "randInteger", "rangeTo",
    "regexpExtract", "regexpReplace", "reinterpretCast", "rowtime", "similar", "splitIndex", "start", "stddevPop",
    "stddevSamp", "strToMap", "streamRecordTimestamp", "sum0", "temporalOverlaps", "times", "toBase64", "toDate",
    "toTimestamp", "unixTimestamp", "upperCase", "varPop", "varSamp", "withColumns", "withoutColumns", "ASSIGNMENT",
    "DEFAULT", "AGG_DECIMAL_MINUS", "AGG_DECIMAL_PLUS", "HIVE_AGG_DECIMAL_PLUS", "SOURCE_WATERMARK", "FROM_CHANGELOG",
    "TO_CHANGELOG", "JSON_ARRAYAGG_ABSENT_ON_NULL", "JSON_ARRAYAGG_NULL_ON_NULL", "JSON_OBJECTAGG_ABSENT_ON_NULL",
    "JSON_OBJECTAGG_NULL_ON_NULL",
    // Bitmaps, VARIANT, models, objects of Java classes, and the watermark of a row's operator.
    "BITMAP_AND", "BITMAP_ANDNOT", "BITMAP_AND_AGG", "BITMAP_AND_CARDINALITY_AGG", "BITMAP_BUILD", "BITMAP_BUILD_AGG",
    "BITMAP_BUILD_CARDINALITY_AGG", "BITMAP_CARDINALITY", "BITMAP_FROM_BYTES", "BITMAP_OR", "BITMAP_OR_AGG",
    "BITMAP_OR_CARDINALITY_AGG", "BITMAP_TO_ARRAY", "BITMAP_TO_BYTES", "BITMAP_TO_STRING", "BITMAP_XOR", "BITMAP_XOR_AGG",
    "BITMAP_XOR_CARDINALITY_AGG", "PARSE_JSON", "TRY_PARSE_JSON", "ML_PREDICT", "OBJECT_OF", "OBJECT_UPDATE",
    "CURRENT_WATERMARK",
];
