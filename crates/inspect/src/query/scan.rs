//! The scan of a table, as DataFusion's operators want it.

use super::error::external;
use crate::catalog::{StateCatalog, StateTable};
use crate::checkpoint::InspectedCheckpoint;
use crate::readers::StateReaders;
use crate::reading::{Wanted, read_part};
use arrow_schema::SchemaRef;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{DataFusionError, Result};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_expr::TableSource;
use datafusion_physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion_physical_plan::execution_plan::{Boundedness, EmissionType, ReplaceChildrenOptions};
use datafusion_physical_plan::stream::RecordBatchReceiverStream;
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Batches that a part's thread may be ahead.
const BATCHES_AHEAD: usize = 2;

/// A table in a logical plan.
#[derive(Debug)]
pub(super) struct ScannedTable(pub(super) Arc<StateTable>);

impl TableSource for ScannedTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.0.schema())
    }
}

/// The scan: a partition for each part of the state.
#[derive(Debug)]
pub(super) struct StateScan {
    checkpoint: InspectedCheckpoint,
    readers: Arc<dyn StateReaders>,
    table: Arc<StateTable>,
    wanted: Wanted,
    properties: Arc<PlanProperties>,
}

impl StateScan {
    /// A scan of these columns, of which nobody looks at more than `limit` rows.
    pub(super) fn new(
        catalog: &StateCatalog,
        table: &Arc<StateTable>,
        columns: Vec<usize>,
        limit: Option<usize>,
    ) -> Result<Self> {
        let schema: SchemaRef = Arc::new(table.schema().project(&columns)?);
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(table.parts.len().max(1)),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(StateScan {
            checkpoint: catalog.checkpoint.clone(),
            readers: Arc::clone(&catalog.readers),
            table: Arc::clone(table),
            wanted: Wanted { columns, schema, limit },
            properties: Arc::new(properties),
        })
    }
}

impl DisplayAs for StateScan {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateScan: {}", self.table.name())
    }
}

impl ExecutionPlan for StateScan {
    fn name(&self) -> &str {
        "StateScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(self: Arc<Self>, _children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, _context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let mut stream = RecordBatchReceiverStream::builder(Arc::clone(&self.wanted.schema), BATCHES_AHEAD);
        let Some(part) = self.table.parts.get(partition).cloned() else { return Ok(stream.build()) };
        let (checkpoint, readers) = (self.checkpoint.clone(), Arc::clone(&self.readers));
        let (table, wanted) = (Arc::clone(&self.table), self.wanted.clone());
        let sender = stream.tx();
        stream.spawn_blocking(move || {
            let read = read_part(&checkpoint, &*readers, &table, &part, &wanted, &mut |batch| {
                // Nobody listens any more: the query has what it wants.
                match sender.blocking_send(Ok(batch)) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            });
            read.map_err(external)
        });
        Ok(stream.build())
    }
}

/// The table that a scan of a logical plan reads.
pub(super) fn scanned(source: &Arc<dyn TableSource>) -> Result<&Arc<StateTable>> {
    let table = (source.as_ref() as &dyn std::any::Any).downcast_ref::<ScannedTable>();
    table
        .map(|table| &table.0)
        .ok_or_else(|| DataFusionError::Internal("a scan reads something that is no table".to_owned()))
}
