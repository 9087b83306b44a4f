//! `headpond jobs`: what runs on this machine.

use crate::arguments::JobsArguments;
use crate::console;
use crate::format::{Bytes, Count, table};
use headpond_launch::control::{Running, running};
use headpond_state::Result;
use serde_json::json;

/// Lists this user's running jobs.
///
/// # Errors
/// As the file system's and the output's.
pub(crate) fn list(arguments: &JobsArguments) -> Result<()> {
    let jobs = running()?;
    if arguments.json {
        return jobs.iter().try_for_each(|job| {
            let Running { job: name, process, checkpoints, figures, .. } = job;
            let object = json!({ "job": name, "process": process, "checkpoints": checkpoints, "figures": figures });
            console::data(&format!("{object}\n"))
        });
    }
    let header = ["job", "process", "rows", "state", "checkpoint", "checkpoints in"].map(str::to_owned);
    let rows = jobs.iter().map(row);
    console::data(&table(&std::iter::once(header).chain(rows).collect::<Vec<_>>()))
}

fn row(job: &Running) -> [String; 6] {
    let figures = &job.figures;
    let number = |name: &str| figures[name].as_u64().unwrap_or(0);
    let state = |name: &str| figures["state"][name].as_u64().unwrap_or(0);
    let last = figures["checkpoints"]["last"]["checkpoint"].as_u64();
    [
        job.job.clone(),
        job.process.to_string(),
        Count(number("rows")).to_string(),
        Bytes(state("memory_bytes") + state("disk_bytes")).to_string(),
        last.map(|id| id.to_string()).unwrap_or_default(),
        job.checkpoints.clone().unwrap_or_default(),
    ]
}
