//! Evaluating a compiled path over a parsed value, as JsonPath does.

use std::borrow::Cow;

use crate::json::decimal::double_text;
use crate::json::matching::accepts;
use crate::json::path::{Function, Step, is_definite, step_is_definite};
use crate::json::value::{Number, Value};

/// What an evaluation needs besides the value: the whole document and how strict it is.
#[derive(Debug, Clone, Copy)]
pub struct Context<'v, 'a> {
    /// The whole document, for `$` in filters.
    pub root: &'v Value<'a>,
    /// Nothing found is no failure (lax).
    pub suppress: bool,
    /// A missing member is a failure even after steps that give lists.
    pub require: bool,
}

/// Why an evaluation gives nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The path finds nothing.
    Missing(String),
    /// Any other reason.
    Other(String),
}

impl Failure {
    /// The text of the error.
    pub fn into_text(self) -> String {
        match self {
            Self::Missing(text) | Self::Other(text) => text,
        }
    }
}

type Found<'v, 'a> = Vec<Cow<'v, Value<'a>>>;

/// Evaluates steps: one value for a definite path (`None` if nothing is found and failures are suppressed), else a
/// list.
pub fn read<'v, 'a>(
    steps: &[Step],
    start: &'v Value<'a>,
    context: &Context<'v, 'a>,
) -> Result<Option<Cow<'v, Value<'a>>>, Failure> {
    let mut found = Vec::new();
    run(steps, 0, start, context, &mut found)?;
    if !is_definite(steps) {
        return Ok(Some(Cow::Owned(Value::Array(found.into_iter().map(Cow::into_owned).collect()))));
    }
    match found.pop() {
        Some(value) => Ok(Some(value)),
        None if context.suppress => Ok(None),
        None => Err(Failure::Missing("the JSON path finds no value".into())),
    }
}

fn run<'v, 'a>(
    steps: &[Step],
    at: usize,
    model: &'v Value<'a>,
    context: &Context<'v, 'a>,
    found: &mut Found<'v, 'a>,
) -> Result<(), Failure> {
    let Some(step) = steps.get(at) else {
        found.push(Cow::Borrowed(model));
        return Ok(());
    };
    let upstream_definite = || (0..at).all(|before| step_is_definite(steps, before));
    let mismatch = |wanted: &str| {
        if !upstream_definite() || context.suppress {
            Ok(())
        } else {
            Err(Failure::Missing(format!("the JSON path expects {wanted} at step {}", at + 1)))
        }
    };
    match step {
        Step::Property(names) => {
            if !matches!(model, Value::Object(_)) {
                return mismatch("an object");
            }
            let leaf = at + 1 == steps.len();
            if let ([_, _, ..], true) = (names.as_slice(), leaf) {
                return merge(names, model, context, found);
            }
            for name in names {
                match model.get(name) {
                    Some(value) => run(steps, at + 1, value, context, found)?,
                    None => {
                        let fails = if leaf {
                            context.require
                        } else {
                            context.require || (upstream_definite() && step_is_definite(steps, at))
                        };
                        if fails && !context.suppress {
                            return Err(Failure::Missing(format!("the JSON path finds no member '{name}'")));
                        }
                    }
                }
            }
            Ok(())
        }
        Step::Index(indexes) => {
            let Value::Array(items) = model else { return mismatch("an array") };
            indexes.iter().try_for_each(|index| item(items, *index, steps, at, context, found))
        }
        Step::Slice(from, to) => {
            let Value::Array(items) = model else { return mismatch("an array") };
            let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
            let range = match (*from, *to) {
                (Some(from), None) => (if from < 0 { length + from } else { from }).max(0)..length,
                // A negative start counts from the end item by item, as in JsonPath.
                (Some(from), Some(to)) if length > 0 => from.max(-length)..to.min(length),
                (None, Some(to)) => 0..(if to < 0 { length + to } else { to }).min(length),
                _ => 0..0,
            };
            range.into_iter().try_for_each(|index| item(items, index, steps, at, context, found))
        }
        Step::Wildcard => match model {
            Value::Object(members) => {
                members.iter().try_for_each(|(_, value)| run(steps, at + 1, value, context, found))
            }
            Value::Array(items) => {
                for value in items {
                    match run(steps, at + 1, value, context, found) {
                        Err(Failure::Missing(_)) if !context.require => {}
                        other => other?,
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        },
        Step::Scan => scan(steps, at + 1, model, context, found),
        Step::Filter(expression) => match model {
            Value::Object(_) => {
                if accepts(expression, model, context) {
                    run(steps, at + 1, model, context, found)?;
                }
                Ok(())
            }
            Value::Array(items) => {
                for value in items {
                    if accepts(expression, value, context) {
                        run(steps, at + 1, value, context, found)?;
                    }
                }
                Ok(())
            }
            _ if upstream_definite() => {
                Err(Failure::Other("a JSON path filter applies to arrays and objects only".into()))
            }
            _ => Ok(()),
        },
        Step::Function(function) => {
            found.push(apply(*function, model)?);
            Ok(())
        }
    }
}

fn item<'v, 'a>(
    items: &'v [Value<'a>],
    index: i64,
    steps: &[Step],
    at: usize,
    context: &Context<'v, 'a>,
    found: &mut Found<'v, 'a>,
) -> Result<(), Failure> {
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let index = if index < 0 { length + index } else { index };
    match usize::try_from(index).ok().and_then(|index| items.get(index)) {
        Some(value) => run(steps, at + 1, value, context, found),
        None => Ok(()),
    }
}

/// Several names at the end of a path: an object of those that are there.
fn merge<'v, 'a>(
    names: &[String],
    model: &'v Value<'a>,
    context: &Context<'v, 'a>,
    found: &mut Found<'v, 'a>,
) -> Result<(), Failure> {
    let mut members: Vec<(Cow<'a, str>, Value<'a>)> = Vec::new();
    for name in names {
        match model.get(name) {
            Some(_) if members.iter().any(|(known, _)| known == name) => {}
            Some(value) => members.push((Cow::Owned(name.clone()), value.clone())),
            None if context.require => return Err(Failure::Missing(format!("the JSON path finds no member '{name}'"))),
            None => {}
        }
    }
    found.push(Cow::Owned(Value::Object(members)));
    Ok(())
}

/// Tries the step at every level, outer ones first.
fn scan<'v, 'a>(
    steps: &[Step],
    at: usize,
    model: &'v Value<'a>,
    context: &Context<'v, 'a>,
    found: &mut Found<'v, 'a>,
) -> Result<(), Failure> {
    let Some(target) = steps.get(at) else { return Ok(()) };
    let mut left = vec![model];
    while let Some(model) = left.pop() {
        let matches = match target {
            Step::Property(names) if step_is_definite(steps, at) => names.iter().all(|name| model.get(name).is_some()),
            Step::Property(_) => matches!(model, Value::Object(_)),
            Step::Index(_) | Step::Slice(..) => matches!(model, Value::Array(_)),
            Step::Wildcard => !model.is_scalar(),
            Step::Filter(expression) => !model.is_scalar() && accepts(expression, model, context),
            Step::Scan | Step::Function(_) => false,
        };
        if matches {
            run(steps, at, model, context, found)?;
        }
        match model {
            Value::Object(members) => left.extend(members.iter().rev().map(|(_, value)| value)),
            Value::Array(items) => left.extend(items.iter().rev()),
            _ => {}
        }
    }
    Ok(())
}

fn apply<'v, 'a>(function: Function, model: &'v Value<'a>) -> Result<Cow<'v, Value<'a>>, Failure> {
    let text = |text: String, integer: bool| Value::Number(Number { text: Cow::Owned(text), integer });
    let empty = || Failure::Other("a JSON path function needs an array that is not empty".into());
    let owned = match (function, model) {
        (Function::Length, Value::Array(items)) => text(items.len().to_string(), true),
        (Function::Length, Value::Object(members)) => text(members.len().to_string(), true),
        (Function::Keys, Value::Object(members)) => {
            Value::Array(members.iter().map(|(key, _)| Value::String(key.clone())).collect())
        }
        (Function::Length | Function::Keys, _) => Value::Null,
        (Function::Concat, Value::Array(items)) => Value::String(Cow::Owned(
            items
                .iter()
                .filter_map(|item| if let Value::String(text) = item { Some(text.as_ref()) } else { None })
                .collect(),
        )),
        (Function::Concat, _) => Value::String(Cow::Borrowed("")),
        (Function::First, Value::Array(items)) => return items.first().map(Cow::Borrowed).ok_or_else(empty),
        // JsonPath refuses the last of one item, too.
        (Function::Last, Value::Array(items)) if items.len() > 1 => {
            return items.last().map(Cow::Borrowed).ok_or_else(empty);
        }
        (Function::Sum | Function::Avg | Function::Min | Function::Max, Value::Array(items)) => {
            let numbers: Vec<f64> = items
                .iter()
                .filter_map(|item| if let Value::Number(number) = item { number.text.parse().ok() } else { None })
                .collect();
            let count = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            if count == 0 {
                return Err(empty());
            }
            let sum: f64 = numbers.iter().sum();
            let number = match function {
                Function::Sum => sum,
                Function::Avg => sum / f64::from(count),
                Function::Min => numbers.iter().copied().fold(f64::MAX, f64::min),
                _ => numbers.iter().copied().fold(f64::MIN, f64::max),
            };
            text(double_text(number), false)
        }
        _ => return Err(empty()),
    };
    Ok(Cow::Owned(owned))
}

#[cfg(test)]
mod tests {
    use crate::json::path::Path;
    use crate::json::walk::locate;

    const DOCUMENT: &str = r#"{"store": {"book": [
        {"title": "A", "price": 8.95, "tags": ["x", "y"]}, {"title": "B", "price": 12.99}, {"title": "C", "isbn": "0-1", "price": 9}],
        "bike": {"color": "red", "price": 19.95}}, "limit": 10, "n": [1, 2, 3, 4]}"#;

    fn found(path: &str) -> String {
        match locate(DOCUMENT, &Path::parse(path).unwrap()) {
            Ok(Some(value)) => value.to_json(),
            Ok(None) => "-".into(),
            Err(_) => "!".into(),
        }
    }

    #[test]
    fn paths() {
        for (path, wanted) in [
            ("$.store.book[0].title", "\"A\""),
            ("$.store.book[-1].title", "\"C\""),
            ("$.store.book[*].title", r#"["A","B","C"]"#),
            ("$.store.book[0,2].title", r#"["A","C"]"#),
            ("$.n[1:3]", "[2,3]"),
            ("$.n[:2]", "[1,2]"),
            ("$.n[:-1]", "[1,2,3]"),
            ("$.n[-2:]", "[3,4]"),
            ("$.n[5:]", "[]"),
            ("$.n[-1:1]", "[4,1]"),
            ("$..price", "[8.95,12.99,9,19.95]"),
            ("$..book[0].title", r#"["A"]"#),
            ("$..nope", "[]"),
            ("$.store.bike.*", r#"["red",19.95]"#),
            ("$.store.bike['color','nope']", r#"{"color":"red"}"#),
            ("$.n.length()", "4"),
            ("$.store.bike.size()", "2"),
            ("lax $.limit.length()", "-"),
            ("$.n.sum()", "10.0"),
            ("$.n.avg()", "2.5"),
            ("$.n.max()", "4.0"),
            ("$.store.bike.keys()", r#"["color","price"]"#),
            ("$.store.book[0].tags.concat()", "\"xy\""),
            ("$.nope", "!"),
            ("lax $.nope", "-"),
            ("$.n[9]", "!"),
            ("$.limit.a", "!"),
            ("lax $.limit.a", "-"),
            ("$.limit[0]", "!"),
            ("$.nope[*]", "!"),
            ("lax $.nope[*]", "[]"),
            ("$.limit[*]", "[]"),
        ] {
            assert_eq!(found(path), wanted, "{path}");
        }
    }
}
