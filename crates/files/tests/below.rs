//! What stays below a directory, and what is refused.

use headpond_files::{EntryKind, RegularFile, RelativeName, Root, is_link, is_not_regular};
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

fn name(text: &str) -> RelativeName {
    RelativeName::parse(text).expect("the test can use its files")
}

fn pipe(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .expect("the test can use its files");
}

#[test]
fn names_that_lead_elsewhere_are_none() {
    for text in ["a", "a/b.csv", "a/..b", ".staging/draft", "größe", "with space", "a\\b"] {
        assert_eq!(name(text).as_str(), text);
    }
    for text in [
        "",
        "/",
        "/etc/passwd",
        "..",
        ".",
        "../a",
        "a/..",
        "a/../../b",
        "a//b",
        "a/",
        "./a",
        "a/./b",
        "a\0b",
        "\\a",
        "..\\a",
        "a\\..\\..\\b",
    ] {
        let error = RelativeName::parse(text).unwrap_err().to_string();
        assert!(!error.contains('\0'), "{error}");
    }
    assert!(RelativeName::parse_part("a/b").is_err() && RelativeName::parse_part("a\\b").is_err());
    assert_eq!(RelativeName::parse_part("a").expect("the test can use its files").join(&name("b/c")).as_str(), "a/b/c");
}

/// A directory with links in it, and what they lead to beside it.
fn linked() -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().expect("the test can use its files");
    fs::create_dir_all(dir.path().join("elsewhere/inner")).expect("the test can use its files");
    fs::write(dir.path().join("elsewhere/precious"), "precious").expect("the test can use its files");
    let root = Root::new(dir.path().join("root"));
    root.create_directories(Some(&name("real"))).expect("the test can use its files");
    symlink(dir.path().join("elsewhere"), root.path().join("link")).expect("the test can use its files");
    symlink(dir.path().join("elsewhere/precious"), root.path().join("file")).expect("the test can use its files");
    symlink(dir.path().join("elsewhere/new"), root.path().join("dangling")).expect("the test can use its files");
    (dir, root)
}

#[test]
fn no_call_follows_a_link() {
    let (dir, root) = linked();
    root.create_new(&name("real/own"))
        .expect("the test can use its files")
        .write_all(b"own")
        .expect("the test can use its files");
    let errors = [
        root.open(&name("file")).map(drop),
        root.open(&name("link/precious")).map(drop),
        root.open_or_create(&name("file")).map(drop),
        root.open_or_create(&name("dangling")).map(drop),
        root.create_new(&name("link/new")).map(drop),
        root.create_directories(Some(&name("link/deeper"))).map(drop),
        root.create_directories(Some(&name("link"))).map(drop),
        root.remove_file(&name("link/precious")),
        root.remove_directory(&name("link/inner")),
        root.rename(&name("real/own"), &name("link/precious")),
        root.rename(&name("link/precious"), &name("real/stolen")),
        root.hard_link(&name("real/own"), &name("link/new")),
        root.entries(Some(&name("link"))).map(drop),
        root.sync(Some(&name("file"))),
    ];
    for (index, error) in errors.into_iter().enumerate() {
        let error = error.unwrap_err();
        assert!(is_link(&error) && error.kind() == ErrorKind::InvalidInput, "{index}: {error}");
    }
    for taken in ["file", "dangling"] {
        assert_eq!(root.create_new(&name(taken)).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(
            root.look_at(&name(taken)).expect("the test can use its files").expect("the test can use its files").0,
            EntryKind::Link
        );
    }
    // A link in the place of a file goes; what it leads to stays.
    root.rename(&name("real/own"), &name("file")).expect("the test can use its files");
    root.remove_file(&name("dangling")).expect("the test can use its files");
    assert_eq!(fs::read(root.path().join("file")).expect("the test can use its files"), b"own");
    assert_eq!(fs::read(dir.path().join("elsewhere/precious")).expect("the test can use its files"), b"precious");
    assert_eq!(fs::read_dir(dir.path().join("elsewhere")).expect("the test can use its files").count(), 2);
}

#[test]
fn the_directory_itself_may_be_a_link() {
    let (dir, _) = linked();
    let root = Root::new(dir.path().join("root/link"));
    root.create_new(&name("new")).expect("the test can use its files");
    assert_eq!(root.look_at(&name("new")).expect("the test can use its files"), Some((EntryKind::File, 0)));
    assert!(dir.path().join("elsewhere/new").exists());
}

#[test]
fn what_has_no_end_is_not_a_file() {
    let dir = tempfile::tempdir().expect("the test can use its files");
    let root = Root::new(dir.path());
    pipe(&dir.path().join("pipe"));
    let _socket = UnixListener::bind(dir.path().join("socket")).expect("the test can use its files");
    fs::create_dir(dir.path().join("directory")).expect("the test can use its files");
    for odd in ["pipe", "socket", "directory"] {
        for error in [RegularFile::open(dir.path().join(odd)).unwrap_err(), root.open(&name(odd)).unwrap_err()] {
            assert!(is_not_regular(&error), "{odd}: {error}");
        }
    }
    assert!(is_not_regular(&root.open_or_create(&name("pipe")).unwrap_err()));
    assert!(is_not_regular(&RegularFile::open("/dev/zero").unwrap_err()));
    assert_eq!(RegularFile::open(dir.path().join("none")).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_file_longer_than_it_may_be_is_not_read() {
    let dir = tempfile::tempdir().expect("the test can use its files");
    let file = fs::File::create(dir.path().join("huge")).expect("the test can use its files");
    file.set_len(1 << 40).expect("the test can use its files");
    let error =
        RegularFile::open(dir.path().join("huge")).expect("the test can use its files").read(1 << 20).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    file.set_len(3).expect("the test can use its files");
    assert_eq!(
        RegularFile::open(dir.path().join("huge"))
            .expect("the test can use its files")
            .read(3)
            .expect("the test can use its files"),
        [0; 3]
    );
    assert_eq!(
        RegularFile::open("/proc/self/stat").expect("the test can use its files").read(2).unwrap_err().kind(),
        ErrorKind::InvalidData
    );
}
