//! Savepoints: of running jobs, of checkpoints, into other backends and parallelisms.

use crate::running::{Background, counts, stop};
use crate::support::{LAST_CHECKPOINT, Place, slow_job, totals};
use std::process::Command;

/// The command with the directory of its sockets in the place, so that tests do not see each other's jobs.
fn command(place: &Place, arguments: &str) -> Command {
    let mut command = place.command(arguments);
    std::fs::create_dir_all(place.path("runtime")).expect("a directory");
    command.env("XDG_RUNTIME_DIR", place.path("runtime"));
    command
}

fn start(place: &Place, arguments: &str) -> Background {
    let arguments = format!("run job.sql --progress json -D execution.checkpointing.num-retained=1 {arguments}");
    let mut job = Background::start(place, &mut command(place, &arguments));
    job.wait_for_checkpoint();
    job
}

fn ask(place: &Place, arguments: &str) -> crate::support::Ran {
    crate::support::ran(command(place, arguments).output().expect("the binary can be started"))
}

/// Nothing is counted twice and nothing lost: the counts of a sequence's last digits differ by one at most.
fn assert_exact(place: &Place) {
    let counts = counts(place);
    let (least, most) = (counts.iter().min(), counts.iter().max());
    assert_eq!(counts.len(), 10);
    assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "{counts:?}");
}

#[test]
fn a_job_moves_from_memory_to_rocksdb_to_other_parallelisms_and_back() {
    let place = Place::new();
    let mut before = 0;
    let mut savepoint = String::new();
    for (step, (backend, parallelism)) in
        [("memory", 1), ("rocksdb", 2), ("rocksdb", 5), ("rocksdb", 1), ("memory", 3)].into_iter().enumerate()
    {
        // In a directory of its own each time, whose checkpoints are numbered on: the output goes by their numbers.
        place.write("job.sql", &slow_job("BIGINT").replace("file:checkpoints", &format!("file:checkpoints{step}")));
        let restore = if step == 0 { String::new() } else { format!("--restore {savepoint}") };
        let job = start(&place, &format!("-D state.backend.type={backend} --parallelism {parallelism} {restore}"));
        let made = ask(&place, &format!("savepoint create job savepoints --stop --name step{step}")).exits_with(0);
        made.says("savepoint of checkpoint");
        let ended = job.end().exits_with(0);
        assert!(ended.err.contains("\"ending\":\"stopped\""), "{}", ended.err);
        if step > 0 {
            assert!(ended.err.contains("\"event\":\"resumed\""), "{}", ended.err);
        }
        savepoint = format!("savepoints/step{step}");
        ask(&place, &format!("checkpoint verify {savepoint}")).exits_with(0);
        let shown = ask(&place, &format!("checkpoint show {savepoint}")).exits_with(0).out;
        assert!(shown.contains(&format!("savepoint step{step} of job job")) && shown.contains("canonical"), "{shown}");
        assert_exact(&place);
        let after: u64 = counts(&place).iter().sum();
        assert!(after > before, "the job went on in step {step}");
        before = after;
    }
}

#[test]
fn a_savepoint_of_a_running_job_is_of_a_moment_and_the_job_goes_on() {
    let place = Place::new();
    place.write("job.sql", &slow_job("BIGINT"));
    let job = start(&place, "-D state.backend.type=rocksdb");
    let listed = ask(&place, "jobs").exits_with(0).out;
    assert!(listed.lines().count() == 2 && listed.contains("job  "), "{listed}");
    let made = ask(&place, "savepoint create job savepoints").exits_with(0).out;
    let path = made.trim();
    assert!(path.starts_with("savepoints/job-"), "{made}");
    let json = ask(&place, "jobs --json").exits_with(0).out;
    let object: serde_json::Value = serde_json::from_str(&json).expect("a JSON object");
    assert_eq!(object["job"], "job");
    job.terminate();
    job.end().exits_with(0);
    assert_eq!(ask(&place, "jobs").exits_with(0).out.lines().count(), 1, "nothing runs any more");
    // From there another job of its own goes on, in memory; what has been published stays as it is.
    let other = slow_job("BIGINT").replace("'path' = 'counts'", "'path' = 'elsewhere'");
    place.write("other.sql", &other);
    let refused = ask(&place, &format!("run other.sql --restore {path}")).exits_with(4);
    refused.says("hint: ");
    stop(&place, &format!("run job.sql -D state.backend.type=memory --restore {path}")).exits_with(0);
    assert_exact(&place);
}

#[test]
fn a_checkpoint_of_rocksdb_is_exported_and_restored_in_memory() {
    let place = Place::new();
    place.write("job.sql", &slow_job("BIGINT"));
    stop(&place, "run job.sql -D state.backend.type=rocksdb").exits_with(0);
    let refused = place.run("run job.sql -D state.backend.type=memory").exits_with(4);
    refused.says("headpond savepoint export CHECKPOINT DIR");
    place.run("savepoint export checkpoints/job savepoints --name moved").exits_with(0);
    place.run("savepoint export checkpoints/job savepoints --name moved").exits_with(2).says("of this name already");
    stop(&place, "run job.sql -D state.backend.type=memory --restore savepoints/moved").exits_with(0);
    assert_exact(&place);
}

#[test]
fn the_path_that_is_printed_is_the_savepoints_whatever_the_jobs_name() {
    let place = Place::new();
    place.write("totals.sql", &totals(&format!("SET 'pipeline.name' = 'two words';\n{LAST_CHECKPOINT}")));
    place.run("run totals.sql").exits_with(0);
    let made = place.run("savepoint export checkpoints/two%20words savepoints").exits_with(0).out;
    place.run(&format!("checkpoint verify {}", made.trim())).exits_with(0);
    let again = place.run(&format!("savepoint export {} savepoints", made.trim())).exits_with(0).out;
    place
        .run(&format!("run totals.sql --allow-duplicates --restore {}", again.trim()))
        .exits_with(0)
        .says("has finished");
}

#[test]
fn what_cannot_be_saved_is_said() {
    let place = Place::new();
    ask(&place, "savepoint create nothing savepoints").exits_with(2).says("no job runs on this machine");
    ask(&place, "savepoint create nothing").exits_with(2).says("execution.checkpointing.savepoint-dir");
    ask(&place, "savepoint export nowhere savepoints").exits_with(2).says("there is no checkpoint");
    place.write("job.sql", &slow_job("BIGINT").replace("SET 'execution.checkpointing.dir'", "-- "));
    let mut job = Background::start(&place, &mut command(&place, "run job.sql --progress json"));
    job.wait_for(|line| line.contains("\"event\":\"progress\""));
    ask(&place, "savepoint create job savepoints").exits_with(2).says("the job takes no checkpoints");
}

#[test]
fn what_no_restart_needs_is_pruned() {
    let place = Place::new();
    place.write("totals.sql", &totals(LAST_CHECKPOINT));
    place.run("run totals.sql -D state.backend.type=rocksdb").exits_with(0);
    let shared = place.path("checkpoints/totals/shared");
    let files = || std::fs::read_dir(&shared).expect("there are state files").count();
    let before = files();
    let orphan = format!("{}.sst", "ab".repeat(32));
    std::fs::write(shared.join(&orphan), "of a dead attempt").expect("files can be written");
    std::fs::create_dir(place.path("checkpoints/totals/chk-9")).expect("a directory");
    let pruned = place.run("checkpoint prune checkpoints").exits_with(0).out;
    assert_eq!(pruned, "totals: 0 checkpoints and 1 files deleted\n");
    assert_eq!(files(), before);
    assert!(!place.path("checkpoints/totals/chk-9").exists());
    place.run("checkpoint verify checkpoints").exits_with(0);
    place.run("checkpoint prune nowhere").exits_with(2).says("there is no job's directory");
}

#[test]
fn a_running_job_is_not_pruned() {
    let place = Place::new();
    place.write("job.sql", &slow_job("BIGINT"));
    let job = start(&place, "");
    ask(&place, "checkpoint prune checkpoints/job").exits_with(8).says("error: ");
    job.terminate();
    job.end().exits_with(0);
    ask(&place, "checkpoint prune checkpoints/job --keep 1").exits_with(0);
}

#[test]
fn whatever_takes_a_jobs_newest_checkpoint_names_the_damaged_ones_it_passes_over() {
    let place = Place::new();
    place.write("job.sql", &slow_job("BIGINT"));
    let settings = "-D state.backend.type=rocksdb -D execution.checkpointing.num-retained=100";
    stop(&place, &format!("run job.sql {settings}")).exits_with(0);
    let entries = std::fs::read_dir(place.path("checkpoints/job")).expect("the job's directory").flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix("chk-")?.parse::<u64>().ok());
    let newest = ids.max().expect("there are checkpoints");
    std::fs::write(place.path(format!("checkpoints/job/chk-{newest}/manifest.json")), "{").expect("a file");
    let passed_over = format!("checkpoint {newest} is damaged and was skipped");
    place.run("savepoint export checkpoints/job savepoints").exits_with(0).says(&passed_over);
    place.run(&format!("check job.sql {settings} --against checkpoints/job")).exits_with(0).says(&passed_over);
    place.run("state tables checkpoints/job").exits_with(0).says(&passed_over);
    place
        .run(&format!("state tables checkpoints/job/chk-{newest}"))
        .exits_with(5)
        .says("`headpond checkpoint verify` says which");
    stop(&place, &format!("run job.sql {settings} --restore checkpoints/job")).exits_with(0).says(&passed_over);
    assert_exact(&place);
}
