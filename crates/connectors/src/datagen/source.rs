//! The source.

use super::generator::Generator;
use crate::column::Column;
use crate::options::{Options, declared};
use crate::row_splits::{RowSplits, Rows};
use crate::table::TableDescription;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use headpond_runtime::batch::arrow_error;
use headpond_runtime::source::{Backlog, ReadBatch, ReaderContext, Source, SourceSplit, SplitReader};
use headpond_runtime::{Error, Result};
use headpond_state::{Context, Remedy};
use serde_json::Value;
use std::sync::Arc;

/// The splits of a bounded table, unless its options say another number.
const SPLITS: u64 = 4;
/// The most rows of a batch.
const BATCH_ROWS: usize = 8_192;

/// The source of a table of made rows.
#[derive(Debug)]
struct DatagenSource {
    schema: SchemaRef,
    generators: Vec<Generator>,
    rows: RowSplits,
    rows_per_second: u64,
    seed: i64,
}

/// Makes the rows of one split.
#[derive(Debug)]
struct DatagenReader {
    schema: SchemaRef,
    generators: Vec<Generator>,
    columns: Vec<Column>,
    rows: Rows,
    seed: i64,
}

/// Makes the source of a table whose connector is `datagen`.
pub(crate) fn source(table: &TableDescription, projection: Option<&[usize]>) -> Result<Arc<dyn Source>> {
    let options = Options::new(table);
    // A column that is not read may end the table all the same.
    let all = table.schema.fields().iter().map(|field| Generator::of(table, field)).collect::<Result<Vec<_>>>()?;
    let ends = all.iter().filter_map(Generator::rows_max);
    let number_of_rows = options.get(&declared::NUMBER_OF_ROWS)?;
    let rows = ends.chain(number_of_rows).min();
    let schema = table.projected(projection)?;
    let generators = match projection {
        None => all,
        Some(columns) => columns.iter().map(|&column| all[column].clone()).collect(),
    };
    let default = rows.map_or(1, |rows| SPLITS.min(rows.max(1)));
    Ok(Arc::new(DatagenSource {
        schema,
        generators,
        rows: RowSplits { rows, splits: options.get(&declared::SPLITS)?.unwrap_or(default), in_turn: false },
        rows_per_second: options.get(&declared::ROWS_PER_SECOND)?,
        seed: options.get(&declared::SEED)?,
    }))
}

impl Source for DatagenSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn is_bounded(&self) -> bool {
        self.rows.rows.is_some()
    }

    fn rows_per_second(&self) -> Option<u64> {
        Some(self.rows_per_second)
    }

    fn splits(&self) -> Result<Vec<SourceSplit>> {
        Ok(self.rows.splits())
    }

    fn backlog(&self, split: &SourceSplit, position: Option<&Value>) -> Option<Backlog> {
        self.rows.backlog(split, position)
    }

    fn open(&self, split: &SourceSplit, at: Option<&Value>, _: &ReaderContext) -> Result<Box<dyn SplitReader>> {
        let rows = self.rows.open(split, at, declared::NUMBER_OF_ROWS.key())?;
        // Earlier releases did not note it.
        let seed_before = at.and_then(|at| at.get("seed")?.as_i64()).unwrap_or(self.seed);
        if seed_before != self.seed {
            return Err(Error::incompatible(format!(
                "the rows before the checkpoint were made from seed {seed_before}"
            ))
            .with(Context::Option, declared::SEED.key())
            .hint("change 'seed' back")
            .remedy(Remedy::StartAnew));
        }
        let columns = self.schema.fields().iter().map(|field| Column::new(field.clone())).collect::<Result<_>>()?;
        Ok(Box::new(DatagenReader {
            schema: self.schema(),
            generators: self.generators.clone(),
            columns,
            rows,
            seed: self.seed,
        }))
    }
}

impl SplitReader for DatagenReader {
    fn next(&mut self, max_rows: usize) -> Result<Option<ReadBatch>> {
        let left = self.rows.left();
        if left == 0 {
            return Ok(None);
        }
        let count = max_rows.min(BATCH_ROWS).min(left);
        for row in self.rows.take(count) {
            for (generator, column) in self.generators.iter().zip(&mut self.columns) {
                generator
                    .append(row, column)
                    .map_err(|problem| Error::internal(problem.0).with(Context::Column, column.name()))?;
            }
        }
        let mut position = self.rows.position();
        position["seed"] = self.seed.into();
        let columns = self.columns.iter_mut().map(Column::finish).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let rows = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options).map_err(arrow_error)?;
        Ok(Some(ReadBatch::inserts(rows, position)))
    }
}
