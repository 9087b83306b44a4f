//! Letters: UPPER, LOWER, INITCAP, TRANSLATE, and the tests IS_ALPHA, IS_DIGIT, IS_DECIMAL.

use crate::text::number_parse::parse_double;
use regex::Regex;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

/// UPPER: full case mapping, so `ß` becomes `SS`.
pub fn upper(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_uppercase() } else { text.to_uppercase() }
}

/// LOWER: full case mapping with the final sigma.
pub fn lower(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.to_lowercase() }
}

/// INITCAP: the first letter of each word upper case, the others lower case; only ASCII letters and digits are words.
pub fn initcap(text: &str) -> String {
    let mut start = true;
    text.chars()
        .map(|c| {
            let mapped = if start { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
            start = !c.is_ascii_alphanumeric();
            mapped
        })
        .collect()
}

/// The mapping of TRANSLATE, built once for a pair of character lists.
#[derive(Debug, Clone)]
pub struct Translation {
    map: HashMap<char, Option<char>>,
}

impl Translation {
    /// Maps each character of `from` to the one at the same place in `to`; without one there, it is removed.
    /// The first of equal characters counts. A NULL `to` is as an empty one.
    pub fn new(from: &str, to: Option<&str>) -> Self {
        let mut map = HashMap::new();
        let mut to = to.unwrap_or("").chars();
        for c in from.chars() {
            let target = to.next();
            map.entry(c).or_insert(target);
        }
        Self { map }
    }

    /// The text with its characters mapped.
    pub fn apply<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.map.is_empty() || !text.chars().any(|c| self.map.contains_key(&c)) {
            return Cow::Borrowed(text);
        }
        Cow::Owned(text.chars().filter_map(|c| self.map.get(&c).copied().unwrap_or(Some(c))).collect())
    }
}

fn letters() -> Option<&'static Regex> {
    static LETTERS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\A[\p{L}&&[\x{0}-\x{FFFF}]]+\z").ok());
    LETTERS.as_ref()
}

fn digits() -> Option<&'static Regex> {
    static DIGITS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\A[\p{Nd}&&[\x{0}-\x{FFFF}]]+\z").ok());
    DIGITS.as_ref()
}

/// IS_ALPHA: whether the text is not empty and all letters; letters outside the BMP do not count.
pub fn is_alpha(text: &str) -> bool {
    if text.is_ascii() {
        return !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphabetic());
    }
    letters().is_some_and(|r| r.is_match(text))
}

/// IS_DIGIT: whether the text is not empty and all decimal digits of any script.
pub fn is_digit(text: &str) -> bool {
    if text.is_ascii() {
        return !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    }
    digits().is_some_and(|r| r.is_match(text))
}

/// IS_DECIMAL: whether the text is a number as Java reads an int, long or double.
pub fn is_decimal(text: &str) -> bool {
    if text.is_empty() {
        return false;
    }
    if text.is_ascii() {
        return parse_double(text).is_ok();
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    unsigned.chars().count() < 19 && digits().is_some_and(|r| r.is_match(unsigned)) || parse_double(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case() {
        assert_eq!(upper("straße"), "STRASSE");
        assert_eq!(lower("ǆ İ ß Σς"), "ǆ i̇ ß σς");
        assert_eq!(lower("ΟΔΟΣ"), "οδος");
        assert_eq!(initcap("hello wORLD 3rd_x y-z"), "Hello World 3rd_X Y-Z");
        assert_eq!(initcap("o'neil mc-donald 3RD\tx"), "O'Neil Mc-Donald 3rd\tX");
        assert_eq!(initcap("äbc"), "äBc");
    }

    #[test]
    fn translate() {
        for (text, from, to, want) in [
            ("www.apache.org", "abc", Some("123"), "www.1p13he.org"),
            ("www.apache.org", "abcde.", Some("123"), "www1p13horg"),
            ("www.apache.org", "abcae", Some("12345"), "www.1p13h5.org"),
            ("www.apache.org", "abc", None, "www.phe.org"),
            ("www.apache.org", "", Some("1"), "www.apache.org"),
            ("翻译test，测试", "翻译测试test，", Some("测试翻译tset。"), "测试tset。翻译"),
            ("www.😀.org", ".😀", Some("😀."), "www😀.😀org"),
            ("Hello World", "lo", Some("x"), "Hexx Wrxd"),
        ] {
            assert_eq!(Translation::new(from, to).apply(text), want);
        }
    }

    #[test]
    fn tests_of_kind() {
        for (text, alpha, digit, decimal) in [
            ("äö", true, false, false),
            ("abc", true, false, false),
            ("a1", false, false, false),
            ("", false, false, false),
            ("42", false, true, true),
            ("-3.7", false, false, true),
            (" 12 ", false, false, true),
            ("1e3", false, false, true),
            ("0x1F", false, false, false),
            ("NaN", true, false, true),
            ("٣", false, true, true),
        ] {
            assert_eq!((is_alpha(text), is_digit(text), is_decimal(text)), (alpha, digit, decimal), "{text}");
        }
    }
}
