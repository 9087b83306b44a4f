//! The reference page, made from the registry.

use crate::option::{Definition, Support};
use crate::options::{SECTIONS, registry};
use std::fmt::{self, Write};

const HEAD: &str = "\
# Configuration

<!-- Generated from crates/config/src/options; do not edit. CONTRIBUTING.md says how to make it anew. -->

An option can be set in five places. A later one wins:

1. its default,
2. the configuration file: `headpond.toml` in the current directory, or the one that `--config` names,
3. an environment variable,
4. a statement: `SET 'key' = 'value';`. `RESET 'key';` and `RESET;` drop what `SET` said,
5. the command line: `-D key=value`, `--parallelism N`, `--restore …`.

**File.** Tables and dotted keys are the same: `[state.backend]` with `type = \"rocksdb\"` sets `state.backend.type`.

**Environment.** The variable of a key is `HEADPOND_` and the key in capitals, with `_` for every dot and dash:
`pipeline.max-parallelism` is `HEADPOND_PIPELINE_MAX_PARALLELISM`.

**Units.** A duration is a number with `ns`, `us`, `ms`, `s`, `min`, `h` or `d`; a bare number is in milliseconds. A size is
a number with `b`, `kb`, `mb`, `gb` or `tb` (1 kb is 1,024 bytes); a bare number is in bytes. A path is a path or a `file:`
URI; a relative one begins at the current directory. A URL is that of a store: `s3://bucket/path`. A boolean is `true` or `false`.

**Options of Flink.** Scripts from a Flink cluster run as they are: options that only a cluster has (`sql-client.*`,
`table.optimizer.*`, `table.exec.sink.*`, `restart-strategy.*`, `taskmanager.*`, `jobmanager.*`, `pipeline.object-reuse`, …) are
accepted, and one note lists those that have no effect.

**Errors.** A key that nobody knows is an error that names the nearest one. Values of keys that hold secrets (`…password`,
`…secret…`, `…token`, …) are shown as `******`.

Options of tables (`WITH (…)`) belong to their connectors and are not listed here.
";

/// The reference page in Markdown.
pub fn markdown() -> String {
    let mut page = String::new();
    write_page(&mut page).expect("writing to a String does not fail");
    page
}

fn write_page(page: &mut String) -> fmt::Result {
    page.push_str(HEAD);
    for section in SECTIONS {
        write!(page, "\n## {}\n\n{}\n\n", section.title, section.intro)?;
        page.push_str(&table(section.options));
    }
    page.push_str("\n## Other names\n\nThese keys are understood as well.\n\n| key | stands for |\n|---|---|\n");
    for option in registry() {
        for alias in option.aliases() {
            let unit = if alias.unit.is_empty() { String::new() } else { format!(" (in {})", alias.unit) };
            writeln!(page, "| `{}` | `{}`{unit} |", alias.key, option.key())?;
        }
    }
    Ok(())
}

/// A table of options in Markdown.
pub fn table(options: &[&Definition]) -> String {
    let mut table = "| key | type | default | meaning |\n|---|---|---|---|\n".to_owned();
    for option in options {
        let default = default(option);
        let (key, value_type, meaning) = (option.key(), option.value_type().described(), meaning(option));
        table.push_str(&format!("| `{key}` | {value_type} | {default} | {meaning} |\n"));
    }
    table
}

fn default(option: &Definition) -> String {
    match option.default_text() {
        None => option.without_default().to_owned(),
        Some("") => "none".to_owned(),
        Some(text) => format!("`{text}`"),
    }
}

fn meaning(option: &Definition) -> String {
    let mut meaning = option.doc().to_owned();
    if let Some(allowed) = option.allowed() {
        write!(meaning, " Allowed: {allowed}.").expect("writing to a String does not fail");
    }
    match option.support() {
        Support::Full => meaning,
        Support::NoEffect(why) => format!("{meaning} *No effect: {why}.*"),
        Support::Only(accepted, why) => {
            format!("{meaning} *Only `{}` is accepted: {why}.*", accepted.join("`, `"))
        }
        Support::Refused(why) => format!("{meaning} *Refused: {why}.*"),
    }
}
