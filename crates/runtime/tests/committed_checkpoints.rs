//! Sources hear which checkpoints are committed.

mod support;

use arrow_schema::SchemaRef;
use headpond_runtime::source::{CommittedSplit, ReadBatch, ReaderContext, Source, SourceSplit, SplitReader};
use headpond_runtime::*;
use headpond_state::CheckpointId;
use serde_json::Value;
use std::sync::{Arc, Mutex};
use support::*;

/// What was heard: checkpoints with the rows that were read in them.
#[derive(Debug, Default)]
struct Heard {
    by_source: Mutex<Vec<(u64, i64)>>,
    by_reader: Mutex<Vec<(u64, i64)>>,
    refuses: Option<u64>,
}

/// [`Numbers`] that listen.
#[derive(Debug)]
struct Listening(Numbers, Arc<Heard>);

#[derive(Debug)]
struct ListeningReader(Box<dyn SplitReader>, Arc<Heard>);

impl Source for Listening {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }
    fn is_bounded(&self) -> bool {
        self.0.is_bounded()
    }
    fn splits(&self) -> Result<Vec<SourceSplit>> {
        self.0.splits()
    }
    fn checkpoint_committed(&self, checkpoint: CheckpointId, splits: &[CommittedSplit<'_>]) -> Result<()> {
        let rows = splits.iter().map(|split| split.position.as_i64().unwrap_or(0)).sum();
        self.1.by_source.lock().expect("no panic").push((checkpoint.0, rows));
        match self.1.refuses == Some(checkpoint.0) {
            true => Err(Error::unavailable("the broker is gone")),
            false => Ok(()),
        }
    }
    fn open(&self, split: &SourceSplit, at: Option<&Value>, cx: &ReaderContext) -> Result<Box<dyn SplitReader>> {
        Ok(Box::new(ListeningReader(self.0.open(split, at, cx)?, self.1.clone())))
    }
}

impl SplitReader for ListeningReader {
    fn next(&mut self, max_rows: usize) -> Result<Option<ReadBatch>> {
        self.0.next(max_rows)
    }
    fn checkpoint_committed(&mut self, checkpoint: CheckpointId, position: &Value) -> Result<()> {
        let rows = position.as_i64().expect("a position of the source's own");
        self.1.by_reader.lock().expect("no panic").push((checkpoint.0, rows));
        Ok(())
    }
}

fn graph(numbers: Numbers, heard: &Arc<Heard>, out: &Collected) -> JobGraph {
    let mut graph = JobGraph::new();
    let source = Arc::new(Listening(numbers, heard.clone()));
    let kind = NodeKind::Source(SourceNode { source, watermarks: None, row_watermark: false });
    let input = add(&mut graph, "out/source/0", &["k", "v", "ts"], kind);
    let result = add_keyed(&mut graph, "out/totals/0", &["k", "count", "sum"], input, Totals { window: None });
    add_sink(&mut graph, "out/sink/0", result, out);
    graph
}

#[test]
fn a_source_and_its_readers_hear_of_each_committed_checkpoint_in_order() {
    let dir = tempfile::tempdir().expect("a directory");
    let (heard, out) = (Arc::new(Heard::default()), Collected::default());
    let slow = || Numbers { pause: std::time::Duration::from_millis(2), ..Numbers::new(1, 1_000_000, 100) };
    let first = graph(slow(), &heard, &out);
    let stopped = run_until(first, checkpointed(dir.path(), 2), |metrics| metrics.checkpoints().completed >= 5);
    assert_eq!(stopped.expect("it runs"), Ending::Stopped);
    let by_source = heard.by_source.lock().expect("no panic").clone();
    let by_reader = heard.by_reader.lock().expect("no panic").clone();
    assert!(by_source.len() >= 5 && !by_reader.is_empty(), "{by_source:?} {by_reader:?}");
    assert!(by_source.is_sorted() && by_source.iter().is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{by_source:?}");
    assert!(by_reader.iter().is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{by_reader:?}");
    // A reader hears what its source hears.
    assert!(by_reader.iter().all(|committed| by_source.contains(committed)), "{by_source:?} {by_reader:?}");

    // After a restore a source hears first of the checkpoint that was restored, and at last of the last one.
    let last = *by_source.last().expect("a checkpoint");
    heard.by_source.lock().expect("no panic").clear();
    let ending = run(graph(Numbers::new(1, 1_000_000, 100), &heard, &out), checkpointed(dir.path(), 1));
    assert_eq!(ending.expect("it runs"), Ending::Finished);
    let by_source = heard.by_source.lock().expect("no panic").clone();
    assert_eq!(by_source.first(), Some(&last));
    assert_eq!(by_source.last().map(|(_, rows)| *rows), Some(1_000_000));
    assert_eq!(out.current(), expected(1, 1_000_000, 100));
}

#[test]
fn a_source_that_cannot_take_the_notice_ends_the_job_and_a_restart_repeats_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let (heard, out) = (Arc::new(Heard { refuses: Some(1), ..Heard::default() }), Collected::default());
    let numbers = || Numbers::new(1, 10_000, 100);
    let failed = run(graph(numbers(), &heard, &out), checkpointed(dir.path(), 1));
    let error = failed.expect_err("the notice of checkpoint 1 was refused");
    assert!(error.to_string().contains("the broker is gone") && error.to_string().contains("out/source/0"), "{error}");
    let heard = Arc::new(Heard::default());
    run(graph(numbers(), &heard, &out), checkpointed(dir.path(), 1)).expect("it goes on");
    assert_eq!(heard.by_source.lock().expect("no panic").first().map(|(checkpoint, _)| *checkpoint), Some(1));
    assert_eq!(out.current(), expected(1, 10_000, 100));
}
