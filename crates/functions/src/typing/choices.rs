//! What chooses among values: CASE, COALESCE, IF, NULLIF, and AND and OR whose second side may fail.

use super::comparisons::mixed;
use super::equality::Equality;
use super::typer::{Typer, external};
use crate::bound::BoundFunction;
use crate::common_type::common_type;
use arrow_schema::DataType;
use datafusion_common::tree_node::TreeNode;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::expr::{BinaryExpr, Case};
use datafusion_expr::{Expr, Operator};
use headpond_state::Error;

fn null() -> Expr {
    Expr::Literal(ScalarValue::Null, None)
}

impl Typer<'_> {
    pub(super) fn case(&self, case: Case) -> Result<Expr> {
        let Case { expr, when_then_expr, else_expr } = case;
        let mut branches = Vec::with_capacity(when_then_expr.len());
        for (when, then) in when_then_expr {
            let condition = match &expr {
                Some(value) => self.comparison(value.as_ref().clone(), Operator::Eq, *when)?,
                None => self.condition(*when, "WHEN")?,
            };
            branches.push((condition, *then));
        }
        self.chosen("CASE", branches, else_expr.map(|otherwise| *otherwise))
    }

    /// A CASE whose values have one type.
    fn chosen(&self, of: &str, branches: Vec<(Expr, Expr)>, otherwise: Option<Expr>) -> Result<Expr> {
        let values = branches.iter().map(|(_, value)| value).chain(&otherwise);
        let types = values.map(|value| self.type_of(value)).collect::<Result<Vec<_>>>()?;
        let common = common_type(&types).ok_or_else(|| mixed(of, &types))?;
        let cast = |value: Expr| self.implicit(value, &common).map(Box::new);
        let branches = branches
            .into_iter()
            .map(|(condition, value)| Ok((Box::new(condition), cast(value)?)))
            .collect::<Result<Vec<_>>>()?;
        let otherwise = otherwise.map(cast).transpose()?;
        Ok(Expr::Case(Case::new(None, branches, otherwise)))
    }

    /// The call of a function that is written as a CASE.
    pub(super) fn choice(&self, name: &str, arguments: &[Expr]) -> Result<Option<Expr>> {
        let name = name.to_uppercase();
        let wrong = |takes: &str| external(Error::invalid(format!("{name} takes {takes}")));
        Ok(Some(match (name.as_str(), arguments) {
            ("COALESCE", []) => return Err(wrong("one value or more")),
            ("COALESCE", [rest @ .., last]) => self.coalesce(&name, rest, last)?,
            ("IFNULL", [value, otherwise]) => self.coalesce(&name, std::slice::from_ref(value), otherwise)?,
            ("NULLIF", [value, other]) => {
                let equal = self.comparison(value.clone(), Operator::Eq, other.clone())?;
                self.chosen(&name, vec![(equal, null())], Some(value.clone()))?
            }
            ("IF", [condition, then, otherwise]) => {
                let condition = self.condition(condition.clone(), "IF")?;
                self.chosen(&name, vec![(condition, then.clone())], Some(otherwise.clone()))?
            }
            ("=" | "<>" | "<" | "<=" | ">" | ">=", [left, right]) => {
                let op = match name.as_str() {
                    "=" => Operator::Eq,
                    "<>" => Operator::NotEq,
                    "<" => Operator::Lt,
                    "<=" => Operator::LtEq,
                    ">" => Operator::Gt,
                    _ => Operator::GtEq,
                };
                let (of_left, of_right) = (self.type_of(left)?, self.type_of(right)?);
                // What `comparison` itself asks for: both have been cast.
                if of_left == of_right && of_left == DataType::Float64 && !(op == Operator::Eq && left == right) {
                    return Ok(None);
                }
                self.comparison(left.clone(), op, right.clone())?
            }
            ("IFNULL" | "NULLIF", _) => return Err(wrong("two values")),
            ("IF", _) => return Err(wrong("a condition and two values")),
            _ => return Ok(None),
        }))
    }

    fn coalesce(&self, name: &str, values: &[Expr], last: &Expr) -> Result<Expr> {
        let branches = values.iter().map(|value| (Expr::IsNotNull(Box::new(value.clone())), value.clone())).collect();
        self.chosen(name, branches, Some(last.clone()))
    }

    /// AND and OR look at their second side only where the first leaves it open, if the second can fail.
    pub(super) fn guarded(&self, left: Expr, op: Operator, right: Expr) -> Expr {
        let both = |left: Expr, right: Expr| Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)));
        if self.equality == Equality::OfKeys || !may_fail(&right) || is_literal(&left) {
            return both(left, right);
        }
        // As numbers: of truth values the optimizer would make an AND again, which computes both sides.
        let number = |value: bool| Expr::Literal(ScalarValue::Int8(Some(i8::from(value))), None);
        let is_decided = match op {
            Operator::Or => Expr::IsTrue(Box::new(left.clone())),
            _ => Expr::IsFalse(Box::new(left.clone())),
        };
        let otherwise = datafusion_expr::cast(both(left, right), DataType::Int8);
        let branches = vec![(Box::new(is_decided), Box::new(number(op == Operator::Or)))];
        let value = Expr::Case(Case::new(None, branches, Some(Box::new(otherwise))));
        Expr::BinaryExpr(BinaryExpr::new(Box::new(value), Operator::Eq, Box::new(number(true))))
    }
}

fn is_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(_, _))
}

/// Whether an expression fails for values that people guard it from: a division by what may be zero, a cast of a text.
fn may_fail(expr: &Expr) -> bool {
    expr.exists(|expr| {
        let Expr::ScalarFunction(call) = expr else { return Ok(false) };
        if call.func.inner().downcast_ref::<BoundFunction>().is_none() {
            return Ok(false);
        }
        Ok(match (call.func.name(), &call.args[..]) {
            ("/" | "%" | "mod", [_, divisor]) => !is_literal(divisor),
            ("CAST", [value]) => !is_literal(value),
            _ => false,
        })
    })
    .unwrap_or(true)
}
