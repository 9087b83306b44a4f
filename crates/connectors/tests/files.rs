//! A path means files; each is a split, read from any position on.

mod support;

use arrow_schema::DataType::{Int32, Utf8};
use flate2::Compression;
use flate2::write::GzEncoder;
use headpond_connectors::TableDescription;
use headpond_runtime::source::{Backlog, BacklogUnit, SourceSplit};
use headpond_runtime::{ErrorKind, Result};
use headpond_state::Context;
use std::fs;
use std::io::Write;
use std::path::Path;
use support::source;
use support::{ONE_READER, files, read_split, rows_of, write};
use tempfile::tempdir;

const COLUMNS: &[(&str, arrow_schema::DataType)] = &[("n", Int32), ("s", Utf8)];

fn ids(table: &TableDescription) -> Vec<String> {
    source(table, None)
        .and_then(|source| source.splits())
        .expect("a good table")
        .into_iter()
        .map(|split| split.id)
        .collect()
}

fn gzip(parts: &[&str]) -> Vec<u8> {
    let member = |text: &&str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).expect("a write to memory");
        encoder.finish().expect("a write to memory")
    };
    parts.iter().flat_map(member).collect()
}

#[test]
fn what_is_left_to_read_is_known_of_plain_and_compressed_files() -> Result<()> {
    let directory = tempdir().unwrap();
    let text: String = (0..40_000_u64).map(|number| format!("{number},{}\n", number * 2_654_435_761)).collect();
    write(directory.path(), "a.csv", &text);
    write(directory.path(), "b.csv.gz", gzip(&[&text]));
    let source = source(&files(directory.path(), "csv", COLUMNS), None)?;
    for split in source.splits()? {
        let length = fs::metadata(directory.path().join(&split.id)).unwrap().len();
        let whole = Backlog { unit: BacklogUnit::Bytes, total: length, left: length };
        assert_eq!(source.backlog(&split, None), Some(whole));
        let mut reader = source.open(&split, None, &ONE_READER)?;
        let mut left = Vec::new();
        while let Some(batch) = reader.next(1_000)? {
            let backlog = source.backlog(&split, Some(&batch.position)).expect("a file has a length");
            assert_eq!(backlog.total, length);
            left.push(backlog.left);
        }
        assert!(left.is_sorted_by(|earlier, later| earlier >= later), "{left:?}");
        assert!(left[0] > length / 3 && left.last() == Some(&0), "{}: {left:?}", split.id);
    }
    Ok(())
}

#[test]
fn a_directory_means_all_files_in_and_below_it_but_hidden_ones() {
    let directory = tempdir().unwrap();
    for name in ["b.csv", "a/2.csv", "a/1.csv", ".hidden.csv", "_temporary/x.csv", ".staging/y.csv"] {
        write(directory.path(), name, "1,x\n");
    }
    assert_eq!(ids(&files(directory.path(), "csv", COLUMNS)), ["a/1.csv", "a/2.csv", "b.csv"]);
    let uri = format!("file://{}", directory.path().display());
    assert_eq!(ids(&files(Path::new(&uri), "csv", COLUMNS)), ["a/1.csv", "a/2.csv", "b.csv"]);
}

#[test]
fn a_pattern_means_what_it_matches() {
    let directory = tempdir().unwrap();
    for name in ["2013-01.csv", "2013-02.csv", "2014-01.csv", "sub/2013-03.csv"] {
        write(directory.path(), name, "1,x\n");
    }
    let table = |pattern: &str| files(&directory.path().join(pattern), "csv", COLUMNS);
    assert_eq!(ids(&table("2013-*.csv")), ["2013-01.csv", "2013-02.csv"]);
    assert_eq!(ids(&table("**/2013-*.csv")), ["2013-01.csv", "2013-02.csv", "sub/2013-03.csv"]);
    assert_eq!(rows_of(&table("201[34]-01.csv")), ["1|x", "1|x"]);
}

#[test]
fn a_path_without_files_is_named() {
    let directory = tempdir().unwrap();
    write(directory.path(), "other/1.txt", "1,x\n");
    std::fs::create_dir(directory.path().join("empty")).unwrap();
    for path in ["missing.csv", "other/missing.csv", "missing/*.csv", "*.csv", "empty"] {
        let path = directory.path().join(path);
        let error = source(&files(&path, "csv", COLUMNS), None).unwrap().splits().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.place(Context::Path).unwrap().starts_with(directory.path().to_str().unwrap()), "{error}");
    }
}

#[test]
fn compressed_files_are_read_as_they_are() {
    let directory = tempdir().unwrap();
    write(directory.path(), "a.csv.gz", gzip(&["1,x\n2,", "y\n"]));
    write(directory.path(), "b.csv.zst", zstd::encode_all(&b"3,z\n"[..], 1).unwrap());
    assert_eq!(rows_of(&files(directory.path(), "csv", COLUMNS)), ["1|x", "2|y", "3|z"]);
}

#[test]
fn a_damaged_compressed_file_is_named() {
    let directory = tempdir().unwrap();
    let mut bytes = gzip(&["1,x\n"]);
    bytes.truncate(bytes.len() - 6);
    let path = write(directory.path(), "a.csv.gz", bytes);
    let error = support::read_all(&*source(&files(&path, "csv", COLUMNS), None).unwrap()).unwrap_err();
    assert_eq!((error.kind(), error.place(Context::Path)), (ErrorKind::Corrupt, path.to_str()));
}

#[test]
fn every_position_gives_exactly_the_rows_behind_it() {
    let directory = tempdir().unwrap();
    let text = "s,n\n\"a\nb\",1\n\nc,2\nd,3\n\"e\",4";
    write(directory.path(), "a.csv", text);
    write(directory.path(), "b.csv.gz", gzip(&[&text[..10], &text[10..]]));
    write(directory.path(), "c.csv.zst", zstd::encode_all(text.as_bytes(), 1).unwrap());
    let table = files(directory.path(), "csv", COLUMNS).with_option("csv.header", "true");
    let source = source(&table, None).unwrap();
    for split in source.splits().unwrap() {
        let all = read_split(&*source, &split, None).unwrap().0;
        assert_eq!(all, ["1|a\nb", "2|c", "3|d", "4|e"]);
        for taken in 1..=all.len() {
            let mut reader = source.open(&split, None, &ONE_READER).unwrap();
            let position = reader.next(taken).unwrap().unwrap().position;
            let (rest, _, _) = read_split(&*source, &split, Some(&position)).unwrap();
            assert_eq!(rest, all[taken..], "{} behind {taken} rows", split.id);
        }
    }
}

#[test]
fn lines_are_counted_on_after_a_restore() {
    let directory = tempdir().unwrap();
    let path = write(directory.path(), "a.csv", "1,x\n2,y\nbad,z\n");
    let source = source(&files(&path, "csv", COLUMNS), None).unwrap();
    let split = &source.splits().unwrap()[0];
    let position = source.open(split, None, &ONE_READER).unwrap().next(2).unwrap().unwrap().position;
    let error = read_split(&*source, split, Some(&position)).unwrap_err();
    assert_eq!(error.place(Context::Line), Some("3"));
}

#[test]
fn a_file_shorter_than_its_position_is_named() {
    let directory = tempdir().unwrap();
    for (name, short) in [("a.csv", b"1,x\n".to_vec()), ("a.csv.gz", gzip(&["1,x\n"]))] {
        let long = "1,x\n2,y\n3,z\n";
        let path = write(directory.path(), name, if name.ends_with("gz") { gzip(&[long]) } else { long.into() });
        let source = source(&files(&path, "csv", COLUMNS), None).unwrap();
        let split = &source.splits().unwrap()[0];
        let position = source.open(split, None, &ONE_READER).unwrap().next(2).unwrap().unwrap().position;
        write(directory.path(), name, short);
        let error = source.open(split, Some(&position), &ONE_READER).unwrap_err();
        assert_eq!((error.kind(), error.place(Context::Path)), (ErrorKind::Corrupt, path.to_str()));
    }
}

/// What makes a file shorter.
#[derive(Debug, Clone, Copy)]
enum Shorter {
    Cut,
    Emptied,
    Rewritten,
    Replaced,
}

#[test]
fn a_file_that_becomes_shorter_while_it_is_read_is_named_with_the_place() {
    let rows = |count: usize| (1..=count).map(|row| format!("{row},some text\n")).collect::<String>();
    for shorter in [Shorter::Cut, Shorter::Emptied, Shorter::Rewritten, Shorter::Replaced] {
        let directory = tempdir().unwrap();
        // Longer than what is read at once.
        let path = write(directory.path(), "a.csv", rows(200_000));
        let source = source(&files(&path, "csv", COLUMNS), None).unwrap();
        let split = &source.splits().unwrap()[0];
        let mut reader = source.open(split, None, &ONE_READER).unwrap();
        reader.next(1_000).unwrap().unwrap();
        match shorter {
            Shorter::Cut => std::fs::File::options().write(true).open(&path).unwrap().set_len(1 << 20).unwrap(),
            Shorter::Emptied => std::fs::write(&path, "").unwrap(),
            Shorter::Rewritten => std::fs::write(&path, rows(100_000)).unwrap(),
            Shorter::Replaced => {
                write(directory.path(), ".new", rows(100_000));
                std::fs::rename(directory.path().join(".new"), &path).unwrap();
            }
        }
        let ended = loop {
            match reader.next(10_000) {
                Ok(Some(_)) => {}
                ended => break ended,
            }
        };
        let error = ended.map(|_| "the end").unwrap_err();
        assert_eq!((error.kind(), error.place(Context::Path)), (ErrorKind::Corrupt, path.to_str()), "{shorter:?}");
        assert!(error.place(Context::Line).is_some() && error.way_out().is_some(), "{shorter:?}: {error}");
    }
}

#[test]
fn a_file_that_is_shorter_than_when_the_job_began_is_named_wherever_reading_went_on() {
    let directory = tempdir().unwrap();
    let path = write(directory.path(), "a.csv", "1,x\n2,y\n3,z\n");
    let table = files(&path, "csv", COLUMNS);
    let before = source(&table, None).unwrap();
    let split = &before.splits().unwrap()[0];
    let position = before.open(split, None, &ONE_READER).unwrap().next(1).unwrap().unwrap().position;
    // What was read is there, what follows is not.
    write(directory.path(), "a.csv", "1,x\n2,y\n");
    // Listed by this run, and not opened yet.
    assert_eq!(before.open(split, None, &ONE_READER).unwrap_err().kind(), ErrorKind::Corrupt);
    let next_run = source(&table, None).unwrap();
    let split = &next_run.splits().unwrap()[0];
    assert_eq!(next_run.open(split, Some(&position), &ONE_READER).unwrap_err().kind(), ErrorKind::Corrupt);
    // A position of an earlier release does not say how long the file was.
    let mut old = position.clone();
    old.as_object_mut().unwrap().remove("length");
    assert_eq!(read_split(&*next_run, split, Some(&old)).unwrap().0, ["2|y"]);
    // It may have grown.
    write(directory.path(), "a.csv", "1,x\n2,y\n3,z\n4,a\n");
    assert_eq!(read_split(&*next_run, split, Some(&position)).unwrap().0, ["2|y", "3|z", "4|a"]);
}

#[test]
fn a_compressed_file_that_was_cut_is_named_also_between_its_members() {
    let directory = tempdir().unwrap();
    let (first, both) = (gzip(&["1,x\n"]), gzip(&["1,x\n", "2,y\n"]));
    let path = write(directory.path(), "a.csv.gz", both);
    let source = source(&files(&path, "csv", COLUMNS), None).unwrap();
    let split = &source.splits().unwrap()[0];
    write(directory.path(), "a.csv.gz", first);
    let error = read_split(&*source, split, None).unwrap_err();
    assert_eq!((error.kind(), error.place(Context::Path)), (ErrorKind::Corrupt, path.to_str()));
}

#[test]
fn a_split_that_is_gone_is_named() {
    let directory = tempdir().unwrap();
    write(directory.path(), "a.csv", "1,x\n");
    let source = source(&files(directory.path(), "csv", COLUMNS), None).unwrap();
    let error = source.open(&SourceSplit { id: "b.csv".to_owned() }, None, &ONE_READER).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Incompatible);
    assert!(error.place(Context::Path).unwrap().ends_with("b.csv"));
}

#[test]
fn a_limit_of_rows_holds_across_a_restore() {
    let directory = tempdir().unwrap();
    let path = write(directory.path(), "a.csv", "1,x\n2,y\n3,z\n4,w\n");
    let source = source(&files(&path, "csv", COLUMNS).with_option("scan.max-rows-per-file", "3"), None).unwrap();
    let split = &source.splits().unwrap()[0];
    let position = source.open(split, None, &ONE_READER).unwrap().next(2).unwrap().unwrap().position;
    assert_eq!(read_split(&*source, split, Some(&position)).unwrap().0, ["3|z"]);
}

#[test]
fn how_fast_a_source_is_to_be_read_is_an_option() {
    let directory = tempdir().unwrap();
    let path = write(directory.path(), "a.csv", "1,x\n");
    let table = files(&path, "csv", COLUMNS);
    assert_eq!(source(&table, None).unwrap().rows_per_second(), None);
    assert_eq!(source(&table.with_option("scan.rows-per-second", "2000"), None).unwrap().rows_per_second(), Some(2000));
}

#[test]
fn other_schemes_and_compressions_are_refused_by_name() {
    let directory = tempdir().unwrap();
    let error = source(&files(Path::new("s3://bucket/x"), "csv", COLUMNS), None).unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.message().contains("'s3'"), "{error}");
    let path = write(directory.path(), "a.csv.bz2", "x");
    let error = support::read_all(&*source(&files(&path, "csv", COLUMNS), None).unwrap()).unwrap_err();
    assert!(error.kind() == ErrorKind::Unsupported && error.message().contains("bzip2"), "{error}");
}

#[test]
fn a_position_of_another_connector_does_not_match_the_table() {
    let directory = tempdir().unwrap();
    write(directory.path(), "1.csv", "1,x\n");
    let source = source(&files(directory.path(), "csv", COLUMNS), None).unwrap();
    let splits = source.splits().unwrap();
    let made = serde_json::json!({ "rows": 7, "seed": 0 });
    assert_eq!(source.open(&splits[0], Some(&made), &ONE_READER).unwrap_err().kind(), ErrorKind::Incompatible);
}
