//! Measures how much memory and disk state with a time to live takes, over five times to live of ever-new keys.
//!
//! ```text
//! headpond-ttl-curve path/to/headpond [TTL_SECONDS [KEYS_PER_SECOND]]
//! ```
//!
//! Runs a job for each kind of state and backend: two million keys, each seen three times within a moment, none ever again. Prints a
//! Markdown table for each: what lives (the keys of the last time to live, by the entries that state has before the first
//! expires), and what memory and disk hold, at a few moments.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};

/// Rows of one key.
const ROWS_PER_KEY: u64 = 3;

/// A kind of state.
struct Kind {
    name: &'static str,
    /// The query over `t`, and over `u`, which has the same keys.
    query: &'static str,
    /// Whether state expires by event time, not by the option.
    by_event_time: bool,
}

const KINDS: [Kind; 4] = [
    Kind { name: "aggregation", query: "SELECT k, COUNT(*) FROM t GROUP BY k", by_event_time: false },
    Kind { name: "join", query: "SELECT t.k, u.v FROM t JOIN u ON t.k = u.k", by_event_time: false },
    Kind {
        name: "deduplication",
        query: "SELECT k, v FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM t) WHERE n = 1",
        by_event_time: false,
    },
    Kind {
        name: "session windows",
        query: "SELECT k, COUNT(*) FROM TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(et), INTERVAL '{ttl}' SECOND))
                GROUP BY k, window_start, window_end",
        by_event_time: true,
    },
];

/// What a job holds at one moment.
#[derive(Debug, Clone, Copy)]
struct Moment {
    elapsed_s: f64,
    rows: u64,
    entries: u64,
    memory: u64,
    disk: u64,
    reclaimed: u64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: u64| match arguments.get(index) {
        None => Ok(default),
        Some(text) => text.parse::<u64>().map_err(|error| format!("`{text}` is no number: {error}")),
    };
    let run = || -> Result<(), String> {
        let headpond = arguments.first().ok_or("the path of the binary is missing")?;
        let (ttl_s, keys_per_second) = (number(1, 6)?, number(2, 66_000)?);
        for backend in ["memory", "rocksdb"] {
            for kind in &KINDS {
                show(kind, backend, ttl_s, &measured(headpond, kind, backend, ttl_s, keys_per_second)?);
            }
        }
        Ok(())
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            eprintln!("  usage: headpond-ttl-curve path/to/headpond [TTL_SECONDS [KEYS_PER_SECOND]]");
            ExitCode::from(2)
        }
    }
}

fn job(kind: &Kind, backend: &str, ttl_s: u64, keys_per_second: u64) -> String {
    let rows_per_second = keys_per_second * ROWS_PER_KEY;
    let rows = rows_per_second * ttl_s * 5;
    let last = rows - 1;
    let ttl = if kind.by_event_time { String::new() } else { format!("SET 'table.exec.state.ttl' = '{ttl_s} s';") };
    let table = |name: &str| {
        format!(
            "CREATE TABLE {name} (id BIGINT, v INT, k AS id / {ROWS_PER_KEY}, et AS TO_TIMESTAMP_LTZ(id * 1000 / {rows_per_second}, 3),
               WATERMARK FOR et AS et)
             WITH ('connector' = 'datagen', 'splits' = '1', 'rows-per-second' = '{rows_per_second}',
               'fields.id.kind' = 'sequence', 'fields.id.end' = '{last}');\n"
        )
    };
    format!(
        "SET 'state.backend.type' = '{backend}'; {ttl}
         {}{}CREATE TABLE out (k BIGINT, n BIGINT) WITH ('connector' = 'blackhole');
         INSERT INTO out {};",
        table("t"),
        table("u"),
        kind.query.replace("{ttl}", &ttl_s.to_string())
    )
}

fn measured(
    headpond: &str,
    kind: &Kind,
    backend: &str,
    ttl_s: u64,
    keys_per_second: u64,
) -> Result<Vec<Moment>, String> {
    let file = std::env::temp_dir().join(format!("ttl-curve-{}.sql", std::process::id()));
    std::fs::write(&file, job(kind, backend, ttl_s, keys_per_second)).map_err(|error| error.to_string())?;
    let mut child = Command::new(headpond)
        .args(["run", "--progress", "json"])
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{headpond}: {error}"))?;
    let mut moments = Vec::new();
    let mut said = String::new();
    for line in BufReader::new(child.stderr.take().ok_or("the binary has no stderr")?).lines() {
        let line = line.map_err(|error| error.to_string())?;
        moments.extend(moment(&line));
        said = line;
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    std::fs::remove_file(&file).map_err(|error| error.to_string())?;
    if status.success() { Ok(moments) } else { Err(format!("{} with {backend}: {said}", kind.name)) }
}

fn moment(line: &str) -> Option<Moment> {
    let value: Value = serde_json::from_str(line).ok()?;
    let state = value.get("state")?;
    let number = |name: &str| state.get(name).and_then(Value::as_u64);
    Some(Moment {
        elapsed_s: value.get("elapsed_s")?.as_f64()?,
        rows: value.get("rows")?.as_u64()?,
        entries: number("entries")?,
        memory: number("memory_bytes")?,
        disk: number("disk_bytes")?,
        reclaimed: number("reclaimed_bytes").unwrap_or(0),
    })
}

fn show(kind: &Kind, backend: &str, ttl_s: u64, moments: &[Moment]) {
    println!("\n### {}, `{backend}`\n", kind.name);
    println!("| after | rows | entries | memory | disk | reclaimed |\n|---|---|---|---|---|---|");
    let mib = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
    for part in 1..=10 {
        let wanted = ttl_s as f64 * f64::from(part) / 2.0;
        let Some(at) = moments.iter().find(|moment| moment.elapsed_s >= wanted) else { continue };
        println!(
            "| {:.1} TTL | {} | {} | {} | {} | {} |",
            at.elapsed_s / ttl_s as f64,
            at.rows,
            at.entries,
            mib(at.memory),
            mib(at.disk),
            mib(at.reclaimed)
        );
    }
}
