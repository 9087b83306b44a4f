//! Sessions, and the function that finds them.

use crate::clicks::Click;
use headpond::stream::state::{StateTtlConfig, TimeDomain, ValueState, ValueStateDescriptor};
use headpond::stream::{Collector, Context, KeyedProcessFunction, OutputTag, RuntimeContext};
use headpond_codecs::ProstCodec;
use headpond_runtime::Result;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// A user who does not click for longer than this has left.
pub const GAP: Duration = Duration::from_secs(30 * 60);

/// How much later a click may come than one with a greater timestamp and still be expected.
pub const MAX_OUT_OF_ORDERNESS: Duration = Duration::from_secs(20);

/// The clicks that came too late for their session.
pub const LATE_CLICKS: OutputTag<Click> = OutputTag::new("late-clicks");

/// Timers close sessions long before; a user's state is gone after a day whatever happens.
const STATE_TTL: Duration = Duration::from_secs(24 * 3600);

const GAP_MS: i64 = GAP.as_millis() as i64;

/// A session that is over.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Session {
    /// Whose.
    pub user: String,
    /// When it began, in milliseconds since the epoch.
    pub first_ms: i64,
    /// Its last click.
    pub last_ms: i64,
    /// How many clicks it has.
    pub clicks: u64,
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},{},{}", self.user, self.first_ms, self.last_ms, self.clicks)
    }
}

/// A user's state: sessions that may still get clicks. Mostly one; more while clicks that come out of order leave a
/// gap.
///
/// `prost-build` makes such types from a `.proto` file. Fields may be added later, under new numbers; checkpoints with
/// the old form stay readable.
#[derive(Clone, PartialEq, prost::Message)]
pub struct OpenSessions {
    /// The sessions, none within the gap of another.
    #[prost(message, repeated, tag = "1")]
    pub sessions: Vec<OpenSession>,
}

/// One of a user's open sessions.
#[derive(Clone, PartialEq, prost::Message)]
pub struct OpenSession {
    /// Its first click so far.
    #[prost(int64, tag = "1")]
    pub first_ms: i64,
    /// Its last click so far.
    #[prost(int64, tag = "2")]
    pub last_ms: i64,
    /// Its clicks so far.
    #[prost(uint64, tag = "3")]
    pub clicks: u64,
}

impl OpenSession {
    /// When it is over, unless more clicks come.
    fn ends_ms(&self) -> i64 {
        self.last_ms + GAP_MS
    }

    fn touches(&self, other: &OpenSession) -> bool {
        self.first_ms <= other.ends_ms() && other.first_ms <= self.ends_ms()
    }

    fn take_in(&mut self, other: &OpenSession) {
        self.first_ms = self.first_ms.min(other.first_ms);
        self.last_ms = self.last_ms.max(other.last_ms);
        self.clicks += other.clicks;
    }
}

/// Finds the sessions of each user.
///
/// A session has a timer for its end. When the timer fires, event time says that no more clicks up to then are
/// expected.
#[derive(Debug)]
pub struct Sessionize;

impl KeyedProcessFunction for Sessionize {
    type Key = String;
    type In = Click;
    type Out = Session;
    type States = ValueState<OpenSessions>;

    fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<Self::States> {
        let ttl = StateTtlConfig::new(STATE_TTL).time_domain(TimeDomain::EventTime);
        let codec = ProstCodec::new("headpond.example.OpenSessions");
        ctx.value_state(ValueStateDescriptor::new("open-sessions", codec).with_ttl(ttl))
    }

    fn process_element(
        &self,
        state: &mut Self::States,
        click: Click,
        ctx: &mut Context<'_, String>,
        out: &mut Collector<Session>,
    ) -> Result<()> {
        let mut session = OpenSession { first_ms: click.time_ms, last_ms: click.time_ms, clicks: 1 };
        let watermark_ms = ctx.current_watermark();
        if session.ends_ms() <= watermark_ms {
            ctx.output(&LATE_CLICKS, click);
            return Ok(());
        }
        // What is over by now takes no more clicks, though its timer may not have fired yet.
        let mut open = close(state, watermark_ms, ctx, out)?;
        for joined in open.sessions.extract_if(.., |other| other.touches(&session)).collect::<Vec<_>>() {
            ctx.timers().delete_event_time_timer(joined.ends_ms())?;
            session.take_in(&joined);
        }
        ctx.timers().register_event_time_timer(session.ends_ms())?;
        open.sessions.push(session);
        state.update(ctx, &open)
    }

    fn on_timer(
        &self,
        state: &mut Self::States,
        timestamp: i64,
        ctx: &mut Context<'_, String>,
        out: &mut Collector<Session>,
    ) -> Result<()> {
        let open = close(state, timestamp, ctx, out)?;
        if open.sessions.is_empty() { state.clear(ctx) } else { state.update(ctx, &open) }
    }
}

/// Gives the user's sessions that are over at `time_ms`; returns the others.
fn close(
    state: &mut ValueState<OpenSessions>,
    time_ms: i64,
    ctx: &mut Context<'_, String>,
    out: &mut Collector<Session>,
) -> Result<OpenSessions> {
    let mut open = state.value(ctx)?.unwrap_or_default();
    for over in open.sessions.extract_if(.., |session| session.ends_ms() <= time_ms) {
        let OpenSession { first_ms, last_ms, clicks } = over;
        out.collect(Session { user: ctx.key()?, first_ms, last_ms, clicks });
    }
    Ok(open)
}
