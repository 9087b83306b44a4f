//! Which aircraft have flown most in their open session: asked of a checkpoint of a job that runs on.

use crate::support::{Place, ran};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

const GAP_MS: i64 = 6 * 3_600_000;
/// The fewest rows that are to be read before anybody looks.
const ROWS_MIN: u64 = 6_000;
const QUERY: &str = "SELECT tailnum, flights, window_start FROM sessions_window_aggregate_0 \
    WHERE tailnum IS NOT NULL ORDER BY flights DESC, tailnum, window_start LIMIT 10";

fn input() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flights/flights-2013-01.csv.gz")
}

fn job(backend: &str) -> String {
    format!(
        "SET 'state.backend.type' = '{backend}';
         SET 'execution.checkpointing.dir' = 'file:checkpoints';
         SET 'execution.checkpointing.interval' = '200 ms';
         SET 'execution.checkpointing.num-retained' = '1000';
         SET 'pipeline.name' = 'sessions';
         CREATE TABLE flights (tailnum STRING, time_hour TIMESTAMP(3),
             WATERMARK FOR time_hour AS time_hour - INTERVAL '1' DAY)
           WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'csv', 'csv.header' = 'true',
                 'csv.null-literal' = 'NA', 'scan.rows-per-second' = '3000');
         CREATE TABLE sessions (tailnum STRING, window_start TIMESTAMP(3), window_end TIMESTAMP(3), flights BIGINT)
           WITH ('connector' = 'blackhole');
         INSERT INTO sessions SELECT tailnum, window_start, window_end, COUNT(*)
           FROM TABLE(SESSION(TABLE flights PARTITION BY tailnum, DESCRIPTOR(time_hour), INTERVAL '6' HOURS))
           GROUP BY tailnum, window_start, window_end;\n",
        input().display()
    )
}

/// A process that is killed when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a manifest says: rows read, and the operator's event time in milliseconds.
fn position(place: &Place, checkpoint: &str) -> Option<(u64, i64)> {
    let text = fs::read_to_string(place.path(format!("checkpoints/sessions/{checkpoint}/manifest.json"))).ok()?;
    let manifest: serde_json::Value = serde_json::from_str(&text).ok()?;
    let manifest = &manifest["manifest"];
    let rows = manifest["sources"][0]["splits"].as_array()?.iter().filter_map(|split| split["rows"].as_u64()).sum();
    let operators = manifest["operators"].as_array()?;
    let sessions = operators.iter().find(|operator| operator["operator"] == "sessions/window-aggregate/0")?;
    Some((rows, sessions["event_time_ms"].as_i64().unwrap_or(i64::MIN)))
}

/// The checkpoints there are, oldest first.
fn checkpoints(place: &Place) -> Vec<String> {
    let names = fs::read_dir(place.path("checkpoints/sessions")).into_iter().flatten().flatten();
    let mut numbers: Vec<u64> =
        names.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("chk-")?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers.iter().map(|number| format!("chk-{number}")).collect()
}

/// Waits for the first checkpoint that is at least `rows` rows into the input.
fn wait_for(place: &Place, running: &mut Running, rows: u64) -> (String, u64, i64) {
    let started = Instant::now();
    loop {
        for checkpoint in checkpoints(place) {
            if let Some((read, event_time_ms)) = position(place, &checkpoint).filter(|(read, _)| *read >= rows) {
                return (checkpoint, read, event_time_ms);
            }
        }
        let ended = running.0.try_wait().expect("the process is ours");
        assert!(
            ended.is_none() && started.elapsed() < Duration::from_secs(120),
            "no checkpoint at {rows} rows: {ended:?}"
        );
        sleep(Duration::from_millis(50));
    }
}

/// The open sessions with the most of the first `rows` flights, as the query gives them.
fn expected(rows: u64, event_time_ms: i64) -> String {
    let file = fs::File::open(input()).expect("the flights are there");
    let lines = BufReader::new(flate2::read::MultiGzDecoder::new(file)).lines().skip(1);
    let mut flights: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for line in lines.take(rows as usize) {
        let line = line.expect("the flights are text");
        let fields: Vec<&str> = line.split(',').collect();
        let time = chrono::DateTime::parse_from_rfc3339(fields[18]).expect("a time").timestamp_millis();
        flights.entry(fields[11].to_owned()).or_default().push(time);
    }
    flights.remove("NA");
    let mut sessions: Vec<(u64, String, i64)> = Vec::new();
    for (tailnum, mut times) in flights {
        times.sort_unstable();
        for session in times.chunk_by(|before, after| after - before <= GAP_MS) {
            if session[session.len() - 1] + GAP_MS > event_time_ms {
                sessions.push((session.len() as u64, tailnum.clone(), session[0]));
            }
        }
    }
    sessions.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| (&a.1, a.2).cmp(&(&b.1, b.2))));
    let mut text = "tailnum,flights,window_start\n".to_owned();
    for (flights, tailnum, start) in sessions.iter().take(10) {
        let start = chrono::DateTime::from_timestamp_millis(*start).expect("a time").format("%Y-%m-%d %H:%M:%S");
        text += &format!("{tailnum},{flights},{start}\n");
    }
    text
}

#[test]
fn the_ten_aircraft_that_have_flown_most_are_asked_for_while_the_job_runs() {
    for backend in ["memory", "rocksdb"] {
        let place = Place::new();
        place.write("sessions.sql", &job(backend));
        let mut running = Running(place.start(&mut place.command("run sessions.sql --parallelism 2 --progress none")));
        let (first, rows, event_time_ms) = wait_for(&place, &mut running, ROWS_MIN);
        let ask = |checkpoint: &str| {
            let mut command: Command = place.command("state query");
            command.args([&format!("checkpoints/sessions/{checkpoint}"), QUERY, "--format", "csv"]);
            ran(command.output().expect("the binary runs")).exits_with(0).out
        };
        assert_eq!(ask(&first), expected(rows, event_time_ms), "{backend}, {first}");

        // The job has gone on, and the difference is what it has learned since.
        let (second, rows, event_time_ms) = wait_for(&place, &mut running, rows + 3_000);
        assert_eq!(ask(&second), expected(rows, event_time_ms), "{backend}, {second}");
        let diff =
            place.run(&format!("state diff checkpoints/sessions/{first} checkpoints/sessions/{second} --rows 3"));
        let diff = diff.exits_with(0).out;
        let line = diff.lines().find(|line| line.contains("  accumulators  ")).unwrap_or_else(|| panic!("{diff}"));
        let counts: Vec<u64> = line
            .split_whitespace()
            .rev()
            .take(4)
            .map(|count| count.replace(',', "").parse().expect("a count"))
            .collect();
        assert!(counts[1] + counts[3] > 0, "nothing was added or changed:\n{diff}");
        assert!(["+I ", "+U "].iter().any(|change| diff.contains(change)) && diff.contains("window_start"), "{diff}");
        assert!(running.0.try_wait().expect("the process is ours").is_none(), "the job runs on");
    }
}
