//! Several splits: in which order they are read, which of their rows are late, and what of that depends on nothing but
//! the splits.

mod support;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::SchemaRef;
use headpond_runtime::source::{ROW_WATERMARK_COLUMN, ReadBatch, ReaderContext, Source, SourceSplit, SplitReader};
use headpond_runtime::*;
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::*;

const WINDOW: i64 = 100;

/// Rows `(split, n, ts)` of splits with these times.
#[derive(Debug, Clone)]
struct Timed {
    splits: Arc<Vec<Vec<i64>>>,
    /// The most rows a reader gives at once.
    batch: usize,
    /// Never ends: gives empty batches after its rows.
    unbounded: bool,
    pause: Duration,
    /// How many of the splits are there by now; the source is watched for the others.
    there: Option<Arc<AtomicUsize>>,
    open: Arc<AtomicUsize>,
    most_open: Arc<AtomicUsize>,
}

impl Timed {
    fn new(splits: Vec<Vec<i64>>, batch: usize) -> Self {
        Timed {
            splits: Arc::new(splits),
            batch,
            unbounded: false,
            pause: Duration::ZERO,
            there: None,
            open: Arc::default(),
            most_open: Arc::default(),
        }
    }

    fn rows(&self) -> u64 {
        self.splits.iter().map(|times| times.len() as u64).sum()
    }
}

impl Source for Timed {
    fn schema(&self) -> SchemaRef {
        schema(&["k", "v", "ts"])
    }
    fn is_bounded(&self) -> bool {
        !self.unbounded && self.there.is_none()
    }
    fn splits_end(&self) -> bool {
        !self.unbounded
    }
    fn monitor_interval(&self) -> Option<Duration> {
        self.there.as_ref().map(|_| Duration::from_millis(3))
    }
    fn splits(&self) -> Result<Vec<SourceSplit>> {
        let there = self.there.as_ref().map_or(self.splits.len(), |there| there.load(Ordering::SeqCst));
        Ok((0..there).map(|split| SourceSplit { id: split.to_string() }).collect())
    }
    fn open(&self, split: &SourceSplit, position: Option<&Value>, _: &ReaderContext) -> Result<Box<dyn SplitReader>> {
        let next = position.and_then(Value::as_u64).unwrap_or(0) as usize;
        let open = self.open.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_open.fetch_max(open, Ordering::SeqCst);
        Ok(Box::new(TimedReader { of: self.clone(), split: split.id.parse().expect("a number"), next }))
    }
}

#[derive(Debug)]
struct TimedReader {
    of: Timed,
    split: usize,
    next: usize,
}

impl SplitReader for TimedReader {
    fn next(&mut self, max_rows: usize) -> Result<Option<ReadBatch>> {
        std::thread::sleep(self.of.pause);
        let times = &self.of.splits[self.split];
        let range = self.next..(self.next + max_rows.min(self.of.batch)).min(times.len());
        if range.is_empty() {
            if !self.of.unbounded {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.next = range.end;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(range.clone().map(|_| self.split as i64))),
            Arc::new(Int64Array::from_iter_values(range.clone().map(|n| n as i64))),
            Arc::new(Int64Array::from_iter_values(range.clone().map(|n| times[n]))),
        ];
        let rows = RecordBatch::try_new(schema(&["k", "v", "ts"]), columns).expect("columns fit");
        Ok(Some(ReadBatch::inserts(rows, range.end.into())))
    }
}

impl Drop for TimedReader {
    fn drop(&mut self) {
        self.of.open.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Windows of each split's rows.
fn windows(source: &Timed, delay: i64, sink: &Collected) -> JobGraph {
    let mut graph = JobGraph::new();
    let kind = NodeKind::Source(SourceNode {
        source: Arc::new(source.clone()),
        watermarks: Some(Arc::new(move || Ok(Box::new(Trailing(delay))))),
        row_watermark: true,
    });
    let input = add(&mut graph, "out/source/0", &["k", "v", "ts", ROW_WATERMARK_COLUMN], kind);
    let totals = Totals { window: Some(WINDOW) };
    let totals = add_keyed(&mut graph, "out/totals/0", &["k", "count", "sum"], input, totals);
    add_sink(&mut graph, "out/sink/0", totals, sink);
    graph
}

/// What windows give, by what each split says by itself: a row is late when the rows before it in its split have
/// brought the watermark to the end of its window.
fn expected(splits: &[Vec<i64>], delay: i64) -> Vec<Vec<i64>> {
    let mut windows: BTreeMap<(usize, i64), (i64, i64)> = BTreeMap::new();
    for (split, times) in splits.iter().enumerate() {
        let mut watermark = i64::MIN;
        for (n, ts) in times.iter().enumerate() {
            let end = (ts.div_euclid(WINDOW) + 1) * WINDOW;
            if end - 1 > watermark {
                let of_window = windows.entry((split, end)).or_default();
                *of_window = (of_window.0 + 1, of_window.1 + n as i64);
            }
            watermark = watermark.max(ts - delay);
        }
    }
    let mut rows: Vec<Vec<i64>> =
        windows.into_iter().map(|((split, _), (count, sum))| vec![split as i64, count, sum]).collect();
    rows.sort();
    rows
}

fn given(sink: &Collected) -> Vec<Vec<i64>> {
    let mut rows: Vec<Vec<i64>> = sink.changes().into_iter().map(|(_, row)| row).collect();
    rows.sort();
    rows
}

/// Times that go on, with some disorder, and now and then one that is very far ahead.
fn times() -> impl Strategy<Value = Vec<i64>> {
    let step = prop_oneof![20 => -80..120_i64, 1 => Just(100_000)];
    (-500..2000_i64, prop::collection::vec(step, 0..300)).prop_map(|(start, steps)| {
        let mut now = start;
        steps
            .into_iter()
            .map(|step| match step {
                100_000 => now + 100_000,
                step => {
                    now += step;
                    now
                }
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, rng_seed: proptest::test_runner::RngSeed::Fixed(11), ..Default::default() })]

    #[test]
    fn a_row_is_late_by_its_split_alone_whoever_reads_it_and_whenever_the_job_is_restored(
        splits in prop::collection::vec(times(), 1..9),
        delay in 0..150_i64,
        batch in 1..40_usize,
        runs in prop::collection::vec((1..6_usize, 0..100_u64), 0..3),
        last in 1..6_usize,
    ) {
        let dir = tempfile::tempdir().expect("a directory");
        let sink = Collected::default();
        let source = Timed { pause: Duration::from_micros(200), ..Timed::new(splits.clone(), batch) };
        for (parallelism, percent) in runs {
            let enough = source.rows() * percent / 100;
            run_until(windows(&source, delay, &sink), checkpointed(dir.path(), parallelism), |metrics| {
                metrics.rows_read() >= enough
            })
            .expect("the job stops");
        }
        run(windows(&source, delay, &sink), checkpointed(dir.path(), last)).expect("the job ends");
        prop_assert_eq!(given(&sink), expected(&splits, delay));
    }
}

#[test]
fn files_of_the_same_days_are_read_together_however_many_there_are() {
    let dealt = |splits: i64| (0..splits).map(|split| (0..60).map(|n| (n * splits + split) * 7).collect()).collect();
    for (splits, parallelism) in [(4, 1), (4, 3), (90, 1), (90, 2)] {
        let dir = tempfile::tempdir().expect("a directory");
        let source = Timed::new(dealt(splits), 10);
        let sink = Collected::default();
        run(windows(&source, 0, &sink), options(dir.path(), parallelism)).expect("the job runs");
        assert_eq!(given(&sink), expected(&source.splits, 0), "{splits} splits, {parallelism} workers");
        let most = source.most_open.load(Ordering::SeqCst);
        assert!(most <= 33 * parallelism, "{most} splits were open");
    }
}

#[test]
fn files_that_follow_one_another_in_time_are_opened_one_after_another_whatever_their_names() {
    // Neighbours overlap a little.
    let mut splits: Vec<Vec<i64>> = (0..200).map(|split| (0..25).map(|n| split * 200 + n * 10).collect()).collect();
    splits.reverse();
    let dir = tempfile::tempdir().expect("a directory");
    let source = Timed::new(splits, 5);
    let sink = Collected::default();
    run(windows(&source, 20, &sink), options(dir.path(), 1)).expect("the job runs");
    assert_eq!(given(&sink), expected(&source.splits, 20));
    let most = source.most_open.load(Ordering::SeqCst);
    assert!(most <= 4, "{most} splits were open");
}

#[test]
fn splits_without_end_all_advance_also_one_that_is_far_ahead() {
    let far: Vec<i64> = (0..500).map(|n| 1_000_000_000 + n).collect();
    for parallelism in [1, 2] {
        let dir = tempfile::tempdir().expect("a directory");
        let source = Timed { unbounded: true, ..Timed::new(vec![far.clone(), (0..500).collect(), vec![]], 50) };
        let sink = Collected::default();
        let options = options(dir.path(), parallelism);
        let ending = run_until(windows(&source, 0, &sink), options, |metrics| metrics.rows_read() == 1000);
        assert_eq!(ending.expect("the job stops"), Ending::Stopped);
    }
}

#[test]
fn a_split_that_is_idle_holds_back_nothing_and_one_that_is_not_holds_back_the_others_on_its_reader() {
    for idle_timeout in [None, Some(Duration::from_millis(30))] {
        for parallelism in [1, 2] {
            let dir = tempfile::tempdir().expect("a directory");
            let source = Timed { unbounded: true, ..Timed::new(vec![vec![], (0..1000).collect(), vec![]], 100) };
            let sink = Collected::default();
            let written = sink.written.clone();
            let options = JobOptions { source_idle_timeout: idle_timeout, ..options(dir.path(), parallelism) };
            let ending = run_until(windows(&source, 0, &sink), options, |metrics| match idle_timeout {
                Some(_) => written.load(Ordering::SeqCst) == 10,
                None => {
                    std::thread::sleep(Duration::from_millis(100));
                    metrics.rows_read() == 1000
                }
            });
            assert_eq!(ending.expect("the job stops"), Ending::Stopped);
            assert_eq!(given(&sink).len(), if idle_timeout.is_some() { 10 } else { 0 });
        }
    }
}

#[test]
fn splits_that_are_found_while_the_job_runs_are_read_once_each_through_restores_at_any_parallelism() {
    let dir = tempfile::tempdir().expect("a directory");
    let there = Arc::new(AtomicUsize::new(0));
    let splits: Vec<Vec<i64>> = (0..12).map(|split| (0..100).map(|n| split * 1000 + n * 10).collect()).collect();
    let source = Timed { there: Some(there.clone()), ..Timed::new(splits, 30) };
    let sink = Collected::default();
    let mut before = 0;
    for parallelism in [1, 3, 2] {
        let shown = AtomicUsize::new(0);
        let ending = run_until(windows(&source, 0, &sink), checkpointed(dir.path(), parallelism), |metrics| {
            // One more as soon as all that are there were read; the last of a run may be found and not read.
            let read = before + metrics.rows_read();
            if read == there.load(Ordering::SeqCst) as u64 * 100 && shown.fetch_add(1, Ordering::SeqCst) < 4 {
                there.fetch_add(1, Ordering::SeqCst);
            }
            shown.load(Ordering::SeqCst) > 4
        });
        assert_eq!(ending.expect("the job stops"), Ending::Stopped);
        before = there.load(Ordering::SeqCst) as u64 * 100;
    }
    // The last window is still open: more may come.
    let mut expected = expected(&source.splits, 0);
    expected.retain(|row| row[0] < 11);
    let mut closed = given(&sink);
    closed.retain(|row| row[0] < 11);
    assert_eq!(closed, expected);
}
