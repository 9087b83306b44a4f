//! The hidden column of row watermarks.

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use headpond_runtime::source::ROW_WATERMARK_COLUMN;
use std::sync::Arc;

/// The schema with the hidden column of row watermarks.
pub(super) fn with_row_watermark(schema: &Schema) -> SchemaRef {
    let hidden = Arc::new(Field::new(ROW_WATERMARK_COLUMN, DataType::Int64, false));
    Arc::new(Schema::new(schema.fields().iter().cloned().chain([hidden]).collect::<Vec<_>>()))
}
