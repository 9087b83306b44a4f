//! SPLIT, SPLIT_INDEX and STR_TO_MAP.

use crate::text::error::TextResult;
use crate::text::java_regex::JavaRegex;
use std::collections::HashMap;

/// SPLIT: the pieces between delimiters, empty ones too; the characters for an empty delimiter; none of an empty text.
pub fn split<'a>(text: &'a str, delimiter: &'a str) -> Vec<&'a str> {
    if text.is_empty() {
        return Vec::new();
    }
    if delimiter.is_empty() {
        return text.char_indices().filter_map(|(i, c)| text.get(i..i + c.len_utf8())).collect();
    }
    text.split(delimiter).collect()
}

/// SPLIT_INDEX with a text delimiter: the piece at an index counted from 0; an empty delimiter is any white space.
/// None (NULL) for a negative index or one too large.
pub fn split_index<'a>(text: &'a str, delimiter: &str, index: i32) -> Option<&'a str> {
    let index = usize::try_from(index).ok()?;
    if text.is_empty() {
        return None;
    }
    if delimiter.is_empty() {
        return text.split(is_java_whitespace).nth(index);
    }
    text.split(delimiter).nth(index)
}

/// SPLIT_INDEX with a code point from 1 to 255 as delimiter; None (NULL) for another one.
pub fn split_index_code(text: &str, delimiter: i32, index: i32) -> Option<&str> {
    let index = usize::try_from(index).ok()?;
    let delimiter = u8::try_from(delimiter).ok().filter(|c| *c > 0).map(char::from)?;
    if text.is_empty() {
        return None;
    }
    text.split(delimiter).nth(index)
}

fn is_java_whitespace(c: char) -> bool {
    matches!(c, '\t'..='\r' | '\u{1c}'..='\u{1f}')
        || c.is_whitespace() && !matches!(c, '\u{85}' | '\u{a0}' | '\u{2007}' | '\u{202f}')
}

/// STR_TO_MAP: the keys and values of a text, the last value of a key counts; a pair without delimiter has the value
/// NULL. Both delimiters are regular expressions. An error only if matching takes too many steps.
pub fn str_to_map<'a>(
    text: &'a str,
    pairs: &JavaRegex,
    key_value: &JavaRegex,
) -> TextResult<Vec<(&'a str, Option<&'a str>)>> {
    let mut map: Vec<(&str, Option<&str>)> = Vec::new();
    let mut places = HashMap::new();
    if text.is_empty() {
        return Ok(map);
    }
    for pair in pairs.split(text, 0)? {
        let divided = key_value.split(pair, 2)?;
        let (key, value) = match divided.as_slice() {
            [key, value] => (*key, Some(*value)),
            _ => (pair, None),
        };
        let place = *places.entry(key).or_insert(map.len());
        match map.get_mut(place) {
            Some(entry) => entry.1 = value,
            None => map.push((key, value)),
        }
    }
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits() {
        assert_eq!(split("a,b,,c", ","), ["a", "b", "", "c"]);
        assert_eq!(split("a,", ","), ["a", ""]);
        assert_eq!(split("aß東", ""), ["a", "ß", "東"]);
        assert_eq!(split("  padded  ", " "), ["", "", "padded", "", ""]);
        assert!(split("", ",").is_empty());
        for (text, delimiter, index, want) in [
            ("a,b,c", ",", -1, None),
            ("a,b,c", ",", 2, Some("c")),
            ("a,b,c", ",", 3, None),
            ("", " ", 0, None),
            ("  padded  ", " ", 0, Some("")),
            ("a\tb", "", 1, Some("b")),
            ("a,", ",", 1, Some("")),
        ] {
            assert_eq!(split_index(text, delimiter, index), want);
        }
        assert_eq!(split_index_code("a,b", 44, 1), Some("b"));
        assert_eq!(split_index_code("a,b", 256, 0), None);
    }

    #[test]
    fn maps() {
        let regex = |p| JavaRegex::new(p).unwrap();
        let comma = regex(",");
        let equals = regex("=");
        assert_eq!(
            str_to_map("k1=v1,k2=v=2,k3,k1=x,,", &comma, &equals).unwrap(),
            [("k1", Some("x")), ("k2", Some("v=2")), ("k3", None)]
        );
        assert_eq!(str_to_map("a|b", &regex("\\|"), &equals).unwrap(), [("a", None), ("b", None)]);
        assert_eq!(str_to_map("ab", &regex("|"), &equals).unwrap(), [("a", None), ("b", None)]);
        assert_eq!(str_to_map("=v", &comma, &equals).unwrap(), [("", Some("v"))]);
        assert!(str_to_map("", &comma, &equals).unwrap().is_empty());
    }
}
