//! Tables, with their computed columns and watermarks planned.

use crate::position::{At, Position};
use crate::script::TableOption;
use arrow_schema::SchemaRef;
use datafusion_expr::Expr;
use headpond_connectors::TableDescription;
use headpond_state::{Context, Error};
use std::sync::Arc;

/// A table.
#[derive(Debug)]
pub(crate) struct Table {
    /// Its name.
    pub(crate) name: String,
    /// Where it was created.
    pub(crate) position: Position,
    /// All its columns as queries see them.
    pub(crate) schema: SchemaRef,
    /// For each column, its expression over the physical columns.
    pub(crate) expressions: Vec<Expr>,
    /// Its physical columns as a connector sees them.
    pub(crate) physical: SchemaRef,
    /// The columns of its primary key: indices of physical columns.
    pub(crate) primary_key: Vec<usize>,
    /// Its event time.
    pub(crate) watermark: Option<TableWatermark>,
    /// Its options.
    pub(crate) options: Vec<TableOption>,
}

/// A table's event time: expressions over the physical columns.
#[derive(Debug)]
pub(crate) struct TableWatermark {
    /// The rows' time.
    pub(crate) time: Expr,
    /// The watermark that follows from a row.
    pub(crate) expression: Expr,
}

impl Table {
    /// The table as connectors know it.
    pub(crate) fn description(&self, time_zone: &str) -> TableDescription {
        let mut description = TableDescription::new(&self.name, Arc::clone(&self.physical));
        description.primary_key.clone_from(&self.primary_key);
        description.options = self.options.iter().map(|option| (option.key.clone(), option.value.clone())).collect();
        description.local_time_zone = time_zone.to_owned();
        description
    }

    /// An error about the table, at the option it names, else where the table was created.
    pub(crate) fn located(&self, error: Error) -> Error {
        let option = error.place(Context::Option).and_then(|key| self.options.iter().find(|option| option.key == key));
        let position = option.map_or(self.position, |option| option.position);
        error.at(position)
    }
}
