//! A panic, in whatever thread, ends the job with its text.

mod support;

use headpond_checkpoint::failpoints::{BEFORE_MANIFEST, BEFORE_UPLOAD};
use headpond_checkpoint::{CheckpointStorage, Failpoints, StorageOptions};
use headpond_runtime::checkpointing::BEFORE_SINK_COMMIT;
use headpond_runtime::link::Link;
use headpond_runtime::operator::{KeyedOperator, KeyedOperatorFactory, OperatorContext, OperatorSetup, Progress};
use headpond_runtime::source::{ReadBatch, ReaderContext, Source, SourceSplit, SplitReader};
use headpond_runtime::*;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::*;

const PLANTED: &str = "a planted panic";

fn assert_planted(ended: Result<Ending>, place: &str) {
    let error = ended.expect_err("a panic was planted");
    assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
    assert!(error.to_string().contains(PLANTED), "{error}");
    assert!(error.to_string().contains(place), "{error}");
}

/// [`Numbers`], whose readers panic once they have read all.
#[derive(Debug)]
struct Panicking(Numbers);

impl Source for Panicking {
    fn schema(&self) -> arrow_schema::SchemaRef {
        self.0.schema()
    }
    fn is_bounded(&self) -> bool {
        true
    }
    fn splits(&self) -> Result<Vec<SourceSplit>> {
        self.0.splits()
    }
    fn open(&self, split: &SourceSplit, position: Option<&Value>, cx: &ReaderContext) -> Result<Box<dyn SplitReader>> {
        Ok(Box::new(PanickingReader(self.0.open(split, position, cx)?)))
    }
}

#[derive(Debug)]
struct PanickingReader(Box<dyn SplitReader>);

impl SplitReader for PanickingReader {
    fn next(&mut self, max_rows: usize) -> Result<Option<ReadBatch>> {
        match self.0.next(max_rows)? {
            Some(batch) => Ok(Some(batch)),
            None => panic!("{PLANTED}"),
        }
    }
}

#[test]
fn a_panic_in_a_reader_ends_the_job() {
    for parallelism in [1, 2] {
        let dir = tempfile::tempdir().expect("a directory");
        let mut graph = JobGraph::new();
        let source = Arc::new(Panicking(Numbers::new(1, 20_000, 10)));
        let kind = NodeKind::Source(SourceNode { source, watermarks: None, row_watermark: false });
        let input = add(&mut graph, "out/source/0", &["k", "v", "ts"], kind);
        add_sink(&mut graph, "out/sink/0", input, &Collected::default());
        assert_planted(run(graph, checkpointed(dir.path(), parallelism)), "reader");
    }
}

/// Panics at the first row.
#[derive(Debug)]
struct PanicsAtRows;

impl KeyedOperatorFactory for PanicsAtRows {
    fn open(&self, _: OperatorSetup<'_>) -> Result<Box<dyn KeyedOperator>> {
        Ok(Box::new(PanicsAtRows))
    }
}

impl KeyedOperator for PanicsAtRows {
    fn process(&mut self, _: usize, _: &KeyedBatch, _: &mut OperatorContext<'_>) -> Result<Progress> {
        panic!("{PLANTED}")
    }
    fn resume(&mut self, _: &mut OperatorContext<'_>) -> Result<Progress> {
        Ok(Progress::Done)
    }
    fn advance(&mut self, _: &mut OperatorContext<'_>) -> Result<Progress> {
        Ok(Progress::Done)
    }
}

#[test]
fn a_panic_in_an_operator_ends_the_job() {
    for parallelism in [1, 3] {
        let dir = tempfile::tempdir().expect("a directory");
        let mut graph = JobGraph::new();
        // One key: one worker panics, the others have nothing to do.
        let endless = Numbers { unbounded: true, ..Numbers::new(2, 1000, 1) };
        let input = add_numbers(&mut graph, "out/source/0", endless);
        let result = add_keyed(&mut graph, "out/panics/0", &["k", "v", "ts"], input, PanicsAtRows);
        add_sink(&mut graph, "out/sink/0", result, &Collected::default());
        assert_planted(run(graph, checkpointed(dir.path(), parallelism)), "worker");
    }
}

/// Options of a job that panics when it passes the point `at` for the third time.
fn panicking_at(dir: &Path, at: &'static str) -> JobOptions {
    let passed = AtomicUsize::new(0);
    let failpoints = Failpoints::new(move |name| {
        if name == at && passed.fetch_add(1, Ordering::SeqCst) == 2 {
            panic!("{PLANTED}");
        }
    });
    let location = dir.join("checkpoints");
    let storage_options = StorageOptions { failpoints: failpoints.clone(), ..StorageOptions::default() };
    let storage = CheckpointStorage::open(location.to_str().expect("utf-8"), "numbers", storage_options);
    let mut options = checkpointed(dir, 2);
    let checkpointing = options.checkpointing.as_mut().expect("the job takes checkpoints");
    checkpointing.storage = storage.expect("a good location");
    checkpointing.failpoints = failpoints;
    options
}

#[test]
fn a_panic_in_an_upload_or_a_commit_ends_the_job() {
    for (at, place) in [(BEFORE_UPLOAD, "upload"), (BEFORE_MANIFEST, "I/O"), (BEFORE_SINK_COMMIT, "I/O")] {
        let dir = tempfile::tempdir().expect("a directory");
        let endless = || Numbers {
            unbounded: true,
            pause: std::time::Duration::from_millis(1),
            ..Numbers::new(2, 2_000_000, 10)
        };
        let graph = totals(endless(), None, &Collected::default());
        assert_planted(run(graph, panicking_at(dir.path(), at)), place);
    }
}

/// Panics at a message to the process.
#[derive(Debug)]
struct PanicsAtMessage {
    to: Arc<dyn Link<ToProcess>>,
    sent: AtomicUsize,
}

impl Link<ToProcess> for PanicsAtMessage {
    fn send(&self, message: ToProcess) {
        assert!(self.sent.fetch_add(1, Ordering::SeqCst) != 3, "{PLANTED}");
        self.to.send(message);
    }
}

#[test]
fn a_panic_in_the_leader_ends_the_job() {
    let dir = tempfile::tempdir().expect("a directory");
    let graph = || totals(Numbers { unbounded: true, ..Numbers::new(1, 20_000, 10) }, None, &Collected::default());
    let options = checkpointed(dir.path(), 1);
    let mut own = ProcessOptions::new(options.backend.clone(), dir.path().join("local"));
    own.files = options.checkpointing.as_ref().map(|checkpointing| checkpointing.storage.files());
    let leader = Leader::prepare(graph(), options, 1).expect("the job can be prepared");
    let process = Process::new(graph(), leader.plan().clone(), own, link::direct(leader.inbox(0)));
    let to = link::direct(process.inbox());
    let running = std::thread::spawn(move || process.run());
    let link = Arc::new(PanicsAtMessage { to, sent: AtomicUsize::new(0) });
    assert_planted(leader.run(JobControl::new(), Arc::default(), vec![link]), "leader");
    running.join().expect("the process ends");
}
