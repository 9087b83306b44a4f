//! JSON strings and numbers as text: quoting, unquoting, and what the JSON constructors write.

use crate::json::decimal::Decimal;
use crate::json::functions::{JsonKind, is_json};
use crate::json::value::compare_keys;

/// Appends a JSON string with its quotes: escapes `"`, `\` and control characters only.
pub fn write_string(out: &mut String, text: &str) {
    out.reserve(text.len() + 2);
    out.push('"');
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(text.get(start..at).unwrap_or_default());
        start = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            b'\t' => out.push_str("\\t"),
            b'\n' => out.push_str("\\n"),
            0x0c => out.push_str("\\f"),
            b'\r' => out.push_str("\\r"),
            other => out.push_str(&format!("\\u{other:04X}")),
        }
    }
    out.push_str(text.get(start..).unwrap_or_default());
    out.push('"');
}

/// Appends a double as JSON_STRING does: `2.75`, `0.0`, `1.0E+300`; NaN and infinities as strings.
pub fn write_double(out: &mut String, value: f64) {
    match Decimal::from_double(value) {
        Some(decimal) => decimal.write(out),
        None if value.is_nan() => out.push_str("\"NaN\""),
        None if value > 0.0 => out.push_str("\"Infinity\""),
        None => out.push_str("\"-Infinity\""),
    }
}

/// Appends a float: it is widened to a double first, so 0.1 shows as 0.10000000149011612.
pub fn write_float(out: &mut String, value: f32) {
    write_double(out, f64::from(value));
}

/// Appends an integer.
pub fn write_integer(out: &mut String, value: i64) {
    out.push_str(&value.to_string());
}

/// Appends a decimal as `BigDecimal.toString`: `0.00`, but `1E-18` for tiny ones.
pub fn write_decimal(out: &mut String, unscaled: i128, scale: i32) {
    Decimal::new(unscaled < 0, &unscaled.unsigned_abs().to_string(), i64::from(scale)).write(out);
}

/// Appends an object of keys and JSON texts; keys are sorted, and of equal keys the last one stays.
pub fn write_object<K: AsRef<str>, V: AsRef<str>>(out: &mut String, members: &[(K, V)]) {
    let mut sorted: Vec<&(K, V)> = members.iter().collect();
    // The sort is stable, so the last of equal keys comes last.
    sorted.sort_by(|a, b| compare_keys(a.0.as_ref(), b.0.as_ref()));
    out.push('{');
    let mut first = true;
    for (at, (key, value)) in sorted.iter().copied().enumerate() {
        if sorted.get(at + 1).is_some_and(|next| next.0.as_ref() == key.as_ref()) {
            continue;
        }
        if !first {
            out.push(',');
        }
        first = false;
        write_string(out, key.as_ref());
        out.push(':');
        out.push_str(value.as_ref());
    }
    out.push('}');
}

/// JSON_QUOTE: a JSON string of ASCII only; `/` is escaped, control characters without a short escape stay bare.
pub fn json_quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '/' => out.push_str("\\/"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_ascii() => out.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push('"');
    out
}

/// JSON_UNQUOTE: takes off the first and last character and resolves escapes; a text that is no JSON is given back as
/// it is. Valid JSON followed by an unknown escape is an error.
pub fn json_unquote(text: &str) -> Result<String, String> {
    if !is_json(text, JsonKind::Value) {
        return Ok(text.into());
    }
    if text.len() < 2 {
        return Ok(String::new());
    }
    if !text.contains('\\')
        && let Some(inner) = text.get(1..text.len() - 1)
    {
        return Ok(inner.into());
    }
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut out: Vec<u16> = Vec::with_capacity(units.len());
    let mut at = 1;
    while at + 1 < units.len() {
        let unit = units.get(at).copied().unwrap_or(0);
        at += 1;
        if unit != u16::from(b'\\') {
            out.push(unit);
            continue;
        }
        let code = units.get(at).copied().and_then(|unit| u8::try_from(unit).ok()).unwrap_or(0);
        at += 1;
        out.push(match code {
            b'"' | b'\\' | b'/' => u16::from(code),
            b'b' => 8,
            b'f' => 12,
            b'n' => 10,
            b'r' => 13,
            b't' => 9,
            b'u' => {
                let digits = String::from_utf16_lossy(units.get(at..at + 4).unwrap_or_default());
                at += 4;
                u16::from_str_radix(&digits, 16).map_err(|_| format!("JSON_UNQUOTE: invalid escape \\u{digits}"))?
            }
            other => return Err(format!("JSON_UNQUOTE: unknown escape \\{}", char::from(other))),
        });
    }
    Ok(char::decode_utf16(out).map(|c| c.unwrap_or('?')).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings() {
        let mut out = String::new();
        write_string(&mut out, "o'neil\tx/é\u{1}\u{1f}\"\\\u{7f}");
        assert_eq!(out, "\"o'neil\\tx/é\\u0001\\u001F\\\"\\\\\u{7f}\"");
    }

    #[test]
    fn numbers() {
        let double = |value| {
            let mut out = String::new();
            write_double(&mut out, value);
            out
        };
        for (value, wanted) in
            [(2.75, "2.75"), (-2.5, "-2.5"), (0.0, "0.0"), (1e300, "1.0E+300"), (f64::NAN, "\"NaN\"")]
        {
            assert_eq!(double(value), wanted);
        }
        let decimal = |unscaled, scale| {
            let mut out = String::new();
            write_decimal(&mut out, unscaled, scale);
            out
        };
        assert_eq!(decimal(12345, 2), "123.45");
        assert_eq!(decimal(0, 2), "0.00");
        assert_eq!(decimal(-1, 18), "-1E-18");
        assert_eq!(decimal(500_000_000_000_000_000, 18), "0.500000000000000000");
        let mut out = String::new();
        write_float(&mut out, 1.5);
        assert_eq!(out, "1.5");
    }

    #[test]
    fn objects_are_sorted() {
        let mut out = String::new();
        write_object(&mut out, &[("b", "1"), ("a", "{\"x\":1}"), ("b", "2")]);
        assert_eq!(out, "{\"a\":{\"x\":1},\"b\":2}");
    }

    #[test]
    fn quotes() {
        assert_eq!(json_quote("a/b\"é😀\n\u{1}"), "\"a\\/b\\\"\\u00e9\\ud83d\\ude00\\n\u{1}\"");
        for (text, wanted) in [
            (r#""a\/b\u00e9\n""#, "a/bé\n"),
            (r#""\ud83d\ude00""#, "😀"),
            ("not json", "not json"),
            ("\"abc\"", "abc"),
            ("[1,2]", "1,2"),
            ("\"", "\""),
            ("1", ""),
            ("", ""),
            (r#""\u12""#, r#""\u12""#),
        ] {
            assert_eq!(json_unquote(text).as_deref(), Ok(wanted), "{text}");
        }
    }
}
