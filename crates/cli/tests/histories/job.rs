//! The job, and what its output must be at a checkpoint.

use crate::place::Attempt;
use headpond_checkpoint::Manifest;
use headpond_config::Config;
use headpond_connectors::Connectors;
use headpond_runtime::{JobGraph, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The job's name.
pub(crate) const JOB: &str = "histories";
const KEYS: u64 = 7;

/// A row of the input: key and value.
pub(crate) type Row = (u64, u64);

/// All that the input files ever had, by name. Rows are added at a file's end only.
#[derive(Debug, Clone, Default)]
pub(crate) struct Input {
    files: BTreeMap<String, Vec<Row>>,
    rows: u64,
}

impl Input {
    /// Adds rows to a file, or makes it.
    pub(crate) fn grow(&mut self, place: &Path, name: &str, rows: u64) {
        let file = self.files.entry(name.to_owned()).or_default();
        for row in self.rows..self.rows + rows {
            // No row comes twice.
            file.push((row % KEYS, row));
        }
        self.rows += rows;
        self.restore(place, name);
    }

    /// The names of the files.
    pub(crate) fn names(&self) -> Vec<String> {
        self.files.keys().cloned().collect()
    }

    /// Makes a file what it was.
    pub(crate) fn restore(&self, place: &Path, name: &str) {
        write(place, name, &self.files[name]);
    }

    /// Leaves the first rows of a file: cut where it is, or another file in its place.
    pub(crate) fn shorten(&self, place: &Path, name: &str, rows: usize, replaced: bool) {
        let rows = &self.files[name][..rows.min(self.files[name].len())];
        if replaced {
            write(place, &format!("../.{name}"), rows);
            fs::rename(place.join(format!(".{name}")), place.join("in").join(name)).expect("a file");
        } else {
            let length = text(rows).len() as u64;
            let file = fs::File::options().write(true).open(place.join("in").join(name)).expect("a file");
            file.set_len(length).expect("it can be cut");
        }
    }

    /// How many rows a file has.
    pub(crate) fn len(&self, name: &str) -> u64 {
        self.files[name].len() as u64
    }

    /// The rows that a checkpoint has read.
    pub(crate) fn read_at(&self, manifest: &Manifest) -> Output {
        assert_eq!(manifest.sources.len(), 1, "a table is read once");
        let splits = &manifest.sources[0].splits;
        Output::of(splits.iter().flat_map(|split| &self.files[&split.id][..split.rows as usize]))
    }

    /// All rows.
    pub(crate) fn all(&self) -> Output {
        Output::of(self.files.values().flatten())
    }
}

/// What the job's tables hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Output {
    /// Every row, sorted.
    pub(crate) copies: Vec<Row>,
    /// Number and sum of each key's values.
    pub(crate) totals: BTreeMap<u64, (u64, u64)>,
}

impl Output {
    fn of<'a>(rows: impl Iterator<Item = &'a Row>) -> Self {
        let mut output = Output { copies: rows.copied().collect(), totals: BTreeMap::new() };
        output.copies.sort_unstable();
        for (key, value) in &output.copies {
            let total = output.totals.entry(*key).or_default();
            *total = (total.0 + 1, total.1 + value);
        }
        output
    }

    /// What is published, and what waits to be put together with later files.
    pub(crate) fn read(place: &Path) -> Self {
        let copies = lines(&place.join("out/copies"));
        let held_back = held_back(place).into_iter().flat_map(|file| lines_of(&file));
        let mut copies: Vec<Row> = copies.chain(held_back).map(|line| (line[0], line[1])).collect();
        copies.sort_unstable();
        let mut totals = BTreeMap::new();
        for line in lines(&place.join("out/totals")) {
            let before = totals.insert(line[0], (line[1], line[2]));
            assert_eq!(before, None, "key {} comes twice", line[0]);
        }
        Output { copies, totals }
    }

    /// How it differs from what it must be, if it does.
    pub(crate) fn difference(&self, wanted: &Output) -> Option<String> {
        let missing = wanted.copies.iter().filter(|row| self.copies.binary_search(row).is_err()).count();
        let too_many = self.copies.len() + missing - wanted.copies.len();
        if missing + too_many > 0 {
            return Some(format!("of {} rows {missing} are missing, and {too_many} are too many", wanted.copies.len()));
        }
        (self.totals != wanted.totals).then(|| format!("totals {:?}, not {:?}", self.totals, wanted.totals))
    }
}

/// The files of committed rows that readers do not see yet.
pub(crate) fn held_back(place: &Path) -> Vec<PathBuf> {
    let staging = place.join("out/copies/.staging");
    let note = fs::read(staging.join("committed")).unwrap_or_default();
    let note: serde_json::Value = serde_json::from_slice(&note).unwrap_or_default();
    let files = note["held_back"].as_array().into_iter().flatten();
    files.map(|file| staging.join(file["staged"].as_str().expect("a name"))).collect()
}

fn lines(dir: &Path) -> impl Iterator<Item = Vec<u64>> + use<> {
    let mut lines: Vec<Vec<u64>> = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.expect("a readable directory").path();
        if path.is_dir() || path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(['.', '_'])) {
            continue;
        }
        lines.extend(lines_of(&path));
    }
    lines.into_iter()
}

fn lines_of(path: &Path) -> Vec<Vec<u64>> {
    let text = fs::read_to_string(path).expect("text");
    let numbers = |line: &str| {
        let fields = line.split(',').map(|field| field.parse());
        fields.collect::<Result<_, _>>().unwrap_or_else(|_| panic!("{}: {line}", path.display()))
    };
    text.lines().map(numbers).collect()
}

fn text(rows: &[Row]) -> String {
    rows.iter().map(|(key, value)| format!("{key},{value}\n")).collect()
}

fn write(place: &Path, name: &str, rows: &[Row]) {
    let dir = place.join("in");
    fs::create_dir_all(&dir).expect("a directory");
    fs::write(dir.join(name), text(rows)).expect("a file");
}

/// The job's SQL.
pub(crate) fn sql(place: &Path, attempt: &Attempt) -> String {
    let Attempt { rows_per_second, files, .. } = attempt;
    let path = |name: &str| place.join(name).display().to_string();
    format!(
        "CREATE TABLE numbers (k BIGINT, v BIGINT) WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'csv',
             'scan.rows-per-second' = '{rows_per_second}');
         CREATE TABLE copies (k BIGINT, v BIGINT)
             WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'csv'{files});
         CREATE TABLE totals (k BIGINT, n BIGINT, total BIGINT, PRIMARY KEY (k) NOT ENFORCED)
             WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'csv');
         INSERT INTO copies SELECT k, v FROM numbers;
         INSERT INTO totals SELECT k, COUNT(*), SUM(v) FROM numbers GROUP BY k;\n",
        path("in"),
        path("out/copies"),
        path("out/totals"),
    )
}

/// The job's graph.
pub(crate) fn graph(place: &Path, attempt: &Attempt) -> Result<JobGraph> {
    let text = sql(place, attempt);
    let script = headpond_sql::parse(&text, "job.sql")?;
    headpond_sql::plan(&script, Config::default(), &Connectors::built_in()).map(|job| job.graph)
}
