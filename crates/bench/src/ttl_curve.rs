//! Measures how much memory and disk state with a time to live takes, over five times to live of ever-new keys.
//!
//! ```text
//! headpond-ttl-curve path/to/headpond [TTL_SECONDS [KEYS_PER_SECOND]]
//! ```
//!
//! Runs a job for each kind of state and backend: two million keys, each seen three times within a moment, none ever
//! again. Prints a Markdown table for each: the most that memory and disk hold in each half of a time to live, beside a
//! bound, which is 1.2 times the keys and values of what lives, and 32 MB. Ends with 1 if anything was beyond its
//! bound.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};

/// Rows of one key.
const ROWS_PER_KEY: u64 = 3;

/// What memory and disk may take beside 1.2 times what lives, in bytes.
const ALLOWANCE: u64 = 32_000_000;

/// The memory that RocksDB gets: less than the allowance, so that the rest of a bound is for what grows.
const ROCKSDB_MEMORY: &str = "16 mb";

/// A kind of state.
struct StateCase {
    name: &'static str,
    /// The query over `t`, and over `u`, which has the same keys.
    query: &'static str,
    /// Whether state expires by event time, not by the option.
    by_event_time: bool,
    /// The bytes of the keys and values of a key's entries: a key of 10 bytes (key group, presence, BIGINT), what else
    /// the entry's key has, 8 bytes of time stamp where a TTL is set, and a row of 3 bytes and its fields.
    live_bytes_per_key: u64,
}

const KINDS: [StateCase; 4] = [
    StateCase {
        name: "aggregation",
        query: "SELECT k, COUNT(*) FROM t GROUP BY k",
        by_event_time: false,
        live_bytes_per_key: 10 + 8 + 11,
    },
    StateCase {
        name: "join",
        query: "SELECT t.k, u.v FROM t JOIN u ON t.k = u.k",
        by_event_time: false,
        // A row of k, and one of k and v, each three times, behind a number of 8 bytes.
        live_bytes_per_key: 3 * (18 + 8 + 11) + 3 * (18 + 8 + 15),
    },
    StateCase {
        name: "deduplication",
        query: "SELECT k, v FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM t) WHERE n = 1",
        by_event_time: false,
        live_bytes_per_key: 10 + 8 + 7,
    },
    StateCase {
        name: "session windows",
        query: "SELECT k, COUNT(*) FROM TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(et), INTERVAL '{ttl}' SECOND))
                GROUP BY k, window_start, window_end",
        by_event_time: true,
        // Three times and a count; and a timer.
        live_bytes_per_key: (10 + 35) + (18 + 2),
    },
];

/// What a job holds at one moment.
#[derive(Debug, Clone, Copy)]
struct Sample {
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
    let run = || -> Result<bool, String> {
        let headpond = arguments.first().ok_or("the path of the binary is missing")?;
        let (ttl_s, keys_per_second) = (number(1, 20)?, number(2, 20_000)?);
        let mut all_within = true;
        for backend in ["memory", "rocksdb"] {
            for kind in &KINDS {
                let moments = measured(headpond, kind, backend, ttl_s, keys_per_second)?;
                let live = ttl_s * keys_per_second * kind.live_bytes_per_key;
                all_within &= show(kind, backend, ttl_s, live, &moments);
            }
        }
        Ok(all_within)
    };
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            eprintln!("  usage: headpond-ttl-curve path/to/headpond [TTL_SECONDS [KEYS_PER_SECOND]]");
            ExitCode::from(2)
        }
    }
}

fn job(kind: &StateCase, backend: &str, ttl_s: u64, keys_per_second: u64) -> String {
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
        "SET 'state.backend.type' = '{backend}'; SET 'state.backend.rocksdb.memory.fixed-per-tm' = '{ROCKSDB_MEMORY}'; {ttl}
         {}{}CREATE TABLE out (k BIGINT, n BIGINT) WITH ('connector' = 'blackhole');
         INSERT INTO out {};",
        table("t"),
        table("u"),
        kind.query.replace("{ttl}", &ttl_s.to_string())
    )
}

fn measured(
    headpond: &str,
    kind: &StateCase,
    backend: &str,
    ttl_s: u64,
    keys_per_second: u64,
) -> Result<Vec<Sample>, String> {
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

fn moment(line: &str) -> Option<Sample> {
    let value: Value = serde_json::from_str(line).ok()?;
    let state = value.get("state")?;
    let number = |name: &str| state.get(name).and_then(Value::as_u64);
    Some(Sample {
        elapsed_s: value.get("elapsed_s")?.as_f64()?,
        rows: value.get("rows")?.as_u64()?,
        entries: number("entries")?,
        memory: number("memory_bytes")?,
        disk: number("disk_bytes")?,
        reclaimed: number("reclaimed_bytes").unwrap_or(0),
    })
}

/// Prints the table of a job; whether all was within its bound.
fn show(kind: &StateCase, backend: &str, ttl_s: u64, live: u64, moments: &[Sample]) -> bool {
    let mib = |bytes: u64| format!("{:.1}", bytes as f64 / f64::from(1 << 20));
    println!("\n### {}, `{backend}`: {} MiB live, bound {} MiB\n", kind.name, mib(live), mib(bound(live)));
    println!("| until | rows | entries | memory, MiB | disk, MiB | reclaimed, MiB |\n|---|---|---|---|---|---|");
    let mut is_within = true;
    for part in 1..=10 {
        let half_ttl_s = ttl_s as f64 / 2.0;
        let (from_s, to_s) = (half_ttl_s * f64::from(part - 1), half_ttl_s * f64::from(part));
        let within = || moments.iter().filter(|moment| moment.elapsed_s > from_s && moment.elapsed_s <= to_s);
        let Some(last) = within().next_back() else { continue };
        let most = |of: fn(&Sample) -> u64| within().map(of).max().unwrap_or(0);
        let (memory, disk) = (most(|moment| moment.memory), most(|moment| moment.disk));
        is_within &= memory.max(disk) <= bound(live);
        println!(
            "| {:.1} TTL | {} | {} | {} | {} | {} |",
            f64::from(part) / 2.0,
            last.rows,
            last.entries,
            mib(memory),
            mib(disk),
            mib(last.reclaimed)
        );
    }
    println!("\n{}", if is_within { "Within the bound." } else { "BEYOND the bound." });
    is_within
}

fn bound(live: u64) -> u64 {
    live * 6 / 5 + ALLOWANCE
}
