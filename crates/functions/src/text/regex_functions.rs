//! REGEXP and the REGEXP_ functions. The pattern is None if Java refuses it.

use crate::text::error::{TextResult, check_size};
use crate::text::java_regex::JavaRegex;
use crate::text::utf16::utf16_len;
use std::borrow::Cow;

/// REGEXP: whether the pattern matches anywhere; false for an empty pattern or one that Java refuses.
pub fn regexp(text: &str, pattern: Option<&JavaRegex>) -> TextResult<bool> {
    match pattern {
        Some(pattern) if !pattern.is_empty() => pattern.is_match(text),
        _ => Ok(false),
    }
}

fn group_of(pattern: &JavaRegex, group: i64) -> Option<usize> {
    usize::try_from(group).ok().filter(|g| *g <= pattern.group_count())
}

/// REGEXP_EXTRACT: a group of the first match (0 is the whole match).
/// None (NULL) without a match, for a group that does not exist or took no part, and for an invalid pattern.
pub fn regexp_extract<'a>(text: &'a str, pattern: Option<&JavaRegex>, group: i64) -> TextResult<Option<&'a str>> {
    let Some(pattern) = pattern else { return Ok(None) };
    // Flink takes the lower 32 bits of the index.
    let Some(group) = group_of(pattern, i64::from(group as i32)) else { return Ok(None) };
    let mut found = None;
    pattern.each_match(text, group, |_, part| {
        found = part.and_then(|(from, to)| text.get(from..to));
        false
    })?;
    Ok(found)
}

/// REGEXP_EXTRACT_ALL: a group of every match, NULL where it took no part; without an index it is group 1.
/// None (NULL) for an invalid pattern or a group that does not exist.
pub fn regexp_extract_all<'a>(
    text: &'a str,
    pattern: Option<&JavaRegex>,
    group: i64,
) -> TextResult<Option<Vec<Option<&'a str>>>> {
    let Some((pattern, group)) = pattern.and_then(|p| Some((p, group_of(p, group)?))) else { return Ok(None) };
    let mut all = Vec::new();
    pattern.each_match(text, group, |_, part| {
        all.push(part.and_then(|(from, to)| text.get(from..to)));
        true
    })?;
    Ok(Some(all))
}

/// REGEXP_REPLACE: every match replaced by the replacement as it is; None (NULL) for an invalid pattern.
pub fn regexp_replace<'a>(
    text: &'a str,
    pattern: Option<&JavaRegex>,
    replacement: &str,
) -> TextResult<Option<Cow<'a, str>>> {
    let Some(pattern) = pattern else { return Ok(None) };
    let mut out = String::new();
    let mut end = 0;
    let mut size = Ok(0);
    let mut found = false;
    pattern.each_match(text, 0, |(from, to), _| {
        found = true;
        out.push_str(text.get(end..from).unwrap_or(""));
        out.push_str(replacement);
        end = to;
        size = check_size("REGEXP_REPLACE", out.len() as u128);
        size.is_ok()
    })?;
    size?;
    if !found {
        return Ok(Some(Cow::Borrowed(text)));
    }
    out.push_str(text.get(end..).unwrap_or(""));
    Ok(Some(Cow::Owned(out)))
}

/// REGEXP_COUNT: the number of matches; None (NULL) for an invalid pattern.
pub fn regexp_count(text: &str, pattern: Option<&JavaRegex>) -> TextResult<Option<i32>> {
    let Some(pattern) = pattern else { return Ok(None) };
    let mut count = 0i32;
    pattern.each_match(text, 0, |_, _| {
        count = count.saturating_add(1);
        true
    })?;
    Ok(Some(count))
}

/// REGEXP_INSTR: where the first match begins, in UTF-16 units from 1; 0 without a match, None (NULL) for an invalid
/// pattern.
pub fn regexp_instr(text: &str, pattern: Option<&JavaRegex>) -> TextResult<Option<i32>> {
    let Some(pattern) = pattern else { return Ok(None) };
    Ok(Some(match pattern.find(text)? {
        Some((from, _)) => i32::try_from(utf16_len(text.get(..from).unwrap_or("")) + 1).unwrap_or(i32::MAX),
        None => 0,
    }))
}

/// REGEXP_SUBSTR: the first match; None (NULL) without one and for an invalid pattern.
pub fn regexp_substr<'a>(text: &'a str, pattern: Option<&JavaRegex>) -> TextResult<Option<&'a str>> {
    let Some(pattern) = pattern else { return Ok(None) };
    Ok(pattern.find(text)?.and_then(|(from, to)| text.get(from..to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(pattern: &str) -> Option<JavaRegex> {
        JavaRegex::lenient(pattern).unwrap()
    }

    #[test]
    fn finds() {
        for (text, pattern, want) in [
            ("abc", "", false),
            ("abc", "(", false),
            ("abc", "^a", true),
            ("Hello World", "^h", false),
            ("Grüße 東京", r"\w{5}", false),
            ("abc\n", "c$", true),
        ] {
            assert_eq!(regexp(text, compiled(pattern).as_ref()), Ok(want), "{pattern}");
        }
    }

    #[test]
    fn extracts() {
        for (text, pattern, group, want) in [
            ("foothebar", "foo(.*?)(bar)", 2, Some("bar")),
            ("foothebar", "foo(.*?)(bar)", 0, Some("foothebar")),
            ("foothebar", "foo(.*?)(bar)", 3, None),
            ("foothebar", "foo(.*?)(bar)", -1, None),
            ("Hello World", r"(\w+) (\w+)", 1, Some("Hello")),
            ("22", "[A-Z]+", 0, None),
            ("b", "(a)|b", 1, None),
            ("b", "(", 0, None),
        ] {
            assert_eq!(regexp_extract(text, compiled(pattern).as_ref(), group), Ok(want), "{pattern}");
        }
        let text = "abcdeabde";
        for (pattern, group, want) in [
            ("(abcdeabde)|([a-z]*)", 2, Some(vec![None, Some("")])),
            ("ab((c)|(.?))de", 2, Some(vec![Some("c"), None])),
            ("(ab)([a-z]+)(e)", 2, Some(vec![Some("cdeabd")])),
            ("", 0, Some(vec![Some(""); 10])),
            ("abcdeabde", 1, None),
            ("(", 0, None),
            ("[0-9]", 0, Some(vec![])),
        ] {
            assert_eq!(regexp_extract_all(text, compiled(pattern).as_ref(), group), Ok(want), "{pattern}");
        }
    }

    #[test]
    fn replaces_and_counts() {
        for (text, pattern, replacement, want) in [
            ("abc", "(a)(b)", "$2$1", Some("$2$1c")),
            ("foobar", "oo|ar", "", Some("fb")),
            ("  padded  ", r"\s+", "_", Some("_padded_")),
            ("abc", "x*", "-", Some("-a-b-c-")),
            ("baaac", "a*", "-", Some("-b--c-")),
            ("abc", "(", "", None),
        ] {
            let got = regexp_replace(text, compiled(pattern).as_ref(), replacement).unwrap();
            assert_eq!(got.as_deref(), want, "{pattern}");
        }
        assert_eq!(regexp_count("abc123xyz456", compiled(r"\d").as_ref()), Ok(Some(6)));
        assert_eq!(regexp_count("x", compiled("(").as_ref()), Ok(None));
        assert_eq!(regexp_instr("😀X", compiled("X").as_ref()), Ok(Some(3)));
        assert_eq!(regexp_instr("abc", compiled("X").as_ref()), Ok(Some(0)));
        assert_eq!(regexp_instr("Helloworld! Hello everyone!", compiled(r"\bHello\b").as_ref()), Ok(Some(13)));
        assert_eq!(regexp_substr("1a 2b 14m", compiled(r"\d{2}(a|b|m)").as_ref()), Ok(Some("14m")));
    }
}
