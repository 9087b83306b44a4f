//! What is let in, and what is let out: secrets, control characters, links, and files that are none.

use crate::running::Background;
use crate::support::{FLIGHTS, LAST_CHECKPOINT, Place, TOTALS, flights, ran, slow_job, totals};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

const HUSH: &str = "hu5hhu5h/hu5h";

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("there is `mkfifo`").success());
}

#[test]
fn no_mistake_shows_a_secret() {
    let place = Place::new();
    let sound = totals("");
    let table = |options: &str| flights(options) + "INSERT INTO flights SELECT * FROM flights;";
    let scripts = [
        format!("SET 's3.secret-kee' = '{HUSH}';"),
        format!("SET 's3.secret-key' = '{HUSH}"),
        format!("SET 's3.secret-key' '{HUSH}';"),
        format!("SET 's3.secret-key' = '{HUSH}' now;"),
        format!("SET 's3.secret-key' = 'x'{HUSH}';"),
        format!("SET s3.secret-kee = {HUSH};"),
        format!("SET 's3.secret-key' = '{HUSH}'; SELEKT 1;"),
        format!("SET 's3.endpoint' = 'http://me:{HUSH}@host'; SET 'execution.checkpointing.dir' = 's3://b/x';{sound}"),
        format!("SET 'execution.checkpointing.dir' = 's3://key:{HUSH}@b';{sound}"),
        format!("SET 'execution.checkpointing.dir' = 's3://{}@b';{sound}", HUSH.replace('/', "")),
        table(&format!(", 'password' = '{HUSH}'")),
        table(&format!(", 'pasword' = '{HUSH}'")),
        table(&format!(", 'password' '{HUSH}'")),
        table(&format!(", 'password' = '{HUSH}' 'x'")),
        table(&format!(", 'password' = 'a'{HUSH}'")),
        table(&format!(", 'password' = {HUSH}")),
        table(&format!(", 'password' = '{HUSH}")),
        format!("CREATE TABLE t (k INT) WITH ('connector' = 'filesystem', 'path' = 'https://me:{HUSH}@host/x', 'format' = 'csv');
                 CREATE TABLE u (k INT) WITH ('connector' = 'print'); INSERT INTO u SELECT k FROM t;"),
        format!("CREATE TABLE t (k INT) WITH ('password' = '{HUSH}'"),
    ];
    for (index, script) in scripts.iter().enumerate() {
        place.write("wrong.sql", script);
        for command in ["-vvv run wrong.sql", "explain wrong.sql"] {
            let ran = place.run(command);
            // What is wrong with an endpoint shows when it is used.
            let is_wrong = ran.code != 0 || command.starts_with("explain");
            assert!(is_wrong && ran.code != 70, "{index}: {script}\n{}", ran.err);
            let shown = format!("{}{}", ran.out, ran.err);
            assert!(!HUSH.split('/').any(|part| shown.contains(part)), "{index}: {shown}");
        }
    }
    place.write("totals.sql", &sound);
    for define in [
        "s3.secret-key:",
        "s3.secret-kee=",
        "s3.secret-key ",
        "s3.endpoint:http://me@",
        "execution.checkpointing.dir=s3://k:",
    ] {
        let define = format!("{define}{HUSH}@b");
        let output = place.command("run totals.sql").args(["-D", &define]).output().expect("the binary runs");
        let ran = ran(output).exits_with(2);
        assert!(!ran.err.contains("hu5h"), "{}", ran.err);
    }
    let output =
        place.command("run totals.sql").arg(format!("s3.secret-key={HUSH}")).output().expect("the binary runs");
    assert!(!ran(output).exits_with(2).err.contains("hu5h"));
    let mut command = place.command("run totals.sql");
    let output = command.env("HEADPOND_S3_SECRET_KEE", HUSH).output().expect("the binary runs");
    assert!(!ran(output).exits_with(2).err.contains("hu5h"));
    for config in
        ["s3.secret-key = hu5h", "s3.secret-key = 'hu5h", "[s3]\nsecret-kee = 'hu5h'", "s3.secret-key = 'hu5h' x"]
    {
        place.write("headpond.toml", config);
        assert!(!place.run("run totals.sql").exits_with(2).err.contains("hu5h"), "{config}");
    }
    place.write("headpond.toml", &format!("s3.secret-key = '{HUSH}'"));
    place.write("settings.sql", "SET;");
    let shown = place.run("run settings.sql").exits_with(0).out;
    assert!(shown.contains("s3.secret-key") && !shown.contains("hu5h"), "{shown}");
}

#[test]
fn control_characters_do_not_reach_a_terminal() {
    let place = Place::new();
    let esc = "\x1b[2J\u{9b}31m\r";
    fs::create_dir_all(place.path(format!("in{esc}"))).expect("a directory");
    place.write(&format!("in{esc}/a{esc}.csv"), FLIGHTS);
    let job = format!(
        "{LAST_CHECKPOINT} SET 'pipeline.name' = 'job';
         CREATE TABLE `f{esc}` (`c{esc}` STRING, dep_delay DOUBLE, time_hour TIMESTAMP(3))
           WITH ('connector' = 'filesystem', 'path' = 'in{esc}', 'format' = 'csv', 'csv.null-literal' = 'NA');
         CREATE TABLE `t{esc}` (`c{esc}` STRING, n BIGINT, PRIMARY KEY (`c{esc}`) NOT ENFORCED)
           WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'json');
         INSERT INTO `t{esc}` SELECT `c{esc}`, COUNT(dep_delay) FROM `f{esc}` GROUP BY `c{esc}`;"
    );
    let is_clean = |text: &str| !text.contains(['\x1b', '\u{9b}', '\r']);
    place.write("job.sql", &job);
    let failed = place.run("-vvv run job.sql --progress plain").exits_with(2);
    assert!(is_clean(&failed.err), "{:?}", failed.err);
    place.write(
        "good.sql",
        &job.replace("'csv.null-literal'", "'csv.header' = 'true', 'csv.null-literal'")
            .replace(&format!("`f{esc}` (`c{esc}` STRING"), &format!("`f{esc}` (carrier STRING"))
            .replace(
                &format!("SELECT `c{esc}`, COUNT(dep_delay) FROM `f{esc}` GROUP BY `c{esc}`"),
                &format!("SELECT carrier, COUNT(dep_delay) FROM `f{esc}` GROUP BY carrier"),
            ),
    );
    let ran = place.run("-vvv run good.sql --progress json").exits_with(0);
    assert!(is_clean(&ran.err), "{:?}", ran.err);
    for command in [
        "explain good.sql",
        "check good.sql --against checkpoints/job",
        "checkpoint list checkpoints",
        "checkpoint show checkpoints",
        "checkpoint verify checkpoints",
        "state tables checkpoints/job",
        "state schema checkpoints/job",
    ] {
        let shown = place.run(command).exits_with(0);
        assert!(is_clean(&shown.out) && is_clean(&shown.err), "{command}: {:?} {:?}", shown.out, shown.err);
    }
}

#[test]
fn a_cell_of_any_length_is_printed() {
    let place = Place::new();
    let job = totals(LAST_CHECKPOINT).replace("SELECT carrier,", "SELECT CONCAT(carrier, REPEAT('x', 70000)),");
    let job = job.replace("GROUP BY carrier", "GROUP BY CONCAT(carrier, REPEAT('x', 70000))");
    place.write("totals.sql", &job);
    place.run("run totals.sql --progress none").exits_with(0);
    let tables = place.run("state tables checkpoints/totals").exits_with(0).out;
    let name = tables.lines().nth(1).and_then(|line| line.split_whitespace().next()).expect("a table").to_owned();
    let query = |format: &str| {
        let mut command = place.command("state query checkpoints/totals");
        ran(command.args([&format!("SELECT * FROM \"{name}\""), "--format", format]).output().expect("it runs"))
            .exits_with(0)
            .out
    };
    let table = query("table");
    assert!(table.contains('…') && table.lines().count() >= 3, "{}", &table[..200]);
    assert!(query("csv").contains(&"x".repeat(70_000)), "files are whole");
    let diff = place.run("state diff checkpoints/totals checkpoints/totals --rows 3").exits_with(0);
    assert!(!diff.out.is_empty());
}

#[test]
fn scripts_and_settings_that_are_no_files_are_refused_at_once() {
    let place = Place::new();
    place.write("totals.sql", &totals(""));
    pipe(&place.path("pipe.sql"));
    symlink("/dev/zero", place.path("zero.sql")).expect("a link");
    fs::create_dir(place.path("directory.sql")).expect("a directory");
    for odd in ["pipe.sql", "zero.sql", "directory.sql"] {
        for command in ["run", "explain", "check --against x"] {
            place.run(&format!("{command} {odd}")).exits_with(2).says("not a regular file");
        }
        place.run(&format!("run totals.sql --config {odd}")).exits_with(2).says("not a regular file");
    }
    // By the way that is meant for it a pipe is fine.
    let ran = place.run_with_input("run -", &totals("")).exits_with(0);
    assert_eq!(ran.out, TOTALS);
    pipe(&place.path("headpond.toml"));
    place.run("run totals.sql").exits_with(2).says("not a regular file");
}

#[test]
fn links_in_directories_of_a_job_are_refused_and_not_followed() {
    let job = totals(LAST_CHECKPOINT)
        .replace("'connector' = 'print'", "'connector' = 'filesystem', 'path' = 'out', 'format' = 'json'");
    for link in [
        "checkpoints/totals",
        "checkpoints/totals/staging",
        "checkpoints/totals/shared",
        "checkpoints/totals/chk-1",
        "out/.staging",
    ] {
        let place = Place::new();
        place.write("totals.sql", &job);
        fs::create_dir(place.path("elsewhere")).expect("a directory");
        place.write("elsewhere/precious", "precious");
        fs::create_dir_all(place.path(link).parent().expect("a directory")).expect("a directory");
        symlink(place.path("elsewhere"), place.path(link)).expect("a link");
        place.run("run totals.sql").exits_with(2).says("symbolic link").says("hint: ");
        assert_eq!(fs::read(place.path("elsewhere/precious")).expect("it is there"), b"precious");
        assert_eq!(fs::read_dir(place.path("elsewhere")).expect("it is there").count(), 1, "{link}");
    }
}

#[test]
fn a_copy_of_an_older_checkpoint_is_damaged_and_passed_over() {
    let place = Place::new();
    let job = totals(LAST_CHECKPOINT)
        .replace("'connector' = 'print'", "'connector' = 'filesystem', 'path' = 'out', 'format' = 'json'");
    place.write("totals.sql", &job);
    place.run("run totals.sql").exits_with(0);
    fs::create_dir(place.path("checkpoints/totals/chk-11")).expect("a directory");
    fs::copy(
        place.path("checkpoints/totals/chk-1/manifest.json"),
        place.path("checkpoints/totals/chk-11/manifest.json"),
    )
    .expect("a copy");
    place.run("checkpoint verify checkpoints").exits_with(5);
    place.run("checkpoint verify checkpoints/totals/chk-11").exits_with(5);
    place.run("run totals.sql --restore checkpoints/totals/chk-11").exits_with(5).says("chk-11");
    place.run("savepoint export checkpoints/totals/chk-11 savepoints").exits_with(5);
    place.run("state tables checkpoints/totals/chk-11").exits_with(5);
    let list = place.run("checkpoint list checkpoints").exits_with(0).out;
    assert!(list.contains("damaged") && list.contains("directory of checkpoint 11"), "{list}");
    place
        .run("run totals.sql")
        .exits_with(0)
        .says("checkpoint 11 is damaged and was skipped")
        .says("has finished (checkpoint 1)");
}

#[test]
fn a_job_that_was_stopped_while_another_took_over_leaves_everything_to_it() {
    let place = Place::new();
    place.write("slow.sql", &slow_job("INT"));
    let signal = |name: &str, job: &Background| {
        let sent = Command::new("kill").args([name, &job.id().to_string()]).status().expect("there is a `kill`");
        assert!(sent.success());
    };
    let start = || Background::start(&place, &mut place.command("run slow.sql --progress json"));
    let mut first = start();
    first.wait_for_checkpoint();
    signal("-STOP", &first);
    // Somebody takes the locks of a job that seems to be dead.
    fs::remove_file(place.path("checkpoints/slow/owner.lock")).expect("it is there");
    fs::remove_file(place.path("counts/.staging/owner.lock")).ok();
    let mut second = start();
    second.wait_for_checkpoint();
    signal("-CONT", &first);
    let first = first.end().exits_with(8);
    assert!(first.err.contains("error: "), "{}", first.err);
    second.wait_for_checkpoint();
    second.terminate();
    second.end().exits_with(0);
    place.run("checkpoint verify checkpoints").exits_with(0);
    let before: u64 = crate::running::counts(&place).iter().sum();
    let mut third = start();
    third.wait_for(|line| line.contains("\"event\":\"resumed\""));
    third.wait_for_checkpoint();
    third.terminate();
    third.end().exits_with(0);
    assert!(crate::running::counts(&place).iter().sum::<u64>() > before);
}

#[test]
fn a_limit_of_file_sizes_is_an_error_with_a_code() {
    let place = Place::new();
    let rows: String = (0..40_000).map(|id| format!("UA{id},2,2013-01-01 05:00:00\n")).collect();
    place.write("flights.csv", &format!("carrier,dep_delay,time_hour\n{rows}"));
    let job =
        totals("").replace("'connector' = 'print'", "'connector' = 'filesystem', 'path' = 'out', 'format' = 'json'");
    place.write("totals.sql", &job);
    limited(&place, 100, "run totals.sql").exits_with(6).says("File too large");
}

/// Runs the binary with files limited to so many blocks of 512 or 1024 bytes.
fn limited(place: &Place, blocks: u32, arguments: &str) -> crate::support::Ran {
    let binary = env!("CARGO_BIN_EXE_headpond");
    let script = format!("ulimit -f {blocks}; exec {binary} {arguments}");
    let mut shell = Command::new("sh");
    ran(shell.current_dir(place.path("")).args(["-c", &script]).output().expect("there is a shell"))
}

#[test]
fn a_job_whose_last_checkpoint_has_no_room_ends_and_can_be_run_again() {
    let place = Place::new();
    let rows: String = (0..40_000).map(|id| format!("UA{id},2,2013-01-01 05:00:00\n")).collect();
    place.write("flights.csv", &format!("carrier,dep_delay,time_hour\n{rows}"));
    let settings = format!("{LAST_CHECKPOINT} SET 'state.backend.type' = 'memory';");
    place.write("totals.sql", &totals(&settings));
    limited(&place, 40, "run totals.sql --parallelism 1").exits_with(6).says("File too large").says("next run");
    let ran = place.run("run totals.sql --parallelism 1").exits_with(0);
    assert_eq!(ran.out.lines().count(), 40_000);
}
