//! Progress on stderr while a job runs.

use crate::arguments::ProgressMode;
use crate::console;
use crate::figures::{self, Line};
use headpond_runtime::JobMetrics;
use headpond_state::{Error, Result};
use serde_json::Value;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How what happens is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// One line, written over.
    Status,
    /// Lines.
    Lines,
    /// Nothing but what happens once.
    Quiet,
    /// A JSON object per line.
    Json,
}

impl Style {
    /// The style of a mode, for the stderr that there is.
    pub(crate) fn of(mode: ProgressMode) -> Self {
        match mode {
            ProgressMode::Auto if io::stderr().is_terminal() => Style::Status,
            ProgressMode::Auto | ProgressMode::Plain => Style::Lines,
            ProgressMode::None => Style::Quiet,
            ProgressMode::Json => Style::Json,
        }
    }

    /// Says what has happened: as text, or as an event of this name with what `figures` hold.
    pub(crate) fn say(self, event: &str, text: &str, figures: Value) {
        match self {
            Style::Json => console::line(object(event, figures)),
            _ => console::line(text),
        }
    }

    fn period(self) -> Option<Duration> {
        match self {
            Style::Status | Style::Json => Some(Duration::from_secs(1)),
            Style::Lines => Some(Duration::from_secs(5)),
            Style::Quiet => None,
        }
    }
}

/// Shows a job's progress until it is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Begins to show it. `rows_before` were read before the checkpoint that this run begins at.
    ///
    /// # Errors
    /// [`ResourceExhausted`](headpond_state::ErrorKind::ResourceExhausted) when there is no thread for it.
    pub(crate) fn start(style: Style, metrics: Arc<JobMetrics>, rows_before: u64) -> Result<Self> {
        let Some(period) = style.period() else { return Ok(Progress { running: None }) };
        let (stop, stopped) = mpsc::channel::<()>();
        let show = move || {
            let mut shown = figures::now(&metrics, rows_before);
            while stopped.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                let figures = figures::now(&metrics, rows_before).since(&shown);
                match style {
                    Style::Status => console::status(Line(&figures).within(console::width())),
                    Style::Json => console::line(object("progress", figures.to_json())),
                    Style::Lines | Style::Quiet => console::line(Line(&figures)),
                }
                shown = figures;
            }
            console::clear_status();
        };
        let thread = thread::Builder::new()
            .name("progress".to_owned())
            .spawn(show)
            .map_err(|cause| Error::exhausted("the thread that shows progress cannot be started").because(cause))?;
        Ok(Progress { running: Some((stop, thread)) })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            // A display that panicked has said so itself.
            let _ = thread.join();
        }
    }
}

/// The event with its name first.
fn object(event: &str, figures: Value) -> String {
    let event = Value::from(event);
    match figures {
        Value::Object(fields) if !fields.is_empty() => {
            format!("{{\"event\":{event},{}", &Value::Object(fields).to_string()[1..])
        }
        _ => format!("{{\"event\":{event}}}"),
    }
}
