//! An expression, run as one job for all rows, or for each where that fails.

use super::common::{Run, planned};
use super::text::texts;
use serde_json::{Map, Value};

/// A value as text, `ERROR …`, or why it is refused.
pub(crate) type Answer = String;

const ROWS: [&str; 6] = ["1", "2", "3", "4", "5", "6"];
/// A column of this type takes no value, so that a refusal names the value's type.
const NOTHING_FITS: &str = "MAP<STRING, MAP<STRING, MAP<STRING, BOOLEAN>>>";

/// An expression with Flink's answer.
#[derive(Debug, Clone)]
pub(crate) struct Expression {
    pub(crate) number: u32,
    mode: String,
    zone: String,
    pub(crate) text: String,
    data_type: String,
    result: Map<String, Value>,
    /// Whether whole numbers wrap around.
    pub(crate) wraps: bool,
}

/// The expressions of a table of them.
pub(crate) fn expressions(table: &str) -> impl Iterator<Item = Expression> {
    table.lines().skip(1).filter(|line| !line.is_empty()).map(|line| {
        let [number, _, mode, zone, text, data_type, result] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let Value::Object(result) = serde_json::from_str(result).expect("JSON") else { panic!("{line}") };
        Expression {
            number: number.parse().expect("a number"),
            mode: mode.to_owned(),
            zone: zone.to_owned(),
            text: if text.starts_with("TRIM('\\t") { text.replace("\\t", "\t") } else { text.to_owned() },
            data_type: data_type.to_owned(),
            result,
            wraps: false,
        }
    })
}

/// A type as columns can have it: without lengths and NOT NULL, in milliseconds.
fn canonical(flink: &str) -> String {
    let mut text = flink.replace(" NOT NULL", "").replace("TIME(0)", "TIME(3)").replace('`', "");
    for (name, plain) in [("VARCHAR(", "STRING"), ("CHAR(", "STRING"), ("VARBINARY(", "BYTES"), ("BINARY(", "BYTES")] {
        while let Some(at) = text.find(name) {
            let end = text[at..].find(')').map_or(text.len(), |end| at + end + 1);
            text.replace_range(at..end, plain);
        }
    }
    for precision in ["(0)", "(6)", "(9)"] {
        text = text.replace(&format!("TIMESTAMP{precision}"), "TIMESTAMP(3)");
        text = text.replace(&format!("TIMESTAMP_LTZ{precision}"), "TIMESTAMP_LTZ(3)");
    }
    text
}

impl Expression {
    fn query(&self, expression: &str) -> String {
        match self.mode.as_str() {
            "agg" => format!("SELECT g AS id, {expression} AS v FROM t GROUP BY g"),
            "query" => expression.to_owned(),
            _ => format!("SELECT id, {expression} AS v FROM t"),
        }
    }

    fn script(&self, columns: &str, path: &str, query: &str, column: &str) -> String {
        let overflow = if self.wraps { "SET 'table.exec.integer-overflow' = 'wrap';" } else { "" };
        format!(
            "SET 'table.local-time-zone' = '{}'; {overflow}
             CREATE TABLE t ({columns}) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json');
             CREATE TABLE o (id INT, v {column}) WITH ('connector' = 'blackhole');
             INSERT INTO o {query};",
            self.zone
        )
    }

    /// The rows where our answer is not Flink's, with ours; row `type` where the type is another.
    pub(crate) fn differences(&self, columns: &str, input: &str) -> Vec<(String, Answer)> {
        let (_dir, path) = super::common::file(input);
        let query = self.query(&self.text);
        let everywhere = self.result.get("*").and_then(Value::as_str).unwrap_or_default();
        let refused_by_flink = everywhere.starts_with("PLAN ERROR");
        let own = match planned(&self.script(columns, &path, &query, NOTHING_FITS)) {
            // NULL has no type of its own.
            Ok(_) => None,
            Err(error) => match type_of_refused(&error.to_string()) {
                Some(own) => Some(own),
                None if refused_by_flink => return Vec::new(),
                None => {
                    let error = error.to_string();
                    return vec![("refused".to_owned(), error.split(" (line").next().unwrap_or_default().to_owned())];
                }
            },
        };
        if refused_by_flink {
            return vec![("*".to_owned(), "taken".to_owned())];
        }
        let wanted = canonical(&self.data_type);
        if wanted.starts_with("INTERVAL") {
            return Vec::new();
        }
        let mut found = Vec::new();
        let own = own.unwrap_or_else(|| "STRING".to_owned());
        if canonical(&own) != wanted && without_names(&own) != without_names(&wanted) && !everywhere.eq("NULL") {
            found.push(("type".to_owned(), own.clone()));
        }
        let declarable = !["TIME(", "INTERVAL", "MULTISET"].iter().any(|name| own.starts_with(name));
        let (query, column) = match declarable {
            true => (query, quoted_fields(&canonical(&own))),
            false => (self.query(&format!("CAST({} AS STRING)", self.text)), "STRING".to_owned()),
        };
        let values = self.values(columns, &path, &query, &column);
        let ids = if self.mode == "agg" { &ROWS[..3] } else { &ROWS[..] };
        for id in ids {
            let flink = self.result.get(*id).or_else(|| self.result.get("*")).and_then(Value::as_str);
            let ours = values.iter().find(|(row, _)| row == id).map_or("no row", |(_, value)| value.as_str());
            if !is_same(flink.unwrap_or("no row"), ours) {
                found.push(((*id).to_owned(), ours.to_owned()));
            }
        }
        found
    }

    /// The values by row; where the job fails, of each row alone.
    fn values(&self, columns: &str, path: &str, query: &str, column: &str) -> Vec<(String, Answer)> {
        let run = |query: &str| -> Result<Vec<(String, Answer)>, String> {
            let job = planned(&self.script(columns, path, query, column)).map_err(|error| error.to_string())?;
            let mut run = Run::new(&job.graph).map_err(|error| error.to_string())?;
            run.all(usize::MAX, 0).map_err(|error| error.to_string())?;
            Ok(texts(&run.changes))
        };
        let failed = |error: &str| format!("ERROR {}", error.split(" (").next().unwrap_or_default());
        match run(query) {
            Ok(values) => values,
            Err(_) if self.mode == "row" => ROWS
                .iter()
                .map(|id| match run(&format!("{query} WHERE id = {id}")) {
                    Ok(values) => values.into_iter().next().unwrap_or_else(|| ((*id).to_owned(), "no row".to_owned())),
                    Err(error) => ((*id).to_owned(), failed(&error)),
                })
                .collect(),
            Err(error) => ROWS.iter().map(|id| ((*id).to_owned(), failed(&error))).collect(),
        }
    }
}

/// The type that a refusal of `NOTHING_FITS` names.
fn type_of_refused(error: &str) -> Option<String> {
    let (_, named) =
        error.split_once("column `v` of table `o` is ").and_then(|(_, behind)| behind.rsplit_once("` is "))?;
    Some(named.split(" (line").next().unwrap_or(named).trim().to_owned())
}

fn is_field_name(name: &str) -> bool {
    name.contains('$') || name.chars().any(char::is_lowercase)
}

/// A type without the names of its rows' fields.
fn without_names(data_type: &str) -> String {
    rewritten_fields(data_type, |_| String::new())
}

/// A type with the names of its rows' fields in quotes.
fn quoted_fields(data_type: &str) -> String {
    rewritten_fields(data_type, |name| format!("`{name}` "))
}

fn rewritten_fields(data_type: &str, field: impl Fn(&str) -> String) -> String {
    let mut text = String::new();
    let mut name = String::new();
    for c in data_type.chars() {
        if c.is_alphanumeric() || matches!(c, '_' | '$') {
            name.push(c);
        } else if c == ' ' && is_field_name(&name) {
            text.push_str(&field(&name));
            name.clear();
        } else {
            text.push_str(&name);
            name.clear();
            text.push(c);
        }
    }
    text + &name
}

fn is_same(flink: &str, ours: &str) -> bool {
    let failed = |answer: &str| answer.starts_with("ERROR");
    // Flink's sink refuses NULL where a type says that there is none: the value is NULL.
    let flink = if flink.starts_with("ERROR EnforcerException") { "NULL" } else { flink };
    if failed(flink) || failed(ours) {
        return failed(flink) == failed(ours);
    }
    let floating = |text: &str| text.contains(['.', 'E']).then(|| text.parse::<f64>().ok()).flatten();
    let near = floating(flink).zip(floating(ours)).is_some_and(|(a, b)| {
        a == b || (a - b).abs() <= 1e-14 * a.abs().max(b.abs()) || a as f32 == b as f32 && flink.len() < 14
    });
    flink == ours || near || flink == format!("\"{ours}\"") || ours == format!("\"{flink}\"")
}
