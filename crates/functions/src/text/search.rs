//! Finding and replacing plain text: POSITION, LOCATE, INSTR, REPLACE, STARTSWITH, ENDSWITH.

use crate::text::error::{TextError, TextResult, check_size};
use crate::text::substring::{byte_of_char, char_length, reverse};
use std::borrow::Cow;

/// LOCATE: where `needle` begins at or after character `from`, counted from 1; 0 if nowhere. An empty needle is at 1.
pub fn locate(needle: &str, text: &str, from: i32) -> i32 {
    if needle.is_empty() {
        return 1;
    }
    let skipped = usize::try_from(from.wrapping_sub(1)).unwrap_or(0);
    let start = byte_of_char(text, skipped);
    let tail = text.get(start..).unwrap_or("");
    match tail.find(needle) {
        Some(at) => i32::try_from(char_length(tail.get(..at).unwrap_or("")) + skipped + 1).unwrap_or(i32::MAX),
        None => 0,
    }
}

/// POSITION: where `needle` begins, counted from 1; 0 if nowhere.
pub fn position(needle: &str, text: &str) -> i32 {
    locate(needle, text, 1)
}

/// INSTR: where the `nth` occurrence begins, searched from character `start`, from the end if `start` is negative.
/// 0 if nowhere or `start` is 0; an error if `nth` is not positive.
pub fn instr(text: &str, needle: &str, start: i32, nth: i32) -> TextResult<i32> {
    if nth <= 0 {
        return Err(TextError::new("INSTR: nthAppearance must be positive"));
    }
    if start == 0 {
        return Ok(0);
    }
    if start > 0 {
        return Ok(forward(text, needle, start, nth));
    }
    let Some(back) = start.checked_neg() else { return Ok(0) };
    let found = forward(&reverse(text), &reverse(needle), back, nth);
    if found == 0 {
        return Ok(0);
    }
    let place = char_length(text) as i64 + 2 - i64::from(found) - char_length(needle) as i64;
    Ok(i32::try_from(place).unwrap_or(0))
}

fn forward(text: &str, needle: &str, start: i32, nth: i32) -> i32 {
    if needle.is_empty() {
        return 1;
    }
    let mut from = start;
    let mut found = 0;
    for _ in 0..nth {
        found = locate(needle, text, from);
        if found == 0 {
            return 0;
        }
        from = found.saturating_add(1);
    }
    found
}

/// REPLACE: every occurrence replaced; an empty search text is found around every character.
pub fn replace<'a>(text: &'a str, from: &str, to: &str) -> TextResult<Cow<'a, str>> {
    if to.len() > from.len() {
        let places = text.matches(from).count() as u128;
        check_size("REPLACE", text.len() as u128 + places * (to.len() - from.len()) as u128)?;
    }
    if !text.contains(from) {
        return Ok(Cow::Borrowed(text));
    }
    Ok(Cow::Owned(text.replace(from, to)))
}

/// STARTSWITH: whether the text begins with the other.
pub fn starts_with(text: &str, start: &str) -> bool {
    text.starts_with(start)
}

/// ENDSWITH: whether the text ends with the other.
pub fn ends_with(text: &str, end: &str) -> bool {
    text.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        for (needle, text, from, want) in [
            ("o", "Hello World", 6, 8),
            ("o", "Hello World", 0, 5),
            ("o", "Hello World", 99, 0),
            ("", "Hello", 4, 1),
            ("京", "Grüße 東京", 1, 8),
            ("x", "", 1, 0),
            ("o", "Hello World", -5, 5),
            ("o", "Hello World", i32::MIN, 0),
        ] {
            assert_eq!(locate(needle, text, from), want);
        }
        for (start, nth, want) in [(3, 2, 14), (-3, 2, 2), (1, 1, 2), (0, 1, 0), (1, 9, 0), (-1, 1, 14)] {
            assert_eq!(instr("Corporate Floor", "or", start, nth), Ok(want), "{start} {nth}");
        }
        assert_eq!(instr("aaa", "aa", 1, 2), Ok(2));
        assert_eq!(instr("abc", "", 1, 1), Ok(1));
        assert!(instr("abc", "b", 1, 0).is_err());
    }

    #[test]
    fn replaces() {
        assert_eq!(replace("ababab", "abab", "z").unwrap(), "zab");
        assert_eq!(replace("ab", "", "-").unwrap(), "-a-b-");
        assert_eq!(replace("ab", "x", "-").unwrap(), "ab");
    }
}
