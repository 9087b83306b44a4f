//! Reads the stored rows that a batch's rows may match, some thousands at a time.

use super::candidates::Candidates;
use super::stored::Stored;
use headpond_rows::arrow::column_of;
use headpond_runtime::numbers::column_of_numbers;
use headpond_state::backend::{KeyBatch, ScanRange};
use headpond_state::encoding::put_i64;
use headpond_state::schema::Datum;
use headpond_state::{KeyedStateBackend, Result};
use std::ops::ControlFlow;

/// Ranges that are read together at most.
const RANGES_PER_SCAN: usize = 8192;

/// Ranges of a state, in ascending order, and how far they have been read.
#[derive(Debug, Default)]
pub(super) struct Probe {
    /// Where each range begins.
    starts: KeyBatch,
    /// How many bytes of that are the prefix of the range.
    prefix_lens: Vec<usize>,
    /// Where each range ends; empty: with its prefix.
    ends: KeyBatch,
    /// The rows of the batch that each range is read for: from, to.
    owners: Vec<(u32, u32)>,
    next: usize,
    /// Where the next range goes on.
    resume: Option<Vec<u8>>,
    /// How many ranges the next scan takes.
    width: usize,
    scratch: Vec<Datum>,
    numbers: Vec<Option<i64>>,
}

impl Probe {
    /// Forgets all ranges.
    pub(super) fn clear(&mut self) {
        self.starts.clear();
        self.prefix_lens.clear();
        self.ends.clear();
        self.owners.clear();
        self.next = 0;
        self.resume = None;
        self.width = RANGES_PER_SCAN;
    }

    /// Adds everything that begins with `prefix`, for rows of the batch. Ranges are added in ascending order.
    pub(super) fn push(&mut self, prefix: &[u8], owners: (u32, u32)) {
        self.starts.push(prefix);
        self.prefix_lens.push(prefix.len());
        self.owners.push(owners);
    }

    /// Adds what begins with `prefix` and goes on with a time from `first_ms` to `last_ms`, both inclusive. Not to be
    /// mixed with [`push`](Self::push).
    pub(super) fn push_times(&mut self, prefix: &[u8], (first_ms, last_ms): (i64, i64), owners: (u32, u32)) {
        let bound = |time_ms: i64| {
            move |out: &mut Vec<u8>| {
                out.extend_from_slice(prefix);
                put_i64(time_ms, out);
            }
        };
        self.starts.push_with(bound(first_ms));
        self.ends.push_with(bound(last_ms.saturating_add(1)));
        self.prefix_lens.push(prefix.len());
        self.owners.push(owners);
    }

    /// Reads the next rows into `candidates`; `false`: there are none any more.
    pub(super) fn read(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        stored: &Stored,
        now_ms: i64,
        candidates: &mut Candidates,
    ) -> Result<bool> {
        candidates.clear();
        let columns = stored.types.len();
        let (values, numbers) = if stored.rows.of_numbers { (0, columns) } else { (columns, 0) };
        candidates.values.resize_with(values, Vec::new);
        candidates.numbers.resize_with(numbers, Vec::new);
        while candidates.kept.is_empty() && self.next < self.owners.len() {
            self.scan(backend, stored, now_ms, candidates)?;
        }
        if candidates.kept.is_empty() {
            return Ok(false);
        }
        candidates.matches.extend(candidates.kept.iter().map(|kept| kept.matches));
        for (values, data_type) in candidates.values.iter().zip(&stored.types) {
            candidates.columns.push(column_of(data_type, values)?);
        }
        for (numbers, data_type) in candidates.numbers.iter().zip(&stored.types) {
            candidates.columns.push(column_of_numbers(data_type, numbers)?);
        }
        Ok(true)
    }

    fn scan(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        stored: &Stored,
        now_ms: i64,
        candidates: &mut Candidates,
    ) -> Result<()> {
        let side = &stored.rows;
        let Probe { starts, prefix_lens, ends, owners, next, resume, width, scratch, numbers } = self;
        let first = *next;
        let last = (first + *width).min(owners.len());
        let at = resume.as_deref();
        let ranges: Vec<ScanRange<'_>> = (first..last)
            .map(|index| {
                let start = starts.get(index);
                let mut range = ScanRange::prefix(&start[..prefix_lens[index]]);
                if !ends.is_empty() {
                    range = range.at(start).below(ends.get(index));
                }
                match at {
                    Some(at) if index == first => range.at(at),
                    _ => range,
                }
            })
            .collect();
        let mut stopped: Option<(usize, Vec<u8>)> = None;
        backend.scan_many(stored.state, &ranges, &mut |index, entry| {
            if stopped.is_some() {
                return Ok(ControlFlow::Break(()));
            }
            if candidates.is_full() {
                stopped = Some((index, entry.key.to_vec()));
                return Ok(ControlFlow::Break(()));
            }
            let kept = if side.of_numbers {
                side.read_numbers(entry.value, now_ms, numbers, &mut candidates.numbers)?
            } else {
                let rest = &entry.key[ranges[index].prefix.len()..];
                side.read(rest, entry.value, now_ms, scratch, &mut candidates.values)?
            };
            if let Some(kept) = kept {
                candidates.bytes += entry.key.len() + entry.value.len();
                candidates.owners.push(owners[first + index]);
                candidates.kept.push(kept);
                if side.tracked {
                    candidates.keys.push(entry.key);
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        match stopped {
            Some((index, key)) => {
                *next = first + index;
                *resume = Some(key);
                // What was in vain this time: the ranges behind.
                *width = index.max(1);
            }
            None => {
                *next = last;
                *resume = None;
                *width = (*width * 2).min(RANGES_PER_SCAN);
            }
        }
        Ok(())
    }
}
