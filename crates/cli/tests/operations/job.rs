//! The job, and its runs: the first is killed, the second ends.

use crate::Rows;
use crate::expected::TABLES;
use crate::input::file;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How many rows a second are read in the run that is killed: all of them take about two seconds.
const ROWS_PER_SECOND: u32 = 15_000;

fn text(backend: &str, format: &str, pace: &str) -> String {
    let path = |name: &str| file(name).display().to_string();
    let source = |name: &str, columns: &str, file: &str, pace: &str| {
        format!(
            "CREATE TABLE {name} ({columns})
             WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'csv', 'csv.header' = 'true',
                   'csv.null-literal' = 'NA'{pace});\n",
            path(file)
        )
    };
    let sink = |name: &str, columns: &str| {
        format!(
            "CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', 'path' = 'out/{name}', 'format' = 'json');\n"
        )
    };
    let mut text = format!(
        "SET 'state.backend.type' = '{backend}';
         SET 'state.serialization.format' = '{format}';
         SET 'execution.checkpointing.dir' = 'file:checkpoints';
         SET 'execution.checkpointing.interval' = '150 ms';\n"
    );
    let event_time = "time_hour TIMESTAMP(3), WATERMARK FOR time_hour AS time_hour - INTERVAL '1' DAY";
    let flights = format!(
        "carrier STRING, flight BIGINT, tailnum STRING, origin STRING, dest STRING, dep_delay BIGINT, {event_time}"
    );
    text += &source("flights", &flights, "flights-2013-01.csv.gz", pace);
    text += &source("weather", &format!("origin STRING, {event_time}"), "weather-2013-01.csv.gz", "");
    text += &source("airlines", "carrier STRING, name STRING", "airlines.csv", "");
    text += &source("planes", "tailnum STRING, manufacturer STRING", "planes.csv.gz", "");

    text += &sink("sessions", "tailnum STRING, window_start TIMESTAMP(3), window_end TIMESTAMP(3), n BIGINT");
    text += "INSERT INTO sessions SELECT tailnum, window_start, window_end, COUNT(*)
        FROM TABLE(SESSION(TABLE flown PARTITION BY tailnum, DESCRIPTOR(time_hour), INTERVAL '6' HOURS))
        GROUP BY tailnum, window_start, window_end;\n";
    text += &sink("hops", "origin STRING, window_start TIMESTAMP(3), n BIGINT, delay BIGINT");
    text += "INSERT INTO hops SELECT origin, window_start, COUNT(*), SUM(dep_delay)
        FROM TABLE(HOP(TABLE flights, DESCRIPTOR(time_hour), INTERVAL '6' HOURS, INTERVAL '1' DAY))
        GROUP BY origin, window_start, window_end;\n";
    text += &sink("busiest_hours", "day_start TIMESTAMP(3), most BIGINT");
    text += "INSERT INTO busiest_hours SELECT window_start, MAX(n)
        FROM TABLE(TUMBLE(TABLE hourly, DESCRIPTOR(at), INTERVAL '1' DAY)) GROUP BY window_start, window_end;\n";
    text += &sink("observed", "flight BIGINT, tailnum STRING, time_hour TIMESTAMP(3), weather_hour TIMESTAMP(3)");
    text += "INSERT INTO observed SELECT f.flight, f.tailnum, f.time_hour, w.time_hour
        FROM flights f JOIN weather w ON f.origin = w.origin
          AND w.time_hour BETWEEN f.time_hour - INTERVAL '2' HOUR AND f.time_hour;\n";
    text += &sink("makers", "manufacturer STRING, n BIGINT, tails BIGINT");
    text += "INSERT INTO makers SELECT p.manufacturer, COUNT(*), COUNT(DISTINCT f.tailnum)
        FROM flights f LEFT JOIN planes p ON f.tailnum = p.tailnum GROUP BY p.manufacturer;\n";
    text += &sink("of_airways", "carrier STRING, n BIGINT");
    text += "INSERT INTO of_airways SELECT carrier, COUNT(*) FROM flights
        WHERE carrier IN (SELECT carrier FROM airlines WHERE name LIKE '%Airways%') GROUP BY carrier;\n";
    text += &sink("unknown_planes", "tailnum STRING, flight BIGINT, time_hour TIMESTAMP(3)");
    text += "INSERT INTO unknown_planes SELECT f.tailnum, f.flight, f.time_hour FROM flights f
        WHERE f.tailnum IS NOT NULL AND NOT EXISTS (SELECT 1 FROM planes p WHERE p.tailnum = f.tailnum);\n";
    text += &sink("airlines_or_not", "carrier STRING, n BIGINT");
    text += "INSERT INTO airlines_or_not SELECT COALESCE(a.carrier, c.carrier), c.n
        FROM airlines a FULL JOIN (SELECT carrier, COUNT(*) AS n FROM flights GROUP BY carrier) c
          ON a.carrier = c.carrier;\n";
    text += &sink("routes", "origin STRING, dest STRING");
    text += "INSERT INTO routes SELECT DISTINCT origin, dest FROM flights;\n";
    text += &sink("airports", "airport STRING, n BIGINT");
    text += "INSERT INTO airports SELECT airport, COUNT(*)
        FROM (SELECT origin AS airport FROM flights UNION ALL SELECT dest FROM flights) GROUP BY airport;\n";
    text += &sink("last_flights", "tailnum STRING, flight BIGINT, time_hour TIMESTAMP(3)");
    text += "INSERT INTO last_flights SELECT tailnum, flight, time_hour
        FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY tailnum ORDER BY time_hour DESC, flight DESC) AS n FROM flown)
        WHERE n = 1;\n";
    text += &sink("worst_delays", "origin STRING, dep_delay BIGINT, place BIGINT");
    text += "INSERT INTO worst_delays SELECT origin, dep_delay, n
        FROM (SELECT origin, dep_delay, ROW_NUMBER() OVER (PARTITION BY origin ORDER BY dep_delay DESC) AS n
              FROM flights WHERE dep_delay IS NOT NULL) WHERE n <= 3;\n";
    text += &sink("busiest_tails", "flights BIGINT, tails BIGINT, greatest STRING");
    text += "INSERT INTO busiest_tails SELECT n, COUNT(*), MAX(tailnum)
        FROM (SELECT tailnum, COUNT(*) AS n FROM flown GROUP BY tailnum) GROUP BY n;\n";
    let views = "CREATE VIEW flown AS SELECT * FROM flights WHERE tailnum IS NOT NULL;
        CREATE VIEW hourly AS SELECT origin, window_time AS at, COUNT(*) AS n
        FROM TABLE(TUMBLE(TABLE flights, DESCRIPTOR(time_hour), INTERVAL '1' HOUR))
        GROUP BY origin, window_start, window_end, window_time;\n";
    text.replacen("CREATE TABLE sessions", &format!("{views}CREATE TABLE sessions"), 1)
}

/// Runs the job, kills it in the middle, runs it to its end, and gives what its tables hold.
pub(crate) fn run(place: &Path, backend: &str, parallelism: usize, format: &str) -> BTreeMap<&'static str, Rows> {
    let pace = format!(", 'scan.rows-per-second' = '{ROWS_PER_SECOND}'");
    fs::write(place.join("job.sql"), text(backend, format, &pace)).expect("a file can be written");
    let mut child = headpond(place, parallelism).stderr(Stdio::null()).spawn().expect("the binary starts");
    std::thread::sleep(Duration::from_millis(1_500));
    child.kill().expect("a child can be killed");
    child.wait().expect("a child");
    fs::write(place.join("job.sql"), text(backend, format, "")).expect("a file can be written");
    let output = headpond(place, parallelism).output().expect("the binary starts");
    assert!(output.status.success(), "{backend}: {}", String::from_utf8_lossy(&output.stderr));
    TABLES.into_iter().map(|table| (table, rows(&place.join("out").join(table)))).collect()
}

fn headpond(place: &Path, parallelism: usize) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headpond"));
    command.args(["run", "job.sql", "--progress", "none", "--parallelism", &parallelism.to_string()]);
    command.current_dir(place).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// What is left of a table's published files when all changes are applied.
fn rows(dir: &Path) -> Rows {
    let mut rows = Rows::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.expect("a readable directory").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() || name.starts_with(['.', '_']) {
            continue;
        }
        for line in fs::read_to_string(&path).expect("text").lines() {
            let mut value: Value = serde_json::from_str(line).expect("JSON lines");
            let op = value.as_object_mut().and_then(|row| row.remove("op"));
            let taken_back = op.is_some_and(|op| op == "-U" || op == "-D");
            *rows.entry(value.to_string()).or_insert(0) += if taken_back { -1 } else { 1 };
        }
    }
    rows.retain(|_, count| *count != 0);
    rows
}
