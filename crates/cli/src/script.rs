//! From a SQL file to a planned job.

use headpond_config::{Config, options};
use headpond_sql::PlannedJob;
use headpond_state::{Context, Error, Result};
use std::io::Read;
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
        std::io::stdin()
            .read_to_string(&mut text)
            .map_err(|cause| Error::io("cannot read the SQL", "standard input", cause))?;
        let job = headpond_sql::plan(&headpond_sql::parse(&text, STANDARD_INPUT)?, config)?;
        return named(job);
    }
    let text = std::fs::read_to_string(file).map_err(|cause| {
        Error::io("cannot read the SQL file", file, cause)
            .hint("give the path of a SQL file, or `-` for standard input")
    })?;
    headpond_sql::plan(&headpond_sql::parse(&text, &file.display().to_string())?, config)
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
