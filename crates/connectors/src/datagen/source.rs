//! The source.

use super::generator::Generator;
use crate::column::Column;
use crate::options::{Options, declared};
use crate::pace::Pace;
use crate::table::TableDescription;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use headpond_runtime::batch::arrow_error;
use headpond_runtime::source::{ReadBatch, ReaderContext, Source, SourceSplit, SplitReader};
use headpond_runtime::{Error, Result};
use headpond_state::Context;
use serde_json::{Value, json};
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
    rows: Option<u64>,
    splits: u64,
    rows_per_second: u64,
    seed: i64,
}

/// Which rows a split has: `first`, `first + step`, and so on.
#[derive(Debug, Clone, Copy)]
struct Rows {
    first: u64,
    step: u64,
    count: Option<u64>,
}

/// Makes the rows of one split.
#[derive(Debug)]
struct DatagenReader {
    schema: SchemaRef,
    generators: Vec<Generator>,
    columns: Vec<Column>,
    rows: Rows,
    /// How many of them were made.
    made: u64,
    pace: Pace,
    seed: i64,
}

/// Makes the source of a table whose connector is `datagen`.
pub(crate) fn source(table: &TableDescription, projection: Option<&[usize]>) -> Result<Arc<dyn Source>> {
    let options = Options::new(table);
    // A column that is not read may end the table all the same.
    let all = table.schema.fields().iter().map(|field| Generator::of(table, field)).collect::<Result<Vec<_>>>()?;
    let ends = all.iter().filter_map(Generator::rows_max);
    let number_of_rows = options.int(&declared::NUMBER_OF_ROWS)?.map(i64::unsigned_abs);
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
        rows,
        splits: options.int(&declared::SPLITS)?.map_or(default, i64::unsigned_abs),
        rows_per_second: options.int(&declared::ROWS_PER_SECOND)?.map_or(1, i64::unsigned_abs),
        seed: options.int(&declared::SEED)?.unwrap_or(0),
    }))
}

impl DatagenSource {
    /// A split's id and rows.
    fn split(&self, index: u64) -> (String, Rows) {
        let Some(rows) = self.rows else {
            let rows = Rows { first: index, step: self.splits, count: None };
            return (format!("rows-{index}-of-every-{}", self.splits), rows);
        };
        let bound = |index: u64| (u128::from(rows) * u128::from(index) / u128::from(self.splits)) as u64;
        let (first, end) = (bound(index), bound(index + 1));
        (format!("rows-{first}-to-{end}"), Rows { first, step: 1, count: Some(end - first) })
    }
}

impl Source for DatagenSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn is_bounded(&self) -> bool {
        self.rows.is_some()
    }

    fn splits(&self) -> Result<Vec<SourceSplit>> {
        let splits = (0..self.splits).map(|index| self.split(index));
        let not_empty = splits.filter(|(_, rows)| rows.count != Some(0));
        Ok(not_empty.map(|(id, _)| SourceSplit { id }).collect())
    }

    fn open(&self, split: &SourceSplit, at: Option<&Value>, reader: &ReaderContext) -> Result<Box<dyn SplitReader>> {
        let rows =
            (0..self.splits).map(|index| self.split(index)).find(|(id, _)| *id == split.id).map(|(_, rows)| rows);
        let changed = "the number of rows or splits was changed: change it back, or start anew with --restore none";
        let rows = rows.ok_or_else(|| {
            Error::incompatible(format!("the checkpoint has read the table in other splits, such as '{}'", split.id))
                .with(Context::Option, declared::NUMBER_OF_ROWS.key)
                .hint(changed)
        })?;
        // Earlier releases did not note it.
        let seed_before = at.and_then(|at| at.get("seed")?.as_i64()).unwrap_or(self.seed);
        if seed_before != self.seed {
            return Err(Error::incompatible(format!(
                "the rows before the checkpoint were made from seed {seed_before}"
            ))
            .with(Context::Option, declared::SEED.key)
            .hint("change 'seed' back, or start anew with --restore none"));
        }
        let made = match at {
            None => 0,
            Some(at) => at.get("rows").and_then(Value::as_u64).ok_or_else(|| {
                Error::incompatible("the checkpoint's position is not one in made rows")
                    .with(Context::Text, at)
                    .hint(changed)
            })?,
        };
        let columns = self.schema.fields().iter().map(|field| Column::new(field.clone())).collect::<Result<_>>()?;
        Ok(Box::new(DatagenReader {
            schema: self.schema(),
            generators: self.generators.clone(),
            columns,
            rows,
            made,
            pace: Pace::new(self.rows_per_second, reader.readers),
            seed: self.seed,
        }))
    }
}

impl SplitReader for DatagenReader {
    fn next(&mut self, max_rows: usize) -> Result<Option<ReadBatch>> {
        let left = self.rows.count.map_or(u64::MAX, |count| count.saturating_sub(self.made));
        if left == 0 {
            return Ok(None);
        }
        let wanted = max_rows.min(BATCH_ROWS).min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = self.pace.allow(wanted);
        for ahead in 0..count as u64 {
            let row = self.rows.first + (self.made + ahead) * self.rows.step;
            for (generator, column) in self.generators.iter().zip(&mut self.columns) {
                generator
                    .append(row, column)
                    .map_err(|problem| Error::internal(problem.0).with(Context::Column, column.name()))?;
            }
        }
        self.pace.given(count);
        self.made += count as u64;
        let columns = self.columns.iter_mut().map(Column::finish).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let rows = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options).map_err(arrow_error)?;
        Ok(Some(ReadBatch { rows, position: json!({ "rows": self.made, "seed": self.seed }), skipped: 0 }))
    }
}
