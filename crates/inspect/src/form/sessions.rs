//! The open sessions of a key, which one value holds.
//!
//! Such a value is a row: the time of the key's timer and until when there are older sessions elsewhere, then the
//! newest session (its start, its end, its accumulators), then the others as a list of the same.

use super::shown_row::{GiveRow, ShownRow};
use headpond_rows::RowCodec;
use headpond_state::schema::{DataKind, Datum, Field, RowSchema};
use headpond_state::{Error, Result, StateDescriptor, StateKind};

/// What the fields of such a row begin with, and the last one.
const FIRST: [&str; 4] = ["timer", "older until", "start", "end"];
const LAST: &str = "more";

/// Where the newest session begins.
const NEWEST: usize = 2;

/// How values of open sessions are read.
#[derive(Debug)]
pub(super) struct SessionsForm {
    codec: RowCodec,
    pub(super) row: ShownRow,
}

impl SessionsForm {
    /// The form of a state's values, if they are open sessions.
    pub(super) fn of(state: &StateDescriptor, codec: &RowCodec) -> Option<Self> {
        let fields = codec.schema().fields();
        let is_named = fields.iter().map(|field| field.name.as_str()).take(FIRST.len()).eq(FIRST);
        let [.., last] = fields else { return None };
        let is_list = matches!(last.ty.kind, DataKind::List(_));
        if state.kind != StateKind::Aggregating || !is_named || last.name != LAST || !is_list {
            return None;
        }
        let row = ShownRow::new(&fields[FIRST.len()..fields.len() - 1], &state.columns);
        Some(SessionsForm { codec: codec.clone(), row })
    }

    /// The names and types of a session's ends.
    pub(super) fn namespace(&self, state: &StateDescriptor) -> RowSchema {
        if !state.columns.namespace.is_empty() {
            return state.columns.namespace.clone();
        }
        let time = |name| Field::new(name, DataKind::Timestamp.required());
        RowSchema::new(vec![time("window_start"), time("window_end")])
    }

    /// Gives each session of a value: its ends and its columns.
    pub(super) fn read(&self, value: &[u8], give: &mut GiveRow<'_>) -> Result<()> {
        let misfit = || Error::corrupt("a value does not have the fields of its sessions");
        let mut row = Vec::new();
        self.codec.decode(value, &mut row)?;
        let (Some(more), true) = (row.pop(), row.len() >= FIRST.len()) else { return Err(misfit()) };
        let mut shown = Vec::new();
        let mut session = |fields: &[Datum]| {
            let (window, accumulators) = fields.split_at(2);
            shown.clear();
            self.row.read(accumulators, &mut shown)?;
            give(Some(window), &shown)
        };
        if !row[NEWEST].is_null() {
            session(&row[NEWEST..])?;
        }
        match more {
            Datum::Null => Ok(()),
            Datum::List(others) => others.iter().try_for_each(|other| match other {
                Datum::Struct(fields) if fields.len() == row.len() - NEWEST => session(fields),
                _ => Err(misfit()),
            }),
            _ => Err(misfit()),
        }
    }
}
