//! The run's side: a thread that listens, and one for each who asks.

use super::{Request, check_private, directory};
use crate::figures::Figures;
use headpond_runtime::{JobControl, JobMetrics};
use headpond_state::{CheckpointId, Error, Result};
use serde_json::{Value, json};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Only the user may enter.
const MODE: u32 = 0o700;
/// Bytes of the longest request.
const LINE_MAX: u64 = 4096;
/// How often a run looks whether one who holds a checkpoint is still there.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// What a run tells of itself.
#[derive(Debug)]
pub struct Served {
    /// The job's name.
    pub job: String,
    /// Where its checkpoints are; `None` without checkpoints.
    pub checkpoints: Option<String>,
    /// Rows read before this run began.
    pub rows_before: u64,
    /// The checkpoint it began at.
    pub restored: Option<CheckpointId>,
    /// Its figures.
    pub metrics: Arc<JobMetrics>,
    /// How many lines for people could not be written.
    pub dropped_lines: fn() -> u64,
    /// Words the ways out of an error for who asks.
    pub ways_out: fn(&Error) -> Option<String>,
    /// The hand on it.
    pub control: JobControl,
}

/// The run's socket, gone when this is dropped.
#[derive(Debug)]
pub struct Endpoint {
    path: PathBuf,
}

impl Endpoint {
    /// Begins to listen.
    ///
    /// # Errors
    /// When there can be no socket: the run goes on without.
    pub fn open(served: Served) -> Result<Self> {
        let directory = directory();
        let failed = |cause| Error::io("cannot listen for commands", &directory, cause);
        make_private(&directory).map_err(failed)?;
        let path = directory.join(format!("{}.sock", std::process::id()));
        // Left by a dead process of the same number.
        match fs::remove_file(&path) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(failed(cause)),
            _ => {}
        }
        let listener = UnixListener::bind(&path).map_err(failed)?;
        let endpoint = Endpoint { path };
        let served = Arc::new(served);
        let listen = move || {
            for stream in listener.incoming() {
                let (Ok(stream), served) = (stream, Arc::clone(&served)) else { continue };
                let answered = thread::Builder::new().name("control".to_owned()).spawn(move || {
                    if let Err(error) = answer(&stream, &served) {
                        tracing::debug!(%error, "a command could not be answered");
                    }
                });
                if let Err(error) = answered {
                    tracing::warn!(%error, "a command cannot be answered");
                }
            }
        };
        thread::Builder::new().name("control".to_owned()).spawn(listen).map_err(failed)?;
        Ok(endpoint)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        // One that stays is found to be dead by who asks next.
        let _ = fs::remove_file(&self.path);
    }
}

/// Makes the directory, or sees that it is the user's alone.
fn make_private(directory: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(MODE).create(directory) {
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
        other => return other,
    }
    check_private(directory)
}

fn answer(stream: &UnixStream, served: &Served) -> io::Result<()> {
    let mut line = String::new();
    BufReader::new(stream.take(LINE_MAX)).read_line(&mut line)?;
    let answered = Request::parse(&line).and_then(|request| carry_out(request, served));
    match answered {
        Ok((value, held)) => {
            write(stream, &value)?;
            // Held until the other side has gone.
            if held.is_some() {
                stream.set_read_timeout(Some(LOOK_AGAIN))?;
                let mut stream = stream;
                while matches!(stream.read(&mut [0]), Err(cause) if is_timeout(&cause)) {}
            }
            Ok(())
        }
        Err(error) => write(
            stream,
            &json!({ "error": error.to_string(), "hint": (served.ways_out)(&error), "exit_code": error.kind().exit_code() }),
        ),
    }
}

type Held = Option<headpond_runtime::HeldCheckpoint>;

fn carry_out(request: Request, served: &Served) -> Result<(Value, Held)> {
    if request == Request::Status {
        return Ok((status(served), None));
    }
    if served.checkpoints.is_none() {
        return Err(Error::invalid("the job takes no checkpoints")
            .hint("run it with 'execution.checkpointing.dir' set to a directory"));
    }
    let answer = match request {
        Request::Stop => served.control.stop_with_checkpoint(),
        _ => served.control.checkpoint(),
    };
    let answer = answer.recv().unwrap_or_else(|_| {
        Err(Error::closed("the job ended before it took the checkpoint")
            .hint("`headpond checkpoint list` shows its last one"))
    })?;
    Ok((json!({ "checkpoint": answer.id.0, "location": absolute(&answer.location) }), Some(answer)))
}

fn status(served: &Served) -> Value {
    json!({
        "job": served.job,
        "process": std::process::id(),
        "checkpoints": served.checkpoints.as_deref().map(absolute),
        "restored": served.restored.map(|id| id.0),
        "figures": Figures::of(&served.metrics, served.rows_before).with_dropped_lines((served.dropped_lines)()).to_json(),
    })
}

/// The place as somebody in another directory has to write it.
fn absolute(location: &str) -> String {
    if location.contains("://") {
        return location.to_owned();
    }
    std::path::absolute(location).map_or_else(|_| location.to_owned(), |path| path.display().to_string())
}

fn write(mut stream: &UnixStream, value: &Value) -> io::Result<()> {
    stream.write_all(format!("{value}\n").as_bytes())
}

fn is_timeout(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}
