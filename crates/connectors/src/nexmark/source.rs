//! The source.

use super::columns::EventColumn;
use crate::options::{Options, declared};
use crate::row_splits::{RowSplits, Rows};
use crate::table::TableDescription;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use headpond_runtime::batch::arrow_error;
use headpond_runtime::source::{Backlog, ReadBatch, ReaderContext, Source, SourceSplit, SplitReader};
use headpond_runtime::{Error, Result};
use headpond_state::Context;
use nexmark::EventGenerator;
use nexmark::config::NexmarkConfig;
use nexmark::event::Event;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// The most rows of a batch.
const BATCH_ROWS: usize = 4_096;

/// The source of a table of Nexmark events.
#[derive(Debug)]
struct NexmarkSource {
    schema: SchemaRef,
    columns: Vec<EventColumn>,
    config: NexmarkConfig,
    rows: RowSplits,
    rows_per_second: Option<u64>,
}

/// Makes the events of one split.
struct NexmarkReader {
    schema: SchemaRef,
    columns: Vec<EventColumn>,
    config: NexmarkConfig,
    generator: Option<EventGenerator>,
    rows: Rows,
}

/// Makes the source of a table whose connector is `nexmark`.
pub(crate) fn source(table: &TableDescription, projection: Option<&[usize]>) -> Result<Arc<dyn Source>> {
    let schema = table.projected(projection)?;
    for field in table.schema.fields() {
        let known = EventColumn::ALL.into_iter().find(|column| column.name() == field.name());
        if known.is_none_or(|column| column.data_type() != *field.data_type()) {
            return Err(Error::invalid(format!("table {}: an event has no such column of this type", table.name))
                .with(Context::Column, field.name())
                .hint("declare event_type, person, auction and bid as examples/nexmark/tables.sql does"));
        }
    }
    let named = |name: &str| EventColumn::ALL.into_iter().find(|column| column.name() == name);
    let columns = schema.fields().iter().filter_map(|field| named(field.name())).collect();
    let options = Options::new(table);
    let rate = options.get(&declared::NEXMARK_RATE)?;
    let config = NexmarkConfig {
        base_time: options.get(&declared::NEXMARK_BASE_TIME)?,
        first_rate: options.get(&declared::NEXMARK_FIRST_RATE)?.unwrap_or(rate),
        next_rate: rate,
        person_proportion: options.get(&declared::NEXMARK_PERSONS)?,
        auction_proportion: options.get(&declared::NEXMARK_AUCTIONS)?,
        bid_proportion: options.get(&declared::NEXMARK_BIDS)?,
        out_of_order_group_size: options.get(&declared::NEXMARK_DISORDER)?,
        ..NexmarkConfig::default()
    };
    let rows = RowSplits {
        rows: options.get(&declared::NEXMARK_EVENTS)?,
        splits: options.get(&declared::SPLITS)?.unwrap_or(1),
        in_turn: true,
    };
    let rows_per_second = options.get(&declared::SCAN_ROWS_PER_SECOND)?;
    Ok(Arc::new(NexmarkSource { schema, columns, config, rows, rows_per_second }))
}

impl Source for NexmarkSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn is_bounded(&self) -> bool {
        self.rows.rows.is_some()
    }

    fn rows_per_second(&self) -> Option<u64> {
        self.rows_per_second
    }

    fn splits(&self) -> Result<Vec<SourceSplit>> {
        Ok(self.rows.splits())
    }

    fn backlog(&self, split: &SourceSplit, position: Option<&Value>) -> Option<Backlog> {
        self.rows.backlog(split, position)
    }

    fn open(&self, split: &SourceSplit, at: Option<&Value>, _: &ReaderContext) -> Result<Box<dyn SplitReader>> {
        Ok(Box::new(NexmarkReader {
            schema: self.schema(),
            columns: self.columns.clone(),
            config: self.config.clone(),
            generator: None,
            rows: self.rows.open(split, at, declared::NEXMARK_EVENTS.key())?,
        }))
    }
}

impl SplitReader for NexmarkReader {
    fn next(&mut self, max_rows: usize) -> Result<Option<ReadBatch>> {
        let left = self.rows.left();
        if left == 0 {
            return Ok(None);
        }
        let count = max_rows.min(BATCH_ROWS).min(left);
        let mut events: Vec<Event> = Vec::with_capacity(count);
        for row in self.rows.take(count) {
            // A generator changes its place only by being moved.
            let generator = self.generator.take().map(|generator| generator.with_offset(row));
            let mut generator = generator.unwrap_or_else(|| EventGenerator::new(self.config.clone()).with_offset(row));
            events.extend(generator.next());
            self.generator = Some(generator);
        }
        let columns = self.columns.iter().map(|column| column.of(&events)).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let rows = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options).map_err(arrow_error)?;
        Ok(Some(ReadBatch::inserts(rows, self.rows.position())))
    }
}

impl fmt::Debug for NexmarkReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NexmarkReader")
            .field("columns", &self.columns)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}
