//! Where output goes, and what happens when nobody reads it.

use crate::support::{LAST_CHECKPOINT, Place, TOTALS, flights, ran, totals};
use std::fs::File;

#[test]
fn data_goes_to_stdout_and_the_rest_is_json_lines_on_stderr_if_asked() {
    let place = Place::new();
    place.write("totals.sql", &totals(LAST_CHECKPOINT));
    let ran = place.run("run totals.sql --progress json").exits_with(0);
    assert_eq!(ran.out, TOTALS);
    let (objects, others): (Vec<&str>, Vec<&str>) = ran.err.lines().partition(|line| line.starts_with('{'));
    assert!(others.iter().all(|line| line.starts_with("warning: ")), "{others:?}");
    let events: Vec<serde_json::Value> =
        objects.iter().map(|line| serde_json::from_str(line).expect("the line is JSON")).collect();
    let names: Vec<_> = events.iter().map(|event| event["event"].as_str()).collect();
    assert_eq!((names.first(), names.last()), (Some(&Some("started")), Some(&Some("ended"))));
    let summary = &events[events.len() - 1];
    assert_eq!((summary["backlog_bytes"].as_u64(), summary["share_read"].as_f64()), (Some(0), Some(1.0)));
    assert_eq!((summary["rows_read"].as_u64(), summary["ending"].as_str()), (Some(5), Some("finished")));
}

#[test]
fn without_progress_there_is_no_summary() {
    let place = Place::new();
    place.write("totals.sql", &totals(LAST_CHECKPOINT));
    let ran = place.run("run totals.sql --progress none").exits_with(0);
    let others = ran.err.lines().filter(|line| !line.starts_with("warning: "));
    assert_eq!(others.collect::<Vec<_>>().len(), 1, "{}", ran.err);
}

#[test]
fn a_reader_that_goes_away_ends_a_job_quietly() {
    let endless = "CREATE TABLE numbers (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '100000');
        CREATE TABLE out (id BIGINT) WITH ('connector' = 'print');
        INSERT INTO out SELECT id FROM numbers;";
    let place = Place::new();
    place.write("endless.sql", endless);
    place.write("totals.sql", &totals(""));
    place.write("explained.sql", &totals(""));
    for arguments in ["run endless.sql", "run totals.sql", "explain explained.sql"] {
        let mut child = place.start(&mut place.command(arguments));
        drop(child.stdout.take());
        let ran = ran(child.wait_with_output().expect("the binary ends")).exits_with(141);
        assert!(!ran.err.contains("error"), "{arguments}: {}", ran.err);
    }
}

#[test]
fn a_full_disk_behind_stdout_is_an_error() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        println!("skipped: there is no /dev/full");
        return;
    };
    let place = Place::new();
    place.write("totals.sql", &totals(""));
    let output = place.command("run totals.sql").stdout(full).output().expect("the binary can be started");
    ran(output).exits_with(6).says("error: ").says("standard output").says("No space left on device");
}

#[test]
fn explain_shows_operators_and_runs_nothing() {
    let place = Place::new();
    place.write("totals.sql", &totals(LAST_CHECKPOINT));
    let ran = place.run("explain totals.sql").exits_with(0);
    assert!(ran.out.contains("totals/"), "{}", ran.out);
    assert!(!place.path("checkpoints").exists());
}

#[test]
fn explain_and_set_statements_of_a_file_are_shown_when_it_runs() {
    let place = Place::new();
    let query = "SET 'parallelism.default' = '2'; SET 'parallelism.default';
        EXPLAIN SELECT carrier, COUNT(*) FROM flights GROUP BY carrier;";
    place.write("shown.sql", &format!("{}{query}", flights("")));
    let ran = place.run("run shown.sql").exits_with(0);
    assert!(ran.out.starts_with("parallelism.default = 2 (SET at line "), "{}", ran.out);
    assert!(ran.out.contains("query/"), "{}", ran.out);
}

#[test]
fn the_version_is_told() {
    let ran = Place::new().run("--version").exits_with(0);
    assert_eq!(ran.out, format!("headpond {}\n", env!("CARGO_PKG_VERSION")));
}
