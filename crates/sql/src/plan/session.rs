//! What DataFusion's planner asks us: tables, functions, types.

use super::error::external;
use super::table::Table;
use super::window_function::{USAGE, WindowFunctionPlanner};
use crate::expression::{Functions, ROW_NUMBER, row_number};
use crate::script::{StateTtlHint, parse_type_text};
use arrow_schema::{DataType, Field, FieldRef, SchemaRef};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{Result, TableReference};
use datafusion_expr::planner::{ContextProvider, ExprPlanner, RelationPlanner, TypePlanner};
use datafusion_expr::{AggregateUDF, HigherOrderUDF, LogicalPlan, ScalarUDF, TableSource, WindowUDF};
use datafusion_sql::planner::{NullOrdering, ParserOptions};
use datafusion_sql::sqlparser::ast;
use headpond_connectors::Connectors;
use headpond_functions::{Settings, Target, Typing, localized};
use headpond_state::Error;
use headpond_state::names::{listed, nearest};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The tables and views that statements have created, and the session's settings.
#[derive(Debug)]
pub(crate) struct Session {
    connectors: Connectors,
    tables: BTreeMap<String, Named>,
    hints: Vec<StateTtlHint>,
    functions: Functions,
    settings: Arc<Settings>,
    options: Arc<ConfigOptions>,
    relation_planners: Vec<Arc<dyn RelationPlanner>>,
    types: Arc<SessionTypes>,
}

#[derive(Debug, Clone)]
enum Named {
    Table(Arc<Table>),
    View(Arc<LogicalPlan>),
}

impl Session {
    /// A session without tables.
    pub(crate) fn new(settings: Arc<Settings>, connectors: Connectors) -> Self {
        let mut options = ConfigOptions::default();
        options.execution.time_zone = Some(settings.zone_name.to_string());
        options.sql_parser.map_string_types_to_utf8view = false;
        options.sql_parser.enable_ident_normalization = false;
        options.sql_parser.collect_spans = true;
        Session {
            connectors,
            tables: BTreeMap::new(),
            hints: Vec::new(),
            functions: Functions::new(Arc::clone(&settings)),
            options: Arc::new(options),
            relation_planners: vec![Arc::new(WindowFunctionPlanner)],
            types: Arc::new(SessionTypes { time_zone: Arc::clone(&settings.zone_name) }),
            settings,
        }
    }

    /// How queries are parsed.
    pub(crate) fn parser_options() -> ParserOptions {
        ParserOptions::new()
            .with_enable_ident_normalization(false)
            .with_map_string_types_to_utf8view(false)
            .with_collect_spans(true)
            .with_parse_float_as_decimal(true)
            // As in Flink, NULL is less than every value.
            .with_default_null_ordering(NullOrdering::NullsMin)
    }

    /// What tables may name as their connector.
    pub(crate) fn connectors(&self) -> &Connectors {
        &self.connectors
    }

    /// DataFusion's settings.
    pub(crate) fn config_options(&self) -> &Arc<ConfigOptions> {
        &self.options
    }

    /// What finds the types of expressions.
    pub(crate) fn typing(&self) -> Typing {
        Typing::new(Arc::clone(&self.settings))
    }

    /// The type in this session: a `TIMESTAMP_LTZ` carries the session's time zone, so that casts see it.
    pub(crate) fn localized(&self, data_type: &DataType) -> DataType {
        localized(data_type, &self.settings.zone_name)
    }

    /// Adds a table.
    pub(crate) fn add_table(&mut self, table: Arc<Table>) {
        self.tables.insert(table.name.clone(), Named::Table(table));
    }

    /// Adds a view.
    /// Its hints hold in every query over it.
    pub(crate) fn add_view(&mut self, name: &str, plan: LogicalPlan, hints: &[StateTtlHint]) {
        self.hints.extend_from_slice(hints);
        self.tables.insert(name.to_owned(), Named::View(Arc::new(plan)));
    }

    /// Removes a table or a view.
    pub(crate) fn remove(&mut self, name: &str) {
        self.tables.remove(name);
    }

    /// The names of all tables and views, or of views alone, in order.
    pub(crate) fn names(&self, views: bool) -> Vec<&str> {
        let is_shown = |named: &Named| !views || matches!(named, Named::View(_));
        self.tables.iter().filter(|(_, named)| is_shown(named)).map(|(name, _)| name.as_str()).collect()
    }

    /// The columns of a table or a view, as queries see them, and whether it is a view.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) when there is none.
    pub(crate) fn columns(&self, name: &str) -> Result<(SchemaRef, bool), Error> {
        match self.tables.get(name) {
            Some(Named::Table(table)) => Ok((Arc::clone(&table.schema), false)),
            Some(Named::View(plan)) => Ok((Arc::clone(plan.schema().inner()), true)),
            None => Err(self.no_table(name)),
        }
    }

    /// The hints of all views.
    pub(crate) fn hints(&self) -> &[StateTtlHint] {
        &self.hints
    }

    /// Whether there is a table or view of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.tables.contains_key(name)
    }

    /// The table of this name.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) when there is none, or it is a view.
    pub(crate) fn table(&self, name: &str) -> Result<Arc<Table>, Error> {
        match self.tables.get(name) {
            Some(Named::Table(table)) => Ok(Arc::clone(table)),
            Some(Named::View(_)) => Err(Error::invalid(format!("`{name}` is a view, not a table"))),
            None => Err(self.no_table(name)),
        }
    }

    fn no_table(&self, name: &str) -> Error {
        let names = || self.tables.keys().map(String::as_str);
        let error = Error::invalid(format!("there is no table `{name}`"));
        match nearest(name, names()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None if self.tables.is_empty() => error.hint("create it with CREATE TABLE before it is used"),
            None => error.hint(format!("the tables are {}", listed(names()))),
        }
    }
}

impl ContextProvider for Session {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        if name.schema().is_some() {
            let error = Error::unsupported("names of catalogs and databases are not supported");
            return Err(external(error.hint("use the name of the table alone")));
        }
        match self.tables.get(name.table()) {
            Some(Named::Table(table)) => Ok(Arc::new(TableScanned(Arc::clone(table)))),
            Some(Named::View(plan)) => {
                Ok(Arc::new(ViewScanned { schema: Arc::clone(plan.schema().inner()), plan: Arc::clone(plan) }))
            }
            None => Err(external(self.no_table(name.table()))),
        }
    }

    fn get_table_function_source(
        &self,
        name: &str,
        _arguments: Vec<datafusion_expr::Expr>,
    ) -> Result<Arc<dyn TableSource>> {
        let error = Error::unsupported(format!("table function {name} is not supported"));
        Err(external(error.hint(USAGE)))
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        self.functions.planners()
    }

    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        &self.relation_planners
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        Some(Arc::clone(&self.types) as Arc<dyn TypePlanner>)
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.functions.scalar(name)
    }

    fn get_higher_order_meta(&self, _name: &str) -> Option<Arc<HigherOrderUDF>> {
        None
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.functions.aggregate(name)
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        name.eq_ignore_ascii_case(ROW_NUMBER).then(row_number)
    }

    fn get_variable_type(&self, _names: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        &self.options
    }

    fn udf_names(&self) -> Vec<String> {
        self.functions.window_names()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn udaf_names(&self) -> Vec<String> {
        headpond_functions::Aggregate::ALL.map(|aggregate| aggregate.name().to_owned()).to_vec()
    }

    fn udwf_names(&self) -> Vec<String> {
        vec![ROW_NUMBER.to_owned()]
    }
}

/// A table as DataFusion scans it.
#[derive(Debug)]
pub(crate) struct TableScanned(pub(crate) Arc<Table>);

impl TableSource for TableScanned {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0.schema)
    }
}

/// A view: its plan takes its place.
#[derive(Debug)]
struct ViewScanned {
    schema: SchemaRef,
    plan: Arc<LogicalPlan>,
}

impl TableSource for ViewScanned {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn get_logical_plan(&'_ self) -> Option<Cow<'_, LogicalPlan>> {
        Some(Cow::Borrowed(&self.plan))
    }
}

/// Types in queries are those of table definitions.
#[derive(Debug)]
struct SessionTypes {
    time_zone: Arc<str>,
}

impl TypePlanner for SessionTypes {
    fn plan_type_field(&self, sql_type: &ast::DataType) -> Result<Option<FieldRef>> {
        let text = sql_type.to_string();
        if let Some(field) = Target::field(&text) {
            return Ok(Some(Arc::new(field)));
        }
        let parsed = parse_type_text(&text).map_err(external)?;
        Ok(Some(Arc::new(Field::new("", localized(&parsed, &self.time_zone), true))))
    }
}
