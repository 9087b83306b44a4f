//! What a job computes.

use crate::support::{LAST_CHECKPOINT, Place, TOTALS, flights, ran, totals};

#[test]
fn totals_are_the_same_with_either_backend_and_any_parallelism() {
    let place = Place::new();
    place.write("totals.sql", &totals(""));
    for backend in ["memory", "rocksdb"] {
        for parallelism in [1, 3] {
            let arguments = format!("run totals.sql -D state.backend.type={backend} --parallelism {parallelism}");
            let ran = place.run(&arguments).exits_with(0).says(&format!("state backend {backend}"));
            assert_eq!(ran.out, TOTALS, "{arguments}");
        }
    }
    assert!(!place.path(".headpond").exists(), "local state was left behind");
}

#[test]
fn lines_pasted_from_spark_choose_rocksdb_and_compact_at_checkpoints() {
    let place = Place::new();
    let pasted = "SET spark.sql.streaming.stateStore.providerClass =
        \"org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider\"
        SET spark.sql.streaming.rocksdb.compactOnCommit.enabled
          = true\n";
    place.write("totals.sql", &totals(&format!("{pasted}{LAST_CHECKPOINT}")));
    let ran = place.run("run totals.sql").exits_with(0).says("state backend rocksdb").says("compaction");
    assert_eq!(ran.out, TOTALS);
}

#[test]
fn a_query_by_itself_is_printed() {
    let place = Place::new();
    place.write(
        "counts.sql",
        &(flights("") + "SELECT carrier, dep_delay FROM flights WHERE dep_delay > 3; VALUES (NULL, 'x')"),
    );
    let mut lines: Vec<String> = place.run("run counts.sql").exits_with(0).out.lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["+I[AA, 10.5]", "+I[UA, 4.0]", "+I[null, x]"]);
}

#[test]
fn sql_may_stand_on_the_command_line() {
    let place = Place::new();
    let run = |sql: &str, more: &str| {
        let mut command = place.command(&format!("run {more}"));
        ran(command.arg("-e").arg(sql).output().expect("the binary can be started"))
    };
    assert_eq!(run("SELECT 1 + 1 AS two, CAST(TRUE AS STRING)", "").exits_with(0).out, "+I[2, TRUE]\n");
    run("SELECT FORM t", "").exits_with(2).says("command-line");
    run("SELECT 1", "-D execution.checkpointing.dir=file:checkpoints").exits_with(2).says("pipeline.name");
    run("SELECT 1", "totals.sql").exits_with(2).says("--execute");
    place.run("run").exits_with(2).says("<FILE>");
}

#[test]
fn sql_may_come_from_standard_input() {
    let place = Place::new();
    let ran = place.run_with_input("run -", &totals("")).exits_with(0).says("job stdin");
    assert_eq!(ran.out, TOTALS);
}

#[test]
fn checkpoints_of_a_job_from_standard_input_need_its_name() {
    let place = Place::new();
    place
        .run_with_input("run -", &totals(LAST_CHECKPOINT))
        .exits_with(2)
        .says("a job from standard input needs a name")
        .says("-D pipeline.name=NAME");
    let ran = place.run_with_input("run - -D pipeline.name=mine", &totals(LAST_CHECKPOINT)).exits_with(0);
    assert_eq!(ran.out, TOTALS);
}

#[test]
fn layers_of_settings_win_in_their_order() {
    let place = Place::new();
    place.write("headpond.toml", "parallelism.default = 2\n[pipeline]\nname = \"from-file\"\n");
    place.write("totals.sql", &totals(""));
    place.run("run totals.sql").exits_with(0).says("job from-file: 2 workers");
    let mut command = place.command("run totals.sql -D pipeline.name=from-flag");
    let output = command.env("HEADPOND_PIPELINE_NAME", "from-environment").output().expect("the binary can be started");
    crate::support::ran(output).exits_with(0).says("job from-flag: 2 workers");
    place.write("totals.sql", &totals("SET 'pipeline.name' = 'from-statement';"));
    place.run("run totals.sql").exits_with(0).says("job from-statement: 2 workers");
    place.write("totals.sql", &totals("SET 'pipeline.name' = 'from-statement'; SET 'parallelism.default' = '3';"));
    place
        .run("run totals.sql -D pipeline.name=of-the-command-line --parallelism 1")
        .exits_with(0)
        .says("job of-the-command-line: 1 worker");
}
