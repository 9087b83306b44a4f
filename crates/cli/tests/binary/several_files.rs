//! Tables of several files: which rows are late does not depend on who reads which.

use crate::support::{MANY_CHECKPOINTS, Place};
use std::collections::BTreeMap;

/// Counts of windows of an hour over the files in `in`, into `counts`; late rows into `late`.
fn hourly(settings: &str, delay: &str) -> String {
    format!(
        "{settings}
         SET 'table.exec.late-rows.table' = 'late';
         CREATE TABLE t (id BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL {delay})
           WITH ('connector' = 'filesystem', 'path' = 'in', 'format' = 'csv');
         CREATE TABLE counts (window_start TIMESTAMP(3), n BIGINT, ids BIGINT)
           WITH ('connector' = 'filesystem', 'path' = 'counts', 'format' = 'csv');
         CREATE TABLE late (id BIGINT) WITH ('connector' = 'filesystem', 'path' = 'late', 'format' = 'csv');
         INSERT INTO counts SELECT window_start, COUNT(*), SUM(id)
           FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR)) GROUP BY window_start, window_end;"
    )
}

/// The lines that a table's files have, sorted.
fn lines(place: &Place, table: &str) -> Vec<String> {
    let files = std::fs::read_dir(place.path(table)).expect("the sink has made its directory").flatten();
    let published = files.filter(|file| file.file_name().to_string_lossy().starts_with("part-"));
    let texts = published.map(|file| std::fs::read_to_string(file.path()).expect("a readable file"));
    let mut lines: Vec<String> = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    lines.sort();
    lines
}

fn time(second: i64) -> String {
    let (day, hour, minute) = (second / 86_400 + 1, second / 3600 % 24, second / 60 % 60);
    format!("2024-06-{day:02} {hour:02}:{minute:02}:{:02}", second % 60)
}

#[test]
fn two_files_of_the_same_hours_are_counted_together() {
    for parallelism in [1, 2, 4, 5] {
        let place = Place::new();
        std::fs::create_dir(place.path("in")).expect("a new directory");
        place.write("in/p0.csv", "1,2024-06-01 00:00:00\n2,2024-06-01 05:00:00\n");
        place.write("in/p1.csv", "4,2024-06-01 00:10:00\n8,2024-06-01 05:10:00\n");
        place.write("job.sql", &hourly("", "'1' MINUTE"));
        let ran = place.run(&format!("run job.sql --parallelism {parallelism}")).exits_with(0);
        assert!(!ran.err.contains("late rows"), "{}", ran.err);
        assert_eq!(lines(&place, "counts"), ["2024-06-01 00:00:00,2,5", "2024-06-01 05:00:00,2,10"]);
    }
}

#[test]
fn files_dealt_round_robin_give_the_same_rows_and_the_same_late_rows_at_every_parallelism() {
    // Every 50th row is two hours behind, and late in its own file.
    let seconds: Vec<i64> = (0..20_000).map(|row| 8000 + row * 5 - if row % 50 == 49 { 7200 } else { 0 }).collect();
    let (mut counts, mut late) = (BTreeMap::<i64, (i64, i64)>::new(), Vec::new());
    for (id, second) in seconds.iter().enumerate() {
        if id % 50 == 49 {
            late.push(id.to_string());
        } else {
            let of_hour = counts.entry(second / 3600 * 3600).or_default();
            *of_hour = (of_hour.0 + 1, of_hour.1 + id as i64);
        }
    }
    late.sort();
    let counts: Vec<String> =
        counts.into_iter().map(|(start, (count, ids))| format!("{},{count},{ids}", time(start))).collect();
    // Once at a time, and stopped and gone on with by others.
    for runs in [&[1][..], &[2], &[4], &[5], &[4, 1, 5], &[1, 3, 2]] {
        let place = Place::new();
        std::fs::create_dir(place.path("in")).expect("a new directory");
        for file in 0..4 {
            let rows = seconds.iter().enumerate().filter(|(id, _)| id % 4 == file);
            let text: String = rows.map(|(id, second)| format!("{id},{}\n", time(*second))).collect();
            place.write(&format!("in/{file}.csv"), &text);
        }
        let job = hourly(MANY_CHECKPOINTS, "'30' SECOND");
        let paced = job.replace(
            "'format' = 'csv');\n         CREATE TABLE counts",
            "'format' = 'csv', 'scan.rows-per-second' = '4000');\n         CREATE TABLE counts",
        );
        let (last, before) = runs.split_last().expect("a run");
        place.write("job.sql", if before.is_empty() { &job } else { &paced });
        for parallelism in before {
            crate::running::stop(&place, &format!("run job.sql --parallelism {parallelism}")).exits_with(0);
        }
        let ran = place.run(&format!("run job.sql --parallelism {last}")).exits_with(0);
        ran.says("WATERMARK FOR").says("table.exec.late-rows.table");
        assert_eq!(lines(&place, "late"), late, "{runs:?}");
        assert_eq!(lines(&place, "counts"), counts, "{runs:?}");
    }
}

/// The entries of state in every checkpoint that is kept, the last one left out: windows are closed there.
fn entries_in_checkpoints(place: &Place) -> Vec<u64> {
    let manifests = std::fs::read_dir(place.path("checkpoints/job")).expect("checkpoints were taken").flatten();
    let texts = manifests.filter_map(|chk| std::fs::read_to_string(chk.path().join("manifest.json")).ok());
    let entries = texts.filter_map(|text| {
        let manifest: serde_json::Value = serde_json::from_str(&text).expect("a manifest is JSON");
        let manifest = &manifest["manifest"];
        let subtasks = manifest["operators"].as_array().into_iter().flatten().flat_map(|it| it["subtasks"].as_array());
        let entries = subtasks.flatten().filter_map(|it| it["state"]["entries"].as_u64()).sum();
        (manifest["finished"] == false).then_some(entries)
    });
    entries.collect()
}

#[test]
fn windows_over_files_dealt_round_robin_keep_about_what_one_merged_file_needs() {
    let job = "SET 'execution.checkpointing.dir' = 'file:checkpoints';
         SET 'execution.checkpointing.interval' = '5 ms';
         SET 'execution.checkpointing.num-retained' = '1000';
         SET 'state.backend.type' = 'memory';
         CREATE TABLE t (id BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE)
           WITH ('connector' = 'filesystem', 'path' = 'in', 'format' = 'csv');
         CREATE TABLE counts (k BIGINT, window_start TIMESTAMP(3), n BIGINT)
           WITH ('connector' = 'filesystem', 'path' = 'counts', 'format' = 'csv');
         INSERT INTO counts SELECT id % 100, window_start, COUNT(*)
           FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR)) GROUP BY id % 100, window_start, window_end;";
    // A key has two entries, its count and its timer. Two windows are open for the minute of the watermark.
    let (keys, per_key, windows) = (100, 2, 2);
    // An id is in the same file every time, and keys are in all of them.
    for (files, parallelism) in [(1, 1), (4, 1), (4, 2), (4, 4), (4, 5)] {
        let place = Place::new();
        std::fs::create_dir(place.path("in")).expect("a new directory");
        for file in 0..files {
            let rows = (0..200_000).filter(|row| row % files == file);
            let text: String = rows.map(|row| format!("{},{}\n", row * 7919 % 100_003, time(row / 2))).collect();
            place.write(&format!("in/{file}.csv"), &text);
        }
        place.write("job.sql", job);
        place.run(&format!("run job.sql --parallelism {parallelism}")).exits_with(0);
        let entries = entries_in_checkpoints(&place);
        let most = entries.iter().max().copied().unwrap_or_default();
        assert!(most <= keys * per_key * windows, "{files} files, {parallelism} workers: {entries:?}");
        let lines = lines(&place, "counts");
        let counted: u64 = lines.iter().filter_map(|line| line.rsplit(',').next()?.parse::<u64>().ok()).sum();
        assert_eq!(counted, 200_000, "{files} files, {parallelism} workers");
    }
}

#[test]
fn a_watched_directory_takes_in_new_files_once_through_restores_at_any_parallelism() {
    let place = Place::new();
    std::fs::create_dir(place.path("in")).expect("a new directory");
    let job = format!(
        "{MANY_CHECKPOINTS}
         CREATE TABLE t (id BIGINT) WITH ('connector' = 'filesystem', 'path' = 'in', 'format' = 'csv',
           'source.monitor-interval' = '20 ms');
         CREATE TABLE copies (id BIGINT) WITH ('connector' = 'filesystem', 'path' = 'copies', 'format' = 'csv');
         INSERT INTO copies SELECT id FROM t;"
    );
    place.write("job.sql", &job);
    let mut files = 0;
    let mut add_file = || {
        let ids: String = (files * 10..files * 10 + 10).map(|id| format!("{id}\n")).collect();
        place.write("in/.draft", &ids);
        std::fs::rename(place.path("in/.draft"), place.path(format!("in/{files}.csv"))).expect("it can be renamed");
        files += 1;
        files * 10
    };
    // The first run begins with an empty directory.
    for parallelism in [1, 3, 2] {
        let mut command = place.command(&format!("run job.sql --parallelism {parallelism} --progress json"));
        let mut background = crate::running::Background::start(&place, &mut command);
        for _ in 0..3 {
            let rows = add_file();
            background.wait_for(|line| line.contains(&format!("\"rows\":{rows},")));
        }
        background.terminate();
        background.end().exits_with(0);
        add_file();
    }
    let mut expected: Vec<String> = (0..110).map(|id| id.to_string()).collect();
    expected.sort();
    assert_eq!(lines(&place, "copies"), expected);
}

#[test]
fn a_finished_job_whose_input_has_grown_says_how_to_go_on() {
    let place = Place::new();
    std::fs::create_dir(place.path("in")).expect("a new directory");
    place.write("in/a.csv", "1,2024-06-01 00:00:00\n");
    place.write("job.sql", &hourly(MANY_CHECKPOINTS, "'1' MINUTE"));
    place.run("run job.sql").exits_with(0);
    let again = place.run("run job.sql").exits_with(0).says("has finished");
    assert!(!again.err.contains("has grown"), "{}", again.err);
    place.write("in/a.csv", "1,2024-06-01 00:00:00\n2,2024-06-01 00:01:00\n");
    place.run("run job.sql").exits_with(0).says("has grown since the job finished: a.csv.").says("--restore none");
    place.write("in/b.csv", "3,2024-06-01 00:00:00\n");
    place.run("run job.sql").exits_with(0).says("a.csv and 1 more").says("source.monitor-interval");
}
