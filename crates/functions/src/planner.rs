//! Syntax that stands for functions: operators, `EXTRACT`, `a[1]`, `r.f`, `ARRAY[…]`.

use crate::settings::Settings;
use crate::unbound::UnboundFunction;
use arrow_schema::Field;
use datafusion_common::{Column, DFSchema, DataFusionError, Result, ScalarValue, TableReference};
use datafusion_expr::expr::AggregateFunction;
use datafusion_expr::planner::{
    ExprPlanner, PlannerResult, RawAggregateExpr, RawBinaryExpr, RawDictionaryExpr, RawFieldAccessExpr,
};
use datafusion_expr::sqlparser::ast::BinaryOperator;
use datafusion_expr::utils::COUNT_STAR_EXPANSION;
use datafusion_expr::{Expr, GetFieldAccess};
use std::sync::Arc;

/// Plans syntax as calls of functions without types.
#[derive(Debug)]
pub struct SyntaxPlanner {
    settings: Arc<Settings>,
}

impl SyntaxPlanner {
    /// The planner of a session.
    pub fn new(settings: Arc<Settings>) -> Self {
        SyntaxPlanner { settings }
    }

    fn call<T>(&self, name: &str, arguments: Vec<Expr>) -> Result<PlannerResult<T>> {
        Ok(PlannerResult::Planned(UnboundFunction::call(name, &self.settings, arguments)))
    }
}

fn text(text: &str) -> Expr {
    Expr::Literal(ScalarValue::Utf8(Some(text.to_owned())), None)
}

impl ExprPlanner for SyntaxPlanner {
    fn plan_binary_op(&self, expr: RawBinaryExpr, _schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let name = match &expr.op {
            BinaryOperator::Plus => "+",
            BinaryOperator::Minus => "-",
            BinaryOperator::Multiply => "*",
            BinaryOperator::Divide => "/",
            BinaryOperator::Modulo => "%",
            BinaryOperator::StringConcat => "||",
            BinaryOperator::Eq => "=",
            BinaryOperator::NotEq => "<>",
            BinaryOperator::Lt => "<",
            BinaryOperator::LtEq => "<=",
            BinaryOperator::Gt => ">",
            BinaryOperator::GtEq => ">=",
            BinaryOperator::And | BinaryOperator::Or => return Ok(PlannerResult::Original(expr)),
            other => {
                let error = headpond_state::Error::unsupported(format!("the operator {other} is not supported"));
                return Err(DataFusionError::External(Box::new(error)));
            }
        };
        self.call(name, vec![expr.left, expr.right])
    }

    fn plan_field_access(
        &self,
        expr: RawFieldAccessExpr,
        _schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        let RawFieldAccessExpr { field_access, expr } = expr;
        match field_access {
            GetFieldAccess::NamedStructField { name } => self.call("ITEM", vec![expr, Expr::Literal(name, None)]),
            GetFieldAccess::ListIndex { key } => self.call("ITEM", vec![expr, *key]),
            access @ GetFieldAccess::ListRange { .. } => {
                Ok(PlannerResult::Original(RawFieldAccessExpr { field_access: access, expr }))
            }
        }
    }

    fn plan_array_literal(&self, exprs: Vec<Expr>, _schema: &DFSchema) -> Result<PlannerResult<Vec<Expr>>> {
        self.call("ARRAY", exprs)
    }

    fn plan_position(&self, arguments: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        self.call("POSITION", arguments.into_iter().rev().collect())
    }

    fn plan_dictionary_literal(
        &self,
        expr: RawDictionaryExpr,
        _schema: &DFSchema,
    ) -> Result<PlannerResult<RawDictionaryExpr>> {
        Ok(PlannerResult::Original(expr))
    }

    fn plan_extract(&self, arguments: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        self.call("EXTRACT", arguments)
    }

    fn plan_substring(&self, arguments: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        self.call("SUBSTRING", arguments)
    }

    fn plan_struct_literal(&self, arguments: Vec<Expr>, is_named: bool) -> Result<PlannerResult<Vec<Expr>>> {
        if is_named {
            return Ok(PlannerResult::Original(arguments));
        }
        self.call("ROW", arguments)
    }

    fn plan_overlay(&self, arguments: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        self.call("OVERLAY", arguments)
    }

    fn plan_make_map(&self, arguments: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        self.call("MAP", arguments)
    }

    /// `COUNT(*)` counts rows: it is the count of a literal.
    fn plan_aggregate(&self, expr: RawAggregateExpr) -> Result<PlannerResult<RawAggregateExpr>> {
        #[expect(deprecated)]
        let counts_rows = matches!(&expr.args[..], [] | [Expr::Wildcard { .. }]);
        if !counts_rows || expr.func.name() != crate::Aggregate::Count.name() {
            return Ok(PlannerResult::Original(expr));
        }
        let RawAggregateExpr { func, distinct, filter, order_by, null_treatment, .. } = expr;
        let rows = vec![Expr::Literal(COUNT_STAR_EXPANSION, None)];
        let call = AggregateFunction::new_udf(func, rows, distinct, filter, order_by, null_treatment);
        Ok(PlannerResult::Planned(Expr::AggregateFunction(call)))
    }

    fn plan_compound_identifier(
        &self,
        field: &Field,
        qualifier: Option<&TableReference>,
        nested_names: &[String],
    ) -> Result<PlannerResult<Vec<Expr>>> {
        let column = Expr::Column(Column::from((qualifier, field)));
        let of = |expr: Expr, name: &String| UnboundFunction::call("ITEM", &self.settings, vec![expr, text(name)]);
        Ok(PlannerResult::Planned(nested_names.iter().fold(column, of)))
    }
}
