//! The reference page of connectors, made from the declarations.

use super::declared::groups;
use headpond_config::reference::table;
use std::fmt::Write;

const HEAD: &str = "\
# Connectors

<!-- Generated from crates/connectors/src/options; do not edit. CONTRIBUTING.md says how to make it anew. -->

What may stand in the `WITH (…)` of a `CREATE TABLE` statement. A key that its connector and format do not know is an
error that names the nearest one.

**Timestamps** as text: `2013-01-01 10:00:00` or with a `T`, with up to nine digits behind a point, alone or with `Z`
or an offset such as `+02:00`. A `TIMESTAMP` takes the date and the time as they are written, whatever zone follows. A
`TIMESTAMP_LTZ` is an instant: the zone counts, and where there is none, `table.local-time-zone` does. It is written in
UTC, with `Z`.

**Durations** are a number with `ns`, `us`, `ms`, `s`, `min`, `h` or `d`.
";

/// The reference page in Markdown.
pub fn markdown() -> String {
    let mut page = HEAD.to_owned();
    for group in groups() {
        let _ = write!(page, "\n## {}\n\n{}\n", group.name, group.doc);
        if group.options.is_empty() {
            continue;
        }
        let _ = write!(page, "\n{}", table(group.options));
    }
    page
}
