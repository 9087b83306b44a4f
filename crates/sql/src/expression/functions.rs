//! The functions that queries may call: those of SQL, and those of windows.

use super::window::window_functions;
use datafusion_expr::planner::ExprPlanner;
use datafusion_expr::{AggregateUDF, ScalarUDF};
use headpond_functions::{Settings, SyntaxPlanner, UnboundFunction, aggregate};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Functions by name.
pub(crate) struct Functions {
    settings: Arc<Settings>,
    windows: BTreeMap<String, Arc<ScalarUDF>>,
    planners: Vec<Arc<dyn ExprPlanner>>,
}

impl Functions {
    /// All functions, for a session with these settings.
    pub(crate) fn new(settings: Arc<Settings>) -> Self {
        let windows = window_functions().map(|function| (function.name().to_owned(), function)).collect();
        let planners: Vec<Arc<dyn ExprPlanner>> = vec![Arc::new(SyntaxPlanner::new(Arc::clone(&settings)))];
        Functions { settings, windows, planners }
    }

    /// The scalar function of this name, in any case. A name that no function has is one, too, until types are found:
    /// then it is refused.
    pub(crate) fn scalar(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        let lower = name.to_lowercase();
        if let Some(window) = self.windows.get(&lower) {
            return Some(Arc::clone(window));
        }
        let is_another = self.aggregate(name).is_some() || matches!(lower.as_str(), super::ROW_NUMBER | "unnest");
        (!is_another).then(|| UnboundFunction::of(name, &self.settings))
    }

    /// The aggregate function of this name.
    pub(crate) fn aggregate(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        aggregate(name)
    }

    /// What plans operators and syntax that stand for functions.
    pub(crate) fn planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &self.planners
    }

    /// The names of the functions of windows.
    pub(crate) fn window_names(&self) -> Vec<String> {
        self.windows.keys().cloned().collect()
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Functions {{ windows: {} }}", self.windows.len())
    }
}
