//! The example's sessions against those found by sorting all clicks.

use headpond::stream::StreamExecutionEnvironment;
use headpond_example_sessionize::{Clicks, GAP, LineFiles, MAX_OUT_OF_ORDERNESS, sessionize};
use headpond_runtime::Ending;
use headpond_state::StateBackend;
use headpond_state_memory::HashMapStateBackend;
use headpond_state_rocksdb::EmbeddedRocksDbStateBackend;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

const CLICKS: u64 = 60_000;

/// The lines of sessions and of late clicks, sorted.
fn expected() -> (Vec<String>, Vec<String>) {
    let (gap_ms, delay_ms) = (GAP.as_millis() as i64, MAX_OUT_OF_ORDERNESS.as_millis() as i64);
    let (mut times, mut late) = (BTreeMap::<String, Vec<i64>>::new(), Vec::new());
    let mut watermark_ms = i64::MIN;
    for click in (0..CLICKS).map(Clicks::click) {
        let time_ms = click.time_ms;
        if time_ms + gap_ms <= watermark_ms {
            late.push(click.to_string());
        } else {
            times.entry(click.user).or_default().push(time_ms);
        }
        watermark_ms = watermark_ms.max(time_ms - delay_ms - 1);
    }
    let mut sessions = Vec::new();
    for (user, mut times) in times {
        times.sort_unstable();
        for session in times.chunk_by(|before, after| after - before <= gap_ms) {
            sessions.push(format!("{user},{},{},{}", session[0], session[session.len() - 1], session.len()));
        }
    }
    sessions.sort();
    late.sort();
    (sessions, late)
}

fn environment(dir: &Path, backend: impl StateBackend + 'static, parallelism: usize) -> StreamExecutionEnvironment {
    let env = StreamExecutionEnvironment::new();
    env.set_state_backend(backend).set_parallelism(parallelism);
    env.set_checkpoint_dir(dir.join("checkpoints").display().to_string())
        .enable_checkpointing(Duration::from_millis(5));
    env.set_local_dir(dir.join("local"));
    env
}

/// Runs the job until it has published something, stops it, and lets another number of workers go on.
fn run<B: StateBackend + 'static>(backend: impl Fn() -> B, before: usize, after: usize) {
    let dir = tempfile::tempdir().expect("a directory");
    let (sessions, late) = (LineFiles::new(dir.path().join("sessions")), LineFiles::new(dir.path().join("late")));
    let describe = |env: &StreamExecutionEnvironment| {
        let results = sessionize(&env.from_source(Clicks { count: CLICKS }));
        results.sessions.sink_to(sessions.clone());
        results.late.sink_to(late.clone());
    };
    let env = environment(dir.path(), backend(), before);
    describe(&env);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| env.execute("sessionize"));
        while sessions.lines().map_or(true, |lines| lines.is_empty()) && !running.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        env.job_control().stop();
        running.join().expect("no panic").expect("the job runs");
    });
    let env = environment(dir.path(), backend(), after);
    describe(&env);
    assert_eq!(env.execute("sessionize").expect("the job runs").ending, Ending::Finished);
    let sorted = |files: &LineFiles| {
        let mut lines = files.lines().expect("readable");
        lines.sort();
        lines
    };
    let expected = expected();
    assert!(expected.0.len() > 3000 && expected.1.len() > 30, "{} {}", expected.0.len(), expected.1.len());
    assert_eq!(sorted(&sessions), expected.0, "{before} then {after} workers");
    assert_eq!(sorted(&late), expected.1, "{before} then {after} workers");
}

#[test]
fn sessions_are_those_of_the_sorted_clicks_with_state_in_memory() {
    run(HashMapStateBackend::new, 1, 3);
}

#[test]
fn sessions_are_those_of_the_sorted_clicks_with_state_in_rocksdb() {
    run(|| EmbeddedRocksDbStateBackend::new(true), 3, 1);
}
