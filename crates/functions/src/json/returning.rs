//! JSON_VALUE RETURNING: a found scalar as the asked type. As in Flink 2.3 nothing is converted, and a scalar of
//! another type is an error that ON ERROR does not catch.

use std::borrow::Cow;

use crate::json::functions::Scalar;

/// RETURNING STRING: any scalar as text; null is `None`.
pub fn returning_text(scalar: Scalar<'_>) -> Option<Cow<'_, str>> {
    match scalar {
        Scalar::Null => None,
        Scalar::Bool(value) => Some(Cow::Borrowed(if value { "true" } else { "false" })),
        Scalar::Number(number) => Some(number.text),
        Scalar::Text(text) => Some(text),
        Scalar::Default(text) => Some(Cow::Borrowed(text)),
    }
}

/// RETURNING BOOLEAN: the words `true` and `false`; anything else is an error.
pub fn returning_boolean(scalar: &Scalar<'_>) -> Result<Option<bool>, String> {
    match scalar {
        Scalar::Null => Ok(None),
        Scalar::Bool(value) => Ok(Some(*value)),
        Scalar::Default(text) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
        Scalar::Default(text) if text.eq_ignore_ascii_case("false") => Ok(Some(false)),
        other => Err(mismatch(other, "BOOLEAN")),
    }
}

/// RETURNING INTEGER: numbers without fraction and exponent within 32 bits; anything else is an error.
pub fn returning_integer(scalar: &Scalar<'_>) -> Result<Option<i32>, String> {
    match scalar {
        Scalar::Null => Ok(None),
        Scalar::Number(number) if number.integer => {
            number.text.parse().map(Some).map_err(|_| mismatch(scalar, "INTEGER"))
        }
        Scalar::Default(text) => text.trim().parse().map(Some).map_err(|_| mismatch(scalar, "INTEGER")),
        other => Err(mismatch(other, "INTEGER")),
    }
}

/// RETURNING DOUBLE: numbers with a fraction or an exponent; anything else, even `1`, is an error.
pub fn returning_double(scalar: &Scalar<'_>) -> Result<Option<f64>, String> {
    match scalar {
        Scalar::Null => Ok(None),
        Scalar::Number(number) if !number.integer => {
            number.text.parse().map(Some).map_err(|_| mismatch(scalar, "DOUBLE"))
        }
        Scalar::Default(text) => text.trim().parse().map(Some).map_err(|_| mismatch(scalar, "DOUBLE")),
        other => Err(mismatch(other, "DOUBLE")),
    }
}

fn mismatch(scalar: &Scalar<'_>, wanted: &str) -> String {
    let found = match scalar {
        Scalar::Null => "null".into(),
        Scalar::Bool(value) => value.to_string(),
        Scalar::Number(number) => format!("the number {}", number.text),
        Scalar::Text(text) => format!("the string '{text}'"),
        Scalar::Default(text) => format!("the default '{text}'"),
    };
    let hint = match (wanted, scalar) {
        ("DOUBLE", Scalar::Number(_)) => "; only numbers with a fraction are DOUBLE",
        ("INTEGER", Scalar::Number(_)) => "; only whole numbers of 32 bits are INTEGER",
        _ => "",
    };
    format!(
        "JSON_VALUE RETURNING {wanted}: found {found}{hint} (without RETURNING the value is a STRING that CAST converts)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::functions::{Behavior, json_value};
    use crate::json::path::Path;

    fn scalar(doc: &str) -> Scalar<'_> {
        json_value(doc, &Path::parse("$").unwrap(), Behavior::Null, Behavior::Null).unwrap()
    }

    #[test]
    fn types() {
        assert_eq!(returning_boolean(&scalar("true")), Ok(Some(true)));
        assert!(returning_boolean(&scalar("1")).is_err());
        assert!(returning_boolean(&scalar("\"true\"")).is_err());
        assert_eq!(returning_boolean(&scalar("{}")), Ok(None));
        assert_eq!(returning_integer(&scalar("-42")), Ok(Some(-42)));
        assert!(returning_integer(&scalar("3000000000")).is_err());
        assert!(returning_integer(&scalar("1.0")).is_err());
        assert_eq!(returning_double(&scalar("1.50")), Ok(Some(1.5)));
        assert_eq!(returning_double(&scalar("1e3")), Ok(Some(1000.0)));
        assert_eq!(returning_double(&scalar("1e400")), Ok(Some(f64::INFINITY)));
        assert!(returning_double(&scalar("1")).is_err());
        assert_eq!(returning_integer(&Scalar::Default("42")), Ok(Some(42)));
    }
}
