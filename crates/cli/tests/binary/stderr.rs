//! Nobody has to read stderr: a job goes on and ends as it would.

use crate::support::{LAST_CHECKPOINT, Place, TOTALS, ran, slow_job, totals};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{PipeReader, Read, Write, pipe};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Ways of stderr not to take anything.
const WAYS: [&str; 4] = ["full", "closed", "shut", "stuck"];

/// Starts the binary with a stderr that takes nothing; what is returned beside it is held until the end.
fn start(place: &Place, arguments: &str, way: &str) -> (Child, Option<PipeReader>) {
    let mut command = place.command(arguments);
    command.stdout(Stdio::piped());
    match way {
        "full" => {
            command.stderr(File::options().write(true).open("/dev/full").expect("Linux has it"));
        }
        "shut" => {
            let mut shell = Command::new("sh");
            shell.current_dir(place.path("")).args(["-c", "exec \"$@\" 2>&-", "sh"]).arg(command.get_program());
            shell.args(command.get_args()).stdin(Stdio::null()).stdout(Stdio::piped());
            return (shell.spawn().expect("there is a shell"), None);
        }
        "stuck" => {
            let (reader, writer) = full_pipe();
            let child = command.stderr(writer).spawn().expect("the binary can be started");
            return (child, Some(reader));
        }
        _ => {
            command.stderr(Stdio::piped());
        }
    }
    let mut child = command.spawn().expect("the binary can be started");
    drop(child.stderr.take());
    (child, None)
}

/// A pipe that takes nothing until it is read.
fn full_pipe() -> (PipeReader, Stdio) {
    const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
    let (reader, mut writer) = pipe().expect("there are pipes");
    while poll(&mut [PollFd::new(&writer, PollFlags::OUT)], Some(&NOW)).expect("a pipe can be asked") > 0 {
        writer.write_all(&[b'x'; 4096]).expect("the pipe takes a page");
    }
    (reader, writer.into())
}

#[test]
fn a_job_ends_as_it_would_whatever_becomes_of_its_log() {
    for way in WAYS {
        for progress in ["auto", "json", "plain"] {
            let place = Place::new();
            place.write("totals.sql", &totals(LAST_CHECKPOINT));
            let (child, held) = start(&place, &format!("-vvv run totals.sql --progress {progress}"), way);
            let ran = ran(child.wait_with_output().expect("the binary ends")).exits_with(0);
            assert_eq!(ran.out, TOTALS, "{way}");
            drop(held);
        }
    }
}

#[test]
fn one_signal_stops_a_job_whose_log_nobody_takes() {
    for way in WAYS {
        let place = Place::new();
        place.write("slow.sql", &slow_job("INT"));
        let (child, held) = start(&place, "-vvv run slow.sql --progress json", way);
        // It has begun once it has published something.
        while !place.path("counts/.staging/committed").exists() {
            thread::sleep(Duration::from_millis(20));
        }
        assert!(Command::new("kill").arg(child.id().to_string()).status().expect("there is a `kill`").success());
        ran(child.wait_with_output().expect("the binary ends")).exits_with(0);
        drop(held);
    }
}

#[test]
fn errors_and_their_codes_do_not_need_stderr() {
    for way in WAYS {
        let place = Place::new();
        place.write("wrong.sql", "SELEKT 1;");
        let (child, held) = start(&place, "-vvv run wrong.sql", way);
        ran(child.wait_with_output().expect("the binary ends")).exits_with(2);
        drop(held);
    }
}

#[test]
fn what_a_reader_missed_is_counted() {
    let place = Place::new();
    place.write("slow.sql", &slow_job("INT"));
    let (child, held) = start(&place, "-vvv run slow.sql --progress json", "stuck");
    let mut stderr = held.expect("the pipe");
    while !place.path("counts/.staging/committed").exists() {
        thread::sleep(Duration::from_millis(20));
    }
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        stderr.read_to_end(&mut text).expect("the pipe can be read");
        String::from_utf8_lossy(&text).into_owned()
    });
    thread::sleep(Duration::from_secs(1));
    assert!(Command::new("kill").arg(child.id().to_string()).status().expect("there is a `kill`").success());
    ran(child.wait_with_output().expect("the binary ends")).exits_with(0);
    let text = reader.join().expect("the reader ends");
    assert!(text.contains("lines could not be written here)"), "{text}");
}
