//! What is in a value, by its codec.

use super::sessions::SessionsForm;
use super::shown_row::{GiveRow, ShownRow};
use headpond_codecs::AvroCodec;
use headpond_rows::{RowCodec, RowFormat};
use headpond_state::codec::{Codec, Counter, FixedWidth, Utf8};
use headpond_state::schema::{DataKind, Datum, FieldType, RowSchema};
use headpond_state::{Error, Result, StateDescriptor, StateKind};

/// The name of the only column of a value that has no fields.
const VALUE: &str = "value";
/// The name of the count of rows that are kept once.
const ROWS: &str = "_rows";

/// How values are read.
#[derive(Debug)]
pub(super) enum ValueForm {
    /// There is nothing to say: timers.
    Nothing,
    /// A row.
    Row { codec: RowCodec, row: ShownRow },
    /// The open sessions of a key.
    Sessions(SessionsForm),
    /// One number, truth value or text, by the name of its codec.
    Single(SingleValue),
    /// Avro data, shown as JSON.
    Avro(AvroCodec<serde_json::Value>),
    /// How many rows have a value, by filter.
    Counts,
    /// How many rows there are.
    CountedRows,
    /// The current lines of a key.
    Lines,
    /// Bytes; `versioned`: behind the version of a codec.
    Bytes { versioned: bool },
}

/// Values without fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SingleValue {
    Bool,
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    Counter,
    Utf8,
}

impl ValueForm {
    pub(super) fn new(state: &StateDescriptor) -> Result<Self> {
        if state.kind == StateKind::Timer {
            return Ok(ValueForm::Nothing);
        }
        // A map's schema has the types of user keys in front.
        let schema = match state.value_schema.split_once(" -> ") {
            Some((_, schema)) if state.kind == StateKind::Map => schema,
            _ => &state.value_schema,
        };
        let name = state.codec.name.as_str();
        if let Ok(format) = name.parse::<RowFormat>()
            && let Ok(schema) = schema.parse::<RowSchema>()
        {
            let codec = RowCodec::new(format, schema);
            return Ok(match SessionsForm::of(state, &codec) {
                Some(sessions) => ValueForm::Sessions(sessions),
                None => {
                    let row = ShownRow::new(codec.schema().fields(), &state.columns);
                    ValueForm::Row { codec, row }
                }
            });
        }
        Ok(match name {
            "counts" => ValueForm::Counts,
            "counted-rows" => ValueForm::CountedRows,
            "line" => ValueForm::Lines,
            "avro-datum" => ValueForm::Avro(avro(schema)?),
            "bytes" | "serde" | "protobuf-message" => ValueForm::Bytes { versioned: true },
            _ => match SingleValue::of_codec(name) {
                Some(single) => ValueForm::Single(single),
                None => ValueForm::Bytes { versioned: false },
            },
        })
    }

    /// The columns' names and types.
    pub(super) fn columns(&self) -> Vec<(String, FieldType)> {
        let only = |kind: DataKind| vec![(VALUE.to_owned(), kind.nullable())];
        let counted = || (ROWS.to_owned(), DataKind::Int64.nullable());
        match self {
            ValueForm::Nothing => Vec::new(),
            ValueForm::Row { row, .. } => row.columns().collect(),
            ValueForm::Sessions(sessions) => sessions.row.columns().collect(),
            ValueForm::Single(single) => only(single.kind()),
            ValueForm::Avro(_) => only(DataKind::Utf8),
            ValueForm::Counts => {
                vec![(ROWS.to_owned(), DataKind::List(Box::new(DataKind::Int64.required())).nullable())]
            }
            ValueForm::CountedRows => vec![counted()],
            ValueForm::Lines => vec![("line".to_owned(), DataKind::Utf8.nullable()), counted()],
            ValueForm::Bytes { .. } => only(DataKind::Binary),
        }
    }

    /// The names and types of the namespaces of rows, where the value tells them.
    pub(super) fn namespace(&self, state: &StateDescriptor) -> Option<RowSchema> {
        match self {
            ValueForm::Sessions(sessions) => Some(sessions.namespace(state)),
            _ => None,
        }
    }

    /// Whether one value is one row, whatever is in it.
    pub(super) fn is_one_row(&self) -> bool {
        !matches!(self, ValueForm::Sessions(_) | ValueForm::Lines)
    }

    /// Gives the rows of a value.
    pub(super) fn read(&self, value: &[u8], give: &mut GiveRow<'_>) -> Result<()> {
        match self {
            ValueForm::Nothing => give(None, &[]),
            ValueForm::Row { codec, row } => {
                let (mut fields, mut shown) = (Vec::new(), Vec::new());
                codec.decode(value, &mut fields)?;
                row.read(&fields, &mut shown)?;
                give(None, &shown)
            }
            ValueForm::Sessions(sessions) => sessions.read(value, give),
            ValueForm::Single(single) => give(None, &[single.read(value)?]),
            ValueForm::Avro(codec) => give(None, &[Datum::utf8(codec.decode(value)?.to_string())]),
            ValueForm::Counts => give(None, &[Datum::List(counts(value)?)]),
            ValueForm::CountedRows => {
                let count = value.get(1..9).and_then(|count| count.try_into().ok()).map(u64::from_be_bytes);
                let count = count.filter(|_| value.len() == 17).ok_or_else(|| unknown("the count of a row"))?;
                give(None, &[Datum::Int64(count as i64)])
            }
            ValueForm::Lines => lines(value, &mut |count, line| {
                let line = line.strip_suffix(b"\n").unwrap_or(line);
                give(None, &[Datum::utf8(String::from_utf8_lossy(line)), Datum::Int64(count)])
            }),
            ValueForm::Bytes { versioned } => {
                let bytes = if *versioned { value.get(1..).ok_or_else(|| unknown("a value"))? } else { value };
                give(None, &[Datum::binary(bytes)])
            }
        }
    }
}

impl SingleValue {
    fn of_codec(name: &str) -> Option<Self> {
        Some(match name {
            "bool" => SingleValue::Bool,
            "i8" => SingleValue::I8,
            "i16" => SingleValue::I16,
            "i32" => SingleValue::I32,
            "i64" => SingleValue::I64,
            "i128" => SingleValue::I128,
            "u8" => SingleValue::U8,
            "u16" => SingleValue::U16,
            "u32" => SingleValue::U32,
            "u64" => SingleValue::U64,
            "f32" => SingleValue::F32,
            "f64" => SingleValue::F64,
            "counter" => SingleValue::Counter,
            "utf8" => SingleValue::Utf8,
            _ => return None,
        })
    }

    fn kind(self) -> DataKind {
        match self {
            SingleValue::Bool => DataKind::Bool,
            SingleValue::I8 => DataKind::Int8,
            SingleValue::I16 | SingleValue::U8 => DataKind::Int16,
            SingleValue::I32 | SingleValue::U16 => DataKind::Int32,
            SingleValue::I64 | SingleValue::U32 | SingleValue::Counter => DataKind::Int64,
            SingleValue::U64 => DataKind::UInt64,
            SingleValue::F32 => DataKind::Float32,
            SingleValue::F64 => DataKind::Float64,
            // Numbers of 128 bits have more digits than any SQL type.
            SingleValue::I128 | SingleValue::Utf8 => DataKind::Utf8,
        }
    }

    fn read(self, value: &[u8]) -> Result<Datum> {
        fn fixed<T>(value: &[u8]) -> Result<T>
        where
            FixedWidth: Codec<T>,
        {
            FixedWidth.decode(value)
        }
        Ok(match self {
            SingleValue::Bool => Datum::Bool(fixed(value)?),
            SingleValue::I8 => Datum::Int64(fixed::<i8>(value)?.into()),
            SingleValue::I16 => Datum::Int64(fixed::<i16>(value)?.into()),
            SingleValue::I32 => Datum::Int64(fixed::<i32>(value)?.into()),
            SingleValue::I64 => Datum::Int64(fixed(value)?),
            SingleValue::I128 => Datum::utf8(fixed::<i128>(value)?.to_string()),
            SingleValue::U8 => Datum::Int64(fixed::<u8>(value)?.into()),
            SingleValue::U16 => Datum::Int64(fixed::<u16>(value)?.into()),
            SingleValue::U32 => Datum::Int64(fixed::<u32>(value)?.into()),
            SingleValue::U64 => Datum::Int64(fixed::<u64>(value)? as i64),
            SingleValue::F32 => Datum::Float64(fixed::<f32>(value)?.into()),
            SingleValue::F64 => Datum::Float64(fixed(value)?),
            SingleValue::Counter => Datum::Int64(Codec::<i64>::decode(&Counter, value)?),
            SingleValue::Utf8 => Datum::utf8(Codec::<String>::decode(&Utf8, value)?),
        })
    }
}

/// The codec for a schema that is a list of Avro schemas, the current one first.
fn avro(schemas: &str) -> Result<AvroCodec<serde_json::Value>> {
    let invalid = || Error::corrupt("the value schema of an Avro state is a list of schemas");
    let parsed: Vec<serde_json::Value> = serde_json::from_str(schemas).map_err(|cause| invalid().because(cause))?;
    AvroCodec::evolved(&parsed.first().ok_or_else(invalid)?.to_string(), schemas)
}

/// The counts of a value of a group: a version, then LEB128 numbers.
fn counts(value: &[u8]) -> Result<Vec<Datum>> {
    let damaged = || unknown("the counts of a value");
    let Some((1, mut bytes)) = value.split_first() else { return Err(damaged()) };
    let mut counts = Vec::new();
    while !bytes.is_empty() {
        let (mut number, mut shift) = (0u64, 0u32);
        loop {
            let (byte, rest) = bytes.split_first().ok_or_else(damaged)?;
            bytes = rest;
            number |= u64::from(byte & 0x7f).checked_shl(shift).ok_or_else(damaged)?;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        counts.push(Datum::Int64(number as i64));
    }
    Ok(counts)
}

/// Gives the lines of a stored value, each with its count: one behind the version 1; after 2 any number, each behind
/// its count (int64) and its length (uint32), big-endian.
fn lines(value: &[u8], give: &mut dyn FnMut(i64, &[u8]) -> Result<()>) -> Result<()> {
    let damaged = || unknown("a line");
    match value.split_first() {
        Some((1, line)) => give(1, line),
        Some((2, mut rest)) => {
            while !rest.is_empty() {
                let (count, after) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
                let (length, after) = after.split_first_chunk::<4>().ok_or_else(damaged)?;
                let (line, after) = after.split_at_checked(u32::from_be_bytes(*length) as usize).ok_or_else(damaged)?;
                give(i64::from_be_bytes(*count), line)?;
                rest = after;
            }
            Ok(())
        }
        _ => Err(damaged()),
    }
}

fn unknown(what: &str) -> Error {
    Error::corrupt(format!("{what} has no form that this release knows"))
}
