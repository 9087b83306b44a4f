//! What is kept for a key: its newest sessions in one value.
//!
//! A value is a row in the configured format: when the key's timer is due, until when its older sessions last, then the newest session (its
//! start, its end, and its accumulators) and a list of the others, newest first, each a row of the same fields. Nearly all keys have
//! one open session, which takes no list. A key without one here, whose older sessions are still open, has NULL as its start.

use crate::aggregate::accumulators::Accumulators;
use crate::aggregate::group::ACCUMULATORS;
use crate::aggregate::layout::Layout;
use headpond_state::row::{DataKind, Datum, Field, RowCodec, RowFormat, RowSchema};
use headpond_state::{Context, Error, Result};

/// The fields before the newest session's accumulators.
const BEFORE: usize = 4;

/// What is kept for a key besides its sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct KeyTimes {
    /// When the key's timer is due. It is set for the first end of a session and stays when the session grows: a timer that is due
    /// too early is set anew. Timers of the key that are due at other times have been overtaken.
    pub(super) timer_ms: Option<i64>,
    /// The greatest end of the key's older sessions, which are kept one by one; `None` when it has none.
    pub(super) older_until_ms: Option<i64>,
}

/// Writes and reads the sessions of keys.
#[derive(Debug)]
pub(super) struct SessionCodec {
    codec: RowCodec,
    /// The fields of accumulators.
    width: usize,
    /// The accumulators of no rows.
    none: Vec<Datum>,
}

impl SessionCodec {
    /// A codec of sessions with accumulators of this layout.
    pub(super) fn new(layout: &Layout, format: RowFormat) -> Self {
        let mut accumulators = Accumulators::new(layout);
        accumulators.push_new();
        let mut none = Vec::new();
        accumulators.append(0, &mut none);
        SessionCodec { codec: RowCodec::new(format, schema(layout)), width: layout.schema.len(), none }
    }

    /// The codec of a value.
    pub(super) fn codec(&self) -> &RowCodec {
        &self.codec
    }

    /// Reads a key's value and gives, with what else is kept for it, each session's start, end and accumulators, newest first. `row`
    /// is a buffer.
    pub(super) fn read(
        &self,
        stored: &[u8],
        row: &mut Vec<Datum>,
        mut session: impl FnMut(KeyTimes, i64, i64, &[Datum]) -> Result<()>,
    ) -> Result<KeyTimes> {
        row.clear();
        self.codec.decode(stored, row).map_err(|error| error.with(Context::State, ACCUMULATORS))?;
        let [timer, older, start, end, rest @ ..] = row.as_slice() else { return Err(misfit()) };
        let (accumulators, more) = rest.split_at_checked(self.width).ok_or_else(misfit)?;
        let time = |datum: &Datum| if let Datum::Int64(time_ms) = datum { Some(*time_ms) } else { None };
        let times = KeyTimes { timer_ms: time(timer), older_until_ms: time(older) };
        if let (Datum::Int64(start_ms), Datum::Int64(end_ms)) = (start, end) {
            session(times, *start_ms, *end_ms, accumulators)?;
        }
        if let [Datum::List(more)] = more {
            for other in more {
                let Datum::Struct(fields) = other else { return Err(misfit()) };
                let [Datum::Int64(start_ms), Datum::Int64(end_ms), accumulators @ ..] = fields.as_slice() else {
                    return Err(misfit());
                };
                session(times, *start_ms, *end_ms, accumulators)?;
            }
        }
        Ok(times)
    }

    /// Appends a key's value: its sessions by start, end and group of their accumulators, newest first. `row` is a buffer.
    pub(super) fn write(
        &self,
        times: KeyTimes,
        mut sessions: impl Iterator<Item = (i64, i64, usize)>,
        accumulators: &Accumulators,
        row: &mut Vec<Datum>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        row.clear();
        row.push(times.timer_ms.into());
        row.push(times.older_until_ms.into());
        match sessions.next() {
            Some((start_ms, end_ms, group)) => {
                row.extend([Datum::Int64(start_ms), Datum::Int64(end_ms)]);
                accumulators.append(group, row);
            }
            None => {
                row.extend([Datum::Null, Datum::Null]);
                row.extend_from_slice(&self.none);
            }
        }
        let more = sessions.map(|(start_ms, end_ms, group)| {
            let mut fields = Vec::with_capacity(2 + self.width);
            fields.extend([Datum::Int64(start_ms), Datum::Int64(end_ms)]);
            accumulators.append(group, &mut fields);
            Datum::Struct(fields)
        });
        let more: Vec<Datum> = more.collect();
        row.push(if more.is_empty() { Datum::Null } else { Datum::List(more) });
        self.codec.encode(row, out).map_err(|error| error.with(Context::State, ACCUMULATORS))
    }
}

/// The schema of a key's value.
pub(super) fn schema(layout: &Layout) -> RowSchema {
    let accumulators = layout.schema.fields();
    let session =
        [Field::new("start", DataKind::Timestamp.required()), Field::new("end", DataKind::Timestamp.required())];
    let session = session.into_iter().chain(accumulators.iter().cloned()).collect();
    let mut fields = Vec::with_capacity(BEFORE + accumulators.len() + 1);
    fields
        .extend(["timer", "older until", "start", "end"].map(|name| Field::new(name, DataKind::Timestamp.nullable())));
    fields.extend(accumulators.iter().cloned());
    let more = DataKind::List(Box::new(DataKind::Struct(session).required()));
    fields.push(Field::new("more", more.nullable()));
    RowSchema::new(fields)
}

#[cold]
fn misfit() -> Error {
    Error::corrupt("a key's state does not have the fields of its sessions").with(Context::State, ACCUMULATORS)
}
