//! What people call the columns of a plan in the middle of a query: what they become.
//!
//! `INSERT INTO totals (carrier, flights) SELECT carrier, COUNT(*) …` calls a count `flights`, a subquery's
//! `COUNT(*) AS n` calls it `n`. Only who looks into state sees these names: nothing is compared by them.

use datafusion_expr::{Expr, LogicalPlan};
use std::collections::BTreeMap;

/// Names of some columns of a plan, by their positions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ColumnNames(BTreeMap<usize, String>);

impl ColumnNames {
    /// Names of all columns.
    pub(super) fn of(names: impl Iterator<Item = String>) -> Self {
        ColumnNames(names.enumerate().collect())
    }

    /// The name of a column.
    pub(super) fn get(&self, column: usize) -> Option<&String> {
        self.0.get(&column)
    }

    /// With these names of the columns of `plan`, the names that the plan below it is built with: those of an
    /// aggregate's own columns, or of what a projection takes as it is.
    pub(super) fn through(self, plan: &LogicalPlan) -> Self {
        match plan {
            LogicalPlan::Aggregate(_) | LogicalPlan::Filter(_) | LogicalPlan::SubqueryAlias(_) => self,
            LogicalPlan::Projection(projection) => {
                let input = projection.input.schema();
                let mut names = BTreeMap::new();
                for (index, expr) in projection.expr.iter().enumerate() {
                    let alias = if let Expr::Alias(alias) = expr { Some(alias.name.clone()) } else { None };
                    let name = self.0.get(&index).cloned().or(alias);
                    if let (Some(name), Expr::Column(column)) = (name, unaliased(expr))
                        && let Some(below) = input.maybe_index_of_column(column)
                    {
                        names.entry(below).or_insert(name);
                    }
                }
                ColumnNames(names)
            }
            _ => ColumnNames::default(),
        }
    }
}

/// The expression without aliases and casts.
fn unaliased(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unaliased(&alias.expr),
        Expr::Cast(cast) => unaliased(&cast.expr),
        other => other,
    }
}
