//! `headpond explain`.

use crate::arguments::ExplainArguments;
use crate::{console, report, script, settings};
use headpond_connectors::Connectors;
use headpond_state::Result;

/// Shows what a SQL file would run.
///
/// # Errors
/// As [`script::plan`].
pub(crate) fn explain(arguments: &ExplainArguments, connectors: &Connectors) -> Result<()> {
    let job = script::plan(&arguments.script, settings::load(&arguments.settings)?, connectors)?;
    job.warnings.iter().for_each(report::warning);
    for shown in &job.shown {
        console::data(&format!("{}\n", shown.trim_end()))?;
    }
    console::data(&job.explain())
}
