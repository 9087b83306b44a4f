//! From a SQL file to a planned job.

use crate::arguments::ScriptArguments;
use crate::console;
use headpond_config::{Config, Secrets, options};
use headpond_connectors::Connectors;
use headpond_files::RegularFile;
use headpond_sql::PlannedJob;
use headpond_state::{Context, Error, Result};
use std::io::{self, Read};
use std::path::Path;

/// What standard input is called, in messages and as a job.
const STANDARD_INPUT: &str = "stdin";
/// What the SQL of `-e` is called, in messages and as a job.
const COMMAND_LINE: &str = "command-line";
/// Bytes of the longest script.
const SCRIPT_BYTES_MAX: u64 = 64 << 20;

/// Reads, parses and plans a SQL file, standard input or the SQL of the command line.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) for a file that cannot be read or a text that is wrong,
/// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for what Headpond does not know.
pub(crate) fn plan(script: &ScriptArguments, config: Config, connectors: &Connectors) -> Result<PlannedJob> {
    if let Some(text) = &script.execute {
        console::hide(Secrets::certain(text));
        let job = headpond_sql::plan_text(text, COMMAND_LINE, config, connectors)?;
        return named(job, "from the command line");
    }
    let file = script.file.as_deref().unwrap_or(Path::new("-"));
    if file == Path::new("-") {
        let place = Path::new("standard input");
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(SCRIPT_BYTES_MAX + 1).read_to_end(&mut bytes);
        read.map_err(|cause| unreadable("cannot read the SQL", place, cause))?;
        if bytes.len() as u64 > SCRIPT_BYTES_MAX {
            return Err(Error::invalid("the SQL is far longer than any script").with(Context::Path, place.display()));
        }
        let text = text_of(bytes, place)?;
        let job = headpond_sql::plan_text(&text, STANDARD_INPUT, config, connectors)?;
        return named(job, "from standard input");
    }
    let opened = RegularFile::open(file).and_then(|file| file.read(SCRIPT_BYTES_MAX));
    let text = text_of(opened.map_err(|cause| unreadable("cannot read the SQL file", file, cause))?, file)?;
    headpond_sql::plan_text(&text, &file.display().to_string(), config, connectors)
}

/// The text, whose secrets are shown nowhere from now on.
fn text_of(bytes: Vec<u8>, path: &Path) -> Result<String> {
    let text = String::from_utf8(bytes)
        .map_err(|_| unreadable("cannot read the SQL", path, io::ErrorKind::InvalidData.into()))?;
    console::hide(Secrets::certain(&text));
    Ok(text)
}

fn unreadable(message: &str, path: &Path, cause: io::Error) -> Error {
    match cause.kind() {
        // A text that is wrong, not a stored file that is damaged.
        io::ErrorKind::InvalidData if cause.get_ref().is_none() => {
            Error::invalid("the SQL is not UTF-8 text").with(Context::Path, path.display())
        }
        io::ErrorKind::InvalidData => Error::invalid(message).with(Context::Path, path.display()).because(cause),
        _ => Error::io(message, path, cause),
    }
    .hint("give the path of a SQL file, or `-` for standard input")
}

/// Two jobs without a file that share a checkpoint directory must not be taken for one.
fn named(job: PlannedJob, origin: &str) -> Result<PlannedJob> {
    if job.config.get(&options::CHECKPOINTING_DIR).is_some() && !job.config.is_set(&options::PIPELINE_NAME) {
        return Err(Error::invalid(format!("a job {origin} needs a name for its checkpoints"))
            .with(Context::Option, options::PIPELINE_NAME.key())
            .hint("give it one: -D pipeline.name=NAME, or SET 'pipeline.name' = 'NAME'"));
    }
    Ok(job)
}
