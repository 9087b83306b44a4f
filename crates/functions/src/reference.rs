//! The reference page of functions, made from the registry.

use crate::bind::{Category, Function};
use crate::registry::all;
use std::fmt::Write;

const HEAD: &str = "\
# Functions

<!-- Generated from crates/functions/src/functions; do not edit. CONTRIBUTING.md says how to make it anew. -->

What queries may call. Names, types and values are those of Flink 2.3, in any case of letters; where an answer differs,
[differences from Flink](differences-from-flink.md) says why. NULL for any argument gives NULL, unless said. Every example
is run by the tests: behind the arrow is the value as `CAST(… AS STRING)` writes it.

Aggregates stand in [SQL](sql.md).
";

fn chapters() -> [(Category, &'static str); 9] {
    [
        (Category::Arithmetic, "Numbers"),
        (Category::Text, "Texts"),
        (Category::Pattern, "Patterns"),
        (Category::Time, "Dates and times"),
        (Category::Conditional, "Choices"),
        (Category::Conversion, "Types"),
        (Category::Collection, "Arrays, maps and rows"),
        (Category::Json, "JSON"),
        (Category::Hash, "Hashes"),
    ]
}

/// The reference page in Markdown.
pub fn markdown() -> String {
    let mut page = HEAD.to_owned();
    for (category, name) in chapters() {
        let _ = write!(page, "\n## {name}\n\n| call | what it gives |\n|---|---|\n");
        for function in all().filter(|function| function.category == category) {
            row(&mut page, function);
        }
    }
    page
}

fn row(page: &mut String, function: &Function) {
    let cell = |text: &str| text.replace('|', "\\|");
    let _ = write!(page, "| `{}`", cell(function.syntax));
    let others: Vec<String> = function
        .names
        .iter()
        .skip(1)
        .filter(|name| !function.syntax.contains(*name))
        .map(|name| format!("`{name}`"))
        .collect();
    if !others.is_empty() {
        let _ = write!(page, " (also {})", others.join(", "));
    }
    let _ = write!(page, " | {}", cell(function.doc));
    for (call, value) in function.examples {
        let _ = write!(page, " `{}` → `{}`", cell(call), cell(value));
    }
    page.push_str(" |\n");
}
