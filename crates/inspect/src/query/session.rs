//! What DataFusion's planner asks: tables, functions, settings.

use super::error::{external, query_error};
use super::scan::ScannedTable;
use crate::catalog::{StateCatalog, StateTable};
use arrow_schema::DataType;
use datafusion_common::config::ConfigOptions;
use datafusion_common::{DataFusionError, TableReference};
use datafusion_expr::planner::{ContextProvider, ExprPlanner};
use datafusion_expr::{AggregateUDF, HigherOrderUDF, LogicalPlan, ScalarUDF, TableSource, WindowUDF};
use datafusion_optimizer::{Analyzer, Optimizer, OptimizerContext};
use datafusion_sql::planner::{ParserOptions, SqlToRel};
use datafusion_sql::sqlparser::ast::Statement;
use datafusion_sql::sqlparser::dialect::GenericDialect;
use datafusion_sql::sqlparser::parser::Parser;
use headpond_state::{Error, Result};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A session over a checkpoint's tables. Names are taken as they are written, and points in time are shown in UTC.
pub(super) struct Session<'c> {
    catalog: &'c StateCatalog,
    options: Arc<ConfigOptions>,
    scalar: BTreeMap<String, Arc<ScalarUDF>>,
    higher_order: BTreeMap<String, Arc<HigherOrderUDF>>,
    aggregate: BTreeMap<String, Arc<AggregateUDF>>,
    window: BTreeMap<String, Arc<WindowUDF>>,
    planners: Vec<Arc<dyn ExprPlanner>>,
}

impl<'c> Session<'c> {
    pub(super) fn new(catalog: &'c StateCatalog) -> Self {
        let mut options = ConfigOptions::default();
        options.execution.time_zone = Some("+00:00".to_owned());
        options.sql_parser.map_string_types_to_utf8view = false;
        options.sql_parser.enable_ident_normalization = false;
        // Joins are what the physical planner knows in place of subqueries.
        options.optimizer.enable_physical_uncorrelated_scalar_subquery = false;
        let mut session = Session {
            catalog,
            scalar: BTreeMap::new(),
            higher_order: BTreeMap::new(),
            aggregate: BTreeMap::new(),
            window: BTreeMap::new(),
            planners: vec![
                Arc::new(datafusion_functions_nested::planner::NestedFunctionPlanner),
                Arc::new(datafusion_functions_nested::planner::FieldAccessPlanner),
                Arc::new(datafusion_functions::core::planner::CoreFunctionPlanner::default()),
                Arc::new(datafusion_functions::datetime::planner::DatetimeFunctionPlanner),
                Arc::new(datafusion_functions::unicode::planner::UnicodeFunctionPlanner),
                Arc::new(datafusion_functions_aggregate::planner::AggregateFunctionPlanner),
                Arc::new(datafusion_functions_window::planner::WindowFunctionPlanner),
            ],
            options: Arc::new(options),
        };
        session.add_functions();
        session
    }

    fn add_functions(&mut self) {
        let scalar = datafusion_functions::all_default_functions();
        for function in scalar.into_iter().chain(datafusion_functions_nested::all_default_nested_functions()) {
            let function = match function.inner().with_updated_config(&self.options) {
                Some(configured) => Arc::new(configured),
                None => function,
            };
            for alias in function.aliases() {
                self.scalar.insert(alias.clone(), Arc::clone(&function));
            }
            self.scalar.insert(function.name().to_owned(), function);
        }
        for function in datafusion_functions_nested::all_default_higher_order_functions() {
            self.higher_order.insert(function.name().to_owned(), function);
        }
        for function in datafusion_functions_aggregate::all_default_aggregate_functions() {
            for alias in function.aliases() {
                self.aggregate.insert(alias.clone(), Arc::clone(&function));
            }
            self.aggregate.insert(function.name().to_owned(), function);
        }
        for function in datafusion_functions_window::all_default_window_functions() {
            self.window.insert(function.name().to_owned(), function);
        }
    }

    /// DataFusion's settings.
    pub(super) fn config_options(&self) -> &ConfigOptions {
        &self.options
    }

    /// The optimized plan of a query.
    ///
    /// # Errors
    /// [`Invalid`](headpond_state::ErrorKind::Invalid) for what is no query, or has unknown names or wrong types in it.
    pub(super) fn plan(&self, sql: &str) -> Result<LogicalPlan> {
        let parsed = Parser::parse_sql(&GenericDialect {}, sql);
        let mut statements = parsed.map_err(|cause| Error::invalid(cause.to_string()))?;
        let query = match (statements.pop(), statements.is_empty()) {
            (Some(query @ Statement::Query(_)), true) => query,
            (Some(_), true) => {
                return Err(Error::unsupported("only queries can be run on a checkpoint")
                    .hint("write a SELECT; the command `state export` keeps its result"));
            }
            (Some(_), false) => {
                return Err(Error::invalid("there is more than one statement").hint("run one at a time"));
            }
            (None, _) => return Err(Error::invalid("there is no query")),
        };
        let options =
            ParserOptions::new().with_enable_ident_normalization(false).with_map_string_types_to_utf8view(false);
        let plan = SqlToRel::new_with_options(self, options).sql_statement_to_plan(query).map_err(query_error)?;
        let plan = Analyzer::new().execute_and_check(plan, &self.options, |_, _| {}).map_err(query_error)?;
        let context = OptimizerContext::new_with_config_options(Arc::clone(&self.options));
        Optimizer::new().optimize(plan, &context, |_, _| {}).map_err(query_error)
    }
}

impl ContextProvider for Session<'_> {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>, DataFusionError> {
        if name.schema().is_some() {
            let error = Error::invalid(format!("there is no table `{name}`"));
            return Err(external(error.hint("use the name of the table alone")));
        }
        let table: &Arc<StateTable> = self.catalog.table(name.table()).map_err(external)?;
        Ok(Arc::new(ScannedTable(Arc::clone(table))))
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.scalar.get(&name.to_lowercase()).cloned()
    }

    fn get_higher_order_meta(&self, name: &str) -> Option<Arc<HigherOrderUDF>> {
        self.higher_order.get(&name.to_lowercase()).cloned()
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.aggregate.get(&name.to_lowercase()).cloned()
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        self.window.get(&name.to_lowercase()).cloned()
    }

    fn get_variable_type(&self, _names: &[String]) -> Option<DataType> {
        None
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &self.planners
    }

    fn options(&self) -> &ConfigOptions {
        &self.options
    }

    fn udf_names(&self) -> Vec<String> {
        self.scalar.keys().cloned().collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        self.higher_order.keys().cloned().collect()
    }

    fn udaf_names(&self) -> Vec<String> {
        self.aggregate.keys().cloned().collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        self.window.keys().cloned().collect()
    }
}
