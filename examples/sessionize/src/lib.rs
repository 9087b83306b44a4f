//! An example of Headpond's stream API: the sessions of a click stream.
//!
//! A session is a user's clicks with no more than [`GAP`] between one and the next. Clicks come out of order; a session
//! is given once no more clicks for it are expected. Clicks that come too late for their session go to a side output.
//!
//! - [`Click`] and [`Session`] are the records that come in and go out; [`Clicks`] is a source of clicks;
//! - [`sessionize`] is the job, [`Sessionize`] the function in it: Protobuf state, timers, a side output;
//! - [`LineFiles`] is a sink for either: exactly once, in text files.

mod clicks;
mod files;
mod sessions;

pub use clicks::{Click, Clicks};
pub use files::LineFiles;
pub use sessions::{GAP, LATE_CLICKS, MAX_OUT_OF_ORDERNESS, OpenSession, OpenSessions, Session, Sessionize};

use headpond::stream::{DataStream, WatermarkStrategy};

/// What comes out of the job.
#[derive(Debug)]
pub struct Results {
    /// The sessions that are over.
    pub sessions: DataStream<Session>,
    /// The clicks that came too late.
    pub late: DataStream<Click>,
}

/// The sessions of a stream of clicks.
pub fn sessionize(clicks: &DataStream<Click>) -> Results {
    let watermarks = WatermarkStrategy::bounded_out_of_orderness(MAX_OUT_OF_ORDERNESS)
        .with_timestamps(|click: &Click| click.time_ms);
    let sessions = clicks
        .assign_timestamps_and_watermarks(watermarks)
        .key_by(|click| click.user.clone())
        .process(Sessionize)
        .uid("sessionize");
    let late = sessions.side_output(&LATE_CLICKS);
    Results { sessions, late }
}
