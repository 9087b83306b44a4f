//! Parts of a text by position: SUBSTRING, LEFT, RIGHT, OVERLAY, and REVERSE, ASCII, CHR, CHAR_LENGTH.

use crate::text::utf16::{utf16_len, utf16_prefix, utf16_suffix};
use std::borrow::Cow;

/// The number of characters (code points).
pub fn char_length(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

/// The byte position of the `n`th character, or the end.
pub(crate) fn byte_of_char(text: &str, n: usize) -> usize {
    if text.is_ascii() {
        return n.min(text.len());
    }
    text.char_indices().nth(n).map_or(text.len(), |(i, _)| i)
}

/// SUBSTRING: from a position counted from 1, or from the end if negative; 0 is as 1.
/// None (NULL) for a negative length; empty if the position is outside the text.
pub fn substring(text: &str, from: i32, len: Option<i32>) -> Option<&str> {
    let len = len.unwrap_or(i32::MAX);
    if len < 0 {
        return None;
    }
    if text.is_empty() {
        return Some("");
    }
    let start = match from {
        1.. => from as usize - 1,
        0 => 0,
        _ => match char_length(text).checked_sub(from.unsigned_abs() as usize) {
            Some(start) => start,
            None => return Some(""),
        },
    };
    let tail = text.get(byte_of_char(text, start)..).unwrap_or("");
    Some(tail.get(..byte_of_char(tail, len as usize)).unwrap_or(tail))
}

/// LEFT: the first `n` characters; empty if `n` is not positive.
pub fn left(text: &str, n: i32) -> &str {
    text.get(..byte_of_char(text, usize::try_from(n).unwrap_or(0))).unwrap_or(text)
}

/// RIGHT: the last `n` characters; empty if `n` is not positive.
pub fn right(text: &str, n: i32) -> &str {
    let n = usize::try_from(n).unwrap_or(0);
    let start = byte_of_char(text, char_length(text).saturating_sub(n));
    text.get(start..).unwrap_or(text)
}

/// OVERLAY: puts `with` in the place of `len` UTF-16 units from `start` (counted from 1).
/// The text itself if `start` is outside it; a length that is not positive, or reaches over the end, drops the rest.
pub fn overlay<'a>(text: &'a str, with: &str, start: i64, len: Option<i64>) -> Cow<'a, str> {
    let units = utf16_len(text) as i64;
    if start <= 0 || start > units {
        return Cow::Borrowed(text);
    }
    let len = i64::from(len.unwrap_or(utf16_len(with) as i64) as i32);
    let mut out = utf16_prefix(text, start as usize - 1);
    out.push_str(with);
    if len > 0 && start + len <= units {
        out.push_str(&utf16_suffix(text, (start - 1 + len) as usize));
    }
    Cow::Owned(out)
}

/// REVERSE: the characters from last to first.
pub fn reverse(text: &str) -> String {
    text.chars().rev().collect()
}

/// ASCII: the first byte of the UTF-8 text as a signed number; 0 for an empty text.
pub fn ascii(text: &str) -> i32 {
    text.as_bytes().first().map_or(0, |b| i32::from(*b as i8))
}

/// CHR: the character of the lowest eight bits; empty for a negative number.
pub fn chr(code: i64) -> String {
    if code < 0 { String::new() } else { char::from((code & 0xFF) as u8).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substring_positions() {
        let u = "Grüße 東京";
        for (text, from, len, want) in [
            ("Hello World", 2, Some(3), Some("ell")),
            ("Hello World", 3, None, Some("llo World")),
            ("Hello World", 0, Some(3), Some("Hel")),
            ("Hello World", -3, Some(2), Some("rl")),
            ("Hello World", -20, Some(3), Some("")),
            ("Hello World", 1, Some(0), Some("")),
            ("Hello World", 1, Some(-1), None),
            ("Hello World", 99, Some(1), Some("")),
            ("o'neil mc-donald 3RD\tx", -20, Some(3), Some("nei")),
            (u, 2, Some(2), Some("rü")),
            (u, i32::MIN, Some(i32::MAX), Some("")),
            (u, i32::MAX, None, Some("")),
            ("😀áb", 2, Some(2), Some("áb")),
        ] {
            assert_eq!(substring(text, from, len), want, "{text} {from} {len:?}");
        }
        assert_eq!((left(u, 3), left(u, -1), right(u, 2), right(u, -1), right(u, 99)), ("Grü", "", "東京", "", u));
    }

    #[test]
    fn overlay_keeps_flinks_rule() {
        for (text, with, start, len, want) in [
            ("xxxxxtest", "xxxx", 6, None, "xxxxxxxxx"),
            ("xxxxxtest", "xxxx", 6, Some(2), "xxxxxxxxxst"),
            ("abc", "Z", 0, None, "abc"),
            ("abc", "Z", 4, None, "abc"),
            ("abc", "Z", 2, Some(0), "aZ"),
            ("abc", "Z", 2, Some(9), "aZ"),
            ("abc", "", 2, None, "a"),
        ] {
            assert_eq!(overlay(text, with, start, len), want);
        }
    }

    #[test]
    fn single_characters() {
        assert_eq!((ascii(""), ascii("é"), ascii("a")), (0, -61, 97));
        assert_eq!((chr(97), chr(-1), chr(8364), chr(256)), ("a".into(), "".into(), "¬".into(), "\0".into()));
        assert_eq!(reverse("😀áb"), "bá😀");
    }
}
