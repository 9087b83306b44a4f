//! The connector in SQL and in the stream API: killed, gone on with, and equal to what was counted at once.

use headpond::prelude::*;
use headpond::stream::{Change, ChangeKind, ConnectorTable};
use headpond_example_own_connector::Ledger;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

/// Lines of a ledger over 50 accounts; every seventh deletes one, known or not, and some are said twice.
fn ledger(lines: u64) -> String {
    let line = |n: u64| match (n % 7, format!("account{}", n * 31 % 50)) {
        (6, account) => format!("delete {account}\n"),
        (5, account) => format!("put {account} {n}\nput {account} {n}\n"),
        (_, account) => format!("put {account} {n}\n"),
    };
    (0..lines).map(line).collect()
}

/// The current rows that a ledger leaves.
fn current(text: &str) -> BTreeMap<String, i64> {
    let mut rows = BTreeMap::new();
    for line in text.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["put", key, number] => drop(rows.insert(key.to_owned(), number.parse().expect("a number"))),
            ["delete", key] => drop(rows.remove(key)),
            _ => panic!("no line of a ledger: {line}"),
        }
    }
    rows
}

/// What the published files of a sink leave, in the order of their checkpoints.
fn written(directory: &Path) -> BTreeMap<String, i64> {
    let files = fs::read_dir(directory).expect("the sink's directory").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> =
        files.filter(|path| !path.file_name().expect("a name").as_encoded_bytes().starts_with(b".")).collect();
    files.sort();
    current(&files.iter().map(|path| fs::read_to_string(path).expect("a text")).collect::<String>())
}

const JOB: &str = "SET 'execution.checkpointing.dir' = 'file:checkpoints';
    SET 'execution.checkpointing.interval' = '20 ms';
    CREATE TABLE accounts (k STRING, v BIGINT, PRIMARY KEY (k) NOT ENFORCED)
      WITH ('connector' = 'ledger', 'path' = 'in.ledger'FOLLOW);
    CREATE TABLE tens (k STRING, v BIGINT) WITH ('connector' = 'ledger', 'path' = 'out');
    INSERT INTO tens SELECT SUBSTRING(k FROM 1 FOR 8), SUM(v) FROM accounts GROUP BY SUBSTRING(k FROM 1 FOR 8);";

fn start(dir: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headpond-example-own-connector"));
    command.args(arguments).current_dir(dir).env("XDG_RUNTIME_DIR", dir);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

fn run(dir: &Path, arguments: &[&str]) -> Output {
    start(dir, arguments).wait_with_output().expect("it ends")
}

/// Sums by the first digit of an account.
fn sums(rows: &BTreeMap<String, i64>) -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    rows.iter().for_each(|(key, number)| *sums.entry(key[..8].to_owned()).or_default() += number);
    sums
}

#[test]
fn sql_reads_changes_and_writes_them_exactly_once_through_kills() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path();
    let text = ledger(4000);
    fs::write(path.join("job.sql"), JOB.replace("FOLLOW", ", 'follow' = 'true'")).expect("a file");
    fs::write(path.join("in.ledger"), "").expect("a file");
    // Parts of the ledger come while the job runs, and it is killed after each.
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (part, parallelism) in lines.chunks(lines.len() / 3 + 1).zip(["1", "3", "2"]) {
        let mut job = start(path, &["run", "job.sql", "--parallelism", parallelism]);
        for piece in part.chunks(100) {
            let mut file = fs::OpenOptions::new().append(true).open(path.join("in.ledger")).expect("a file");
            file.write_all(piece.concat().as_bytes()).expect("it can be written");
            thread::sleep(Duration::from_millis(15));
        }
        job.kill().expect("it runs");
        job.wait().expect("it is gone");
    }
    fs::write(path.join("job.sql"), JOB.replace("FOLLOW", "")).expect("a file");
    let ran = run(path, &["run", "job.sql"]);
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.contains("resumed from checkpoint"), "{said}");
    assert_eq!(written(&path.join("out")), sums(&current(&text)));
    // The source has heard of the last checkpoint, and where it stood.
    let heard = fs::read_to_string(path.join("in.committed")).expect("a note");
    assert!(heard.contains(&format!("\"position\":{}", text.len())), "{heard}");
    let explained = run(path, &["explain", "job.sql"]);
    let explained = String::from_utf8_lossy(&explained.stdout).into_owned();
    assert!(explained.contains("accounts/changelog-normalize/0") && explained.contains("last row"), "{explained}");
}

#[test]
fn a_column_that_the_kept_rows_were_read_without_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("in.ledger"), ledger(100)).expect("a file");
    let write = |filter: &str| {
        let job = JOB.replace("FOLLOW", "").replace("SUM(v)", "COUNT(*)");
        let job = job.replace("FROM accounts", &format!("FROM accounts{filter}"));
        fs::write(dir.path().join("job.sql"), job).expect("a file");
    };
    write("");
    assert!(run(dir.path(), &["run", "job.sql"]).status.success());
    write(" WHERE v >= 0");
    let refused = run(dir.path(), &["check", "job.sql", "--against", "checkpoints/job"]);
    let said = format!("{}{}", String::from_utf8_lossy(&refused.stdout), String::from_utf8_lossy(&refused.stderr));
    assert_eq!(refused.status.code(), Some(4), "{said}");
    assert!(
        said.contains("accounts/changelog-normalize/0") && said.contains("`rows with k` and is now `rows with k, v`"),
        "{said}"
    );
}

#[test]
fn options_are_checked_as_those_of_other_connectors() {
    let dir = tempfile::tempdir().expect("a directory");
    let refused = |from: &str, to: &str| {
        fs::write(dir.path().join("job.sql"), JOB.replace("FOLLOW", "").replace(from, to)).expect("a file");
        let ran = run(dir.path(), &["run", "job.sql"]);
        assert_eq!(ran.status.code(), Some(2));
        String::from_utf8_lossy(&ran.stderr).into_owned()
    };
    assert!(refused("'path' = 'in", "'pat' = 'in").contains("did you mean 'path'?"));
    assert!(refused("'ledger', 'path' = 'in", "'leger', 'path' = 'in").contains("did you mean 'ledger'?"));
    assert!(refused("'in.ledger'", "'in.ledger', 'follow' = 'perhaps'").contains("true or false"));
    assert!(refused(", PRIMARY KEY (k) NOT ENFORCED", "").contains("PRIMARY KEY (…) NOT ENFORCED"));
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "headpond::serde")]
struct Row {
    k: String,
    /// Not known of an account that is gone.
    v: Option<i64>,
}

#[test]
fn the_stream_api_sees_the_changes_and_writes_rows() -> headpond::Result<()> {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).display().to_string();
    let text = ledger(500);
    fs::write(path("in.ledger"), &text).expect("a file");
    let env = StreamExecutionEnvironment::new();
    env.set_state_backend(HashMapStateBackend::new());
    let table = || ConnectorTable::<Row>::new(Ledger).with_option("path", path("in.ledger"));
    env.changes_from_connector(table())
        .filter(|change: &Change<Row>| change.kind != ChangeKind::Delete)
        .map(|change| change.record)
        .write_to_connector(ConnectorTable::new(Ledger).with_option("path", path("out")));
    env.execute("ledger")?;
    let puts: String = text.lines().filter(|line| line.starts_with("put")).map(|line| format!("{line}\n")).collect();
    assert_eq!(written(&dir.path().join("out")), current(&puts));

    let env = StreamExecutionEnvironment::new();
    env.from_connector(table()).for_each(|_| Ok(()));
    let error = env.execute("refused").expect_err("its rows may be taken back");
    assert!(error.to_string().contains("taken back"), "{error}");
    Ok(())
}
