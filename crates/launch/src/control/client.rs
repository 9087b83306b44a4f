//! The side of who asks.

use super::{Answer, Request, check_private, directory};
use headpond_state::{Context, Error, ErrorKind, Result};
use serde_json::Value;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a run may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(5);

/// A run that answers, with what it says of itself.
#[derive(Debug)]
pub struct Running {
    socket: PathBuf,
    /// The job's name.
    pub job: String,
    /// The process.
    pub process: u64,
    /// Where its checkpoints are.
    pub checkpoints: Option<String>,
    /// Its figures.
    pub figures: Value,
}

/// A connection on which a checkpoint was asked for: what the answer promises holds as long as this lives.
#[derive(Debug)]
pub struct Connection {
    _stream: UnixStream,
    /// What came of it.
    pub answer: Answer,
}

/// This user's runs on this machine, by job and process.
///
/// # Errors
/// As the file system's. Runs that do not answer are left out.
pub fn running() -> Result<Vec<Running>> {
    let directory = directory();
    let entries = match check_private(&directory).and_then(|()| fs::read_dir(&directory)) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|cause| Error::io("cannot look for running jobs", &directory, cause))?,
    };
    let mut found = Vec::new();
    for entry in entries.filter_map(io::Result::ok) {
        let socket = entry.path();
        if socket.extension().is_some_and(|extension| extension == "sock") {
            found.extend(status(&socket));
        }
    }
    found.sort_by(|a, b| (&a.job, a.process).cmp(&(&b.job, b.process)));
    Ok(found)
}

/// The run of this job, or of this process.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid) when there is none, or more than one, naming those there are.
pub fn find(wanted: &str) -> Result<Running> {
    let mut all = running()?;
    let names: Vec<String> = all.iter().map(|run| format!("{} (process {})", run.job, run.process)).collect();
    let is_wanted = |run: &Running| run.job == wanted || run.process.to_string() == wanted;
    match all.iter().filter(|run| is_wanted(run)).count() {
        1 => {
            all.retain(is_wanted);
            all.pop().ok_or_else(|| Error::internal("a run that was found is gone"))
        }
        0 => {
            Err(Error::invalid("no running job has this name")
                .with(Context::Text, wanted)
                .hint(match names.as_slice() {
                [] => {
                    "no job runs on this machine as this user; a checkpoint of one that has ended can be copied with \
                   `headpond savepoint export`"
                        .to_owned()
                }
                names => format!("there are {}", names.join(", ")),
            }))
        }
        _ => Err(Error::invalid("several running jobs have this name")
            .with(Context::Text, wanted)
            .hint(format!("name one by its process: {}", names.join(", ")))),
    }
}

impl Running {
    /// Asks for a checkpoint, the last one for [`Request::Stop`], and waits for it.
    ///
    /// # Errors
    /// The run's own, and [`Unavailable`](ErrorKind::Unavailable) when it ends without an answer.
    pub fn ask(&self, request: Request) -> Result<Connection> {
        let gone = |cause: io::Error| {
            Error::unavailable("the job cannot be asked: it has ended, or does not listen")
                .with(Context::Text, &self.job)
                .because(cause)
        };
        let stream = UnixStream::connect(&self.socket).map_err(gone)?;
        let value = exchange(&stream, request).map_err(gone)?;
        if let Some(message) = value["error"].as_str() {
            return Err(error_of(&value, message));
        }
        match (value["checkpoint"].as_u64(), value["location"].as_str()) {
            (Some(checkpoint), Some(location)) => {
                Ok(Connection { _stream: stream, answer: Answer { checkpoint, location: location.to_owned() } })
            }
            _ => Err(gone(io::ErrorKind::UnexpectedEof.into())),
        }
    }
}

/// What a run says of itself; `None` if it is dead, whose socket is removed, or another program.
fn status(socket: &Path) -> Option<Running> {
    let stream = match UnixStream::connect(socket) {
        Ok(stream) => stream,
        Err(cause) => {
            if cause.kind() == io::ErrorKind::ConnectionRefused {
                let _ = fs::remove_file(socket);
            }
            return None;
        }
    };
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let value = exchange(&stream, Request::Status).ok()?;
    Some(Running {
        socket: socket.to_owned(),
        job: value["job"].as_str()?.to_owned(),
        process: value["process"].as_u64()?,
        checkpoints: value["checkpoints"].as_str().map(str::to_owned),
        figures: value["figures"].clone(),
    })
}

fn exchange(mut stream: &UnixStream, request: Request) -> io::Result<Value> {
    stream.write_all(request.to_line().as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    serde_json::from_str(&line).map_err(io::Error::other)
}

fn error_of(value: &Value, message: &str) -> Error {
    let code = value["exit_code"].as_u64().and_then(|code| u8::try_from(code).ok());
    let kind = code.and_then(ErrorKind::of_exit_code).unwrap_or(ErrorKind::Internal);
    let error = Error::new(kind, message);
    match value["hint"].as_str() {
        Some(hint) => error.hint(hint),
        None => error,
    }
}
