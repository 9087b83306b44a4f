//! What is wrong ends with one message that names the place and the way out, and with the documented exit code.

use crate::support::{LAST_CHECKPOINT, MANY_CHECKPOINTS, Place, Ran, flights, ran, totals};
use std::fs;
use std::process::Command;

/// The run's stderr has one error, with a way out.
fn one_error(ran: &Ran) {
    assert_eq!(ran.err.matches("error: ").count(), 1, "{}", ran.err);
    assert_eq!(ran.err.matches("hint: ").count(), 1, "{}", ran.err);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
}

#[test]
fn a_sql_file_that_is_missing() {
    let ran = Place::new().run("run nowhere.sql").exits_with(2).says("cannot read the SQL file (path nowhere.sql)");
    one_error(&ran);
}

#[test]
fn a_sql_file_that_is_not_text() {
    let place = Place::new();
    fs::write(place.path("binary.sql"), [0xff, 0xfe, 0x00]).expect("files can be written");
    one_error(&place.run("run binary.sql").exits_with(2).says("the SQL is not UTF-8 text (path binary.sql)"));
}

#[test]
fn an_input_file_that_is_missing() {
    let place = Place::new();
    place.write("totals.sql", &totals(""));
    fs::remove_file(place.path("flights.csv")).expect("the file is there");
    let ran = place.run("run totals.sql").exits_with(2).says("flights.csv");
    one_error(&ran);
}

#[test]
fn a_column_that_the_file_lacks() {
    let place = Place::new();
    place.write("totals.sql", &totals(""));
    place.write("flights.csv", "carrier,delay,time_hour\nUA,1,2013-01-01 05:00:00\n");
    let ran = place.run("run totals.sql").exits_with(2).says("dep_delay").says("flights.csv");
    one_error(&ran);
}

#[test]
fn a_row_that_does_not_parse() {
    let place = Place::new();
    place.write("totals.sql", &totals(LAST_CHECKPOINT));
    place.write("flights.csv", "carrier,dep_delay,time_hour\nUA,1,2013-01-01 05:00:00\nUA,late,2013-01-01 05:00:00\n");
    let ran =
        place.run("run totals.sql").exits_with(2).says("flights.csv").says("line 3").says("dep_delay").says("late");
    one_error(&ran);
}

#[test]
fn an_option_that_nobody_knows() {
    let place = Place::new();
    place.write("totals.sql", &totals(""));
    let ran = place.run("run totals.sql -D state.backend.typ=rocksdb").exits_with(2);
    one_error(
        &ran.says("unknown option 'state.backend.typ' (command line, -D)").says("did you mean 'state.backend.type'?"),
    );
    place.write("totals.sql", &totals("\nSET 'state.backend.typ' = 'rocksdb';"));
    let ran = place.run("run totals.sql").exits_with(2).says("line 2").says("did you mean 'state.backend.type'?");
    one_error(&ran);
}

#[test]
fn a_backend_that_is_not_there_yet() {
    let place = Place::new();
    place.write("totals.sql", &totals(""));
    let ran = place.run("run totals.sql -D state.backend.type=tiered").exits_with(3);
    ran.says("'tiered': not yet available");
}

#[test]
fn a_statement_that_is_not_supported() {
    let place = Place::new();
    place.write("totals.sql", &totals("\nALTER TABLE old RENAME TO older;"));
    place.run("run totals.sql").exits_with(3).says("ALTER").says("line 2");
}

#[test]
fn a_checkpoint_directory_that_cannot_be_written() {
    let place = Place::new();
    place.write("totals.sql", &totals(""));
    let ran = place.run("run totals.sql -D execution.checkpointing.dir=flights.csv/checkpoints").exits_with(2);
    ran.says("flights.csv/checkpoints").says("Not a directory");
}

#[test]
fn a_local_directory_that_cannot_be_written() {
    let place = Place::new();
    place.write("totals.sql", &totals(""));
    let arguments = "run totals.sql -D state.backend.type=rocksdb -D state.backend.rocksdb.localdir=flights.csv/state";
    let ran = place.run(arguments).exits_with(2).says("flights.csv/state").says("state.backend.rocksdb.localdir");
    one_error(&ran);
}

#[test]
fn a_crash_point_that_nobody_knows() {
    let place = Place::new();
    place.write("totals.sql", &totals(LAST_CHECKPOINT));
    let mut command = place.command("run totals.sql");
    let output = command.env("HEADPOND_CRASH_AT", "somewhere").output().expect("the binary can be started");
    one_error(&ran(output).exits_with(2).says("HEADPOND_CRASH_AT").says("before-manifest"));
}

#[test]
fn state_in_memory_beyond_its_limit_goes_on_in_rocksdb() {
    let place = Place::new();
    let many = format!(
        "{MANY_CHECKPOINTS}
         CREATE TABLE numbers (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '400000', 'splits' = '1',
           'number-of-rows' = '200000', 'fields.id.kind' = 'sequence');
         CREATE TABLE counts (n BIGINT) WITH ('connector' = 'filesystem', 'path' = 'counts', 'format' = 'json');
         INSERT INTO counts SELECT COUNT(*) FROM numbers GROUP BY id;"
    );
    place.write("many.sql", &many);
    let ran = place.run("run many.sql -D state.backend.memory.limit=4mb").exits_with(6);
    one_error(&ran.says("limit of 4096 KiB").says("SET 'state.backend.type' = 'rocksdb'"));
    let ran = place.run("run many.sql -D state.backend.type=rocksdb").exits_with(0).says("finished (checkpoint ");
    assert!(ran.err.contains("resumed from checkpoint"), "{}", ran.err);
    let files = fs::read_dir(place.path("counts")).expect("the sink has made its directory").flatten();
    let parts = files.filter(|file| file.file_name().to_string_lossy().starts_with("part-"));
    let rows: usize = parts.map(|file| fs::read_to_string(file.path()).expect("a readable file").lines().count()).sum();
    assert_eq!(rows, 200_000);
}

#[test]
fn a_disk_that_is_full() {
    let place = Place::new();
    fs::create_dir(place.path("small")).expect("directories can be made");
    let isolated = |script: &str| {
        let mut command = Command::new("unshare");
        command.current_dir(place.path("")).args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
        command.arg(env!("CARGO_BIN_EXE_headpond"));
        command
    };
    let possible = isolated("mount -t tmpfs -o size=1m tmpfs small").output().is_ok_and(|tried| tried.status.success());
    if !possible {
        println!("skipped: a small file system cannot be mounted here");
        return;
    }
    let many = "SET 'execution.checkpointing.dir' = 'file:small'; SET 'execution.checkpointing.interval' = '20 ms';
         CREATE TABLE numbers (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '400000',
           'number-of-rows' = '200000', 'fields.id.kind' = 'sequence');
         CREATE TABLE counts (n BIGINT) WITH ('connector' = 'blackhole');
         INSERT INTO counts SELECT COUNT(*) FROM numbers GROUP BY id;";
    place.write("many.sql", many);
    let run = |script: &str| ran(isolated(script).output().expect("`unshare` can be started"));
    let mount = "mount -t tmpfs -o size=1m tmpfs small";
    let strict = "run many.sql -D execution.checkpointing.tolerable-failed-checkpoints=0";
    let failed = run(&format!("{mount} && exec \"$0\" {strict}")).exits_with(6);
    failed.says("error: ").says("small").says("No space left on device");
    // By default the job waits until somebody makes room.
    let room = "mount -o remount,size=512m small";
    let went_on = run(&format!("{mount}; (sleep 2; {room}) & exec \"$0\" run many.sql"));
    went_on.exits_with(0).says("a checkpoint failed; the job goes on").says("No space left on device").says("finished");
}

#[test]
fn a_file_without_an_insert() {
    let place = Place::new();
    place.write("tables.sql", &flights(""));
    let ran = place.run("run tables.sql").exits_with(2).says("the SQL has neither an INSERT INTO nor a query");
    one_error(&ran);
}
