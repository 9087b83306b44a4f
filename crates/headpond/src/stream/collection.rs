//! A collection as a source: bounded, and readable again from any index.

use super::record::{RecordColumn, schema};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use headpond_runtime::source::{ReadBatch, ReaderContext, Source, SourceSplit, SplitReader};
use headpond_state::{Error, Result};
use serde::Serialize;
use serde_json::Value;

/// Records held in memory. A position is the index of the next one.
#[derive(Debug)]
pub(super) struct Collection {
    rows: RecordBatch,
}

impl Collection {
    pub(super) fn new<T: Serialize>(records: impl IntoIterator<Item = T>) -> Result<Self> {
        let mut column = RecordColumn::default();
        for record in records {
            column.push(&record)?;
        }
        Ok(Collection { rows: column.finish(&schema([]), Vec::new())? })
    }

    pub(super) fn empty() -> Self {
        Collection { rows: RecordBatch::new_empty(schema([])) }
    }
}

impl Source for Collection {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }

    fn is_bounded(&self) -> bool {
        true
    }

    fn splits(&self) -> Result<Vec<SourceSplit>> {
        Ok(vec![SourceSplit { id: "collection".to_owned() }])
    }

    fn open(&self, _: &SourceSplit, position: Option<&Value>, _: &ReaderContext) -> Result<Box<dyn SplitReader>> {
        let next = match position {
            None => 0,
            Some(position) => index(position).filter(|next| *next <= self.rows.num_rows()).ok_or_else(|| {
                Error::incompatible(format!(
                    "the checkpoint was taken before record {position} of a collection that has {}",
                    self.rows.num_rows()
                ))
                .hint("run the job with the collection it had, or with `Restore::None`")
            })?,
        };
        Ok(Box::new(CollectionReader { rows: self.rows.clone(), next }))
    }
}

fn index(position: &Value) -> Option<usize> {
    position.as_u64().and_then(|index| usize::try_from(index).ok())
}

#[derive(Debug)]
struct CollectionReader {
    rows: RecordBatch,
    next: usize,
}

impl SplitReader for CollectionReader {
    fn next(&mut self, max_rows: usize) -> Result<Option<ReadBatch>> {
        let count = max_rows.min(self.rows.num_rows() - self.next);
        if count == 0 {
            return Ok(None);
        }
        let rows = self.rows.slice(self.next, count);
        self.next += count;
        Ok(Some(ReadBatch { rows, position: self.next.into(), skipped: 0 }))
    }
}
