//! What is kept for a key: its newest sessions in one value.
//!
//! A value is a row in the configured format: when the key's timer is due, until when its older sessions last, then the
//! newest session (its start, its end, and its accumulators) and a list of the others, newest first, each a row of the
//! same fields. Nearly all keys have one open session, which takes no list. A key without one here, whose older
//! sessions are still open, has NULL as its start.

use crate::aggregate::accumulators::Accumulators;
use crate::aggregate::group::ACCUMULATORS;
use crate::aggregate::layout::Layout;
use headpond_rows::{RowCodec, RowFormat};
use headpond_state::schema::{DataKind, Datum, Field, RowSchema};
use headpond_state::{Context, Error, Result};

/// The fields before the newest session's accumulators.
const BEFORE: usize = 4;

/// What is kept for a key besides its sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct KeyTimes {
    /// When the key's timer is due. It is set for the first end of a session and stays when the session grows: a timer
    /// that is due too early is set anew. Timers of the key that are due at other times have been overtaken.
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
    /// The same as numbers, if accumulators are numbers.
    none_of_numbers: Option<Vec<Option<i64>>>,
}

/// A session's accumulators as they are read.
#[derive(Debug, Clone, Copy)]
pub(super) enum StoredSession<'a> {
    Numbers(&'a [Option<i64>]),
    Datums(&'a [Datum]),
}

impl StoredSession<'_> {
    /// Adds them to others.
    #[inline]
    pub(super) fn push_to(self, accumulators: &mut Accumulators) -> Result<()> {
        match self {
            StoredSession::Numbers(numbers) => accumulators.push_numbers(numbers),
            StoredSession::Datums(row) => accumulators.push_stored(row),
        }
    }
}

/// What a value is read and written with.
#[derive(Debug, Default)]
pub(super) struct ValueBuffer {
    numbers: Vec<Option<i64>>,
    row: Vec<Datum>,
}

impl SessionCodec {
    /// A codec of sessions with accumulators of this layout.
    pub(super) fn new(layout: &Layout, format: RowFormat) -> Self {
        let mut accumulators = Accumulators::new(layout);
        accumulators.push_new();
        let mut none = Vec::new();
        accumulators.append(0, &mut none);
        let none_of_numbers = accumulators.are_numbers().then(|| {
            let mut none = Vec::new();
            accumulators.append_numbers(0, &mut none);
            none
        });
        let codec = RowCodec::new(format, schema(layout));
        SessionCodec { codec, width: layout.schema.len(), none, none_of_numbers }
    }

    /// The codec of a value.
    pub(super) fn codec(&self) -> &RowCodec {
        &self.codec
    }

    /// Reads a key's value and gives, with what else is kept for it, each session's start, end and accumulators, newest
    /// first.
    #[inline]
    pub(super) fn read(
        &self,
        stored: &[u8],
        buffer: &mut ValueBuffer,
        mut session: impl FnMut(KeyTimes, i64, i64, StoredSession<'_>) -> Result<()>,
    ) -> Result<KeyTimes> {
        let ValueBuffer { numbers, row } = buffer;
        if self.none_of_numbers.is_some()
            && self.codec.decode_number_rows(stored, numbers).is_some()
            && let [timer_ms, older_until_ms, sessions @ ..] = numbers.as_slice()
        {
            let times = KeyTimes { timer_ms: *timer_ms, older_until_ms: *older_until_ms };
            for stored in sessions.chunks_exact(2 + self.width) {
                if let [Some(start_ms), Some(end_ms), accumulators @ ..] = stored {
                    session(times, *start_ms, *end_ms, StoredSession::Numbers(accumulators))?;
                }
            }
            return Ok(times);
        }
        row.clear();
        self.codec.decode(stored, row).map_err(|error| error.with(Context::State, ACCUMULATORS))?;
        let [timer, older, start, end, rest @ ..] = row.as_slice() else { return Err(misfit()) };
        let (accumulators, more) = rest.split_at_checked(self.width).ok_or_else(misfit)?;
        let time = |datum: &Datum| if let Datum::Int64(time_ms) = datum { Some(*time_ms) } else { None };
        let times = KeyTimes { timer_ms: time(timer), older_until_ms: time(older) };
        if let (Datum::Int64(start_ms), Datum::Int64(end_ms)) = (start, end) {
            session(times, *start_ms, *end_ms, StoredSession::Datums(accumulators))?;
        }
        if let [Datum::List(more)] = more {
            for other in more {
                let Datum::Struct(fields) = other else { return Err(misfit()) };
                let [Datum::Int64(start_ms), Datum::Int64(end_ms), accumulators @ ..] = fields.as_slice() else {
                    return Err(misfit());
                };
                session(times, *start_ms, *end_ms, StoredSession::Datums(accumulators))?;
            }
        }
        Ok(times)
    }

    /// Appends a key's value: its sessions by start, end and group of their accumulators, newest first.
    #[inline]
    pub(super) fn write(
        &self,
        times: KeyTimes,
        mut sessions: impl Iterator<Item = (i64, i64, usize)> + Clone,
        accumulators: &Accumulators,
        buffer: &mut ValueBuffer,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let ValueBuffer { numbers, row } = buffer;
        if let Some(none) = &self.none_of_numbers {
            numbers.clear();
            numbers.extend([times.timer_ms, times.older_until_ms]);
            let mut count = 0;
            for (start_ms, end_ms, group) in sessions.clone() {
                numbers.extend([Some(start_ms), Some(end_ms)]);
                accumulators.append_numbers(group, numbers);
                count += 1;
            }
            if count == 0 {
                numbers.extend([None, None]);
                numbers.extend_from_slice(none);
            }
            if self.codec.encode_number_rows(numbers, count.max(1) - 1, out) {
                return Ok(());
            }
        }
        let (newest, next) = (sessions.next(), sessions.next());
        row.clear();
        row.push(times.timer_ms.into());
        row.push(times.older_until_ms.into());
        match newest {
            Some((start_ms, end_ms, group)) => {
                row.extend([Datum::Int64(start_ms), Datum::Int64(end_ms)]);
                accumulators.append(group, row);
            }
            None => {
                row.extend([Datum::Null, Datum::Null]);
                row.extend_from_slice(&self.none);
            }
        }
        let more = next.into_iter().chain(sessions).map(|(start_ms, end_ms, group)| {
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
