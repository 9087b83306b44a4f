//! What rows look like as bytes.

mod avro_rows;
#[path = "../../../state/tests/bytes/data.rs"]
mod data;
#[path = "../../../state/tests/bytes/fixture.rs"]
mod fixture;
mod protobuf_rows;
mod row_fixture;
mod rows;

use headpond_state::schema::Datum;

/// Whether two rows hold the same bits, a NaN being itself.
fn same(a: &[Datum], b: &[Datum]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| match (a, b) {
            (Datum::Float64(a), Datum::Float64(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
            (Datum::List(a), Datum::List(b)) | (Datum::Struct(a), Datum::Struct(b)) => same(a, b),
            _ => a == b,
        })
}
