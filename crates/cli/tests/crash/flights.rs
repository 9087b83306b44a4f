//! The job the crash tests run, and what it must give, computed without Headpond.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// January 2013, or the file that `HEADPOND_FLIGHTS` names (the whole year, say).
pub(crate) fn input() -> PathBuf {
    match std::env::var_os("HEADPOND_FLIGHTS") {
        Some(path) => PathBuf::from(path),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flights/flights-2013-01.csv.gz"),
    }
}

/// Rows per second: the input takes about six seconds, so that there is time to kill it.
pub(crate) fn pace(rows: u64) -> u64 {
    rows / 6
}

/// Running totals by carrier with a key, and daily windows by origin in append-only files.
pub(crate) fn job(dir: &Path, backend: &str, rows_per_second: u64, delay: &str) -> String {
    let dir = dir.display();
    let input = input();
    let input = input.display();
    format!(
        "SET 'state.backend.type' = '{backend}';
SET 'state.backend.rocksdb.localdir' = '{dir}/local';
SET 'execution.checkpointing.interval' = '200 ms';
SET 'execution.checkpointing.dir' = 'file://{dir}/checkpoints';
SET 'pipeline.name' = 'flights';
CREATE TABLE flights (carrier STRING, origin STRING, dep_delay DOUBLE, time_hour TIMESTAMP(3),
    WATERMARK FOR time_hour AS time_hour - INTERVAL '1' {delay})
  WITH ('connector' = 'filesystem', 'path' = '{input}', 'format' = 'csv', 'csv.header' = 'true',
        'csv.null-literal' = 'NA', 'scan.rows-per-second' = '{rows_per_second}');
CREATE TABLE totals (carrier STRING, flights BIGINT, delay_sum DOUBLE, PRIMARY KEY (carrier) NOT ENFORCED)
  WITH ('connector' = 'filesystem', 'path' = '{dir}/totals', 'format' = 'json');
CREATE TABLE days (origin STRING, window_start TIMESTAMP(3), flights BIGINT)
  WITH ('connector' = 'filesystem', 'path' = '{dir}/days', 'format' = 'json');
INSERT INTO totals SELECT carrier, COUNT(*), SUM(dep_delay) FROM flights GROUP BY carrier;
INSERT INTO days SELECT origin, window_start, COUNT(*)
  FROM TABLE(TUMBLE(TABLE flights, DESCRIPTOR(time_hour), INTERVAL '1' DAY))
  GROUP BY origin, window_start, window_end;
"
    )
}

/// What the job must give.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    pub(crate) rows: u64,
    /// Flights and sum of delays by carrier.
    pub(crate) totals: BTreeMap<String, (u64, f64)>,
    /// Flights by origin and day.
    pub(crate) days: BTreeMap<(String, String), u64>,
}

pub(crate) fn expected() -> Expected {
    let file = std::fs::File::open(input()).expect("the flights are there");
    let lines = BufReader::new(flate2::read::MultiGzDecoder::new(file));
    let mut expected = Expected::default();
    for line in lines.lines().skip(1) {
        let line = line.expect("the flights are text");
        let fields: Vec<&str> = line.split(',').collect();
        let (delay, carrier, origin, hour) = (fields[5], fields[9], fields[12], fields[18]);
        expected.rows += 1;
        let total = expected.totals.entry(carrier.to_owned()).or_default();
        total.0 += 1;
        total.1 += delay.parse().unwrap_or(0.0);
        *expected.days.entry((origin.to_owned(), hour[..10].to_owned())).or_default() += 1;
    }
    expected
}

/// The JSON lines of all published files below a directory.
pub(crate) fn published(dir: &Path) -> Vec<serde_json::Value> {
    let mut rows = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten() {
        let path = entry.expect("the directory can be listed").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() || name.starts_with(['.', '_']) {
            continue;
        }
        let mut text = String::new();
        std::fs::File::open(&path).expect("a file").read_to_string(&mut text).expect("text");
        rows.extend(text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON lines")));
    }
    rows
}

/// Checks the totals, each carrier once.
pub(crate) fn check_totals(dir: &Path, expected: &Expected) {
    let rows = published(&dir.join("totals"));
    assert_eq!(rows.len(), expected.totals.len(), "one current row per carrier: {rows:?}");
    for row in rows {
        let carrier = row["carrier"].as_str().expect("a carrier");
        let (flights, delay) = expected.totals[carrier];
        assert_eq!(row["flights"].as_u64(), Some(flights), "{carrier}");
        let sum = row["delay_sum"].as_f64().expect("a sum");
        assert!((sum - delay).abs() <= delay.abs() * 1e-9, "{carrier}: {sum} is not {delay}");
    }
}

/// The windows in the append-only files, each at most once.
pub(crate) fn windows(dir: &Path) -> BTreeMap<(String, String), u64> {
    let mut windows = BTreeMap::new();
    for row in published(&dir.join("days")) {
        let key = (
            row["origin"].as_str().expect("an origin").to_owned(),
            row["window_start"].as_str().expect("a time")[..10].to_owned(),
        );
        let flights = row["flights"].as_u64().expect("a count");
        assert_eq!(windows.insert(key.clone(), flights), None, "{key:?} was published twice");
    }
    windows
}
