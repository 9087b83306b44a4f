//! Jobs that run in the background.

use crate::support::{Place, Ran, ran};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command};

/// A job in the background. Killed if it still runs when it is dropped.
pub(crate) struct Background {
    child: Option<Child>,
    stderr: BufReader<ChildStderr>,
    err: String,
}

impl Background {
    /// Starts a command that shows its progress as JSON.
    pub(crate) fn start(place: &Place, command: &mut Command) -> Self {
        let mut child = place.start(command);
        let stderr = BufReader::new(child.stderr.take().expect("standard error is a pipe"));
        Background { child: Some(child), stderr, err: String::new() }
    }

    /// Waits for a line of stderr that `is_wanted` and returns it.
    pub(crate) fn wait_for(&mut self, is_wanted: impl Fn(&str) -> bool) -> String {
        loop {
            let mut line = String::new();
            let read = self.stderr.read_line(&mut line).expect("standard error is text");
            assert!(read > 0, "the job ended before it said what was wanted:\n{}", self.err);
            self.err.push_str(&line);
            if is_wanted(&line) {
                return line;
            }
        }
    }

    /// Waits until a checkpoint has become durable in this run.
    pub(crate) fn wait_for_checkpoint(&mut self) {
        self.wait_for(|line| line.contains("\"event\":\"progress\"") && !line.contains("\"last\":null"));
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    /// Asks it to stop with a last checkpoint.
    pub(crate) fn terminate(&self) {
        let child = self.child.as_ref().expect("it runs");
        let sent = Command::new("kill").arg(child.id().to_string()).status().expect("there is a `kill`");
        assert!(sent.success());
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ran {
        self.stderr.read_to_string(&mut self.err).expect("standard error is text");
        let child = self.child.take().expect("it runs");
        let mut ran = ran(child.wait_with_output().expect("the binary ends"));
        ran.err = std::mem::take(&mut self.err);
        ran
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// Starts a job, asks it to stop once it has begun, and waits for its end.
pub(crate) fn stop(place: &Place, arguments: &str) -> Ran {
    let mut command = place.command(&format!("{arguments} --progress json -D pipeline.name=job"));
    let mut job = Background::start(place, &mut command);
    job.wait_for(|line| line.contains("\"event\":\"progress\""));
    job.terminate();
    let mut ran = job.end();
    // The same words as in the other styles.
    ran.err = ran
        .err
        .replace("\"event\":\"resumed\"", "resumed from checkpoint")
        .replace("\"event\":\"ended\"", "stopped after checkpoint")
        .replace("\"rows\":0,", "at row 0 ");
    ran
}

/// The counts in the sink's current files.
pub(crate) fn counts(place: &Place) -> Vec<u64> {
    let files = std::fs::read_dir(place.path("counts")).expect("the sink has made its directory").flatten();
    let current = files.filter(|file| file.file_name().to_string_lossy().starts_with("current-"));
    let texts: Vec<String> =
        current.map(|file| std::fs::read_to_string(file.path()).expect("a readable file")).collect();
    let count = |line: &str| -> u64 {
        let row: serde_json::Value = serde_json::from_str(line).expect("a JSON line");
        row["n"].as_u64().expect("a count")
    };
    texts.iter().flat_map(|text| text.lines()).map(count).collect()
}
