//! The program killed and stopped on its way, against the words counted at once.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

const LINES: u64 = 60_000;
const WORDS: u64 = 211;
const KINDS: [&str; 3] = ["noun", "verb", "name"];

fn word(n: u64) -> String {
    format!("word{}", n * 7919 % WORDS)
}

/// A line every 20 ms, of three words each.
fn line(n: u64) -> (u64, [String; 3]) {
    (n * 20, [word(n), word(n / 3 + 1), word(n * n % 1000)])
}

fn write_input(dir: &Path) {
    let mut lines = String::from("time_ms,text\n");
    for (time_ms, words) in (0..LINES).map(line) {
        lines.push_str(&format!("{time_ms},{}\n", words.join(" ")));
    }
    let kinds: String = (0..WORDS).map(|n| format!("word{n},{}\n", KINDS[n as usize % KINDS.len()])).collect();
    fs::write(dir.join("lines.csv"), lines).expect("a file");
    fs::write(dir.join("kinds.csv"), format!("word,kind\n{kinds}")).expect("a file");
}

fn expected() -> Vec<String> {
    let mut counts = BTreeMap::<(u64, String), u64>::new();
    for (time_ms, words) in (0..LINES).map(line) {
        for word in words {
            *counts.entry((time_ms / 60_000 * 60_000, word)).or_default() += 1;
        }
    }
    let kind = |word: &str| KINDS[word["word".len()..].parse::<usize>().expect("a number") % KINDS.len()];
    let mut lines: Vec<_> =
        counts.into_iter().map(|((minute, word), count)| format!("{minute},{word},{},{count}", kind(&word))).collect();
    lines.sort();
    lines
}

/// The lines of the published files, without their headers.
fn output(dir: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(dir.join("out")).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("part-")) {
            let text = fs::read_to_string(path).expect("a text");
            lines.extend(text.lines().skip(1).map(str::to_owned));
        }
    }
    lines.sort();
    lines
}

fn start(dir: &Path, workers: u32) -> Child {
    Command::new(env!("CARGO_BIN_EXE_wordcount"))
        .args(["-D", "execution.checkpointing.dir=checkpoints", "-D", "execution.checkpointing.interval=50 ms"])
        .args(["-D", "state.backend.type=rocksdb"])
        .args(["--parallelism", &workers.to_string(), ".", "out", "20000"])
        .current_dir(dir)
        .env("XDG_RUNTIME_DIR", dir)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// Waits until more lines than these are published.
fn published_beyond(dir: &Path, before: usize, child: &mut Child) -> usize {
    loop {
        let lines = output(dir).len();
        if lines > before {
            return lines;
        }
        assert!(child.try_wait().expect("a status").is_none(), "the program ended too early");
        thread::sleep(Duration::from_millis(5));
    }
}

/// What the running program says of itself to who asks, as `headpond jobs` does.
fn status(dir: &Path, process: u32) -> String {
    let mut stream = UnixStream::connect(dir.join(format!("headpond/{process}.sock"))).expect("the program listens");
    stream.write_all(b"{\"command\":\"status\"}\n").expect("it reads");
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).expect("it answers");
    answer
}

#[test]
fn a_program_that_is_killed_and_stopped_goes_on_exactly() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    fs::create_dir(dir.join("out")).expect("a directory");
    write_input(dir);

    let mut killed = start(dir, 2);
    let lines = published_beyond(dir, 0, &mut killed);
    assert!(status(dir, killed.id()).contains("\"job\":\"wordcount\""));
    killed.kill().expect("it can be killed");
    killed.wait().expect("it ends");

    let mut stopped = start(dir, 3);
    let lines = published_beyond(dir, lines, &mut stopped);
    let signalled = Command::new("kill").args(["-TERM", &stopped.id().to_string()]).status().expect("kill runs");
    assert!(signalled.success());
    let ended = stopped.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.contains("stopped after checkpoint"), "{:?}: {said}", ended.status);
    assert!(lines < expected().len(), "the program was stopped on its way");

    let finished = start(dir, 1).wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&finished.stderr);
    assert!(finished.status.success() && said.contains("resumed from checkpoint"), "{:?}: {said}", finished.status);
    assert_eq!(output(dir), expected());
}

#[test]
fn a_wrong_option_is_named_before_anything_runs() {
    let program = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_wordcount")).args(arguments).output().expect("the program runs")
    };
    let ended = program(&["-D", "parallelism.defautl=2", "in", "out"]);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && said.contains("parallelism.default"), "{said}");
    let ended = program(&["in"]);
    assert!(String::from_utf8_lossy(&ended.stderr).contains("wordcount INPUT OUTPUT"));
}
