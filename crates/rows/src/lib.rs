//! SQL rows as values: their types, their in-memory form, and the three forms in which a state keeps them.
//!
//! A row is a sequence of [`Datum`]s that follows a [`RowSchema`]. A [`RowCodec`] writes it as bytes in one of three
//! formats, chosen by `state.serialization.format`:
//!
//! [`Datum`]: headpond_state::schema::Datum
//! [`RowSchema`]: headpond_state::schema::RowSchema
//!
//! | format | form | why |
//! |---|---|---|
//! | [`row`](RowFormat::Row) | field count, null bitmap, fields in fixed widths | fast; the default |
//! | [`protobuf`](RowFormat::Protobuf) | a proto3 message: [`proto_schema`](proto_schema()) | any library reads it |
//! | [`avro`](RowFormat::Avro) | an Avro record: [`avro_schema`](avro_schema()) | any library reads it |
//!
//! [`arrow`] has the one mapping between the types and values of rows and Arrow's.
//!
//! Each begins with one byte, the version of the format. Fields may be added at the end of a schema, if they are
//! nullable: older bytes then read as NULL there.
//!
//! ```
//! use headpond_rows::{RowCodec, RowFormat};
//! use headpond_state::schema::{Datum, RowSchema};
//!
//! let schema: RowSchema = "flights int64, delay_sum float64?".parse()?;
//! let codec = RowCodec::new(RowFormat::Row, schema);
//! let mut bytes = Vec::new();
//! codec.encode(&[Datum::Int64(4637), Datum::Float64(38342.0)], &mut bytes)?;
//! let mut row = Vec::new();
//! codec.decode(&bytes, &mut row)?;
//! assert_eq!(row, [Datum::Int64(4637), Datum::Float64(38342.0)]);
//! # Ok::<(), headpond_state::Error>(())
//! ```

pub mod arrow;
mod avro;
mod avro_schema;
mod codec;
mod evolution;
mod migration;
mod names;
mod native;
mod numbers;
mod proto_schema;
mod protobuf;
pub mod sums;

pub use avro_schema::avro_schema;
pub use codec::{RowCodec, RowFormat};
pub use evolution::{FieldGroup, RowConversion, RowEvolution};
pub use proto_schema::proto_schema;
