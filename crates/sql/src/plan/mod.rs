//! From a script to a job.
//!
//! Statements are taken in order: settings first of all, since they hold for the whole job, then tables and views, then
//! each `INSERT`. A query is planned by DataFusion to a logical plan (`query`), which is walked to nodes of a job graph
//! (`flow`, `aggregate`, `join`, `insert`).

mod aggregate;
mod column_names;
mod create_table;
mod error;
mod explain;
mod field_names;
mod flow;
mod flow_window;
mod insert;
mod join;
mod late_rows;
mod note;
mod operator_ids;
mod query;
mod rank;
mod rank_limit;
mod rewrite;
mod row_watermark;
mod session;
mod source;
mod sql_forms;
mod table;
mod time_bounds;
mod ttl;
mod types;
mod union;
mod values;
mod window;
mod window_aggregate;
mod window_function;
mod window_table;

pub(crate) use error::{planning_error, value_error};
pub(crate) use session::Session;

use crate::faults::Faults;
use crate::planning_stack::on_planning_stack;
use crate::position::At;
use crate::script::{self, Explained, Insert, Script, SourceQuery, Statement, StatementKind, in_statement};
use crate::settings::{JobSettings, option_error};
use arrow_schema::FieldRef;
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use flow::FlowBuilder;
use headpond_config::{Config, Origin, Secrets, is_secret, options};
use headpond_connectors::Connectors;
use headpond_runtime::{JobGraph, Node, NodeId, NodeKind};
use headpond_state::{Error, OperatorId, Result};
use insert::{PRINTED, PlannedInsert};
use late_rows::{add_sink, late_table};
use note::Note;
use query::{optimize, plan_query, tables_of};
use source::{Reads, Sources};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use table::Table;
use ttl::StateTtls;

/// A job, ready to run.
#[derive(Debug)]
pub struct PlannedJob {
    /// Its name: `pipeline.name`, else the file's without its ending.
    pub name: String,
    /// What runs. Empty when the script has neither an `INSERT` nor a query by itself.
    pub graph: JobGraph,
    /// The settings, those of the script included.
    pub config: Config,
    /// What `SET`, `SET key` and `EXPLAIN` show, in order.
    pub shown: Vec<String>,
    /// What the user should know before the job starts.
    pub warnings: Vec<String>,
    notes: BTreeMap<OperatorId, Vec<Note>>,
}

impl PlannedJob {
    /// The job's operators with what they keep and for how long, as text.
    pub fn explain(&self) -> String {
        explain::explain(&self.graph, &self.notes)
    }
}

/// Plans a script's job, whose tables may name these connectors.
///
/// # Errors
/// [`Invalid`](headpond_state::ErrorKind::Invalid) for what is wrong and
/// [`Unsupported`](headpond_state::ErrorKind::Unsupported) for what Headpond does not know; either names file, line,
/// column and statement.
pub fn plan(script: &Script, config: Config, connectors: &Connectors) -> Result<PlannedJob> {
    on_planning_stack(|| plan_statements(script, Faults::default(), config, connectors))?
}

/// Parses the text of a SQL file and plans its job; `file` is for messages.
///
/// # Errors
/// As [`parse`](crate::parse) and [`plan`]: the first of all that is wrong, and what else is as
/// [further](headpond_state::Error::further) errors.
pub fn plan_text(text: &str, file: &str, config: Config, connectors: &Connectors) -> Result<PlannedJob> {
    on_planning_stack(|| {
        let (script, faults) = script::read(text, file);
        plan_statements(&script, faults, config, connectors)
    })?
}

/// Plans the statements that could be parsed; `faults` are those of the others.
fn plan_statements(script: &Script, mut faults: Faults, config: Config, connectors: &Connectors) -> Result<PlannedJob> {
    let fault = |faults: &mut Faults, statement: &Statement, error: Error| {
        faults.add(statement.position, &statement.text, located(error, script, statement));
    };
    let (config, shown) = settings(script, config, &mut faults);
    let mut planner = match Planner::new(script, config, shown, connectors) {
        Ok(planner) => planner,
        Err(error) => {
            faults.add_of_script(error);
            faults.into_result()?;
            return Err(Error::internal("a fault was lost"));
        }
    };
    let mut inserts = Vec::new();
    for statement in &script.statements {
        match planner.statement(statement) {
            Ok(planned) => inserts.extend(planned.map(|planned| (statement, planned))),
            Err(error) => fault(&mut faults, statement, error),
        }
    }
    match planner.sources(inserts.iter().map(|(_, planned)| planned)) {
        Ok(()) => {
            for (statement, planned) in &inserts {
                planner.insert(planned).unwrap_or_else(|error| fault(&mut faults, statement, error));
            }
            planner.late_rows().unwrap_or_else(|error| faults.add_of_script(error));
        }
        Err(error) => faults.add_of_script(error),
    }
    faults.into_result()?;
    planner.finish()
}

/// The settings with those of the script, and what it asks to show of them.
fn settings(script: &Script, mut config: Config, faults: &mut Faults) -> (Config, Vec<String>) {
    let mut shown = Vec::new();
    for statement in &script.statements {
        if let Err(error) = apply_setting(statement, &mut config, &mut shown) {
            faults.add(statement.position, &statement.text, located(error, script, statement));
        }
    }
    (config, shown)
}

fn located(error: Error, script: &Script, statement: &Statement) -> Error {
    let secrets = secrets_of(statement);
    let error = error.rewritten(|text| secrets.hide_quoted(text));
    in_statement(error, &script.file, statement.position, &statement.beginning)
}

/// The values in a statement that must not be shown.
fn secrets_of(statement: &Statement) -> Secrets {
    let mut secrets = Secrets::default();
    match &statement.kind {
        StatementKind::Set { key, value } if is_secret(key) => secrets.add(value),
        StatementKind::CreateTable(table) => {
            table.options.iter().filter(|option| is_secret(&option.key)).for_each(|option| secrets.add(&option.value));
        }
        _ => {}
    }
    secrets
}

struct Planner {
    session: Session,
    settings: JobSettings,
    job: PlannedJob,
    sources: Sources,
    /// How many inserts each table has had: a second one into the same table has ids of its own.
    inserts: BTreeMap<String, usize>,
    /// The tables that inserts and views read or fill.
    used: BTreeSet<String>,
    /// The names that inserts keep by a hint.
    kept: BTreeSet<String>,
    /// The nodes that give late rows, and whether these end.
    late: Vec<(NodeId, bool)>,
}

impl Planner {
    /// A planner with the script's settings.
    fn new(script: &Script, config: Config, shown: Vec<String>, connectors: &Connectors) -> Result<Self> {
        config.check().map_err(|error| {
            let ours = option_error(&error);
            match error.origin().and_then(|origin| Some((origin.line()?, origin.column()?))) {
                Some((line, column)) => ours.at(crate::position::Position { line, column }),
                None => ours,
            }
        })?;
        let settings = JobSettings::of(&config)?;
        let stem = Path::new(&script.file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = config.get(&options::PIPELINE_NAME).or(stem).unwrap_or_else(|| "job".to_owned());
        let warnings = config.warnings().iter().map(ToString::to_string).collect();
        let job = PlannedJob { name, graph: JobGraph::new(), config, shown, warnings, notes: BTreeMap::new() };
        Ok(Planner {
            session: Session::new(Arc::clone(&settings.functions), connectors.clone()),
            settings,
            job,
            sources: Sources::default(),
            inserts: BTreeMap::new(),
            used: BTreeSet::new(),
            kept: BTreeSet::new(),
            late: Vec::new(),
        })
    }

    /// Takes a statement; gives the insert that it is, planned.
    fn statement<'s>(&mut self, statement: &'s Statement) -> Result<Option<PlannedInsert<'s>>> {
        match &statement.kind {
            StatementKind::Set { .. } | StatementKind::Show { .. } | StatementKind::Reset { .. } => {}
            StatementKind::CreateTable(definition) => {
                if self.session.has(&definition.name) {
                    return if definition.if_not_exists { Ok(None) } else { Err(exists(&definition.name)) };
                }
                let table = Table::plan(definition, &self.session)?;
                let described = table.description(&self.settings.time_zone);
                self.session.connectors().check(&described).map_err(|error| table.located(error))?;
                self.session.add_table(Arc::new(table));
            }
            StatementKind::CreateView { name, if_not_exists, or_replace, columns, query } => {
                if self.session.has(name) {
                    match (if_not_exists, or_replace) {
                        (true, _) => return Ok(None),
                        (_, true) => self.drop(name, true)?,
                        _ => return Err(exists(name)),
                    }
                }
                if let Some(uid) = &query.hints.uid {
                    return Err(Error::invalid("a view keeps no state: the queries that read it do")
                        .hint("put the hint STATE_UID behind the SELECT of an INSERT")
                        .at(uid.position));
                }
                let plan = renamed(plan_query(query, &self.session, !columns.is_empty())?, columns)?;
                self.used.extend(tables_of(&plan)?);
                self.session.add_view(name, plan, &query.hints.ttls);
            }
            StatementKind::Drop { name, if_exists: true, .. } if !self.session.has(name) => {}
            StatementKind::Drop { view, name, position, .. } => self.drop(name, *view).at(*position)?,
            StatementKind::ShowTables { views } => self.job.shown.push(self.session.names(*views).join("\n")),
            StatementKind::Describe { name, position } => {
                let (columns, _) = self.session.columns(name).at(*position)?;
                let column = |field: &FieldRef| {
                    let null = if field.is_nullable() { "" } else { " NOT NULL" };
                    format!("{} {}{null}", field.name(), script::type_name(field.data_type()))
                };
                self.job.shown.push(columns.fields().iter().map(column).collect::<Vec<_>>().join("\n"));
            }
            StatementKind::Insert(insert) => {
                let planned = PlannedInsert::of(insert, &self.session)?;
                self.used.extend(planned.names()?);
                return Ok(Some(planned));
            }
            StatementKind::Query(query) => {
                let planned = PlannedInsert::printed(query, &self.session)?;
                self.used.extend(planned.names()?);
                return Ok(Some(planned));
            }
            StatementKind::Explain(Explained::Insert(insert)) => self.explain_insert(insert)?,
            StatementKind::Explain(Explained::Query(query)) => self.explain_query(query)?,
        }
        Ok(None)
    }

    /// Removes a table or a view that nothing before has used.
    fn drop(&mut self, name: &str, view: bool) -> Result<()> {
        let (_, is_view) = self.session.columns(name)?;
        if is_view != view {
            let (is, word) = if is_view { ("a view", "VIEW") } else { ("a table", "TABLE") };
            return Err(Error::invalid(format!("`{name}` is {is}")).hint(format!("write {word}")));
        }
        if self.used.contains(name) {
            let what = if view { "view" } else { "table" };
            return Err(Error::unsupported(format!("the {what} `{name}` is used before: to drop it is not supported"))
                .hint("give the new one another name"));
        }
        self.session.remove(name);
        Ok(())
    }

    /// Adds the sources of all that the inserts read.
    fn sources<'p, 's: 'p>(&mut self, inserts: impl Iterator<Item = &'p PlannedInsert<'s>>) -> Result<()> {
        let mut reads = Reads::default();
        for insert in inserts {
            reads.add(&insert.plan)?;
        }
        if let Some(late) = late_table(&self.session, &self.settings)? {
            reads.add_columns(&late.physical)?;
        }
        self.sources = {
            let PlannedJob { graph, notes, .. } = &mut self.job;
            Sources::build(&reads, &self.session, &self.settings, graph, notes)?
        };
        Ok(())
    }

    fn insert(&mut self, planned: &PlannedInsert<'_>) -> Result<()> {
        let uid = planned.query().hints.uid.as_ref();
        let name = match uid.and_then(|uid| uid.name.as_deref()) {
            Some(name) => self.kept_name(name).at(planned.query().position)?,
            None if self.kept.contains(planned.table_name()) => {
                return Err(taken(planned.table_name()).at(planned.query().position));
            }
            None => self.insert_name(planned.table_name()),
        };
        let ttls = StateTtls::new(self.settings.ttl, planned.query(), &self.session)?;
        let (session, settings) = (&self.session, &self.settings);
        let mut builder = FlowBuilder::new(session, settings, &mut self.job.graph, &self.sources, ttls, &name, uid);
        builder.insert(planned, &name)?;
        builder.ttls.check_followed(planned.query())?;
        builder.check_ids()?;
        let notes = std::mem::take(&mut builder.notes);
        self.late.append(&mut builder.late);
        self.job.notes.extend(notes);
        Ok(())
    }

    /// Adds the insert of late rows, if there are windows that give any.
    fn late_rows(&mut self) -> Result<()> {
        let Some(table) = late_table(&self.session, &self.settings)? else { return Ok(()) };
        let name = self.insert_name(&table.name);
        add_sink(&mut self.job.graph, &self.late, &table, &name, &self.settings, self.session.connectors())
    }

    /// The name of the next insert into a table.
    fn insert_name(&mut self, table: &str) -> String {
        let number = self.inserts.entry(table.to_owned()).or_insert(0);
        *number += 1;
        if *number == 1 { table.to_owned() } else { format!("{table}-{number}") }
    }

    /// The name that an insert keeps its state under, if no other insert has it.
    fn kept_name(&mut self, name: &str) -> Result<String> {
        match self.inserts.contains_key(name) || !self.kept.insert(name.to_owned()) {
            true => Err(taken(name)),
            false => Ok(name.to_owned()),
        }
    }

    fn explain_insert(&mut self, insert: &Insert) -> Result<()> {
        let planned = PlannedInsert::of(insert, &self.session)?;
        let uid = planned.query().hints.uid.as_ref().and_then(|uid| uid.name.as_deref());
        let name = uid.unwrap_or(planned.table_name());
        self.explained(&planned.plan, planned.query(), name, |builder| builder.insert(&planned, name))
    }

    fn explain_query(&mut self, query: &SourceQuery) -> Result<()> {
        let plan = optimize(plan_query(query, &self.session, true)?, &self.session).at(query.position)?;
        self.explained(&plan, query, PRINTED, |builder| builder.query(&plan).at(query.position))
    }

    /// Shows the nodes that `build` adds for a plan.
    fn explained(
        &mut self,
        plan: &LogicalPlan,
        query: &SourceQuery,
        name: &str,
        build: impl FnOnce(&mut FlowBuilder<'_>) -> Result<()>,
    ) -> Result<()> {
        let (mut graph, mut notes) = (JobGraph::new(), BTreeMap::new());
        let mut reads = Reads::default();
        reads.add(plan)?;
        if let Some(late) = late_table(&self.session, &self.settings)? {
            reads.add_columns(&late.physical)?;
        }
        let sources = Sources::build(&reads, &self.session, &self.settings, &mut graph, &mut notes)?;
        let ttls = StateTtls::new(self.settings.ttl, query, &self.session)?;
        let uid = query.hints.uid.as_ref();
        let mut builder = FlowBuilder::new(&self.session, &self.settings, &mut graph, &sources, ttls, name, uid);
        build(&mut builder)?;
        builder.ttls.check_followed(query)?;
        builder.check_ids()?;
        notes.append(&mut builder.notes);
        self.job.shown.push(explain::explain(&graph, &notes));
        Ok(())
    }

    fn finish(mut self) -> Result<PlannedJob> {
        // State for every key is no surprise over files that end.
        let unbounded = |node: &Node| matches!(&node.kind, NodeKind::Source(source) if !source.source.is_bounded());
        if !self.job.graph.nodes().any(|(_, node)| unbounded(node)) {
            return Ok(self.job);
        }
        for (operator, _) in self.job.notes.iter().filter(|(_, notes)| notes.contains(&Note::Unbounded)) {
            self.job.warnings.push(format!(
                "operator {operator} keeps state for every key for ever: it has no window, and table.exec.state.ttl is not set"
            ));
        }
        Ok(self.job)
    }
}

fn apply_setting(statement: &Statement, config: &mut Config, shown: &mut Vec<String>) -> Result<()> {
    let origin = || Origin::statement(statement.position.line, statement.position.column);
    match &statement.kind {
        StatementKind::Set { key, value } => config.set(key, value, origin()).map_err(|error| option_error(&error)),
        StatementKind::Reset { key: Some(key) } => config.reset(key).map_err(|error| option_error(&error)),
        StatementKind::Reset { key: None } => {
            config.reset_all();
            Ok(())
        }
        StatementKind::Show { key } => {
            let settings = config.settings().filter(|setting| match key {
                Some(key) => setting.key() == key || setting.written_key() == key,
                None => !setting.is_default(),
            });
            let lines: Vec<String> = settings.map(|setting| setting.to_string()).collect();
            if let (Some(key), true) = (key, lines.is_empty()) {
                return Err(Error::invalid(format!("there is no option '{key}'")));
            }
            shown.push(lines.join("\n"));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A view's plan with the names that its definition gives the columns.
fn renamed(plan: LogicalPlan, names: &[String]) -> Result<LogicalPlan> {
    if names.is_empty() {
        return Ok(plan);
    }
    let columns = plan.schema().columns();
    if columns.len() != names.len() {
        return Err(Error::invalid(format!(
            "the view names {} columns, and its query gives {}",
            names.len(),
            columns.len()
        )));
    }
    let columns = columns.into_iter().zip(names).map(|(column, name)| Expr::Column(column).alias(name));
    LogicalPlanBuilder::from(plan)
        .project(columns.collect::<Vec<_>>())
        .and_then(LogicalPlanBuilder::build)
        .map_err(planning_error)
}

fn taken(name: &str) -> Error {
    Error::invalid(format!("another INSERT keeps its state as '{name}'"))
        .hint("give each INSERT a STATE_UID of its own")
}

fn exists(name: &str) -> Error {
    Error::invalid(format!("there is a table or view `{name}` already")).hint("give it another name")
}
