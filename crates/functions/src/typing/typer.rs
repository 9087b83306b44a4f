//! What types expressions: one by one, from their parts up.

use super::equality::Equality;
use super::literals;
use crate::bind::{Bind, Bound};
use crate::cast::{self, Target};
use crate::registry;
use crate::settings::Settings;
use crate::type_name::type_name;
use crate::unbound::UnboundFunction;
use arrow_schema::DataType;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion_expr::expr::{BinaryExpr, ScalarFunction};
use datafusion_expr::{Expr, ExprSchemable, Operator};
use headpond_state::Error;
use std::sync::Arc;

/// An error of ours on its way through DataFusion.
pub(crate) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Types expressions over one schema.
pub(crate) struct Typer<'a> {
    pub(crate) settings: &'a Arc<Settings>,
    pub(crate) schema: &'a DFSchema,
    pub(crate) equality: Equality,
}

impl Typer<'_> {
    /// The expression with types.
    pub(crate) fn typed(&self, expr: Expr) -> Result<Expr> {
        expr.transform_up(|expr| self.node(expr).map(Transformed::yes)).data()
    }

    pub(crate) fn type_of(&self, expr: &Expr) -> Result<DataType> {
        expr.get_type(self.schema)
    }

    /// An expression whose parts have types.
    fn node(&self, expr: Expr) -> Result<Expr> {
        match expr {
            Expr::Literal(value, metadata) => Ok(Expr::Literal(literals::narrowed(value), metadata)),
            Expr::ScalarFunction(call) => self.call(call),
            Expr::BinaryExpr(binary) => self.binary(binary),
            Expr::Not(inner) => Ok(Expr::Not(Box::new(self.condition(*inner, "NOT")?))),
            Expr::IsTrue(inner) => Ok(Expr::IsTrue(Box::new(self.condition(*inner, "IS TRUE")?))),
            Expr::IsNotTrue(inner) => Ok(Expr::IsNotTrue(Box::new(self.condition(*inner, "IS NOT TRUE")?))),
            Expr::IsFalse(inner) => Ok(Expr::IsFalse(Box::new(self.condition(*inner, "IS FALSE")?))),
            Expr::IsNotFalse(inner) => Ok(Expr::IsNotFalse(Box::new(self.condition(*inner, "IS NOT FALSE")?))),
            Expr::IsUnknown(inner) => Ok(Expr::IsNull(Box::new(self.condition(*inner, "IS UNKNOWN")?))),
            Expr::IsNotUnknown(inner) => Ok(Expr::IsNotNull(Box::new(self.condition(*inner, "IS NOT UNKNOWN")?))),
            Expr::Negative(inner) => self.negative(*inner),
            Expr::Between(between) => self.between(between),
            Expr::InList(list) => self.in_list(list),
            Expr::InSubquery(subquery) => self.in_subquery(subquery),
            Expr::Like(like) => self.like(like, "LIKE"),
            Expr::SimilarTo(like) => self.like(like, "SIMILAR TO"),
            Expr::Case(case) => self.case(case),
            Expr::Cast(cast) => self.cast(*cast.expr, &Target::of_field(&cast.field), false),
            Expr::TryCast(cast) => self.cast(*cast.expr, &Target::of_field(&cast.field), true),
            Expr::AggregateFunction(call) => self.aggregate(call),
            other => Ok(other),
        }
    }

    fn negative(&self, inner: Expr) -> Result<Expr> {
        if let Expr::Literal(value, metadata) = &inner
            && !matches!(value, ScalarValue::Null)
            && let Ok(negated) = value.arithmetic_negate()
        {
            return Ok(Expr::Literal(literals::narrowed(negated), metadata.clone()));
        }
        self.function(crate::operators::NEGATIVE, vec![inner])
    }

    fn binary(&self, binary: BinaryExpr) -> Result<Expr> {
        let BinaryExpr { left, op, right } = binary;
        let (left, right) = (*left, *right);
        match op {
            Operator::And | Operator::Or => {
                let word = if op == Operator::And { "AND" } else { "OR" };
                let (left, right) = (self.condition(left, word)?, self.condition(right, word)?);
                Ok(self.guarded(left, op, right))
            }
            Operator::Eq | Operator::NotEq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => {
                self.comparison(left, op, right)
            }
            Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => {
                let (left, right) = self.comparable(left, op, right)?;
                Ok(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right))))
            }
            Operator::Plus => self.function("+", vec![left, right]),
            Operator::Minus => self.function("-", vec![left, right]),
            Operator::Multiply => self.function("*", vec![left, right]),
            Operator::Divide => self.function("/", vec![left, right]),
            Operator::Modulo => self.function("%", vec![left, right]),
            Operator::StringConcat => self.function(crate::operators::CONCATENATION, vec![left, right]),
            other => Err(external(Error::unsupported(format!("the operator {other} is not supported")))),
        }
    }

    /// The expression as a condition.
    pub(crate) fn condition(&self, expr: Expr, of: &str) -> Result<Expr> {
        match self.type_of(&expr)? {
            DataType::Boolean => Ok(expr),
            DataType::Null => Ok(Expr::Literal(ScalarValue::Boolean(None), None)),
            other => {
                let error = Error::unsupported(format!("{of} of {} is not supported", type_name(&other)));
                Err(external(error.hint("compare it with something: … <> 0")))
            }
        }
    }

    fn call(&self, call: ScalarFunction) -> Result<Expr> {
        let called = match call.func.inner().downcast_ref::<UnboundFunction>() {
            Some(unbound) => unbound.called().to_owned(),
            // A function of ours has its types; others are windows' and take any.
            None => return Ok(Expr::ScalarFunction(call)),
        };
        self.function(&called, call.args)
    }

    /// The call of a function or an operator.
    pub(crate) fn function(&self, name: &str, arguments: Vec<Expr>) -> Result<Expr> {
        if let Some(chosen) = self.choice(name, &arguments)? {
            return Ok(chosen);
        }
        let (bound, types) = self.bind(name, &arguments)?;
        let cast = arguments.into_iter().zip(&types).zip(&bound.arguments);
        let arguments: Vec<Expr> =
            cast.map(|((argument, from), to)| self.implicit_from(argument, from, to)).collect::<Result<_>>()?;
        Ok(bound.function.call(arguments))
    }

    fn bind(&self, name: &str, arguments: &[Expr]) -> Result<(Bound, Vec<DataType>)> {
        let types = arguments.iter().map(|argument| self.type_of(argument)).collect::<Result<Vec<_>>>()?;
        let literals: Vec<Option<ScalarValue>> = arguments.iter().map(literals::value_of).collect();
        let bind = Bind { name, syntax: None, types: &types, literals: &literals, settings: self.settings };
        let bound = registry::bind(&bind).map_err(external)?;
        Ok((bound, types))
    }

    /// The expression as a value of another type, where that is a matter of course.
    pub(crate) fn implicit(&self, expr: Expr, wanted: &DataType) -> Result<Expr> {
        let from = self.type_of(&expr)?;
        self.implicit_from(expr, &from, wanted)
    }

    fn implicit_from(&self, expr: Expr, from: &DataType, wanted: &DataType) -> Result<Expr> {
        if from == wanted {
            return Ok(expr);
        }
        if let Expr::Literal(value, metadata) = &expr
            && let Some(literal) = literals::converted(value, wanted)
        {
            return Ok(Expr::Literal(literal, metadata.clone()));
        }
        self.cast(expr, &Target::of_type(wanted), false)
    }

    /// A cast; `tries`: of what cannot be converted it is NULL.
    pub(crate) fn cast(&self, expr: Expr, target: &Target, tries: bool) -> Result<Expr> {
        let from = self.type_of(&expr)?;
        let target = target.in_zone(&self.settings.zone_name);
        if from == target.data_type && target.fit.is_none() {
            return Ok(expr);
        }
        if from.is_null() {
            return ScalarValue::try_from(&target.data_type).map(|null| Expr::Literal(null, None));
        }
        if !tries && cast::keeps_values(&from, &target) {
            return Ok(datafusion_expr::cast(expr, target.data_type));
        }
        let function = cast::function(&from, &target, tries, self.settings).map_err(external)?;
        Ok(function.call(vec![expr]))
    }
}
