//! Joins over keyed state.
//!
//! Both inputs are exchanged by the equal expressions of the condition, so that rows which may match meet on one
//! worker. Each side keeps its rows there; a row that comes is put together with the rows of its key on the other side,
//! then kept on its own. The inputs are processed in separate calls, so every pair is seen exactly once.
//!
//! [`RegularJoin`](regular::RegularJoin) keeps rows until they are taken back or expire.
//! [`IntervalJoin`](interval::IntervalJoin) is for rows with event time that may only match rows of about their own
//! time, or of their own window: what event time has passed is dropped.
//!
//! An outer, semi or anti join must know of each of its rows whether it has matches. It keeps their number with the
//! row. When it becomes or ceases to be zero, what was given for the row alone is taken back or given again.
//!
//! A batch is worked through in steps: a few thousand stored rows are read ([`Probe`](probe::Probe)), put together
//! with the batch's rows ([`Matching`](matching::Matching)) and given ([`Emission`](emission::Emission)). Between any
//! two of these steps the operator can stop and go on later, so a key with a million rows needs no more memory than any
//! other.
//!
//! In reading order: `plan`, `rows`, `stored`, `deltas`, `candidates`, `probe`, `emission`, `matching`, `work`,
//! `regular`, `times`, `buckets`, `interval`.

mod buckets;
mod candidates;
mod deltas;
mod emission;
mod interval;
mod matching;
mod plan;
mod probe;
mod regular;
mod rows;
mod stored;
mod times;
mod work;

pub(crate) use interval::IntervalJoinFactory;
pub(crate) use plan::{JoinCondition, JoinKind, JoinPlan, JoinSide};
pub(crate) use regular::RegularJoinFactory;
pub(crate) use times::{IntervalSpec, JoinTime};
