//! One output, several runs.

use crate::running::{Background, counts, stop};
use crate::support::{MANY_CHECKPOINTS, Place, slow_job};
use std::path::PathBuf;

fn place() -> Place {
    let place = Place::new();
    place.write("job.sql", &slow_job("BIGINT"));
    place
}

/// The checkpoints of the job in a directory, oldest first.
fn checkpoints(place: &Place, directory: &str) -> Vec<u64> {
    let entries = std::fs::read_dir(place.path(directory).join("job")).expect("the job has taken checkpoints");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut ids: Vec<u64> = names.filter_map(|name| name.strip_prefix("chk-")?.parse().ok()).collect();
    ids.sort_unstable();
    ids
}

/// Each number was counted once.
fn assert_exact(place: &Place) {
    let counts = counts(place);
    let (least, most) = (counts.iter().min(), counts.iter().max());
    assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "{counts:?}");
}

/// Runs the job until it aborts at a point.
fn crash(place: &Place, arguments: &str, point: &str) {
    let mut command = place.command(&format!("run job.sql --progress none -D pipeline.name=job {arguments}"));
    let output = command.env("HEADPOND_CRASH_AT", point).output().expect("the binary starts");
    assert_eq!(output.status.code(), None, "{point}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_second_run_is_refused_and_told_who_holds_the_output_and_a_killed_one_leaves_nothing_behind() {
    let place = place();
    place.write("without.sql", &slow_job("BIGINT").replace(MANY_CHECKPOINTS, ""));
    let mut command = place.command("run job.sql --progress json -D pipeline.name=job");
    let mut running = Background::start(&place, &mut command);
    running.wait_for_checkpoint();
    for second in ["run job.sql -D execution.checkpointing.dir=file:other", "run without.sql"] {
        let refused = place.run(&format!("{second} -D pipeline.name=job")).exits_with(8);
        let refused = refused.says("job 'job', attempt ").says(", process ").says(", since ").says("checkpoints");
        assert!(!refused.err.contains("resumed"), "{}", refused.err);
    }
    // SIGKILL.
    drop(running);
    stop(&place, "run job.sql").exits_with(0).says("resumed from checkpoint");
    assert_exact(&place);
}

#[test]
fn two_directories_in_turn_lose_nothing() {
    let place = place();
    let other = "run job.sql -D execution.checkpointing.dir=file:other";
    stop(&place, "run job.sql").exits_with(0);
    // Another directory begins anew and takes back everything.
    stop(&place, other).exits_with(0);
    assert_exact(&place);
    let counted: u64 = counts(&place).iter().sum();
    place
        .run("run job.sql -D pipeline.name=job")
        .exits_with(4)
        .says("the output does not go on from this checkpoint")
        .says("other/job")
        .says("--restore none");
    assert_eq!(counts(&place).iter().sum::<u64>(), counted, "nothing was touched");
    stop(&place, other).exits_with(0).says("resumed from checkpoint");
    assert_exact(&place);
    stop(&place, "run job.sql --restore none").exits_with(0);
    assert_exact(&place);
}

#[test]
fn a_restore_that_is_killed_before_its_first_checkpoint_is_gone_on_with() {
    let place = place();
    stop(&place, "run job.sql").exits_with(0);
    let taken = checkpoints(&place, "checkpoints");
    let older = taken[0];
    assert!(taken.len() > 1, "{taken:?}");
    place.run(&format!("savepoint export checkpoints/job/chk-{older} savepoints --name s")).exits_with(0);
    crash(&place, &format!("--restore checkpoints/job/chk-{older}"), "before-manifest:1");
    assert_left_behind(&place, older);
    stop(&place, "run job.sql").exits_with(0).says(&format!("\"checkpoint\":{older},"));
    assert_exact(&place);
    // Back to a savepoint, behind which there are checkpoints now.
    crash(&place, "--restore savepoints/s", "before-manifest:1");
    stop(&place, "run job.sql").exits_with(0).says(&format!("\"checkpoint\":{older},"));
    assert_exact(&place);
    // And to the beginning.
    crash(&place, "--restore none", "before-manifest:1");
    let ran = stop(&place, "run job.sql").exits_with(0);
    assert!(!ran.err.contains("resumed"), "{}", ran.err);
    assert_exact(&place);
}

/// Checks that people are told which checkpoints a restart does not take: all beyond `older`.
fn assert_left_behind(place: &Place, older: u64) {
    let list = place.run("checkpoint list checkpoints").exits_with(0).out;
    assert!(list.contains("left behind: the job went back"), "{list}");
    let verified = place.run("checkpoint verify checkpoints").exits_with(0).out;
    for line in verified.lines().filter(|line| line.contains(": sound")) {
        let id: u64 = line["job chk-".len()..].split(':').next().and_then(|id| id.parse().ok()).expect("a number");
        assert_eq!(line.ends_with(", left behind"), id > older, "{verified}");
    }
}

#[test]
fn a_damaged_note_of_where_a_job_was_restored_from_is_found_by_verify() {
    let place = place();
    stop(&place, "run job.sql").exits_with(0);
    stop(&place, "run job.sql --restore none").exits_with(0);
    let note = place.path("checkpoints/job/rewind.json");
    let text = std::fs::read_to_string(&note).expect("it is there");
    std::fs::write(&note, text.replace("anew", "anev")).expect("it can be written");
    place.run("checkpoint verify checkpoints").exits_with(5).says("rewind.json");
    place.run("run job.sql").exits_with(5).says("rewind.json");
}

#[test]
fn a_staged_file_that_was_damaged_is_named_and_fallen_back_from() {
    let damages: [fn(&mut Vec<u8>); 2] = [|bytes| bytes[3] ^= 1, |bytes| bytes.truncate(bytes.len() / 2)];
    for damage in damages {
        let place = place();
        crash(&place, "", "before-sink-commit:3");
        let staged = staged(&place);
        let mut bytes = std::fs::read(&staged).expect("a file");
        damage(&mut bytes);
        std::fs::write(&staged, bytes).expect("a file");
        let name = staged.file_name().expect("a name").to_string_lossy().into_owned();
        let ran = stop(&place, "run job.sql").exits_with(0).says(&name);
        ran.says("rows that wait to be published").says("resumed from checkpoint");
        assert_exact(&place);
    }
}

/// The newest staged file.
fn staged(place: &Place) -> PathBuf {
    let directories = std::fs::read_dir(place.path("counts/.staging")).expect("a directory");
    let directories = directories.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir());
    let files = directories.flat_map(|path| std::fs::read_dir(path).expect("a directory"));
    let files = files.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.display().to_string().contains("current-")).collect();
    files.sort();
    files.pop().expect("a staged file")
}

#[test]
fn a_file_that_is_cut_while_the_job_reads_it_is_named() {
    let place = Place::new();
    let rows: String = (0..300_000).map(|row| format!("{row},some text of some length\n")).collect();
    place.write("rows.csv", &rows);
    place.write(
        "job.sql",
        "CREATE TABLE numbers (id BIGINT, t STRING) WITH ('connector' = 'filesystem', 'path' = 'rows.csv',
           'format' = 'csv', 'scan.rows-per-second' = '20000');
         CREATE TABLE copies (id BIGINT) WITH ('connector' = 'filesystem', 'path' = 'copies', 'format' = 'csv');
         INSERT INTO copies SELECT id FROM numbers;\n",
    );
    let mut running = Background::start(&place, &mut place.command("run job.sql --progress json"));
    running.wait_for(|line| line.contains("\"event\":\"progress\""));
    let file = std::fs::File::options().write(true).open(place.path("rows.csv")).expect("a file");
    file.set_len(1 << 20).expect("it can be cut");
    // At this pace it would read for seconds; what it has read ahead is less.
    running.end().exits_with(5).says("the file has become shorter").says("rows.csv");
}
