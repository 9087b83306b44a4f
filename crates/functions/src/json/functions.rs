//! JSON_EXISTS, JSON_VALUE, IS JSON and JSON over the text of one document.

use std::borrow::Cow;

use crate::json::lexer::Lexer;
use crate::json::path::{Mode, Path};
use crate::json::value::{Number, Value};
use crate::json::walk::locate;

/// What JSON_EXISTS answers on an error; Flink's default is `False`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnErrorExists {
    /// TRUE
    True,
    /// FALSE
    False,
    /// NULL
    Unknown,
    /// An error
    Error,
}

/// What JSON_VALUE answers on an empty result or on an error; Flink's default is `Null`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behavior<'a> {
    /// NULL
    Null,
    /// An error
    Error,
    /// The given value, as text
    Default(&'a str),
}

/// What JSON_VALUE found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scalar<'a> {
    /// NULL
    Null,
    /// A boolean
    Bool(bool),
    /// A number as it is printed
    Number(Number<'a>),
    /// A string without quotes
    Text(Cow<'a, str>),
    /// The text of a DEFAULT
    Default(&'a str),
}

/// What IS JSON asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonKind {
    /// Any JSON
    Value,
    /// An object
    Object,
    /// An array
    Array,
    /// Neither object nor array
    Scalar,
}

/// JSON_EXISTS: whether the path finds a value that is not null; strict paths that find nothing are errors.
pub fn json_exists(doc: &str, path: &Path, on_error: OnErrorExists) -> Result<Option<bool>, String> {
    match (locate(doc, path), on_error) {
        (Ok(found), _) => Ok(Some(found.is_some())),
        (Err(_), OnErrorExists::True) => Ok(Some(true)),
        (Err(_), OnErrorExists::False) => Ok(Some(false)),
        (Err(_), OnErrorExists::Unknown) => Ok(None),
        (Err(error), OnErrorExists::Error) => Err(format!("JSON_EXISTS: {error}")),
    }
}

/// JSON_VALUE: the scalar the path finds. An array or object is empty in lax mode and an error in strict mode.
pub fn json_value<'a>(
    doc: &'a str,
    path: &Path,
    on_empty: Behavior<'a>,
    on_error: Behavior<'a>,
) -> Result<Scalar<'a>, String> {
    let error = match locate(doc, path) {
        Ok(Some(Value::Bool(value))) => return Ok(Scalar::Bool(value)),
        Ok(Some(Value::Number(number))) => return Ok(Scalar::Number(number)),
        Ok(Some(Value::String(text))) => return Ok(Scalar::Text(text)),
        Ok(Some(_)) if path.mode() == Mode::Strict => {
            "the path finds an array or object, where strict mode wants a scalar".into()
        }
        Ok(_) => {
            return match on_empty {
                Behavior::Null => Ok(Scalar::Null),
                Behavior::Default(text) => Ok(Scalar::Default(text)),
                Behavior::Error => Err("JSON_VALUE: the result is empty".into()),
            };
        }
        Err(error) => error,
    };
    match on_error {
        Behavior::Null => Ok(Scalar::Null),
        Behavior::Default(text) => Ok(Scalar::Default(text)),
        Behavior::Error => Err(format!("JSON_VALUE: {error}")),
    }
}

/// IS JSON: whether the text begins with JSON of the kind; text after the first value is not looked at, as in Flink.
pub fn is_json(doc: &str, kind: JsonKind) -> bool {
    let mut lexer = Lexer::new(doc);
    lexer.space();
    let first = lexer.peek();
    let right = match kind {
        JsonKind::Value => true,
        JsonKind::Object => first == Some(b'{'),
        JsonKind::Array => first == Some(b'['),
        JsonKind::Scalar => !matches!(first, Some(b'{' | b'[')),
    };
    right && lexer.skip().is_ok()
}

/// JSON: the text printed compact with sorted keys, to be put into JSON_OBJECT or JSON_ARRAY as it is; `None` for blank
/// text, an error for text that is no JSON.
pub fn normalize_json(text: &str) -> Result<Option<String>, String> {
    let trimmed = text.trim_matches(|c| c <= ' ');
    if trimmed.is_empty() {
        return Ok(None);
    }
    Value::parse(trimmed).map(|value| Some(value.to_json())).map_err(|error| format!("JSON: \"{text}\": {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::returning::returning_text;

    const ROW: &str = r#"{"a": 1, "b": "x y", "c": [1, 2, {"k": "v"}], "d": {"e": null}, "f": 1.50, "g": true}"#;

    fn value(doc: &str, path: &str) -> Option<String> {
        let scalar = json_value(doc, &Path::deferred(path), Behavior::Default("empty"), Behavior::Default("error"));
        returning_text(scalar.unwrap()).map(Cow::into_owned)
    }

    #[test]
    fn values() {
        for (doc, path, wanted) in [
            (ROW, "$.a", "1"),
            (ROW, "$.b", "x y"),
            (ROW, "$.c", "error"),
            (ROW, "lax $.c", "empty"),
            (ROW, "$.c[1]", "2"),
            (ROW, "$.c[*].k", "error"),
            (ROW, "lax $.c[*].k", "empty"),
            (ROW, "$.d.e", "error"),
            (ROW, "lax $.d.e", "empty"),
            (ROW, "$.f", "1.50"),
            (ROW, "$.g", "true"),
            (ROW, "$.zz", "error"),
            (ROW, "lax $.zz", "empty"),
            ("not json", "$", "error"),
            ("not json", "lax $", "empty"),
            ("[1, \"two\", null, 4.50]", "$[1]", "two"),
            ("\"str\"", "$", "str"),
            ("{\"a b\": \"true\"}", "$.['a b']", "true"),
            ("1e3", "$", "1E+3"),
        ] {
            assert_eq!(value(doc, path).as_deref(), Some(wanted), "{doc} {path}");
        }
        let path = Path::parse("$.zz").unwrap();
        assert_eq!(json_value(ROW, &path, Behavior::Error, Behavior::Null), Ok(Scalar::Null));
        assert!(json_value(ROW, &path, Behavior::Null, Behavior::Error).is_err());
        let path = Path::parse("lax $.zz").unwrap();
        assert!(json_value(ROW, &path, Behavior::Error, Behavior::Null).is_err());
    }

    #[test]
    fn exists() {
        for (path, on_error, wanted) in [
            ("$.a", OnErrorExists::False, Some(true)),
            ("strict $.zz", OnErrorExists::True, Some(true)),
            ("strict $.zz", OnErrorExists::Unknown, None),
            ("lax $.zz", OnErrorExists::True, Some(false)),
            ("$.c[2].k", OnErrorExists::False, Some(true)),
            ("$.d.e", OnErrorExists::True, Some(true)),
            ("lax $.d.e", OnErrorExists::True, Some(false)),
            ("$..nope", OnErrorExists::False, Some(true)),
        ] {
            assert_eq!(json_exists(ROW, &Path::parse(path).unwrap(), on_error), Ok(wanted), "{path}");
        }
        assert!(json_exists(ROW, &Path::parse("$.zz").unwrap(), OnErrorExists::Error).is_err());
        assert_eq!(json_exists("x", &Path::parse("$").unwrap(), OnErrorExists::False), Ok(Some(false)));
    }

    #[test]
    fn kinds() {
        for (doc, value, object, array, scalar) in [
            (ROW, true, true, false, false),
            ("[1]", true, false, true, false),
            ("not json", false, false, false, false),
            ("\"str\"", true, false, false, true),
            ("{}", true, true, false, false),
            ("null", true, false, false, true),
            ("", false, false, false, false),
            (" 12 ", true, false, false, true),
        ] {
            let kinds = [JsonKind::Value, JsonKind::Object, JsonKind::Array, JsonKind::Scalar];
            assert_eq!(kinds.map(|kind| is_json(doc, kind)), [value, object, array, scalar], "{doc}");
        }
    }

    #[test]
    fn normalizes() {
        assert_eq!(normalize_json(" {\"b\": 1, \"a\": 1.0} "), Ok(Some("{\"a\":1.0,\"b\":1}".into())));
        assert_eq!(normalize_json("  "), Ok(None));
        assert_eq!(normalize_json("null"), Ok(Some("null".into())));
        assert!(normalize_json("x").is_err());
    }
}
