//! Jobs that end, stop, crash, and go on.

use crate::running::{counts, stop};
use crate::support::{LAST_CHECKPOINT, MANY_CHECKPOINTS, Place, TOTALS, ran, slow_job, totals};

#[test]
fn a_finished_job_says_so_and_how_to_run_it_anew() {
    let place = Place::new();
    place.write("totals.sql", &totals(LAST_CHECKPOINT));
    let first = place.run("run totals.sql").exits_with(0).says("finished (checkpoint 1)");
    assert_eq!(first.out, TOTALS);
    let second = place.run("run totals.sql").exits_with(0);
    let second = second.says("job totals has finished (checkpoint 1); run it anew with --restore none");
    assert_eq!(second.out, "");
    let anew = place.run("run totals.sql --restore none").exits_with(0);
    assert_eq!(anew.out, TOTALS);
}

#[test]
fn without_checkpoints_a_job_says_that_a_crash_loses_the_state() {
    let place = Place::new();
    place.write("totals.sql", &totals(""));
    place
        .run("run totals.sql")
        .exits_with(0)
        .says("warning: a crash loses the state: there is no checkpoint directory")
        .says("execution.checkpointing.dir");
}

#[test]
fn a_stopped_job_goes_on_where_it_was() {
    let place = Place::new();
    place.write("job.sql", &slow_job("BIGINT"));
    stop(&place, "run job.sql").exits_with(0).says("stopping").says("stopped after checkpoint");
    let again = stop(&place, "run job.sql").exits_with(0);
    let again = again.says("resumed from checkpoint");
    assert!(!again.err.contains("at row 0 "), "{}", again.err);
    // Nothing is counted twice and nothing lost: the counts of a sequence's last digits differ by one at most.
    let counts = counts(&place);
    assert_eq!(counts.len(), 10);
    let (least, most) = (counts.iter().min(), counts.iter().max());
    assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "{counts:?}");
}

#[test]
fn a_crash_between_two_steps_of_a_checkpoint_loses_and_repeats_nothing() {
    let place = Place::new();
    place.write("job.sql", &slow_job("BIGINT"));
    for point in ["before-manifest:3", "after-manifest:2", "before-sink-commit:2", "after-sink-commit:2"] {
        let mut command = place.command("run job.sql -D state.backend.type=rocksdb");
        let output = command.env("HEADPOND_CRASH_AT", point).output().expect("the binary can be started");
        let crashed = ran(output).exits_with(-1);
        assert!(!crashed.err.contains("error:"), "{}", crashed.err);
    }
    let last = stop(&place, "run job.sql -D state.backend.type=rocksdb").exits_with(0);
    last.says("resumed from checkpoint");
    let counts = counts(&place);
    let (least, most) = (counts.iter().min(), counts.iter().max());
    assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "{counts:?}");
}

#[test]
fn a_query_that_does_not_match_its_checkpoint_is_refused() {
    let place = Place::new();
    place.write("job.sql", &slow_job("BIGINT"));
    stop(&place, "run job.sql").exits_with(0);
    place.write("job.sql", &slow_job("STRING"));
    place.run("run job.sql").exits_with(4).says("error: ").says("operator counts/").says("hint: ");
}

#[test]
fn what_a_checkpoint_has_fixed_is_said_or_refused() {
    let place = Place::new();
    place.write("job.sql", &slow_job("BIGINT"));
    let rocksdb = "run job.sql -D state.backend.type=rocksdb";
    stop(&place, rocksdb).exits_with(0);
    let key_groups = format!("{rocksdb} -D pipeline.max-parallelism=64");
    stop(&place, &key_groups).exits_with(0).says("'pipeline.max-parallelism' has no effect").says("fixed it at 128");
    let ran = place.run("run job.sql -D state.backend.type=memory").exits_with(4).says("only the backend 'rocksdb'");
    ran.says("SET 'state.backend.type' = 'rocksdb'").says("--restore none");
    place.write("job.sql", &slow_job("BIGINT").replace("'path' = 'counts'", "'path' = 'elsewhere'"));
    place.run(rocksdb).exits_with(4).says("/counts'").says("elsewhere").says("set 'path' back");
    place.write("job.sql", &slow_job("BIGINT").replace("'splits' = '1'", "'splits' = '2'"));
    place.run(rocksdb).exits_with(4).says("in other splits").says("--restore none");
}

/// Each split is later than the one before. What several readers had begun is read on by fewer of them, and by more.
#[test]
fn no_row_is_late_because_other_workers_go_on_with_the_splits() {
    for (before, after) in [(3, 1), (3, 2), (2, 1), (1, 3)] {
        let place = Place::new();
        place.write(
            "job.sql",
            &format!(
                "{MANY_CHECKPOINTS}
                 CREATE TABLE ids (id BIGINT, ts AS TO_TIMESTAMP_LTZ(id * 50, 3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
                   WITH ('connector' = 'datagen', 'number-of-rows' = '9000', 'rows-per-second' = '4000', 'splits' = '3',
                     'fields.id.kind' = 'sequence');
                 CREATE TABLE windows (window_start TIMESTAMP_LTZ(3), n BIGINT)
                   WITH ('connector' = 'filesystem', 'path' = 'windows', 'format' = 'csv');
                 INSERT INTO windows SELECT window_start, COUNT(*)
                   FROM TABLE(TUMBLE(TABLE ids, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;"
            ),
        );
        stop(&place, &format!("run job.sql --parallelism {before}")).exits_with(0);
        place
            .run(&format!("run job.sql -D pipeline.name=job --parallelism {after}"))
            .exits_with(0)
            .says("resumed from");
        let files = std::fs::read_dir(place.path("windows")).expect("the sink has made its directory").flatten();
        let published = files.filter(|file| file.file_name().to_string_lossy().starts_with("part-"));
        let texts: Vec<String> =
            published.map(|file| std::fs::read_to_string(file.path()).expect("a readable file")).collect();
        let counts: Vec<u64> = texts
            .iter()
            .flat_map(|text| text.lines())
            .filter_map(|line| line.rsplit(',').next()?.parse().ok())
            .collect();
        assert_eq!((counts.len(), counts.iter().sum::<u64>()), (45, 9000), "{before} to {after} workers");
    }
}
