//! Reads the stored rows that a batch's rows may match, a piece at a time.

use super::rows::Kept;
use super::work::Stored;
use arrow_array::ArrayRef;
use headpond_runtime::datum::column_of;
use headpond_state::backend::{Flow, KeyBatch, ScanRange};
use headpond_state::row::Datum;
use headpond_state::{KeyedStateBackend, Result};

/// Stored rows of a piece.
const ROWS_PER_PIECE: usize = 4096;

/// Bytes of stored rows after which a piece ends.
const BYTES_PER_PIECE: usize = 1 << 20;

/// Ranges that are read together at most.
const RANGES_PER_SCAN: usize = 8192;

/// Ranges of a state, in ascending order, and how far they have been read.
#[derive(Debug, Default)]
pub(super) struct Probe {
    prefixes: KeyBatch,
    /// Where each range begins and ends behind its prefix; empty: at the prefix's beginning and end.
    starts: KeyBatch,
    ends: KeyBatch,
    /// The rows of the batch that each range is read for: from, to.
    owners: Vec<(u32, u32)>,
    next: usize,
    /// Where the next range goes on.
    resume: Option<Vec<u8>>,
    /// How many ranges the next scan takes.
    width: usize,
    scratch: Vec<Datum>,
}

/// Stored rows that have been read.
#[derive(Debug, Default)]
pub(super) struct Piece {
    /// For each row the batch's rows that it may match: from, to.
    pub(super) owners: Vec<(u32, u32)>,
    /// What is kept of each row.
    pub(super) kept: Vec<Kept>,
    /// The number of matches of each row after this batch.
    pub(super) matches: Vec<i64>,
    /// The rows' entries, where they may have to be written again.
    pub(super) keys: KeyBatch,
    /// The rows' columns.
    pub(super) columns: Vec<ArrayRef>,
    /// The rows' values, one row after the other.
    pub(super) datums: Vec<Datum>,
    bytes: usize,
}

impl Probe {
    /// Forgets all ranges.
    pub(super) fn clear(&mut self) {
        self.prefixes.clear();
        self.starts.clear();
        self.ends.clear();
        self.owners.clear();
        self.next = 0;
        self.resume = None;
        self.width = RANGES_PER_SCAN;
    }

    /// Adds everything that begins with `prefix`, for rows of the batch. Ranges are added in ascending order.
    pub(super) fn push(&mut self, prefix: &[u8], owners: (u32, u32)) {
        self.prefixes.push(prefix);
        self.owners.push(owners);
    }

    /// Adds what begins with `prefix` from `start` on and before `end`, which begin with it as well. Not to be mixed with [`push`](Self::push).
    pub(super) fn push_within(
        &mut self,
        prefix: &[u8],
        start: impl FnOnce(&mut Vec<u8>),
        end: impl FnOnce(&mut Vec<u8>),
        owners: (u32, u32),
    ) {
        self.push(prefix, owners);
        self.starts.push_with(start);
        self.ends.push_with(end);
    }

    /// Reads the next rows into `piece`; `false`: there are none any more.
    pub(super) fn read(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        stored: &Stored,
        now_ms: i64,
        piece: &mut Piece,
    ) -> Result<bool> {
        piece.clear();
        while piece.kept.is_empty() && self.next < self.owners.len() {
            self.scan(backend, stored, now_ms, piece)?;
        }
        if piece.kept.is_empty() {
            return Ok(false);
        }
        piece.matches.extend(piece.kept.iter().map(|kept| kept.matches));
        let width = stored.rows.width();
        let mut values = Vec::with_capacity(piece.kept.len());
        for (index, data_type) in stored.types.iter().enumerate() {
            values.clear();
            values.extend(piece.datums.iter().skip(index).step_by(width).cloned());
            piece.columns.push(column_of(data_type, &values)?);
        }
        Ok(true)
    }

    fn scan(
        &mut self,
        backend: &mut dyn KeyedStateBackend,
        stored: &Stored,
        now_ms: i64,
        piece: &mut Piece,
    ) -> Result<()> {
        let side = &stored.rows;
        let Probe { prefixes, starts, ends, owners, next, resume, width, scratch } = self;
        let first = *next;
        let last = (first + *width).min(owners.len());
        let at = resume.as_deref();
        let ranges: Vec<ScanRange<'_>> = (first..last)
            .map(|index| {
                let mut range = ScanRange::prefix(prefixes.get(index));
                if !starts.is_empty() {
                    range = range.at(starts.get(index)).below(ends.get(index));
                }
                match at {
                    Some(at) if index == first => range.at(at),
                    _ => range,
                }
            })
            .collect();
        let mut stopped: Option<(usize, Vec<u8>)> = None;
        let mut result = Ok(());
        backend.scan_many(stored.state, &ranges, &mut |index, entry| {
            if stopped.is_some() || result.is_err() {
                return Flow::Stop;
            }
            if piece.is_full() {
                stopped = Some((index, entry.key.to_vec()));
                return Flow::Stop;
            }
            let rest = &entry.key[ranges[index].prefix.len()..];
            match side.read(rest, entry.value, now_ms, scratch, &mut piece.datums) {
                Ok(None) => {}
                Ok(Some(kept)) => {
                    piece.bytes += entry.key.len() + entry.value.len();
                    piece.owners.push(owners[first + index]);
                    piece.kept.push(kept);
                    if side.tracked {
                        piece.keys.push(entry.key);
                    }
                }
                Err(error) => result = Err(error),
            }
            Flow::Continue
        })?;
        result?;
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

impl Piece {
    fn clear(&mut self) {
        self.owners.clear();
        self.kept.clear();
        self.matches.clear();
        self.keys.clear();
        self.columns.clear();
        self.datums.clear();
        self.bytes = 0;
    }

    fn is_full(&self) -> bool {
        self.kept.len() >= ROWS_PER_PIECE || self.bytes >= BYTES_PER_PIECE
    }
}
