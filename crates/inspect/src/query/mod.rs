//! SQL over the tables of a checkpoint.
//!
//! DataFusion parses, types and optimizes a query, and its physical operators run it ([`planner`] says which). All that
//! is ours is the [`scan`] of a table: it reads the parts of a state on threads of their own, a few batches ahead. What
//! operators must hold (a sort, the hash table of an aggregate) is bounded, and goes to disk beyond.
//!
//! In reading order: [`session`] (what there is to ask), [`planner`], [`expressions`], [`joins`], [`scan`], [`error`].

mod error;
mod expressions;
mod joins;
mod planner;
mod scan;
mod session;

use crate::catalog::StateCatalog;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion_execution::TaskContext;
use datafusion_execution::config::SessionConfig;
use datafusion_execution::memory_pool::FairSpillPool;
use datafusion_execution::runtime_env::RuntimeEnvBuilder;
use datafusion_physical_plan::execute_stream;
use error::query_error;
use futures_util::StreamExt;
use headpond_state::{Error, Result};
use planner::Planner;
use session::Session;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The bytes that the operators of a query may hold in memory.
const MEMORY_BYTES: usize = 256 << 20;

/// Takes the rows of a query.
pub trait RowSink {
    /// Takes the columns, once, before any rows.
    ///
    /// # Errors
    /// As the sink's; the query ends with it.
    fn begin(&mut self, schema: &SchemaRef) -> Result<()>;

    /// Takes some rows, and says whether more are wanted.
    ///
    /// # Errors
    /// As the sink's; the query ends with it.
    fn rows(&mut self, batch: &RecordBatch) -> Result<ControlFlow<()>>;
}

impl StateCatalog {
    /// Runs a `SELECT` over the checkpoint's tables and gives its rows to `sink`.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) and [`Unsupported`](headpond_state::ErrorKind::Unsupported) for
    /// the query, [`ResourceExhausted`](headpond_state::ErrorKind::ResourceExhausted) when it must hold more than there
    /// is room for, [`Corrupt`](headpond_state::ErrorKind::Corrupt) for damaged state, and as the store's and the
    /// sink's.
    pub fn query(&self, sql: &str, sink: &mut dyn RowSink) -> Result<()> {
        let session = Session::new(self);
        let logical = session.plan(sql)?;
        let plan = Planner::new(self).plan(&logical).map_err(query_error)?;
        let environment =
            RuntimeEnvBuilder::new().with_memory_pool(Arc::new(FairSpillPool::new(MEMORY_BYTES))).build_arc();
        let context = TaskContext::default()
            .with_session_config(SessionConfig::from(session.config_options().clone()))
            .with_runtime(environment.map_err(query_error)?);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .map_err(|cause| Error::exhausted("a query cannot be started").because(cause))?;
        let outcome = runtime.block_on(async {
            sink.begin(&plan.schema())?;
            let mut rows = execute_stream(plan, Arc::new(context)).map_err(query_error)?;
            while let Some(batch) = rows.next().await {
                if sink.rows(&batch.map_err(query_error)?)? == ControlFlow::Break(()) {
                    break;
                }
            }
            Ok(())
        });
        // Waits for readers that are not wanted any more, which see it at their next batch: what they fetched goes with
        // them.
        drop(runtime);
        outcome
    }

    /// Gives the rows of a table, or of a `SELECT`: whatever is more than a name.
    ///
    /// # Errors
    /// As [`query`](Self::query) and [`table`](Self::table).
    pub fn rows_of(&self, table_or_sql: &str, sink: &mut dyn RowSink) -> Result<()> {
        let wanted = table_or_sql.trim();
        if wanted.contains(char::is_whitespace) {
            return self.query(wanted, sink);
        }
        let name = self.table(wanted)?.name();
        self.query(&format!("SELECT * FROM {name}"), sink)
    }
}
