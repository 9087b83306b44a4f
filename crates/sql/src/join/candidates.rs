//! Stored rows that a batch's rows may match.

use super::rows::Kept;
use arrow_array::ArrayRef;
use headpond_rows::arrow::datum_at;
use headpond_state::Result;
use headpond_state::backend::KeyBatch;
use headpond_state::schema::Datum;

/// The most stored rows that are read at once.
const CANDIDATES_MAX: usize = 4096;

/// Bytes of stored rows after which no more are read at once.
const CANDIDATE_BYTES_MAX: usize = 1 << 20;

/// Stored rows that have been read.
#[derive(Debug, Default)]
pub(super) struct Candidates {
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
    /// The values of the rows' columns.
    pub(super) values: Vec<Vec<Datum>>,
    /// The same where all of them are numbers.
    pub(super) numbers: Vec<Vec<Option<i64>>>,
    pub(super) bytes: usize,
}

impl Candidates {
    pub(super) fn clear(&mut self) {
        self.owners.clear();
        self.kept.clear();
        self.matches.clear();
        self.keys.clear();
        self.columns.clear();
        self.values.iter_mut().for_each(Vec::clear);
        self.numbers.iter_mut().for_each(Vec::clear);
        self.bytes = 0;
    }

    /// Appends the values of a row.
    pub(super) fn push_row(&self, row: usize, datums: &mut Vec<Datum>) -> Result<()> {
        for column in &self.columns {
            datums.push(datum_at(column.as_ref(), row)?);
        }
        Ok(())
    }

    pub(super) fn is_full(&self) -> bool {
        self.kept.len() >= CANDIDATES_MAX || self.bytes >= CANDIDATE_BYTES_MAX
    }
}
