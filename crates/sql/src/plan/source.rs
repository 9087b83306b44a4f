//! Sources: a table is read once, however many queries read it.
//!
//! Before any query becomes nodes, all plans of the job are looked through for the columns they need of each table
//! ([`Reads`]); each table gets one source node with all of them ([`Sources`]), and every scan is a choice of its
//! columns.

use super::error::planning_error;
use super::note::Note;
use super::session::{Session, TableScanned};
use super::table::Table;
use crate::changelog_normalize::{NormalizeFactory, NormalizePlan};
use crate::expression::{Compiler, watermark_factory};
use crate::settings::JobSettings;
use arrow_schema::{Schema, SchemaRef};
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_expr::utils::expr_to_columns;
use datafusion_expr::{Expr, LogicalPlan, TableScan};
use headpond_runtime::key::KeyEncoder;
use headpond_runtime::source::ChangelogMode;
use headpond_runtime::{JobGraph, KeyedInput, Node, NodeId, NodeKind, SourceNode};
use headpond_state::{Error, MaxParallelism, OperatorId, Result};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// What plans read: the physical columns of each table.
#[derive(Debug, Default)]
pub(super) struct Reads(BTreeMap<String, (Arc<Table>, BTreeSet<usize>)>);

impl Reads {
    /// Adds what a plan reads.
    pub(super) fn add(&mut self, plan: &LogicalPlan) -> Result<()> {
        let mut failure = None;
        plan.apply_with_subqueries(|node| {
            if let LogicalPlan::TableScan(scan) = node
                && let Err(error) = self.scan(scan)
            {
                failure = Some(error);
                return Ok(TreeNodeRecursion::Stop);
            }
            Ok(TreeNodeRecursion::Continue)
        })
        .map_err(planning_error)?;
        failure.map_or(Ok(()), Err)
    }

    /// Adds the columns of these names of every table with event time that is read.
    pub(super) fn add_columns(&mut self, names: &Schema) -> Result<()> {
        for (table, columns) in self.0.values_mut().filter(|(table, _)| table.watermark.is_some()) {
            let named = names.fields().iter().filter_map(|field| table.schema.index_of(field.name()).ok());
            columns.extend(physical(table, &named.collect::<Vec<_>>())?);
        }
        Ok(())
    }

    fn scan(&mut self, scan: &TableScan) -> Result<()> {
        let table = scanned(scan)?;
        let needed = physical(table, &projection(scan, table))?;
        self.0.entry(table.name.clone()).or_insert_with(|| (Arc::clone(table), BTreeSet::new())).1.extend(needed);
        Ok(())
    }
}

/// The table that a scan reads.
pub(super) fn scanned(scan: &TableScan) -> Result<&Arc<Table>> {
    let table = (scan.source.as_ref() as &dyn std::any::Any).downcast_ref::<TableScanned>();
    table.map(|table| &table.0).ok_or_else(|| Error::internal("a scan reads something that is no table"))
}

/// The columns that a scan gives.
pub(super) fn projection(scan: &TableScan, table: &Table) -> Vec<usize> {
    scan.projection.clone().unwrap_or_else(|| (0..table.schema.fields().len()).collect())
}

/// The physical columns from which columns and event time of a table are computed.
fn physical(table: &Table, columns: &[usize]) -> Result<Vec<usize>> {
    let mut needed = HashSet::new();
    let mut need = |expr: &Expr| expr_to_columns(expr, &mut needed).map_err(planning_error);
    for &column in columns {
        need(&table.expressions[column])?;
    }
    if let Some(watermark) = &table.watermark {
        need(&watermark.expression)?;
        need(&watermark.time)?;
    }
    Ok(needed.iter().filter_map(|column| table.physical.index_of(&column.name).ok()).collect())
}

/// The source nodes of a job, by table.
#[derive(Debug, Default)]
pub(super) struct Sources(BTreeMap<String, SharedSource>);

/// A source that all scans of its table share.
#[derive(Debug, Clone)]
pub(super) struct SharedSource {
    /// The table.
    pub(super) table: Arc<Table>,
    /// Its node.
    pub(super) node: NodeId,
    /// The node's columns, without the hidden one.
    pub(super) base: SchemaRef,
    /// Whether the node has the hidden column of row watermarks.
    pub(super) row_watermark: bool,
    /// Whether rows may be taken back.
    pub(super) changing: bool,
    /// Whether the rows end.
    pub(super) bounded: bool,
}

impl Sources {
    /// Adds a source node for each table that is read.
    pub(super) fn build(
        reads: &Reads,
        session: &Session,
        settings: &JobSettings,
        graph: &mut JobGraph,
        notes: &mut BTreeMap<OperatorId, Vec<Note>>,
    ) -> Result<Self> {
        let mut sources = BTreeMap::new();
        for (name, (table, columns)) in &reads.0 {
            let mut columns: Vec<usize> = columns.iter().copied().collect();
            if columns.is_empty() {
                // Rows are counted even where no column is asked for; one column tells how many there are.
                columns.push(0);
            }
            sources.insert(name.clone(), source(table, columns, session, settings, graph, notes)?);
        }
        Ok(Sources(sources))
    }

    /// The source whose node this is.
    pub(super) fn at(&self, node: NodeId) -> Option<&SharedSource> {
        self.0.values().find(|source| source.node == node)
    }

    /// The source of a table.
    pub(super) fn of(&self, table: &Table) -> Result<&SharedSource> {
        self.0.get(&table.name).ok_or_else(|| Error::internal(format!("table {} has no source", table.name)))
    }
}

fn source(
    table: &Arc<Table>,
    mut columns: Vec<usize>,
    session: &Session,
    settings: &JobSettings,
    graph: &mut JobGraph,
    notes: &mut BTreeMap<OperatorId, Vec<Note>>,
) -> Result<SharedSource> {
    let open = |columns: &[usize]| {
        let source = session.connectors().source(&table.description(&settings.time_zone), Some(columns));
        source.map_err(|error| table.located(error))
    };
    let mut source = open(&columns)?;
    let mode = source.changelog_mode();
    let is_normalized = match mode {
        ChangelogMode::InsertOnly => false,
        ChangelogMode::Upsert => true,
        ChangelogMode::All => settings.cdc_events_duplicate && !table.primary_key.is_empty(),
    };
    if is_normalized && table.primary_key.is_empty() {
        return Err(table.located(
            Error::invalid(format!(
                "table {} gives the current row of a key, and no key is declared: which row does one replace?",
                table.name
            ))
            .hint("declare it: PRIMARY KEY (…) NOT ENFORCED"),
        ));
    }
    if is_normalized && table.primary_key.iter().any(|column| !columns.contains(column)) {
        columns
            .extend(table.primary_key.iter().filter(|column| !columns.contains(column)).copied().collect::<Vec<_>>());
        columns.sort_unstable();
        source = open(&columns)?;
    }
    let mut base = table.physical.project(&columns).map_err(headpond_runtime::batch::arrow_error)?;
    if is_normalized {
        // Of a row that is gone only the key need be known.
        let fields = base.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        base = Schema::new(fields.collect::<Vec<_>>());
    }
    let base = Arc::new(base);
    let compiler = Compiler::new(&base, session)?;
    let watermarks = match &table.watermark {
        Some(watermark) => Some(watermark_factory(&table.name, &compiler, &watermark.expression)?),
        None => None,
    };
    let row_watermark = watermarks.is_some();
    let schema = if row_watermark { super::flow::with_row_watermark(&base) } else { Arc::clone(&base) };
    let bounded = source.is_bounded();
    let node = graph.add(Node {
        id: OperatorId::new(format!("{}/source/0", table.name)),
        description: format!("read {} from table {}", names(&base), table.name),
        schema,
        kind: NodeKind::Source(SourceNode { source, watermarks, row_watermark }),
    });
    let changing = mode != ChangelogMode::InsertOnly;
    let shared = SharedSource { table: Arc::clone(table), node, base, row_watermark, changing, bounded };
    if is_normalized { normalized(shared, &columns, settings, graph, notes) } else { Ok(shared) }
}

/// The source with all changes of its rows, made from the current ones.
fn normalized(
    source: SharedSource,
    columns: &[usize],
    settings: &JobSettings,
    graph: &mut JobGraph,
    notes: &mut BTreeMap<OperatorId, Vec<Note>>,
) -> Result<SharedSource> {
    let (table, schema) = (&source.table, Arc::clone(&source.base));
    let key = table.primary_key.iter().map(|of_key| columns.iter().position(|column| column == of_key));
    let key = key.collect::<Option<Vec<usize>>>();
    let key = key.ok_or_else(|| Error::internal("a source lacks columns of its table's primary key"))?;
    let plan = NormalizePlan {
        schema: Arc::clone(&schema),
        key: key.clone(),
        key_schema: KeyEncoder::new(&schema, &key, MaxParallelism::DEFAULT)?.schema(),
        format: settings.format,
        ttl: settings.ttl,
        mini_batch: settings.mini_batch,
    };
    let id = OperatorId::new(format!("{}/changelog-normalize/0", table.name));
    let key_names: Vec<&str> = key.iter().map(|column| schema.field(*column).name().as_str()).collect();
    let description = format!("all changes of the last row of each {}", key_names.join(", "));
    let (key_types, ttl) = (plan.key_schema.to_string(), plan.ttl);
    let factory = NormalizeFactory::new(plan)?;
    let expiry = match ttl {
        Some(ttl) => Note::Line(format!("expiry: {} ms after the last write", ttl.ttl_ms)),
        None => Note::Unbounded,
    };
    notes.insert(id.clone(), vec![Note::Line(format!("key: {key_types}")), factory.kept().into(), expiry]);
    let kind = NodeKind::Keyed { inputs: vec![KeyedInput::by_key(source.node, key)], operator: Arc::new(factory) };
    let node = graph.add(Node { id, description, schema, kind });
    Ok(SharedSource { node, row_watermark: false, ..source })
}

fn names(schema: &Schema) -> String {
    schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", ")
}
