//! Runs of the binary, to their end or to a sudden one.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn headpond(job: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headpond"));
    command.arg("run").arg(job).args(["--progress", "plain"]).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_remove("HEADPOND_CRASH_AT").current_dir(job.parent().expect("the job is in a directory"));
    command
}

/// Runs to the end and expects success; what it said on stderr.
pub(crate) fn run_to_end(job: &Path, arguments: &[&str]) -> String {
    let output = headpond(job, arguments).output().expect("the binary runs");
    let said = said(&output);
    assert!(output.status.success(), "{:?}: {said}", output.status);
    said
}

/// Runs until `after` has passed, then kills; what it said, and whether it was still running.
pub(crate) fn run_and_kill(job: &Path, arguments: &[&str], after: Duration) -> (String, bool) {
    let mut child = headpond(job, arguments).spawn().expect("the binary runs");
    std::thread::sleep(after);
    let running = child.try_wait().expect("a child").is_none();
    // On Unix this is SIGKILL.
    child.kill().expect("a child can be killed");
    (said(&child.wait_with_output().expect("a child")), running)
}

/// Runs with a crash planted; what it said, and whether it crashed.
pub(crate) fn run_and_crash(job: &Path, arguments: &[&str], point: &str) -> (String, bool) {
    let output = headpond(job, arguments).env("HEADPOND_CRASH_AT", point).output().expect("the binary runs");
    let crashed = output.status.code().is_none();
    assert!(crashed || output.status.success(), "{point}: {}", said(&output));
    (said(&output), crashed)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The row from which a run says that it resumed.
pub(crate) fn resumed_at(said: &str) -> Option<u64> {
    let line = said.lines().find(|line| line.contains("resumed from checkpoint"))?;
    let (_, after) = line.split_once("row ")?;
    let digits: String = after.chars().take_while(|c| c.is_ascii_digit() || *c == ',').filter(|c| *c != ',').collect();
    digits.parse().ok()
}
