//! From a SQL file to a planned job.

use headpond_config::{Config, options};
use headpond_sql::PlannedJob;
use headpond_state::{Context, Error, Result};
use std::io::{self, Read};
use std::path::Path;

/// What standard input is called, in messages and as a job.
const STANDARD_INPUT: &str = "stdin";

/// Reads, parses and plans a SQL file; `-` is standard input.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) for a file that cannot be read or a text that is wrong,
/// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for what Headpond does not know.
pub(crate) fn plan(file: &Path, config: Config) -> Result<PlannedJob> {
    if file == Path::new("-") {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        read.map_err(|cause| unreadable("cannot read the SQL", Path::new("standard input"), cause))?;
        let job = headpond_sql::plan(&headpond_sql::parse(&text, STANDARD_INPUT)?, config)?;
        return named(job);
    }
    let text = std::fs::read_to_string(file).map_err(|cause| unreadable("cannot read the SQL file", file, cause))?;
    headpond_sql::plan(&headpond_sql::parse(&text, &file.display().to_string())?, config)
}

fn unreadable(message: &str, path: &Path, cause: io::Error) -> Error {
    match cause.kind() {
        // A text that is wrong, not a stored file that is damaged.
        io::ErrorKind::InvalidData => Error::invalid("the SQL is not UTF-8 text").with(Context::Path, path.display()),
        _ => Error::io(message, path, cause),
    }
    .hint("give the path of a SQL file, or `-` for standard input")
}

/// Two jobs from standard input that share a checkpoint directory must not be taken for one.
fn named(job: PlannedJob) -> Result<PlannedJob> {
    if job.config.get(&options::CHECKPOINTING_DIR).is_some() && !job.config.is_set(&options::PIPELINE_NAME) {
        return Err(Error::invalid("a job from standard input needs a name for its checkpoints")
            .with(Context::Option, options::PIPELINE_NAME.key())
            .hint("give it one: -D pipeline.name=NAME, or SET 'pipeline.name' = 'NAME'"));
    }
    Ok(job)
}
