//! How a side keeps its rows.
//!
//! | the input | entry | value |
//! |---|---|---|
//! | only gets rows | `key \| sequence (u64)` | the row |
//! | may take rows back | `key \| row` | how often the row is there |
//! | has event time | `bucket \| key \| time \| sequence (u64)` | the row |
//!
//! A row that may be taken back is found by its columns, encoded as key components. Where nothing is taken back, a
//! number that no other row of the operator has takes their place, and a row is kept without a look at what is there.
//! The value is a row in the configured format; where the join must know whether a row has matches, their number comes
//! first in it.

use super::plan::{JoinPlan, JoinSide};
use arrow_array::{Array, ArrayRef, RecordBatch};
use headpond_rows::arrow::{datum_at, field_type, row_schema};
use headpond_rows::{RowCodec, RowEvolution, RowFormat};
use headpond_runtime::numbers::{NumberColumn, is_number};
use headpond_state::columns::{UserKeyColumn, UserKeyColumns, ValueColumn};
use headpond_state::encoding::KeySchema;
use headpond_state::schema::{DataKind, Datum, Field, RowSchema};
use headpond_state::ttl::{self, TtlConfig};
use headpond_state::{Context, EntryOrder, Error, Migration, Result, StateColumns, StateDescriptor, StateKind};
use std::sync::Arc;

/// What tells a row's entry from the others of its key.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Identity {
    /// A number.
    Sequence,
    /// A bucket before the key, and a time and a number behind it.
    Timed,
    /// The row itself, encoded as these components.
    Value(KeySchema),
}

/// How a side keeps its rows.
#[derive(Debug, Clone)]
pub(super) struct SideRows {
    pub(super) identity: Identity,
    /// Whether the number of matches is kept.
    pub(super) tracked: bool,
    pub(super) ttl: Option<TtlConfig>,
    /// The number of columns.
    pub(super) columns: usize,
    /// Whether the columns are in the value, and all of them are numbers.
    pub(super) of_numbers: bool,
    codec: RowCodec,
    name: &'static str,
    shown: StateColumns,
    /// What the first field's name ends with: the key.
    ending: String,
}

/// A row that is kept, apart from its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    /// How often it is there.
    pub(super) copies: i64,
    /// How many matches it has; 0 where that is not tracked.
    pub(super) matches: i64,
}

impl SideRows {
    /// How side `side` of a join keeps its rows. `bucket_ms`: in buckets of event time, so long.
    pub(super) fn new(plan: &JoinPlan, side: usize, bucket_ms: Option<i64>) -> Result<Self> {
        let JoinSide { schema, columns, key_text, changing, ttl, .. } = &plan.sides[side];
        let fields = &schema.fields()[..*columns];
        let tracked = plan.kind.gives_alone(side).is_some();
        let mut row = Vec::with_capacity(columns + 2);
        let identity = match (changing, bucket_ms.is_some()) {
            (true, true) => return Err(Error::internal("an interval join has an input that takes rows back")),
            (true, false) => {
                row.push(Field::new("rows", DataKind::Int64.required()));
                let types = fields.iter().map(|field| field_type(field)).collect::<Result<_>>()?;
                Identity::Value(KeySchema::new(types))
            }
            (false, true) => Identity::Timed,
            (false, false) => Identity::Sequence,
        };
        if tracked {
            row.push(Field::new("matches", DataKind::Int64.required()));
        }
        if !changing {
            row.extend(row_schema(fields)?.fields().iter().cloned());
        }
        // The first field's name tells the key, so that a query with another key does not take up this state.
        if row.is_empty() {
            row.push(Field::new("nothing", DataKind::Bool.nullable()));
        }
        let names: Vec<String> = row.iter().map(|field| field.name.clone()).collect();
        let mut ending = format!(" by {key_text}");
        if let Some(bucket_ms) = bucket_ms {
            ending.push_str(&format!(" in buckets of {bucket_ms} ms"));
        }
        row[0].name.push_str(&ending);
        let of_numbers = !changing
            && *columns > 0
            && plan.format == RowFormat::Row
            && fields.iter().all(|field| is_number(field.data_type()));
        let fields = row.iter().map(|field| field.name.clone());
        let shown = shown(plan, side, &identity, names.into_iter().zip(fields).collect());
        let codec = RowCodec::new(plan.format, RowSchema::new(row));
        let name = if side == 0 { "left rows" } else { "right rows" };
        Ok(SideRows { identity, tracked, ttl: *ttl, columns: *columns, of_numbers, codec, name, shown, ending })
    }

    /// How a restored state of a side becomes the one that `sides` declare.
    ///
    /// # Errors
    /// [`Incompatible`](headpond_state::ErrorKind::Incompatible) for a change that would make its rows others.
    pub(super) fn migration(
        sides: &[SideRows],
        restored: &StateDescriptor,
        declared: &StateDescriptor,
    ) -> Result<Migration> {
        let side = sides.iter().find(|side| side.name == declared.name);
        let side = side.ok_or_else(|| Error::internal(format!("a join has no state `{}`", declared.name)))?;
        if matches!(side.identity, Identity::Value(_)) {
            declared.check_restored_key(restored)?;
            return Err(side.located(Error::incompatible(
                "rows that may be taken back are found by all their columns, which are others now",
            )));
        }
        let evolution = RowEvolution { first_name_ending: side.ending.clone(), ..RowEvolution::default() };
        evolution.migration(restored, declared)
    }

    /// The declaration of the state.
    pub(super) fn descriptor(&self, plan: &JoinPlan) -> StateDescriptor {
        let (kind, value) = match &self.identity {
            Identity::Value(row) => (StateKind::Map, format!("{row} -> {}", self.codec.schema())),
            Identity::Sequence | Identity::Timed => (StateKind::List, self.codec.schema().to_string()),
        };
        let order = match self.identity {
            Identity::Timed => EntryOrder::TimeFirst,
            Identity::Sequence | Identity::Value(_) => EntryOrder::KeyFirst,
        };
        StateDescriptor::new(self.name, kind, self.codec.codec_id())
            .with_key_schema(plan.key_schema.to_string())
            .with_value_schema(value)
            .with_columns(self.shown.clone())
            .with_order(order)
            .with_ttl(self.ttl)
    }

    /// Reads an entry: appends the row's columns to `columns`. `rest` is what follows the key in the entry's key.
    /// `None`: the row has expired.
    pub(super) fn read(
        &self,
        rest: &[u8],
        stored: &[u8],
        now_ms: i64,
        scratch: &mut Vec<Datum>,
        columns: &mut [Vec<Datum>],
    ) -> Result<Option<Kept>> {
        let Some(value) = self.visible(stored, now_ms)? else { return Ok(None) };
        scratch.clear();
        self.codec.decode(value, scratch).map_err(|error| self.located(error))?;
        let kept = self.kept(scratch)?;
        let hidden = match &self.identity {
            Identity::Value(row) => {
                *scratch = row.decode(rest).map_err(|error| self.located(error))?;
                0
            }
            Identity::Sequence | Identity::Timed => usize::from(self.tracked),
        };
        for (column, value) in columns.iter_mut().zip(scratch.drain(..).skip(hidden)) {
            column.push(value);
        }
        Ok(Some(kept))
    }

    /// As [`read`](Self::read), for rows [of numbers](Self::of_numbers).
    #[inline]
    pub(super) fn read_numbers(
        &self,
        stored: &[u8],
        now_ms: i64,
        numbers: &mut Vec<Option<i64>>,
        columns: &mut [Vec<Option<i64>>],
    ) -> Result<Option<Kept>> {
        let Some(value) = self.visible(stored, now_ms)? else { return Ok(None) };
        if !self.codec.decode_numbers(value, numbers) {
            self.decode_slowly(value, numbers)?;
        }
        let matches = if self.tracked { numbers.first().copied().flatten().unwrap_or(0) } else { 0 };
        for (column, number) in columns.iter_mut().zip(&numbers[usize::from(self.tracked)..]) {
            column.push(*number);
        }
        Ok(Some(Kept { copies: 1, matches }))
    }

    /// Reads a row of numbers that was written under an older schema, or says what is wrong with it.
    #[cold]
    fn decode_slowly(&self, value: &[u8], numbers: &mut Vec<Option<i64>>) -> Result<()> {
        let mut row = Vec::new();
        self.codec.decode(value, &mut row).map_err(|error| self.located(error))?;
        numbers.clear();
        numbers.extend(row.iter().map(|datum| match datum {
            Datum::Int64(number) => Some(*number),
            Datum::Float64(number) => Some(number.to_bits() as i64),
            _ => None,
        }));
        Ok(())
    }

    /// Reads what is kept of a row that is looked up by its columns. `None`: nothing, or it has expired.
    pub(super) fn read_kept(&self, stored: &[u8], now_ms: i64, scratch: &mut Vec<Datum>) -> Result<Option<Kept>> {
        let Some(value) = self.visible(stored, now_ms)? else { return Ok(None) };
        scratch.clear();
        self.codec.decode(value, scratch).map_err(|error| self.located(error))?;
        self.kept(scratch).map(Some)
    }

    fn kept(&self, fields: &[Datum]) -> Result<Kept> {
        let number = |index: usize| match fields.get(index) {
            Some(Datum::Int64(number)) => Ok(*number),
            _ => Err(self.located(Error::corrupt("a row of a join is kept without its numbers"))),
        };
        Ok(match (&self.identity, self.tracked) {
            (Identity::Value(_), false) => Kept { copies: number(0)?, matches: 0 },
            (Identity::Value(_), true) => Kept { copies: number(0)?, matches: number(1)? },
            (_, false) => Kept { copies: 1, matches: 0 },
            (_, true) => Kept { copies: 1, matches: number(0)? },
        })
    }

    fn visible<'v>(&self, stored: &'v [u8], now_ms: i64) -> Result<Option<&'v [u8]>> {
        ttl::visible(self.ttl.as_ref(), stored, now_ms).map_err(|error| self.located(error))
    }

    /// Appends the value of a row whose columns `columns` appends.
    pub(super) fn put(
        &self,
        kept: Kept,
        now_ms: i64,
        scratch: &mut Vec<Datum>,
        columns: impl FnOnce(&mut Vec<Datum>) -> Result<()>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        ttl::seal(self.ttl.map(|ttl| ttl.stamp_ms(now_ms, None)), out);
        scratch.clear();
        let by_value = matches!(self.identity, Identity::Value(_));
        if by_value {
            scratch.push(Datum::Int64(kept.copies));
        }
        if self.tracked {
            scratch.push(Datum::Int64(kept.matches));
        }
        if !by_value {
            columns(scratch)?;
        }
        if scratch.is_empty() {
            scratch.push(Datum::Null);
        }
        self.codec.encode(scratch, out).map_err(|error| self.located(error))
    }

    /// As [`put`](Self::put), for rows [of numbers](Self::of_numbers). `false`: nothing was appended.
    #[inline]
    pub(super) fn put_numbers(
        &self,
        kept: Kept,
        now_ms: i64,
        numbers: &mut Vec<Option<i64>>,
        columns: impl Iterator<Item = Option<i64>>,
        out: &mut Vec<u8>,
    ) -> bool {
        let before = out.len();
        ttl::seal(self.ttl.map(|ttl| ttl.stamp_ms(now_ms, None)), out);
        numbers.clear();
        numbers.extend(self.tracked.then_some(Some(kept.matches)));
        numbers.extend(columns);
        let is_put = self.codec.encode_numbers(numbers, out);
        if !is_put {
            out.truncate(before);
        }
        is_put
    }

    /// For `EXPLAIN`: the state's name and what it holds.
    pub(super) fn described(&self) -> String {
        let schema = self.codec.schema();
        match &self.identity {
            Identity::Value(row) => format!("state `{}` ({}): {row} -> {schema}", self.name, self.codec.format()),
            Identity::Sequence | Identity::Timed => {
                format!("state `{}` ({}): {schema}", self.name, self.codec.format())
            }
        }
    }

    fn located(&self, error: Error) -> Error {
        error.with(Context::State, self.name)
    }
}

/// What people see of a side's state (see `headpond_state::columns`): its rows. `value` are the value's fields with the
/// names they have in the query.
fn shown(plan: &JoinPlan, side: usize, identity: &Identity, value: Vec<(String, String)>) -> StateColumns {
    let JoinSide { schema, columns, key, changing, .. } = &plan.sides[side];
    // A column of the row that is one of the key, too, is shown once.
    let key = key.iter().zip(plan.key_schema.types()).map(|(column, ty)| {
        let name = if column < columns { "" } else { schema.field(*column).name() };
        Field::new(name, ty.clone())
    });
    let sequence = UserKeyColumn::new("_sequence", DataKind::UInt64.required());
    let user_key = match identity {
        Identity::Sequence => vec![sequence],
        Identity::Timed => vec![UserKeyColumn::new("_time", DataKind::Timestamp.required()), sequence],
        Identity::Value(row) => {
            let named = schema.fields().iter().zip(row.types());
            named.map(|(field, ty)| UserKeyColumn::new(field.name(), ty.clone())).collect()
        }
    };
    let hidden = value.len() - if *changing { 0 } else { *columns };
    let value = value.into_iter().enumerate().map(|(index, (name, field))| ValueColumn {
        name: if index < hidden { format!("_{name}") } else { name },
        field,
        divided_by: None,
        ty: None,
    });
    StateColumns {
        key: RowSchema::new(key.collect()),
        user_key: UserKeyColumns::all(user_key),
        value: value.collect(),
        ..StateColumns::default()
    }
}

/// Appends the first `columns` values of a row.
pub(super) fn push_row(rows: &RecordBatch, columns: usize, row: usize, datums: &mut Vec<Datum>) -> Result<()> {
    for column in &rows.columns()[..columns] {
        datums.push(datum_at(column.as_ref(), row)?);
    }
    Ok(())
}

/// The first `columns` columns, if they are to be put as numbers.
pub(super) fn number_columns<'a>(rows: &'a RecordBatch, side: &SideRows) -> Option<Vec<NumberColumn<'a>>> {
    if !side.of_numbers {
        return None;
    }
    rows.columns()[..side.columns].iter().map(|column| NumberColumn::of(column.as_ref())).collect()
}

/// Whether any of these columns is NULL, for each row; `None`: nowhere.
pub(super) fn any_null(rows: &RecordBatch, columns: &[usize]) -> Option<Vec<bool>> {
    let with_nulls: Vec<&ArrayRef> =
        columns.iter().map(|column| rows.column(*column)).filter(|column| column.null_count() > 0).collect();
    if with_nulls.is_empty() {
        return None;
    }
    Some((0..rows.num_rows()).map(|row| with_nulls.iter().any(|column| Arc::as_ref(column).is_null(row))).collect())
}
