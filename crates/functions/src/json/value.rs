//! A JSON value that borrows from its text, and its printing as Flink prints it: compact, keys sorted.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::json::lexer::Lexer;
use crate::json::text::write_string;

/// A number as it is printed: integers as written, others as `BigDecimal` prints them (`1.50`, `1E+3`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number<'a> {
    /// The printed text.
    pub text: Cow<'a, str>,
    /// Whether it was written without fraction and exponent.
    pub integer: bool,
}

/// A JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<'a> {
    /// The word `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number<'a>),
    /// A string without its escapes.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Value<'a>>),
    /// An object: members in order of first appearance, each key once.
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// Reads the first value of a text; what follows it is not looked at, as in Flink. An error names the place.
    pub fn parse(text: &'a str) -> Result<Self, String> {
        Lexer::new(text).value()
    }

    /// True for everything but arrays and objects.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Self::Array(_) | Self::Object(_))
    }

    /// The member of an object; `None` for other values or if there is none.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.iter().find(|(known, _)| known == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The compact JSON text, with the keys of objects in order.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    /// Appends the compact JSON text.
    pub fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(number) => out.push_str(&number.text),
            Self::String(text) => write_string(out, text),
            Self::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                let sorted = members.is_sorted_by(|(a, _), (b, _)| compare_keys(a, b) != Ordering::Greater);
                out.push('{');
                if sorted {
                    write_members(out, members.iter());
                } else {
                    let mut members: Vec<_> = members.iter().collect();
                    members.sort_by(|(a, _), (b, _)| compare_keys(a, b));
                    write_members(out, members.into_iter());
                }
                out.push('}');
            }
        }
    }

    /// The text of a scalar without quotes; arrays and objects as JSON, `None` for null.
    pub fn to_text(&self) -> Option<String> {
        match self {
            Self::Null => None,
            Self::String(text) => Some(text.clone().into_owned()),
            other => Some(other.to_json()),
        }
    }
}

fn write_members<'v, 'a: 'v>(out: &mut String, members: impl Iterator<Item = &'v (Cow<'a, str>, Value<'a>)>) {
    for (at, (key, value)) in members.enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_string(out, key);
        out.push(':');
        value.write(out);
    }
}

/// The order of keys in Flink's output: by UTF-16 code units, as Java compares strings.
pub fn compare_keys(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() {
        return a.cmp(b);
    }
    a.encode_utf16().cmp(b.encode_utf16())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_compact_and_sorted() {
        for (text, wanted) in [
            (r#"{"b": 1, "a": [1, 2.50, 1e3, -0]}"#, r#"{"a":[1,2.50,1E+3,0],"b":1}"#),
            ("12345678901234567890123", "12345678901234567890123"),
            (r#""a\/b\u00e9\u0001\"""#, r#""a/bé\u0001\"""#),
            ("{\"\u{ffff}\":1,\"😀\":2}", "{\"😀\":2,\"\u{ffff}\":1}"),
            (" null", "null"),
        ] {
            assert_eq!(Value::parse(text).unwrap().to_json(), wanted);
        }
    }

    #[test]
    fn deep_values_print_and_drop() {
        let text = "[".repeat(1000) + &"]".repeat(1000);
        assert_eq!(Value::parse(&text).unwrap().to_json(), text);
    }
}
