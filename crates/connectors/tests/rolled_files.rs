//! Files roll by size and time, small ones are put together, and rows are written once each all the same.

mod support;

use arrow_schema::DataType::{Int64, Utf8};
use headpond_connectors::TableDescription;
use headpond_runtime::sink::{Committable, Sink};
use headpond_runtime::{ErrorKind, Result};
use headpond_state::{CheckpointId, Context};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;
use support::files;
use support::sink;
use support::sinks::{Run, changes, input, job, published, staged, visible};
use tempfile::tempdir;

fn table(path: &Path, format: &str, options: &[(&str, &str)]) -> TableDescription {
    let table = files(path, format, &[("k", Utf8), ("n", Int64)]);
    options.iter().fold(table, |table, (key, value)| table.with_option(*key, *value))
}

fn append_sink(table: &TableDescription) -> Arc<dyn Sink> {
    sink(table, &input(false)).expect("a good table")
}

fn write(run: &mut Run, numbers: impl IntoIterator<Item = u64>) -> Result<()> {
    let lines: Vec<String> = numbers.into_iter().map(|number| format!("+I key {number}")).collect();
    run.write(&changes(&lines.iter().map(String::as_str).collect::<Vec<_>>()))
}

#[test]
fn a_file_is_closed_at_its_size_and_all_appear_at_the_checkpoint() -> Result<()> {
    let directory = tempdir().unwrap();
    let table = table(directory.path(), "json", &[("sink.rolling-policy.file-size", "50 b")]);
    let mut run = Run::start("a1", &table, &append_sink(&table), 1, None, &[])?;
    write(&mut run, 0..7)?;
    let committables = run.prepare(1, false)?;
    assert_eq!(visible(directory.path()), Vec::<String>::new());
    run.commit(1, &committables)?;
    // Each row has 19 bytes.
    assert_eq!(visible(directory.path()), ["part-0-1-1.json", "part-0-1-2.json", "part-0-1.json"]);
    assert_eq!(published(directory.path()).len(), 7);
    write(&mut run, [7])?;
    run.checkpoint(2)?;
    assert_eq!(visible(directory.path()).len(), 4);

    // Falling back takes all of a checkpoint's files away; what a crash left unpublished is published.
    drop(run);
    let run = Run::start("a2", &table, &append_sink(&table), 2, Some((1, &committables)), &[])?;
    assert_eq!(published(directory.path()).len(), 7);
    drop(run);
    Run::start("a3", &table, &append_sink(&table), 2, None, &[])?;
    assert_eq!(visible(directory.path()), Vec::<String>::new());
    Ok(())
}

#[test]
fn a_file_is_closed_when_it_is_old_enough() -> Result<()> {
    let directory = tempdir().unwrap();
    let options = [("sink.rolling-policy.rollover-interval", "20 ms"), ("csv.header", "true")];
    let table = table(directory.path(), "csv", &options);
    let mut run = Run::start("a1", &table, &append_sink(&table), 1, None, &[])?;
    let text = "x".repeat(1 << 20);
    for number in 0..3 {
        run.write(&changes(&[&format!("+I {text} {number}")]))?;
        sleep(Duration::from_millis(30));
    }
    run.checkpoint(1)?;
    // The second row came into the old file and closed it.
    assert_eq!(visible(directory.path()), ["part-0-1-1.csv", "part-0-1.csv"]);
    let headers = published(directory.path()).iter().filter(|line| *line == "k,n").count();
    assert_eq!(headers, 2);
    Ok(())
}

#[test]
fn small_files_are_put_together_and_have_one_header() -> Result<()> {
    let directory = tempdir().unwrap();
    let options = [("auto-compaction", "true"), ("compaction.file-size", "40 b"), ("csv.header", "true")];
    let table = table(directory.path(), "csv", &options);
    let mut run = Run::start("a1", &table, &append_sink(&table), 2, None, &[])?;
    for checkpoint in 1..=3 {
        write(&mut run, checkpoint * 10..checkpoint * 10 + 2)?;
        run.checkpoint(checkpoint)?;
    }
    // Each of the six has 11 bytes.
    assert_eq!(visible(directory.path()), ["part-0-2.csv"]);
    assert_eq!(fs::read_to_string(directory.path().join("part-0-2.csv")).unwrap(), "k,n\nkey,10\nkey,11\nkey,20\n");
    // The input ends: nothing is held back, not even by a commit that a crash has repeated.
    let committables = run.prepare(4, true)?;
    drop(run);
    Run::start("a2", &table, &append_sink(&table), 1, Some((4, &committables)), &[])?;
    assert_eq!(visible(directory.path()), ["part-0-2.csv", "part-1-3.csv"]);
    assert_eq!(fs::read_to_string(directory.path().join("part-1-3.csv")).unwrap(), "k,n\nkey,21\nkey,30\nkey,31\n");
    assert_eq!(staged(directory.path()), 0);
    Ok(())
}

#[test]
fn what_has_waited_long_enough_is_published() -> Result<()> {
    let directory = tempdir().unwrap();
    let options = [("auto-compaction", "true"), ("sink.rolling-policy.rollover-interval", "200 ms")];
    let table = table(directory.path(), "json", &options);
    let mut run = Run::start("a1", &table, &append_sink(&table), 2, None, &[])?;
    write(&mut run, 0..2)?;
    run.checkpoint(1)?;
    assert_eq!(visible(directory.path()), Vec::<String>::new());
    sleep(Duration::from_millis(250));
    run.checkpoint(2)?;
    assert_eq!(visible(directory.path()), ["part-1-1.json"]);
    // Who has enough of it gets what was held back.
    write(&mut run, 2..4)?;
    let third = run.checkpoint(3)?;
    drop(run);
    let plain = self::table(directory.path(), "json", &[]);
    Run::start("a2", &plain, &append_sink(&plain), 1, Some((3, &third)), &[])?;
    assert_eq!(visible(directory.path()), ["part-0-3.json", "part-1-1.json", "part-1-3.json"]);
    Ok(())
}

#[test]
fn files_of_other_columns_are_not_put_together() -> Result<()> {
    let directory = tempdir().unwrap();
    let options = [("auto-compaction", "true"), ("csv.header", "true")];
    let narrow = table(directory.path(), "csv", &options);
    let mut run = Run::start("a1", &narrow, &append_sink(&narrow), 1, None, &[])?;
    write(&mut run, [1])?;
    let first = run.checkpoint(1)?;
    drop(run);
    let other = table(directory.path(), "csv", &[options[0], options[1], ("csv.field-delimiter", ";")]);
    let mut run = Run::start("a2", &other, &append_sink(&other), 1, Some((1, &first)), &[])?;
    write(&mut run, [2])?;
    let last = run.prepare(2, true)?;
    run.commit(2, &last)?;
    assert_eq!(fs::read_to_string(directory.path().join("part-0-1.csv")).unwrap(), "k,n\nkey,1\n");
    assert_eq!(fs::read_to_string(directory.path().join("part-0-2.csv")).unwrap(), "k;n\nkey;2\n");
    Ok(())
}

#[test]
fn held_back_files_that_are_damaged_or_gone_are_named() -> Result<()> {
    let directory = tempdir().unwrap();
    let table = table(directory.path(), "json", &[("auto-compaction", "true")]);
    let sink = append_sink(&table);
    let mut run = Run::start("a1", &table, &sink, 1, None, &[])?;
    write(&mut run, [1])?;
    run.checkpoint(1)?;
    let second = run.checkpoint(2)?;
    let file = directory.path().join(".staging/a1/part-0-1.json");
    let sound = fs::read(&file).unwrap();
    let check = || sink.check_staged(&job("a2"), CheckpointId(2), &second);
    check()?;
    for damaged in [Some(b"{\"k\":\"kex\",\"n\":1}\n".as_slice()), Some(b""), None] {
        match damaged {
            Some(bytes) => fs::write(&file, bytes).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        let error = check().unwrap_err();
        assert_eq!((error.kind(), error.place(Context::Path)), (ErrorKind::Corrupt, file.to_str()), "{error}");
    }
    fs::write(&file, sound).unwrap();
    check()?;
    // A note that was altered leads nowhere else.
    let note = directory.path().join(".staging/committed");
    let text = fs::read_to_string(&note).unwrap();
    for place in ["../../precious", "a1/../../precious", "/etc/passwd", "a1/open-0-0"] {
        fs::write(&note, text.replace("a1/part-0-1.json", place)).unwrap();
        assert_eq!(check().unwrap_err().kind(), ErrorKind::Corrupt, "{place}");
        let error = Run::start("a2", &table, &sink, 1, Some((2, &second)), &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{place}");
    }
    fs::write(&note, "{").unwrap();
    let error = check().unwrap_err();
    assert_eq!((error.kind(), error.place(Context::Path)), (ErrorKind::Corrupt, note.to_str()));
    Ok(())
}

#[test]
fn a_table_with_a_primary_key_has_no_files_to_roll() {
    for (key, value) in [("auto-compaction", "true"), ("sink.rolling-policy.file-size", "1 mb")] {
        let table = table(Path::new("x"), "json", &[(key, value)]).with_primary_key([0]);
        let error = sink(&table, &input(false)).unwrap_err();
        assert_eq!((error.kind(), error.place(Context::Option)), (ErrorKind::Invalid, Some(key)), "{error}");
    }
}

/// All files below a directory.
type Tree = BTreeMap<PathBuf, Vec<u8>>;

fn tree(directory: &Path) -> Tree {
    let mut tree = Tree::new();
    for entry in fs::read_dir(directory).expect("the test can use its files") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            tree.extend(self::tree(&path));
        } else {
            tree.insert(path.clone(), fs::read(path).expect("the test can use its files"));
        }
    }
    tree
}

fn restore(directory: &Path, tree: &Tree) {
    fs::remove_dir_all(directory).expect("the test can use its files");
    for (path, bytes) in tree {
        fs::create_dir_all(path.parent().expect("the test can use its files")).expect("the sink's own text");
        fs::write(path, bytes).expect("the test can use its files");
    }
}

/// What the directory can look like when a run dies in the middle of a commit: it drafts a file, lists what it is made
/// from, publishes it, removes what it was made from, file after file, and notes the commit at last.
fn died_between(directory: &Path, before: &Tree, after: &Tree) -> Vec<Tree> {
    let staging = directory.join(".staging");
    let is_new = |path: &Path| !before.contains_key(path);
    let lists = after.keys().filter(|path| is_new(path) && path.extension().is_some_and(|end| end == "members"));
    let removed: Vec<&PathBuf> = before.keys().filter(|path| !after.contains_key(*path)).collect();
    let mut trees = Vec::new();
    let mut tree = before.clone();
    for list in lists {
        let name = list.file_stem().expect("the sink's own text");
        let (whole, draft) = (directory.join(name), staging.join(name).with_added_extension("compacting"));
        for bytes in [after[&whole][..3].to_vec(), after[&whole].clone()] {
            tree.insert(draft.clone(), bytes);
            trees.push(tree.clone());
        }
        tree.insert(list.clone(), after[list].clone());
        trees.push(tree.clone());
        tree.remove(&draft);
        tree.insert(whole.clone(), after[&whole].clone());
        trees.push(tree.clone());
        let members = String::from_utf8(after[list].clone()).expect("the sink's own text");
        for path in &removed {
            let place =
                path.strip_prefix(&staging).expect("the sink's own text").to_str().expect("the sink's own text");
            if members.contains(&format!("\"{place}\"")) {
                tree.remove(*path);
                trees.push(tree.clone());
            }
        }
    }
    trees
}

/// What the directory can look like when a run dies while it takes rows back out of a file that was put together: it
/// drafts what is left, lists what that is made from, publishes it, and removes the file.
fn died_cutting(directory: &Path, before: &Tree, after: &Tree) -> Vec<Tree> {
    let staging = directory.join(".staging");
    let ends_with_members = |path: &&PathBuf| path.extension().is_some_and(|end| end == "members");
    let mut trees = Vec::new();
    let mut tree = before.clone();
    for list in after.keys().filter(|path| !before.contains_key(*path)).filter(ends_with_members) {
        let name = list.file_stem().expect("the sink's own text");
        let (whole, draft) = (directory.join(name), staging.join(name).with_added_extension("compacting"));
        for bytes in [after[&whole][..3].to_vec(), after[&whole].clone()] {
            tree.insert(draft.clone(), bytes);
            trees.push(tree.clone());
        }
        tree.insert(list.clone(), after[list].clone());
        trees.push(tree.clone());
        tree.remove(&draft);
        tree.insert(whole.clone(), after[&whole].clone());
        trees.push(tree.clone());
        for removed in before.keys().filter(|path| !after.contains_key(*path)).filter(ends_with_members) {
            for path in [directory.join(removed.file_stem().expect("the sink's own text")), removed.clone()] {
                tree.remove(&path);
                trees.push(tree.clone());
            }
        }
    }
    trees
}

/// The numbers of all rows that are published, and of those that are held back.
fn numbers(directory: &Path) -> (Vec<u64>, Vec<u64>) {
    let number = |line: &str| {
        line.rsplit_once(':')
            .expect("the sink's own text")
            .1
            .trim_end_matches('}')
            .parse::<u64>()
            .expect("the sink's own text")
    };
    let mut shown: Vec<u64> = published(directory).iter().map(|line| number(line)).collect();
    shown.sort_unstable();
    let note = fs::read(directory.join(".staging/committed")).unwrap_or_default();
    let note: serde_json::Value = serde_json::from_slice(&note).unwrap_or_default();
    let mut held_back = Vec::new();
    for file in note["held_back"].as_array().into_iter().flatten() {
        let text = fs::read_to_string(
            directory.join(".staging").join(file["staged"].as_str().expect("the test can use its files")),
        )
        .expect("the sink's own text");
        held_back.extend(text.lines().map(number));
    }
    (shown, held_back)
}

/// A job that writes, dies and goes on, and what it must have written.
struct History {
    directory: PathBuf,
    chance: u64,
    sinks: Vec<(TableDescription, Arc<dyn Sink>)>,
    /// Of each checkpoint that there is to go back to: its number, its committables and how many rows it has.
    checkpoints: Vec<(u64, Vec<Committable>, u64)>,
    attempts: u32,
    crashes: usize,
    cuts: usize,
}

impl History {
    fn below(&mut self, end: u64) -> u64 {
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.chance >> 33) % end
    }

    /// A run from a checkpoint, or from nothing.
    fn start(&mut self, at: Option<usize>) -> Result<Run> {
        self.attempts += 1;
        let which = self.below(self.sinks.len() as u64) as usize;
        let parallelism = 1 + self.below(3) as usize;
        let (table, sink) = &self.sinks[which];
        let restored = at.map(|at| (self.checkpoints[at].0, self.checkpoints[at].1.as_slice()));
        let attempt = format!("a{}", self.attempts);
        if let Some((checkpoint, committables)) = restored {
            sink.check_staged(&job(&attempt), CheckpointId(checkpoint), committables)?;
        }
        Run::start(&attempt, table, sink, parallelism, restored, &[])
    }

    fn assert_has(&self, rows: u64) {
        let (mut all, held_back) = numbers(&self.directory);
        all.extend(held_back);
        all.sort_unstable();
        assert_eq!(all, (0..rows).collect::<Vec<_>>());
    }

    /// Goes on, from a checkpoint that there is, from every state that a commit can have left behind.
    fn go_on_from_each(&mut self, newest: usize, trees: Vec<Tree>, after: &Tree) -> Result<()> {
        for tree in trees {
            for at in newest.saturating_sub(2)..=newest {
                restore(&self.directory, &tree);
                self.start(Some(at))?;
                self.assert_has(self.checkpoints[at].2);
                self.crashes += 1;
            }
        }
        restore(&self.directory, after);
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        let (mut rows, mut next) = (0, 1);
        let mut run = self.start(None)?;
        for _ in 0..40 {
            match self.below(10) {
                0..5 => {
                    let more = 1 + self.below(4);
                    write(&mut run, rows..rows + more)?;
                    rows += more;
                }
                5..9 => {
                    let committables = run.prepare(next, false)?;
                    let before = tree(&self.directory);
                    if self.below(8) > 0 {
                        run.commit(next, &committables)?;
                        self.checkpoints.push((next, committables, rows));
                        self.assert_has(rows);
                        let after = tree(&self.directory);
                        let trees = died_between(&self.directory, &before, &after);
                        self.go_on_from_each(self.checkpoints.len() - 1, trees, &after)?;
                    } else {
                        // The manifest was written, and the run died before the commit.
                        self.checkpoints.push((next, committables, rows));
                        run = self.start(Some(self.checkpoints.len() - 1))?;
                        self.assert_has(rows);
                    }
                    next += 1;
                }
                _ => {
                    let count = self.checkpoints.len() as u64;
                    let at = (count > 0).then(|| (count - 1 - self.below(count.min(4))) as usize);
                    let before = tree(&self.directory);
                    run = self.start(at)?;
                    let after = tree(&self.directory);
                    let trees = died_cutting(&self.directory, &before, &after);
                    self.cuts += trees.len();
                    self.go_on_from_each(at.unwrap_or(0), trees, &after)?;
                    self.checkpoints.truncate(at.map_or(0, |at| at + 1));
                    rows = self.checkpoints.last().map_or(0, |(_, _, rows)| *rows);
                    self.assert_has(rows);
                }
            }
        }
        let committables = run.prepare(next, true)?;
        run.commit(next, &committables)?;
        assert_eq!(numbers(&self.directory), ((0..rows).collect(), Vec::new()));
        assert_eq!(staged(&self.directory), 0);
        Ok(())
    }
}

#[test]
fn whatever_happens_each_row_is_there_once() -> Result<()> {
    let (mut crashes, mut cuts) = (0, 0);
    for seed in 0..24 {
        let directory = tempdir().expect("a temporary directory");
        let path = directory.path().join("out");
        let mut history = History {
            directory: path.clone(),
            chance: seed,
            sinks: Vec::new(),
            checkpoints: Vec::new(),
            attempts: 0,
            crashes: 0,
            cuts: 0,
        };
        let sizes = (format!("{} b", 40 + history.below(200)), format!("{} b", 20 + history.below(60)));
        let rolling = ("sink.rolling-policy.file-size", sizes.1.as_str());
        let compaction = [("auto-compaction", "true"), ("compaction.file-size", sizes.0.as_str()), rolling];
        for options in [&compaction[..], &compaction[..2], &compaction[..], &[rolling]] {
            let table = table(&path, "json", options);
            history.sinks.push((table.clone(), append_sink(&table)));
        }
        history.run()?;
        crashes += history.crashes;
        cuts += history.cuts;
    }
    assert!(crashes > 1_000 && cuts > 20, "only {crashes} and {cuts}");
    Ok(())
}
