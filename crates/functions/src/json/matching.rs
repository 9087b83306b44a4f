//! What filter expressions mean for a value: truth, comparison and equality as JsonPath has them.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::json::decimal::Decimal;
use crate::json::evaluate::{Context, Failure, read};
use crate::json::filter::{Expression, Operand, Operator};
use crate::json::value::{Value, compare_keys};

/// Whether the expression holds for an item; a failure counts as no.
pub(crate) fn accepts(expression: &Expression, item: &Value<'_>, context: &Context<'_, '_>) -> bool {
    holds(expression, item, context).unwrap_or(false)
}

fn holds(expression: &Expression, item: &Value<'_>, context: &Context<'_, '_>) -> Result<bool, Failure> {
    match expression {
        Expression::Or(all) => {
            for one in all {
                if holds(one, item, context)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Expression::And(all) => {
            for one in all {
                if !holds(one, item, context)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Expression::Not(inner) => Ok(!holds(inner, item, context)?),
        Expression::Exists(steps, wanted) => {
            let found = match read(steps, item, &Context { root: context.root, suppress: false, require: true }) {
                Ok(_) => true,
                Err(Failure::Missing(_)) => false,
                Err(failure) => return Err(failure),
            };
            Ok(found == *wanted)
        }
        Expression::Compare(left, operator, right) => {
            let left = resolve(left, item, context)?;
            let right = resolve(right, item, context)?;
            Ok(compare(left.as_deref(), *operator, right.as_deref()))
        }
    }
}

/// The value of an operand; `None` if its path finds nothing.
fn resolve<'v>(
    operand: &'v Operand,
    item: &'v Value<'_>,
    context: &'v Context<'_, '_>,
) -> Result<Option<Cow<'v, Value<'v>>>, Failure> {
    match operand {
        Operand::Literal(value) => Ok(Some(Cow::Borrowed(value))),
        Operand::Path(steps, from_root) => {
            let start = if *from_root { context.root } else { item };
            match read(steps, start, context) {
                Ok(found) => Ok(Some(found.unwrap_or(Cow::Owned(Value::Null)))),
                Err(Failure::Missing(_)) => Ok(None),
                Err(failure) => Err(failure),
            }
        }
    }
}

fn compare(left: Option<&Value<'_>>, operator: Operator, right: Option<&Value<'_>>) -> bool {
    let equal = |typed: bool| match (left, right) {
        (Some(left), Some(right)) => (!typed || kind(left) == kind(right)) && equals(left, right),
        _ => false,
    };
    match operator {
        Operator::Equal { typed } => return equal(typed),
        Operator::NotEqual { typed } => return !equal(typed),
        _ => {}
    }
    let inside = |list: Option<&Value<'_>>, item: &Value<'_>| match list {
        Some(Value::Array(items)) => items.iter().any(|known| equals(item, known)),
        _ => false,
    };
    if operator == Operator::NotIn {
        return !left.is_some_and(|left| inside(right, left));
    }
    let (Some(left), Some(right)) = (left, right) else { return false };
    match operator {
        Operator::Order(less, same, greater) => {
            let order = match (left, right) {
                (Value::Number(a), Value::Number(b)) => match (Decimal::parse(&a.text), Decimal::parse(&b.text)) {
                    (Some(a), Some(b)) => a.compare(&b),
                    _ => return false,
                },
                (Value::String(a), Value::String(b)) => compare_keys(a, b),
                _ => return false,
            };
            match order {
                Ordering::Less => less,
                Ordering::Equal => same,
                Ordering::Greater => greater,
            }
        }
        Operator::In => inside(Some(right), left),
        Operator::Contains => match (left, right) {
            (Value::String(text), Value::String(part)) => text.contains(part.as_ref()),
            (Value::Array(items), right) => items.iter().any(|known| equals(right, known)),
            _ => false,
        },
        Operator::Size => {
            let Value::Number(size) = right else { return false };
            let size = Decimal::parse(&size.text).and_then(|size| size.truncated());
            let length = match left {
                Value::String(text) => i64::try_from(text.encode_utf16().count()).ok(),
                Value::Array(items) => i64::try_from(items.len()).ok(),
                Value::Object(_) => Some(-1),
                _ => return false,
            };
            size.is_some() && size == length
        }
        Operator::Empty => {
            let empty = match left {
                Value::String(text) => text.is_empty(),
                Value::Array(items) => items.is_empty(),
                Value::Object(members) => members.is_empty(),
                _ => return false,
            };
            *right == Value::Bool(empty)
        }
        Operator::SubsetOf | Operator::AnyOf | Operator::NoneOf => {
            let (Value::Array(items), Value::Array(_)) = (left, right) else { return false };
            let mut known = items.iter().map(|item| inside(Some(right), item));
            match operator {
                Operator::SubsetOf => known.all(|known| known),
                Operator::AnyOf => known.any(|known| known),
                _ => !known.any(|known| known),
            }
        }
        Operator::Equal { .. } | Operator::NotEqual { .. } | Operator::NotIn => false,
    }
}

fn kind(value: &Value<'_>) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) | Value::Object(_) => 4,
    }
}

/// Equality as JsonPath has it: numbers by value, a text and a number by what the left side is.
fn equals(left: &Value<'_>, right: &Value<'_>) -> bool {
    let by_value = |a: &str, b: &str| match (Decimal::parse(a), Decimal::parse(b)) {
        (Some(a), Some(b)) => a.compare(&b) == Ordering::Equal,
        _ => false,
    };
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => by_value(&a.text, &b.text),
        (Value::Number(a), Value::String(b)) => by_value(&a.text, b),
        (Value::String(a), Value::Number(b)) => *a == b.text,
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use crate::json::path::Path;
    use crate::json::walk::locate;

    const DOCUMENT: &str = r#"{"store": {"book": [
        {"title": "A", "price": 8.95, "tags": ["x", "y"]}, {"title": "B", "price": 12.99},
        {"title": "C", "isbn": "0-1", "price": 9}]}, "limit": 10, "n": [1, 2, 3, 4]}"#;

    fn found(path: &str) -> String {
        match locate(DOCUMENT, &Path::parse(path).unwrap()) {
            Ok(Some(value)) => value.to_json(),
            Ok(None) => "-".into(),
            Err(_) => "!".into(),
        }
    }

    #[test]
    fn filters() {
        for (filter, wanted) in [
            ("@.price < 10", r#"["A","C"]"#),
            ("@.price < $.limit", r#"["A","C"]"#),
            ("@.price >= 9 && @.price<=9.00", r#"["C"]"#),
            ("@.isbn", r#"["C"]"#),
            ("!@.isbn", r#"["A","B"]"#),
            ("!(@.isbn)", r#"["A","B"]"#),
            ("@.title == 'A' || @.title==\"B\"", r#"["A","B"]"#),
            ("@.title != 'A'", r#"["B","C"]"#),
            ("@.title in ['A', 'C']", r#"["A","C"]"#),
            ("@.title nin ['A', 'C']", r#"["B"]"#),
            ("@.tags contains 'x'", r#"["A"]"#),
            ("@.tags size 2", r#"["A"]"#),
            ("@.tags.length() == 2", r#"["A"]"#),
            ("@.price == '9'", r#"["C"]"#),
            ("@.price === '9'", "[]"),
            ("@['price'] > 12 && (@.isbn || @.title == 'B')", r#"["B"]"#),
            ("@.nope == null", "[]"),
            ("@.price > 'a'", "[]"),
        ] {
            assert_eq!(found(&format!("$.store.book[?({filter})].title")), wanted, "{filter}");
        }
        assert_eq!(found("$.n[?(@ > 2)]"), "[3,4]");
        assert_eq!(found("$..[?(@.isbn)].title"), r#"["C"]"#);
        assert_eq!(found("$.limit[?(@.a)]"), "!");
    }
}
