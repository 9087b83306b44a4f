//! The functions that queries may call.

use super::clock::clock_functions;
use super::date_format::date_format;
use super::to_timestamp_ltz::to_timestamp_ltz;
use super::window::window_functions;
use datafusion_common::config::ConfigOptions;
use datafusion_expr::planner::ExprPlanner;
use datafusion_expr::{AggregateUDF, HigherOrderUDF, ScalarUDF};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Functions by name.
pub(crate) struct Functions {
    scalar: BTreeMap<String, Arc<ScalarUDF>>,
    higher_order: BTreeMap<String, Arc<HigherOrderUDF>>,
    aggregate: BTreeMap<String, Arc<AggregateUDF>>,
    planners: Vec<Arc<dyn ExprPlanner>>,
}

impl Functions {
    /// All functions, for a session with these options.
    pub(crate) fn new(options: &ConfigOptions) -> Self {
        let mut scalar = BTreeMap::new();
        let defaults = datafusion_functions::all_default_functions()
            .into_iter()
            .chain(datafusion_functions_nested::all_default_nested_functions())
            .filter(|function| function.name() != "current_time");
        for function in defaults {
            let function = match function.inner().with_updated_config(options) {
                Some(configured) => Arc::new(configured),
                None => function,
            };
            register(&mut scalar, function);
        }
        for function in clock_functions(options) {
            register(&mut scalar, function);
        }
        register(&mut scalar, date_format());
        register(&mut scalar, to_timestamp_ltz(options));
        for function in window_functions() {
            register(&mut scalar, function);
        }
        let higher_order = datafusion_functions_nested::all_default_higher_order_functions()
            .into_iter()
            .map(|function| (function.name().to_owned(), function))
            .collect();
        let aggregate = [
            datafusion_functions_aggregate::count::count_udaf(),
            datafusion_functions_aggregate::sum::sum_udaf(),
            datafusion_functions_aggregate::min_max::min_udaf(),
            datafusion_functions_aggregate::min_max::max_udaf(),
            datafusion_functions_aggregate::average::avg_udaf(),
        ];
        Functions {
            scalar,
            higher_order,
            aggregate: aggregate.into_iter().map(|function| (function.name().to_owned(), function)).collect(),
            planners: vec![
                Arc::new(datafusion_functions_nested::planner::NestedFunctionPlanner),
                Arc::new(datafusion_functions_nested::planner::FieldAccessPlanner),
                Arc::new(datafusion_functions::core::planner::CoreFunctionPlanner::default()),
                Arc::new(datafusion_functions::datetime::planner::DatetimeFunctionPlanner),
                Arc::new(datafusion_functions::unicode::planner::UnicodeFunctionPlanner),
                Arc::new(datafusion_functions_aggregate::planner::AggregateFunctionPlanner),
            ],
        }
    }

    /// The scalar function of this name, in any case.
    pub(crate) fn scalar(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.scalar.get(&name.to_lowercase()).cloned()
    }

    /// The function of this name that takes functions.
    pub(crate) fn higher_order(&self, name: &str) -> Option<Arc<HigherOrderUDF>> {
        self.higher_order.get(&name.to_lowercase()).cloned()
    }

    /// The aggregate function of this name.
    pub(crate) fn aggregate(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.aggregate.get(&name.to_lowercase()).cloned()
    }

    /// What plans operators and syntax that stand for functions.
    pub(crate) fn planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &self.planners
    }

    pub(crate) fn scalar_names(&self) -> Vec<String> {
        self.scalar.keys().cloned().collect()
    }

    pub(crate) fn higher_order_names(&self) -> Vec<String> {
        self.higher_order.keys().cloned().collect()
    }

    pub(crate) fn aggregate_names(&self) -> Vec<String> {
        self.aggregate.keys().cloned().collect()
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = (self.scalar.len(), self.higher_order.len(), self.aggregate.len());
        write!(f, "Functions {{ scalar: {}, higher order: {}, aggregate: {} }}", counts.0, counts.1, counts.2)
    }
}

fn register(functions: &mut BTreeMap<String, Arc<ScalarUDF>>, function: Arc<ScalarUDF>) {
    for alias in function.aliases() {
        functions.insert(alias.clone(), Arc::clone(&function));
    }
    functions.insert(function.name().to_owned(), function);
}
