//! Files that are none, files that are not the table's, and rows that are longer than any row.

mod support;

use arrow_schema::DataType::{Int32, Utf8};
use flate2::Compression;
use flate2::write::GzEncoder;
use headpond_connectors::TableDescription;
use headpond_runtime::ErrorKind;
use headpond_runtime::source::SourceSplit;
use headpond_state::Context;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use support::source;
use support::{ONE_READER, files, read_all, read_split, rows_of, write};
use tempfile::tempdir;

const COLUMNS: &[(&str, arrow_schema::DataType)] = &[("n", Int32), ("s", Utf8)];
/// More than a row may have, and more than is read at once behind that.
const TOO_LONG: usize = (16 << 20) + (3 << 20);

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).expect("a write to memory");
    encoder.finish().expect("a write to memory")
}

#[test]
fn what_is_no_file_is_refused_without_waiting() {
    for ignore in ["false", "true"] {
        let directory = tempdir().unwrap();
        write(directory.path(), "in/a.csv", "1,a\n");
        let pipe = directory.path().join("in/pipe.csv");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let zero = directory.path().join("zero.csv");
        symlink("/dev/zero", &zero).unwrap();
        let _socket = UnixListener::bind(directory.path().join("socket.csv")).unwrap();
        let paths = [
            pipe.clone(),
            directory.path().join("in"),
            directory.path().join("in/*.csv"),
            zero,
            directory.path().join("socket.csv"),
            "/dev/zero".into(),
            "/dev/null".into(),
        ];
        for format in ["csv", "json"] {
            for path in &paths {
                let option = format!("{format}.ignore-parse-errors");
                let table = files(path, format, COLUMNS).with_option(&option, ignore);
                let error = source(&table, None).and_then(|source| source.splits()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Invalid, "{path:?}: {error}");
                assert!(error.message().contains("not a regular file"), "{path:?}: {error}");
                assert!(error.way_out().is_some() && error.place(Context::Path).is_some(), "{error:?}");
            }
        }
        // One that takes a file's place later is not waited for either.
        let table = files(&directory.path().join("in/a.csv"), "csv", COLUMNS);
        let source = source(&table, None).unwrap();
        let split = source.splits().unwrap().remove(0);
        std::fs::rename(&pipe, directory.path().join("in/a.csv")).unwrap();
        assert_eq!(source.open(&split, None, &ONE_READER).unwrap_err().kind(), ErrorKind::Invalid);
    }
}

#[test]
fn a_restored_split_is_a_file_of_the_tables_path_or_refused() {
    let directory = tempdir().unwrap();
    write(directory.path(), "secret.csv", "7,secret\n");
    write(directory.path(), "in/a.csv", "1,a\n");
    write(directory.path(), "in/sub/b.csv", "2,b\n");
    write(directory.path(), "in/.hidden.csv", "8,hidden\n");
    write(directory.path(), "in/c.txt", "9,other\n");
    let absolute = directory.path().join("secret.csv").display().to_string();
    let escaping = [
        absolute.as_str(),
        "../secret.csv",
        "sub/../../secret.csv",
        "./../secret.csv",
        "a.csv/",
        "",
        "..",
        "..\\secret.csv",
        "a.csv\0",
        ".hidden.csv",
    ];
    let refused = |table: &TableDescription, id: &str| {
        let source = source(table, None).unwrap();
        let split = SourceSplit { id: id.to_owned() };
        let error = source.open(&split, None, &ONE_READER).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Incompatible, "{id:?}: {error}");
        assert!(error.way_out().is_some() && !error.to_string().contains('\0'), "{error:?}");
    };
    let whole = files(&directory.path().join("in"), "csv", COLUMNS);
    let pattern = files(&directory.path().join("in/*.csv"), "csv", COLUMNS);
    let single = files(&directory.path().join("in/a.csv"), "csv", COLUMNS);
    for id in escaping {
        for table in [&whole, &pattern, &single] {
            refused(table, id);
        }
    }
    for (table, id) in [(&pattern, "c.txt"), (&pattern, "sub/b.csv"), (&single, "c.txt"), (&single, "sub/b.csv")] {
        refused(table, id);
    }
    for (table, id, row) in [(&whole, "sub/b.csv", "2|b"), (&pattern, "a.csv", "1|a"), (&single, "a.csv", "1|a")] {
        let source = source(table, None).unwrap();
        assert_eq!(read_split(&*source, &SourceSplit { id: id.to_owned() }, None).unwrap().0, [row]);
    }
    // A path that is gone has no files, beside it neither.
    let gone = files(&directory.path().join("gone"), "csv", COLUMNS);
    refused(&gone, "secret.csv");
}

/// A text with rows that are too long, and what is to be read of it: rows, and how many are left out.
struct Case {
    format: &'static str,
    text: Vec<u8>,
    rows: Vec<&'static str>,
    skipped: u64,
}

fn cases() -> Vec<Case> {
    let long = |byte: u8| vec![byte; TOO_LONG];
    let json = |row: &str| format!("{{\"n\":{}}}", row);
    let case = |format, parts: &[&[u8]], rows: &[&'static str], skipped| Case {
        format,
        text: parts.concat(),
        rows: rows.to_vec(),
        skipped,
    };
    // What would be a row of its own, if the line were cut anywhere in it.
    let rows_of_json: Vec<u8> = b" {\"n\":666,\"s\":\"injected\"}".repeat(TOO_LONG / 25);
    let rows_of_csv: Vec<u8> = b"\r666,injected".repeat(TOO_LONG / 13);
    let lines_of_csv: Vec<u8> = b"\n666,injected".repeat(TOO_LONG / 13);
    vec![
        case(
            "json",
            &[json("1").as_bytes(), b"\n", &rows_of_json, b"\n", json("2").as_bytes(), b"\n"],
            &["1|NULL", "2|NULL"],
            1,
        ),
        case("json", &[json("1").as_bytes(), b"\n{\"s\":\"", &long(b'x'), b"\"}"], &["1|NULL"], 1),
        case("json", &[&long(b'['), b"\n", &long(b'{'), b"\n", json("2").as_bytes()], &["2|NULL"], 2),
        case("csv", &[b"1,a\n", &long(b'x'), b"\n2,b\n"], &["1|a", "2|b"], 1),
        case("csv", &[b"1,a\n5,", &rows_of_csv, b"\n2,b\n"], &["1|a", "2|b"], 1),
        case("csv", &[b"1,a\n5,", &long(b'x')], &["1|a"], 1),
        // A line break in quotes is none.
        case("csv", &[b"1,a\n5,\"", &lines_of_csv, b"\"\n2,b\n"], &["1|a", "2|b"], 1),
        case("csv", &[b"1,a\n5,\"", &lines_of_csv, b"\"\"\"\n2,b\n"], &["1|a", "2|b"], 1),
        case("csv", &[b"1,a\n5,\"", &lines_of_csv, b"\" x\n2,\"b\"\n"], &["1|a", "2|b"], 1),
        // A quote that nobody closes is a mistake of its line.
        case(
            "csv",
            &[b"1,a\n5,\"x\n", &b"2,b\n".repeat(3), b"6,", &long(b'y'), b"\n3,c\n"],
            &["1|a", "2|b", "2|b", "2|b", "3|c"],
            2,
        ),
    ]
}

#[test]
fn a_row_that_is_too_long_is_left_out_whole_and_counted() {
    for (index, case) in cases().into_iter().enumerate() {
        let directory = tempdir().unwrap();
        let name = format!("a.{}", case.format);
        write(directory.path(), &name, &case.text);
        write(directory.path(), &format!("{name}.gz"), gzip(&case.text));
        write(directory.path(), &format!("{name}.zst"), zstd::encode_all(&case.text[..], 1).unwrap());
        let strict = files(directory.path(), case.format, COLUMNS);
        let error = read_all(&*source(&strict, None).unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let lenient = strict.with_option(format!("{}.ignore-parse-errors", case.format), "true");
        let source = source(&lenient, None).unwrap();
        for split in source.splits().unwrap() {
            let (rows, _, skipped) = read_split(&*source, &split, None).unwrap();
            assert_eq!(
                (&rows[..], skipped),
                (&case.rows.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>()[..], case.skipped),
                "{index} {}",
                split.id
            );
            // From whatever position it is read on.
            let mut reader = source.open(&split, None, &ONE_READER).unwrap();
            let (mut taken, mut left_out) = (0, 0);
            while let Some(batch) = reader.next(1).unwrap() {
                taken += batch.rows.num_rows();
                left_out += batch.skipped;
                let (rest, _, more) = read_split(&*source, &split, Some(&batch.position)).unwrap();
                assert_eq!((&rest[..], left_out + more), (&rows[taken..], case.skipped), "{index} {}", split.id);
            }
        }
    }
}

#[test]
fn the_longest_row_is_as_long_wherever_reading_begins() {
    let limit = 16 << 20;
    for (length, is_read) in [(limit, true), (limit + 1, false)] {
        let directory = tempdir().unwrap();
        // Rows before it move it to another place of what is read at once.
        for before in [0, 1, 300_000] {
            let begin = "{\"n\":1}\n".repeat(before);
            let row = format!("{{\"n\":2}}{}\n", " ".repeat(length - 8));
            write(directory.path(), "a.json", [begin.as_bytes(), row.as_bytes(), b"{\"n\":3}\n"].concat());
            let path = directory.path().join("a.json");
            let table = files(&path, "json", COLUMNS).with_option("json.ignore-parse-errors", "true");
            let rows = rows_of(&table);
            assert_eq!(
                rows[before..],
                if is_read { vec!["2|NULL", "3|NULL"] } else { vec!["3|NULL"] },
                "{length} {before}"
            );
            let row = format!("2,{}\n", "x".repeat(length - 3));
            write(directory.path(), "a.csv", ["1,a\n".repeat(before).as_bytes(), row.as_bytes(), b"3,c\n"].concat());
            let table =
                files(&directory.path().join("a.csv"), "csv", COLUMNS).with_option("csv.ignore-parse-errors", "true");
            let rows = rows_of(&table);
            assert_eq!(rows.len(), before + if is_read { 2 } else { 1 }, "{length} {before}");
        }
    }
}

#[test]
fn a_comment_may_be_of_any_length() {
    let directory = tempdir().unwrap();
    let text = [&b"1,a\n#"[..], &vec![b'x'; TOO_LONG], b"\n2,b\n"].concat();
    let path = write(directory.path(), "a.csv", text);
    assert_eq!(
        rows_of(&files(Path::new(&path), "csv", COLUMNS).with_option("csv.allow-comments", "true")),
        ["1|a", "2|b"]
    );
}
