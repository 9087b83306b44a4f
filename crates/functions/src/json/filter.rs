//! Filter expressions of paths, `[?(@.a > 1 && !@.b)]`: how they are read.

use std::borrow::Cow;

use crate::json::decimal::Decimal;
use crate::json::path::Step;
use crate::json::path_parser::{Parser, parse_steps};
use crate::json::value::{Number, Value};

const MAX_PARENTHESES: usize = 50;

/// A filter expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// One of them holds.
    Or(Vec<Expression>),
    /// All of them hold.
    And(Vec<Expression>),
    /// It does not hold.
    Not(Box<Expression>),
    /// The path finds something, or, if false, finds nothing.
    Exists(Vec<Step>, bool),
    /// A comparison.
    Compare(Operand, Operator, Operand),
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// A path; true if it starts at the document, not at the item.
    Path(Vec<Step>, bool),
    /// A literal.
    Literal(Value<'static>),
}

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `==`, and `===` if the types must be the same.
    Equal {
        /// Types must be the same.
        typed: bool,
    },
    /// `!=`, and `!==` if other types differ.
    NotEqual {
        /// Other types differ.
        typed: bool,
    },
    /// `<`, `<=`, `>` or `>=`: which orders hold.
    Order(bool, bool, bool),
    /// `in`
    In,
    /// `nin`
    NotIn,
    /// `size`
    Size,
    /// `empty`
    Empty,
    /// `contains`
    Contains,
    /// `subsetof`
    SubsetOf,
    /// `anyof`
    AnyOf,
    /// `noneof`
    NoneOf,
}

impl Operator {
    fn parse(text: &str) -> Option<Self> {
        Some(match text.to_ascii_uppercase().as_str() {
            "==" => Self::Equal { typed: false },
            "===" => Self::Equal { typed: true },
            "!=" => Self::NotEqual { typed: false },
            "!==" => Self::NotEqual { typed: true },
            "<" => Self::Order(true, false, false),
            "<=" => Self::Order(true, true, false),
            ">" => Self::Order(false, false, true),
            ">=" => Self::Order(false, true, true),
            "IN" => Self::In,
            "NIN" => Self::NotIn,
            "SIZE" => Self::Size,
            "EMPTY" => Self::Empty,
            "CONTAINS" => Self::Contains,
            "SUBSETOF" => Self::SubsetOf,
            "ANYOF" => Self::AnyOf,
            "NONEOF" => Self::NoneOf,
            _ => return None,
        })
    }
}

fn is_relational(c: char) -> bool {
    matches!(c, '<' | '>' | '=' | '~' | '!')
}

impl Parser<'_> {
    fn or(&mut self, depth: usize) -> Result<Expression, String> {
        let first = self.and(depth)?;
        let mut all = vec![first];
        loop {
            self.blanks();
            if !self.take("||") {
                break;
            }
            all.push(self.and(depth)?);
        }
        Ok(single(all, Expression::Or))
    }

    fn and(&mut self, depth: usize) -> Result<Expression, String> {
        let first = self.operand(depth)?;
        let mut all = vec![first];
        loop {
            self.blanks();
            if !self.take("&&") {
                break;
            }
            all.push(self.operand(depth)?);
        }
        Ok(single(all, Expression::And))
    }

    /// One operand of `&&`: an expression in parentheses, a negation, or a comparison.
    pub(crate) fn operand(&mut self, depth: usize) -> Result<Expression, String> {
        if depth > MAX_PARENTHESES {
            return Err(format!("the filter is nested too deep at position {}", self.at));
        }
        self.blanks();
        let start = self.at;
        if self.take("!") {
            self.blanks();
            if !matches!(self.peek(), Some('$' | '@')) {
                return Ok(Expression::Not(Box::new(self.operand(depth + 1)?)));
            }
            self.at = start;
        }
        if self.take("(") {
            let inner = self.or(depth + 1)?;
            self.expect(")")?;
            return Ok(inner);
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Expression, String> {
        self.blanks();
        let negated = self.take("!");
        self.blanks();
        let left = self.side()?;
        let after = self.at;
        let operator = self.operator();
        let failed = match operator {
            Ok(operator) => match self.right() {
                Ok(right) => return Ok(Expression::Compare(left, operator, right)),
                Err(error) => error,
            },
            Err(error) => error,
        };
        // Without a comparison it asks whether the path finds something.
        self.at = after;
        self.blanks();
        let ends = self.rest().starts_with(')') || self.rest().starts_with("&&") || self.rest().starts_with("||");
        match left {
            Operand::Path(steps, _) if ends => Ok(Expression::Exists(steps, !negated)),
            _ => Err(failed),
        }
    }

    fn right(&mut self) -> Result<Operand, String> {
        self.blanks();
        if self.take("!") {
            self.blanks();
        }
        self.side()
    }

    fn operator(&mut self) -> Result<Operator, String> {
        self.blanks();
        let rest = self.rest();
        let end = if rest.starts_with(is_relational) { rest.find(|c| !is_relational(c)) } else { rest.find(' ') };
        let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let Some(operator) = Operator::parse(text) else { return Err(self.error("a known operator")) };
        self.at += text.len();
        Ok(operator)
    }

    fn side(&mut self) -> Result<Operand, String> {
        match self.peek() {
            Some(start @ ('$' | '@')) => {
                let begin = self.at;
                self.path_end()?;
                let text = self.text.get(begin..self.at).unwrap_or_default();
                let steps = parse_steps(text, self.depth + 1)
                    .map_err(|error| format!("in the filter path '{text}': {error}"))?;
                Ok(Operand::Path(steps, start == '$'))
            }
            _ => self.literal(0).map(Operand::Literal),
        }
    }

    /// Moves to the end of the path that begins here.
    fn path_end(&mut self) -> Result<(), String> {
        let begin = self.at;
        self.at += 1;
        while let Some(c) = self.peek() {
            if c == '[' {
                self.closing_bracket()?;
                continue;
            }
            let before = self.text.get(begin..self.at).unwrap_or_default().trim_end_matches(' ');
            let call = c == ')' && before.ends_with('(') && before.contains('.');
            if is_relational(c) || c == ' ' || (c == ')' && !call) {
                break;
            }
            self.at += c.len_utf8();
        }
        Ok(())
    }

    fn closing_bracket(&mut self) -> Result<(), String> {
        let start = self.at;
        let mut open = 0usize;
        while let Some(c) = self.peek() {
            match c {
                '\'' | '"' => {
                    self.quoted(c)?;
                    continue;
                }
                '[' => open += 1,
                ']' => open = open.saturating_sub(1),
                _ => {}
            }
            self.at += c.len_utf8();
            if open == 0 {
                return Ok(());
            }
        }
        Err(format!("the '[' at position {start} is not closed"))
    }

    fn literal(&mut self, depth: usize) -> Result<Value<'static>, String> {
        if depth > MAX_PARENTHESES {
            return Err(format!("the list is nested too deep at position {}", self.at));
        }
        self.blanks();
        for (word, value) in [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)] {
            if self.take(word) {
                return Ok(value);
            }
        }
        match self.peek() {
            Some(quote @ ('\'' | '"')) => Ok(Value::String(Cow::Owned(self.quoted(quote)?))),
            Some('[') => {
                self.at += 1;
                let mut items = Vec::new();
                self.blanks();
                while !self.take("]") {
                    items.push(self.literal(depth + 1)?);
                    self.blanks();
                    if !self.take(",") && !self.rest().starts_with(']') {
                        return Err(self.error("',' or ']'"));
                    }
                    self.blanks();
                }
                Ok(Value::Array(items))
            }
            _ => {
                let rest = self.rest();
                let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, '-' | '.' | 'E' | 'e')));
                let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
                let Some(decimal) = Decimal::parse(text) else { return Err(self.error("a value")) };
                self.at += text.len();
                let mut printed = String::new();
                decimal.write(&mut printed);
                Ok(Value::Number(Number { text: Cow::Owned(printed), integer: !text.contains(['.', 'e', 'E']) }))
            }
        }
    }
}

fn single(mut all: Vec<Expression>, join: fn(Vec<Expression>) -> Expression) -> Expression {
    match all.pop() {
        Some(only) if all.is_empty() => only,
        Some(last) => {
            all.push(last);
            join(all)
        }
        None => join(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::path::Path;

    fn filter(text: &str) -> Expression {
        match Path::parse(&format!("$[?({text})]")).unwrap().steps().unwrap() {
            [Step::Filter(expression)] => expression.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn precedence_and_operands() {
        let path = |name: &str| vec![Step::Property(vec![name.into()])];
        let exists = |name: &str| Expression::Exists(path(name), true);
        assert_eq!(
            filter("@.a || @.b && !@.c"),
            Expression::Or(vec![exists("a"), Expression::And(vec![exists("b"), Expression::Exists(path("c"), false)])])
        );
        assert_eq!(filter("!(@.a)"), Expression::Not(Box::new(exists("a"))));
        let text = Operand::Literal(Value::String("it's".into()));
        assert_eq!(
            filter("$.a=='it\\'s'"),
            Expression::Compare(Operand::Path(path("a"), true), Operator::Equal { typed: false }, text)
        );
        let list = Operand::Literal(Value::Array(vec![Value::Bool(true), Value::Null]));
        assert_eq!(
            filter("@.a NIN [true, null]"),
            Expression::Compare(Operand::Path(path("a"), false), Operator::NotIn, list)
        );
    }
}
