//! Made rows follow from the seed and their number.

mod support;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMillisecondType};
use arrow_schema::DataType::{Boolean, Date32, Decimal128, Float64, Int8, Int64, Utf8};
use headpond_connectors::TableDescription;
use headpond_runtime::ErrorKind;
use headpond_state::Context;
use support::source;
use support::{ONE_READER, TIMESTAMP, read_all, read_split, schema};

fn table(columns: &[(&str, arrow_schema::DataType)]) -> TableDescription {
    TableDescription::new("t", schema(columns))
        .with_option("connector", "datagen")
        .with_option("rows-per-second", "1000000000")
}

#[test]
fn a_restored_split_goes_on_with_the_same_rows() {
    let columns = [
        ("i", Int64),
        ("b", Boolean),
        ("d", Float64),
        ("s", Utf8),
        ("m", Decimal128(20, 2)),
        ("day", Date32),
        ("ts", TIMESTAMP),
    ];
    let table = table(&columns)
        .with_option("number-of-rows", "40")
        .with_option("fields.s.null-rate", "0.5")
        .with_option("fields.ts.max-past", "1 s");
    let source = source(&table, None).unwrap();
    for split in source.splits().unwrap() {
        let (all, _, _) = read_split(&*source, &split, None).unwrap();
        assert_eq!(all.len(), 10);
        let position = source.open(&split, None, &ONE_READER).unwrap().next(4).unwrap().unwrap().position;
        assert_eq!(read_split(&*source, &split, Some(&position)).unwrap().0, all[4..]);
    }
}

#[test]
fn another_seed_gives_other_rows() {
    let rows = |seed: &str| {
        let table = table(&[("i", Int64)]).with_option("number-of-rows", "5").with_option("seed", seed);
        read_all(&*source(&table, None).unwrap()).unwrap().0
    };
    assert_eq!(rows("1"), rows("1"));
    assert_ne!(rows("1"), rows("2"));
}

#[test]
fn sequences_cover_all_rows_whatever_the_splits() {
    for splits in ["1", "3", "7", "20"] {
        let table = table(&[("i", Int64), ("n", Int8)])
            .with_option("splits", splits)
            .with_option("fields.i.kind", "sequence")
            .with_option("fields.i.start", "5")
            .with_option("fields.i.end", "14");
        let source = source(&table, Some(&[0])).unwrap();
        assert!(source.is_bounded());
        let expected: Vec<String> = (5..=14).map(|number| number.to_string()).collect();
        assert_eq!(read_all(&*source).unwrap().0, expected);
    }
}

#[test]
fn splits_have_a_limit() {
    let table = table(&[("n", Int8)]).with_option("number-of-rows", "20").with_option("splits", "1000000000000");
    let error = source(&table, Some(&[0])).unwrap_err();
    assert!(error.way_out().is_some_and(|way_out| way_out.contains("from 1 to 4096")), "{error}");
}

#[test]
fn numbers_keep_to_their_bounds_and_skew_makes_small_ones_frequent() {
    let table = table(&[("even", Int64), ("skewed", Int64)])
        .with_option("number-of-rows", "10000")
        .with_option("fields.even.min", "-5")
        .with_option("fields.even.max", "4")
        .with_option("fields.skewed.max", "99")
        .with_option("fields.skewed.skew", "3");
    let source = source(&table, None).unwrap();
    let (mut even, mut skewed) = (Vec::new(), Vec::new());
    for split in source.splits().unwrap() {
        let mut reader = source.open(&split, None, &ONE_READER).unwrap();
        while let Some(batch) = reader.next(1000).unwrap() {
            even.extend_from_slice(batch.rows.rows().column(0).as_primitive::<Int64Type>().values());
            skewed.extend_from_slice(batch.rows.rows().column(1).as_primitive::<Int64Type>().values());
        }
    }
    let count = |numbers: &[i64], wanted| numbers.iter().filter(|&&number| number == wanted).count();
    assert!((-5..=4).all(|number| (800..1200).contains(&count(&even, number))));
    assert_eq!((even.iter().min(), even.iter().max()), (Some(&-5), Some(&4)));
    assert!((1900..2500).contains(&count(&skewed, 0)), "{}", count(&skewed, 0));
    assert!(skewed.iter().all(|number| (0..100).contains(number)));
}

#[test]
fn event_time_grows_by_steps_and_is_late_by_at_most_its_past() {
    let table = table(&[("ts", TIMESTAMP)])
        .with_option("number-of-rows", "1000")
        .with_option("splits", "1")
        .with_option("fields.ts.start", "2024-01-01 00:00:00")
        .with_option("fields.ts.step", "1 s")
        .with_option("fields.ts.max-past", "10 s");
    let source = source(&table, None).unwrap();
    let batch = source.open(&source.splits().unwrap()[0], None, &ONE_READER).unwrap().next(1000).unwrap().unwrap();
    let times = batch.rows.rows().column(0).as_primitive::<TimestampMillisecondType>();
    let start = 1_704_067_200_000;
    for (row, time) in times.values().iter().enumerate() {
        let late = start + row as i64 * 1000 - time;
        assert!((0..=10_000).contains(&late), "row {row} is {late} ms late");
    }
}

#[test]
fn without_a_number_of_rows_there_is_no_end() {
    let source = source(&table(&[("i", Int64)]), None).unwrap();
    assert!(!source.is_bounded());
    let splits = source.splits().unwrap();
    assert_eq!(splits.len(), 1);
    let mut reader = source.open(&splits[0], None, &ONE_READER).unwrap();
    assert!((0..5).all(|_| reader.next(100).unwrap().is_some()));
}

#[test]
fn a_position_of_other_splits_is_refused() {
    let made = |rows: &str| source(&table(&[("i", Int64)]).with_option("number-of-rows", rows), None).unwrap();
    let split = &made("40").splits().unwrap()[1];
    assert_eq!(made("80").open(split, None, &ONE_READER).unwrap_err().kind(), ErrorKind::Incompatible);
}

#[test]
fn bounds_outside_the_type_are_refused() {
    let table = table(&[("n", Int8)]).with_option("fields.n.max", "200");
    let error = source(&table, None).unwrap_err();
    assert_eq!(error.place(Context::Option), Some("fields.n.max"));
    assert_eq!(error.way_out(), Some("expected a number from -128 to 127"));
}

#[test]
fn rows_of_another_seed_are_not_mixed_in() {
    let made = |seed: &str| source(&table(&[("i", Int64)]).with_option("seed", seed), None).unwrap();
    let split = &made("1").splits().unwrap()[0];
    let position = made("1").open(split, None, &ONE_READER).unwrap().next(10).unwrap().unwrap().position;
    made("1").open(split, Some(&position), &ONE_READER).unwrap();
    let error = made("2").open(split, Some(&position), &ONE_READER).unwrap_err();
    assert_eq!((error.kind(), error.place(Context::Option)), (ErrorKind::Incompatible, Some("seed")));
}
