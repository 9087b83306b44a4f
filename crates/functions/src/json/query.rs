//! JSON_QUERY: the array or object a path finds, as text or as an array of texts.

use crate::json::path::{Mode, Path};
use crate::json::value::Value;
use crate::json::walk::locate;

/// What JSON_QUERY wraps into an array; Flink's default is `Without`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrapper {
    /// WITHOUT WRAPPER: nothing
    Without,
    /// WITH CONDITIONAL WRAPPER: all but arrays
    Conditional,
    /// WITH UNCONDITIONAL WRAPPER: everything
    Unconditional,
}

/// What JSON_QUERY answers on an empty result or on an error; Flink's default is `Null`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnQuery {
    /// NULL
    Null,
    /// `[]`
    EmptyArray,
    /// `{}`
    EmptyObject,
    /// An error
    Error,
}

enum Outcome<'a> {
    Found(Value<'a>),
    Empty,
    Failed(String),
}

fn query<'a>(doc: &'a str, path: &Path, wrapper: Wrapper) -> Outcome<'a> {
    let value = match locate(doc, path) {
        Ok(Some(value)) => value,
        Ok(None) => return Outcome::Empty,
        Err(error) => return Outcome::Failed(error),
    };
    let value = match (wrapper, value) {
        (Wrapper::Without, value) | (Wrapper::Conditional, value @ Value::Array(_)) => value,
        (_, value) => Value::Array(vec![value]),
    };
    match (value.is_scalar(), path.mode()) {
        (false, _) => Outcome::Found(value),
        (true, Mode::Lax) => Outcome::Empty,
        (true, Mode::Strict) => {
            Outcome::Failed("the path finds a scalar, where strict mode wants an array or object".into())
        }
    }
}

/// JSON_QUERY: the JSON text of the array or object, compact and with sorted keys. A scalar without wrapper is empty
/// in lax mode and an error in strict mode.
pub fn json_query(
    doc: &str,
    path: &Path,
    wrapper: Wrapper,
    on_empty: OnQuery,
    on_error: OnQuery,
) -> Result<Option<String>, String> {
    let (behavior, error) = match query(doc, path, wrapper) {
        Outcome::Found(value) => return Ok(Some(value.to_json())),
        Outcome::Empty => (on_empty, "the result is empty".into()),
        Outcome::Failed(error) => (on_error, error),
    };
    match behavior {
        OnQuery::Null => Ok(None),
        OnQuery::EmptyArray => Ok(Some("[]".into())),
        OnQuery::EmptyObject => Ok(Some("{}".into())),
        OnQuery::Error => Err(format!("JSON_QUERY: {error}")),
    }
}

/// The items of an `ARRAY<STRING>`.
pub type Texts = Vec<Option<String>>;

/// JSON_QUERY RETURNING `ARRAY<STRING>`: scalars as text, arrays and objects as JSON; an object is an error, and so is
/// EMPTY OBJECT where it would be the answer.
pub fn json_query_array(
    doc: &str,
    path: &Path,
    wrapper: Wrapper,
    on_empty: OnQuery,
    on_error: OnQuery,
) -> Result<Option<Texts>, String> {
    let (behavior, error) = match query(doc, path, wrapper) {
        Outcome::Found(Value::Array(items)) => return Ok(Some(items.iter().map(Value::to_text).collect())),
        Outcome::Found(_) => (on_error, "the path finds an object, not an array".into()),
        Outcome::Empty => (on_empty, "the result is empty".into()),
        Outcome::Failed(error) => (on_error, error),
    };
    match behavior {
        OnQuery::Null => Ok(None),
        OnQuery::EmptyArray => Ok(Some(Vec::new())),
        OnQuery::EmptyObject => Err("JSON_QUERY: EMPTY OBJECT is no array".into()),
        OnQuery::Error => Err(format!("JSON_QUERY: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"{"a": 1, "b": "x y", "c": [1, 2, {"k": "v"}], "d": {"e": null}, "o": {"z": 1, "y": 2}}"#;

    fn text(path: &str, wrapper: Wrapper) -> String {
        json_query(ROW, &Path::parse(path).unwrap(), wrapper, OnQuery::EmptyObject, OnQuery::EmptyArray)
            .unwrap()
            .unwrap_or_default()
    }

    #[test]
    fn queries() {
        for (path, wrapper, wanted) in [
            ("$.d", Wrapper::Without, r#"{"e":null}"#),
            ("$.o", Wrapper::Without, r#"{"y":2,"z":1}"#),
            ("$.a", Wrapper::Without, "[]"),
            ("lax $.a", Wrapper::Without, "{}"),
            ("$.a", Wrapper::Conditional, "[1]"),
            ("$.b", Wrapper::Unconditional, r#"["x y"]"#),
            ("$.c", Wrapper::Conditional, r#"[1,2,{"k":"v"}]"#),
            ("$.c", Wrapper::Unconditional, r#"[[1,2,{"k":"v"}]]"#),
            ("$.d", Wrapper::Conditional, r#"[{"e":null}]"#),
            ("$.c[*].k", Wrapper::Without, r#"["v"]"#),
            ("lax $.zz", Wrapper::Unconditional, "{}"),
            ("$.zz", Wrapper::Unconditional, "[]"),
            ("$.d.e", Wrapper::Unconditional, "[]"),
        ] {
            assert_eq!(text(path, wrapper), wanted, "{path} {wrapper:?}");
        }
        let path = Path::parse("lax $.zz").unwrap();
        assert_eq!(json_query("[]", &path, Wrapper::Without, OnQuery::Null, OnQuery::Error), Ok(None));
        assert!(json_query("[]", &path, Wrapper::Without, OnQuery::Error, OnQuery::Null).is_err());
        let path = Path::parse("$").unwrap();
        assert!(json_query("x", &path, Wrapper::Without, OnQuery::Null, OnQuery::Error).is_err());
    }

    #[test]
    fn arrays() {
        let array = |doc: &str, path: &str, wrapper| {
            json_query_array(doc, &Path::parse(path).unwrap(), wrapper, OnQuery::Null, OnQuery::EmptyArray).unwrap()
        };
        let some = |text: &str| Some(text.to_string());
        assert_eq!(array("[1, 2]", "$", Wrapper::Without), Some(vec![some("1"), some("2")]));
        let doc = r#"{"items": [{"itemId":1234, "count":10}, null, ["a", "b"], "c"], "s": "[1,2]"}"#;
        let items = vec![some(r#"{"count":10,"itemId":1234}"#), None, some(r#"["a","b"]"#), some("c")];
        assert_eq!(array(doc, "$.items", Wrapper::Without), Some(items));
        assert_eq!(array(doc, "$.s", Wrapper::Conditional), Some(vec![some("[1,2]")]));
        assert_eq!(array(doc, "$", Wrapper::Without), Some(vec![]));
        assert_eq!(array(doc, "lax $.zz", Wrapper::Without), None);
        let nulls = array(r#"{"a":[{"c":null},{"c":"c2"}]}"#, "lax $.a[*].c", Wrapper::Conditional);
        assert_eq!(nulls, Some(vec![None, some("c2")]));
    }
}
