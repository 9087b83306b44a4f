//! Jobs that are killed: at random moments, and at every named point of a checkpoint and of the sinks' commits. However
//! often that happens, the output is the uninterrupted run's.

mod damage;
mod flights;
mod process;

use flights::{check_totals, expected, job, pace, windows};
use process::{resumed_at, run_and_crash, run_and_kill, run_to_end};
use std::path::Path;
use std::time::Duration;

/// The kills of the random test.
const KILLS: usize = 10;

fn write_job(dir: &Path, backend: &str, rows_per_second: u64, delay: &str) -> std::path::PathBuf {
    let path = dir.join("flights.sql");
    std::fs::write(&path, job(dir, backend, rows_per_second, delay)).expect("the job can be written");
    path
}

/// A small generator (xorshift64*), so that a failing sequence of moments can be repeated.
struct Moments(u64);

impl Moments {
    fn from_environment() -> Self {
        let seed = std::env::var("HEADPOND_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or_else(|| u64::from(std::process::id()) << 20 | 0x9e37);
        println!("HEADPOND_SEED={seed} repeats these moments");
        Moments(seed.max(1))
    }

    fn next_ms(&mut self, from: u64, to: u64) -> Duration {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        Duration::from_millis(from + self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % (to - from))
    }
}

fn kill_at_random(backend: &str, parallelism: &[&str]) {
    let dir = tempfile::tempdir().expect("a directory");
    let expected = expected();
    let path = write_job(dir.path(), backend, pace(expected.rows), "DAY");
    let mut moments = Moments::from_environment();
    let (mut kills, mut resumed) = (0, 0);
    while kills < KILLS {
        let workers = ["--parallelism", parallelism[kills % parallelism.len()]];
        let (said, running) = run_and_kill(&path, &workers, moments.next_ms(400, 1100));
        resumed += usize::from(resumed_at(&said).is_some_and(|row| row > 0));
        kills += 1;
        if !running {
            break;
        }
    }
    let said = run_to_end(&path, &["--parallelism", parallelism[0]]);
    resumed += usize::from(resumed_at(&said).is_some_and(|row| row > 0));
    check_totals(dir.path(), &expected);
    assert_eq!(windows(dir.path()), expected.days);
    println!("{backend}: {kills} kills, {resumed} restarts resumed beyond row 0");
    assert!(resumed >= 3, "the kills came too early to prove anything: {said}");
}

#[test]
fn kills_at_random_moments_change_nothing_in_memory() {
    kill_at_random("memory", &["1"]);
}

#[test]
fn kills_at_random_moments_change_nothing_in_rocksdb_with_changing_workers() {
    kill_at_random("rocksdb", &["2", "1", "3"]);
}

#[test]
fn a_crash_at_any_point_of_a_checkpoint_or_of_the_sinks_commits_changes_nothing() {
    let expected = expected();
    for backend in ["memory", "rocksdb"] {
        let dir = tempfile::tempdir().expect("a directory");
        // Slowly, so that a slow disk's checkpoints do not outlast the input before every point was reached.
        let path = write_job(dir.path(), backend, pace(expected.rows) / 2, "DAY");
        for point in [
            "before-upload:3",
            "after-upload:3",
            "before-publish:2",
            "before-manifest:2",
            "during-manifest:2",
            "after-manifest:2",
            "before-sink-commit:2",
            "during-sink-commit:2",
            "after-sink-commit:2",
            "during-collect:2",
        ] {
            let (said, crashed) = run_and_crash(&path, &[], point);
            assert!(crashed, "{backend}: {point} was not reached: {said}");
        }
        run_to_end(&path, &[]);
        check_totals(dir.path(), &expected);
        assert_eq!(windows(dir.path()), expected.days, "{backend}");
    }
}

#[test]
fn rows_that_come_late_are_counted_once_each_whatever_happens() {
    let expected = expected();
    let dir = tempfile::tempdir().expect("a directory");
    let path = write_job(dir.path(), "rocksdb", pace(expected.rows), "MINUTE");
    let mut moments = Moments::from_environment();
    for _ in 0..3 {
        run_and_kill(&path, &[], moments.next_ms(500, 1500));
    }
    let said = run_to_end(&path, &[]);
    let emitted: u64 = windows(dir.path()).values().sum();
    let late = late_rows(&said).unwrap_or_else(|| panic!("the summary counts late rows: {said}"));
    assert!(late > 0, "a watermark that trails by a minute makes rows late");
    assert_eq!(emitted + late, expected.rows);
}

#[test]
fn a_damaged_checkpoint_is_named_and_the_one_before_it_gives_the_same_output() {
    let expected = expected();
    for (backend, flip) in [("memory", true), ("memory", false), ("rocksdb", true), ("rocksdb", false)] {
        let dir = tempfile::tempdir().expect("a directory");
        let path = write_job(dir.path(), backend, pace(expected.rows), "DAY");
        // Crashes with the output of several checkpoints published, the newest one's included.
        let (said, crashed) = run_and_crash(&path, &[], "after-sink-commit:5");
        assert!(crashed, "{said}");
        let damaged = damage::files_of_newest(&dir.path().join("checkpoints/flights"));
        let damaged = damaged.first().expect("the newest checkpoint has files of its own");
        if flip {
            damage::flip(damaged);
        } else {
            std::fs::remove_file(damaged).expect("a file");
        }
        let (said, code) = damage::verify(&dir.path().join("checkpoints"));
        assert_eq!(code, Some(5), "{said}");
        assert!(said.contains(&*damaged.file_name().expect("a name").to_string_lossy()), "{said}");
        let said = run_to_end(&path, &[]);
        assert!(resumed_at(&said).is_some_and(|row| row > 0), "{said}");
        assert!(said.contains("checkpoint 5"), "the run says which checkpoint it could not use: {said}");
        check_totals(dir.path(), &expected);
        assert_eq!(windows(dir.path()), expected.days, "{backend}, flip {flip}");
    }
}

/// The late rows a summary counts.
fn late_rows(said: &str) -> Option<u64> {
    let line = said.lines().rev().find(|line| line.contains("late rows"))?;
    let digits: String = line.chars().filter(|c| c.is_ascii_digit()).collect();
    digits.parse().ok()
}
