//! A directory to work in, and the binary run there.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A row per flight: two carriers, one delay missing.
pub(crate) const FLIGHTS: &str = "carrier,dep_delay,time_hour\n\
    UA,2,2013-01-01 05:00:00\n\
    AA,-3,2013-01-01 05:00:00\n\
    UA,4,2013-01-01 06:00:00\n\
    UA,NA,2013-01-01 06:00:00\n\
    AA,10.5,2013-01-01 07:00:00\n";
/// Their totals as printed.
pub(crate) const TOTALS: &str = "+I[AA, 2, 7.5, 3.75]\n+I[UA, 3, 6.0, 3.0]\n";

/// A directory for one test.
pub(crate) struct Place(tempfile::TempDir);

/// What a run left.
pub(crate) struct Ran {
    /// The exit code; -1 if a signal ended it.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl Place {
    /// A directory with `flights.csv`.
    pub(crate) fn new() -> Self {
        let place = Place(tempfile::tempdir().expect("a temporary directory"));
        place.write("flights.csv", FLIGHTS);
        place
    }

    /// A path in it.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("files can be written");
    }

    /// The binary with arguments separated by blanks, not started.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headpond"));
        command.current_dir(self.0.path()).args(arguments.split_whitespace()).stdin(Stdio::null());
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("HEADPOND_") {
                command.env_remove(variable);
            }
        }
        command
    }

    /// Runs the binary.
    pub(crate) fn run(&self, arguments: &str) -> Ran {
        ran(self.command(arguments).output().expect("the binary can be started"))
    }

    /// Runs the binary with a text on its standard input.
    pub(crate) fn run_with_input(&self, arguments: &str, input: &str) -> Ran {
        let mut child = self.start(self.command(arguments).stdin(Stdio::piped()));
        let mut stdin = child.stdin.take().expect("standard input is a pipe");
        stdin.write_all(input.as_bytes()).expect("the binary reads its input");
        drop(stdin);
        ran(child.wait_with_output().expect("the binary ends"))
    }

    /// Starts the binary, its output piped.
    pub(crate) fn start(&self, command: &mut Command) -> Child {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary can be started")
    }
}

impl Ran {
    /// The run, which must have ended with this code.
    pub(crate) fn exits_with(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// The run, whose stderr must say this.
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.err.contains(text), "stderr does not say `{text}`:\n{}", self.err);
        self
    }
}

/// What a process that has ended left.
pub(crate) fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The table of the flights, with more options.
pub(crate) fn flights(options: &str) -> String {
    format!(
        "CREATE TABLE flights (carrier STRING, dep_delay DOUBLE, time_hour TIMESTAMP(3))
         WITH ('connector' = 'filesystem', 'path' = 'flights.csv', 'format' = 'csv', 'csv.header' = 'true',
               'csv.null-literal' = 'NA'{options});\n"
    )
}

/// A job that prints the final totals of each carrier.
pub(crate) fn totals(settings: &str) -> String {
    let flights = flights("");
    format!(
        "{settings}
         {flights}
         CREATE TABLE totals (carrier STRING, flights BIGINT, delay_sum DOUBLE, delay_avg DOUBLE,
                              PRIMARY KEY (carrier) NOT ENFORCED) WITH ('connector' = 'print');
         INSERT INTO totals SELECT carrier, COUNT(*), SUM(dep_delay), AVG(dep_delay) FROM flights GROUP BY carrier;\n"
    )
}

/// Settings for checkpoints in `checkpoints`: the one at the end, however slow the machine is.
pub(crate) const LAST_CHECKPOINT: &str = "SET 'execution.checkpointing.dir' = 'file:checkpoints';
    SET 'execution.checkpointing.interval' = '1 h';";
/// Settings for many checkpoints in `checkpoints`.
pub(crate) const MANY_CHECKPOINTS: &str = "SET 'execution.checkpointing.dir' = 'file:checkpoints';
    SET 'execution.checkpointing.interval' = '20 ms';";

/// A job that counts generated rows by key into files, slowly enough to be interrupted.
pub(crate) fn slow_job(key: &str) -> String {
    format!(
        "{MANY_CHECKPOINTS}
         CREATE TABLE numbers (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '5000', 'splits' = '1',
           'fields.id.kind' = 'sequence');
         CREATE TABLE counts (k {key}, n BIGINT, PRIMARY KEY (k) NOT ENFORCED)
           WITH ('connector' = 'filesystem', 'path' = 'counts', 'format' = 'json');
         INSERT INTO counts SELECT CAST(id % 10 AS {key}), COUNT(*) FROM numbers GROUP BY CAST(id % 10 AS {key});\n"
    )
}
