//! Values written under one schema, converted to another: fields come, go, move and get wider, in all three forms.

use headpond_rows::{FieldGroup, RowCodec, RowEvolution, RowFormat};
use headpond_state::schema::{Datum, RowSchema};
use headpond_state::ttl::{self, TtlConfig};
use headpond_state::{Entry, ErrorKind, Result, StateDescriptor, StateKind};

fn codec(format: RowFormat, schema: &str) -> RowCodec {
    RowCodec::new(format, schema.parse::<RowSchema>().expect("a schema"))
}

fn descriptor(codec: &RowCodec) -> StateDescriptor {
    StateDescriptor::new("accumulators", StateKind::Aggregating, codec.codec_id())
        .with_key_schema("utf8?")
        .with_value_schema(codec.schema().to_string())
}

/// Aggregates of rows by `k`.
fn aggregates() -> RowEvolution {
    RowEvolution { accumulates: true, fixed: vec!["rows by k".to_owned()], ..RowEvolution::default() }
}

fn columns() -> RowEvolution {
    RowEvolution { first_name_ending: " by k".to_owned(), ..RowEvolution::default() }
}

/// A row converted from one schema to another, and what changes.
fn converted(evolution: &RowEvolution, from: &str, to: &str, row: &[Datum]) -> Result<(Vec<Datum>, Vec<String>)> {
    let mut results = Vec::new();
    for (was, is) in [
        (RowFormat::Row, RowFormat::Row),
        (RowFormat::Protobuf, RowFormat::Protobuf),
        (RowFormat::Avro, RowFormat::Avro),
        (RowFormat::Row, RowFormat::Avro),
    ] {
        let (old, new) = (codec(was, from), codec(is, to));
        let migration = evolution.migration(&descriptor(&old), &descriptor(&new))?;
        let (mut key, mut value, mut stored, mut row_after) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        old.encode(row, &mut stored)?;
        migration.conversion.convert(Entry { key: b"\x05key", value: &stored }, &mut key, &mut value)?;
        assert_eq!(key, b"\x05key");
        new.decode(&value, &mut row_after)?;
        let mut changes = migration.changes;
        changes.retain(|change| !change.starts_with("values become"));
        results.push((row_after, changes));
    }
    let first = results.remove(0);
    assert!(results.iter().all(|other| *other == first), "{results:?}");
    Ok(first)
}

#[test]
fn an_aggregate_that_comes_has_folded_nothing() {
    let (row, changes) = converted(
        &aggregates(),
        "`rows by k` int64, `sum(x)` int64?",
        "`rows by k` int64, `count(y)` int64, `sum(x)` int64?, `sum(p)` float64?, `sum(p) lost` float64, `max(d)` decimal(10,2)?",
        &[Datum::Int64(3), Datum::Int64(7)],
    )
    .expect("converted");
    let nothing = [Datum::Null, Datum::Float64(0.0), Datum::Null];
    assert_eq!(row[..3], [Datum::Int64(3), Datum::Int64(0), Datum::Int64(7)]);
    assert_eq!(row[3..], nothing);
    assert_eq!(changes[0], "`count(y)` is new: it counts from this checkpoint on");
}

#[test]
fn fields_go_move_and_get_wider_within_lists_of_rows_too() {
    let row = |sum: i64, amount: i128| vec![Datum::Int64(1), Datum::Int64(sum), Datum::Decimal(amount)];
    let (row, changes) = converted(
        &aggregates(),
        "`rows by k` int64, a int32?, d decimal(6,2)?, gone utf8?, more list<struct<`rows by k` int64,a int32?,d decimal(6,2)?>>?",
        "d decimal(10,4)?, `rows by k` int64, a int64?, more list<struct<d decimal(10,4)?,`rows by k` int64,a int64?>>?",
        &[
            Datum::Int64(1),
            Datum::Int64(-2),
            Datum::Decimal(150),
            Datum::utf8("x"),
            Datum::List(vec![Datum::Struct(row(5, -25)), Datum::Struct(row(6, 0))]),
        ],
    )
    .expect("converted");
    let within =
        |sum: i64, amount: i128| Datum::Struct(vec![Datum::Decimal(amount), Datum::Int64(1), Datum::Int64(sum)]);
    let more = Datum::List(vec![within(5, -2500), within(6, 0)]);
    assert_eq!(row, [Datum::Decimal(15_000), Datum::Int64(1), Datum::Int64(-2), more]);
    for expected in ["`gone` goes", "fields move", "`a` becomes int64 instead of int32"] {
        assert!(changes.iter().any(|change| change == expected), "{expected}: {changes:?}");
    }
}

#[test]
fn columns_are_known_without_the_key_that_the_first_one_names() {
    let (row, _) = converted(
        &columns(),
        "`a by k` int64?, b utf8?",
        "`b by k` utf8?, c int64?, a int64?",
        &[Datum::Int64(1), Datum::utf8("x")],
    )
    .expect("converted");
    assert_eq!(row, [Datum::utf8("x"), Datum::Null, Datum::Int64(1)]);
}

#[test]
fn what_would_mean_something_else_is_refused() {
    let together = FieldGroup { what: "AVG(x)".to_owned(), fields: vec!["sum(x)".to_owned(), "count(x)".to_owned()] };
    let means = RowEvolution { field_groups: vec![together], ..aggregates() };
    let closed = RowEvolution { closed: "rows may be taken back".to_owned(), ..aggregates() };
    let refused = [
        // Another key.
        (aggregates(), "`rows by j` int64", "`rows by k` int64"),
        (columns(), "`a by j` int64?", "`a by k` int64?"),
        // A part of an aggregate that is not known.
        (means.clone(), "`rows by k` int64, `sum(x)` int64?", "`rows by k` int64, `sum(x)` int64?, `count(x)` int64"),
        (closed, "`rows by k` int64", "`rows by k` int64, `sum(x)` int64?"),
        // A column that must have a value.
        (columns(), "`a by k` int64?", "`a by k` int64?, matches int64"),
        // Narrower and other types.
        (columns(), "`a by k` int64?", "`a by k` int32?"),
        (columns(), "`a by k` int64?", "`a by k` int64"),
        (columns(), "`a by k` decimal(10,2)?", "`a by k` decimal(10,4)?"),
        (columns(), "`a by k` int32?", "`a by k` date?"),
        // Which is which?
        (columns(), "`a by k` int64?, b int64?", "`a by k` int64?, b int64?, b int64?"),
    ];
    for (evolution, from, to) in refused {
        let (old, new) = (codec(RowFormat::Row, from), codec(RowFormat::Row, to));
        let refused = evolution.migration(&descriptor(&old), &descriptor(&new)).expect_err(to);
        assert_eq!(refused.kind(), ErrorKind::Incompatible, "{from} -> {to}: {refused}");
    }
    let both = converted(
        &means,
        "`rows by k` int64",
        "`rows by k` int64, `sum(x)` int64?, `count(x)` int64",
        &[Datum::Int64(1)],
    );
    assert!(both.is_ok(), "both are new");
}

#[test]
fn the_timestamp_of_a_value_that_expires_stays() {
    let (old, new) = (codec(RowFormat::Row, "`rows by k` int64"), codec(RowFormat::Row, "`rows by k` int64, n int64"));
    let expiring = |codec: &RowCodec| descriptor(codec).with_ttl(Some(TtlConfig::new(1000)));
    let migration = aggregates().migration(&expiring(&old), &expiring(&new)).expect("a migration");
    let (mut stored, mut expected, mut key, mut value) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    ttl::seal(77, &mut stored);
    ttl::seal(77, &mut expected);
    old.encode(&[Datum::Int64(3)], &mut stored).expect("written");
    new.encode(&[Datum::Int64(3), Datum::Int64(0)], &mut expected).expect("written");
    migration.conversion.convert(Entry { key: b"k", value: &stored }, &mut key, &mut value).expect("converted");
    assert_eq!(value, expected);
    let error = migration.conversion.convert(Entry { key: b"k", value: b"\x01" }, &mut key, &mut value);
    assert_eq!(error.expect_err("torn").kind(), ErrorKind::Corrupt);
}

#[test]
fn a_basis_is_compared_where_both_have_one() {
    let of = |basis: &str| descriptor(&codec(RowFormat::Row, "a int64")).with_basis(basis);
    assert!(of("by k").check_restored(&of("by k")).is_ok());
    assert!(of("by k").check_restored(&of("")).is_ok());
    assert_eq!(of("by k").check_restored(&of("by j")).expect_err("another").kind(), ErrorKind::Incompatible);
}
