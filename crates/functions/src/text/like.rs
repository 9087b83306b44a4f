//! LIKE: patterns with `%` and `_`, compiled once, matched without regular expressions.

use crate::text::error::{TextError, TextResult};

#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    /// Any one character but a line terminator.
    One,
}

/// What stands between two `%`.
type Segment = Vec<Piece>;

#[derive(Debug, Clone)]
enum Kind {
    Equal(String),
    Prefix(String),
    Suffix(String),
    Contains(String),
    Any,
    Segments(Vec<Segment>),
}

/// A compiled LIKE pattern.
#[derive(Debug, Clone)]
pub struct LikePattern {
    kind: Kind,
}

impl LikePattern {
    /// Compiles a pattern; without an escape character, none is special.
    /// An error if the escape is not one character, or stands before another character than `%`, `_` and itself.
    pub fn new(pattern: &str, escape: Option<&str>) -> TextResult<Self> {
        let escape = match escape {
            Some(escape) => Some(single(escape)?),
            None => None,
        };
        let mut segments = vec![Segment::new()];
        let mut chars = pattern.chars();
        let push = |piece: Option<char>, segments: &mut Vec<Segment>| {
            if let Some(last) = segments.last_mut() {
                match (piece, last.last_mut()) {
                    (Some(c), Some(Piece::Text(text))) => text.push(c),
                    (Some(c), _) => last.push(Piece::Text(c.to_string())),
                    (None, _) => last.push(Piece::One),
                }
            }
        };
        while let Some(c) = chars.next() {
            if Some(c) == escape {
                match chars.next() {
                    Some(next) if next == '%' || next == '_' || next == c => push(Some(next), &mut segments),
                    _ => return Err(TextError::new(format!("Invalid escape sequence in '{pattern}'"))),
                }
            } else if c == '_' {
                push(None, &mut segments);
            } else if c == '%' {
                segments.push(Segment::new());
            } else {
                push(Some(c), &mut segments);
            }
        }
        Ok(Self { kind: simplify(segments) })
    }

    /// Whether the whole text matches.
    pub fn is_match(&self, text: &str) -> bool {
        match &self.kind {
            Kind::Equal(t) => text == t,
            Kind::Prefix(t) => text.starts_with(t.as_str()),
            Kind::Suffix(t) => text.ends_with(t.as_str()),
            Kind::Contains(t) => text.contains(t.as_str()),
            Kind::Any => true,
            Kind::Segments(segments) => match_segments(segments, text),
        }
    }
}

/// The one character of an escape clause.
pub(crate) fn single(escape: &str) -> TextResult<char> {
    let mut chars = escape.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Ok(c),
        _ => Err(TextError::new(format!("Invalid escape character '{escape}'"))),
    }
}

fn simplify(segments: Vec<Segment>) -> Kind {
    match segments.as_slice() {
        [one] if one.is_empty() => Kind::Equal(String::new()),
        [one] => match one.as_slice() {
            [Piece::Text(t)] => Kind::Equal(t.clone()),
            _ => Kind::Segments(segments),
        },
        [first, last] => match (first.as_slice(), last.as_slice()) {
            ([], []) => Kind::Any,
            ([Piece::Text(t)], []) => Kind::Prefix(t.clone()),
            ([], [Piece::Text(t)]) => Kind::Suffix(t.clone()),
            _ => Kind::Segments(segments),
        },
        [first, middle, last] => match (first.as_slice(), middle.as_slice(), last.as_slice()) {
            ([], [Piece::Text(t)], []) => Kind::Contains(t.clone()),
            _ => Kind::Segments(segments),
        },
        _ => Kind::Segments(segments),
    }
}

fn is_terminator(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// What follows the segment at the beginning of the text.
fn after_segment<'a>(segment: &[Piece], mut text: &'a str) -> Option<&'a str> {
    for piece in segment {
        text = match piece {
            Piece::Text(t) => text.strip_prefix(t.as_str())?,
            Piece::One => {
                let mut chars = text.chars();
                if is_terminator(chars.next()?) {
                    return None;
                }
                chars.as_str()
            }
        };
    }
    Some(text)
}

/// What precedes the segment at the end of the text.
fn before_segment<'a>(segment: &[Piece], mut text: &'a str) -> Option<&'a str> {
    for piece in segment.iter().rev() {
        text = match piece {
            Piece::Text(t) => text.strip_suffix(t.as_str())?,
            Piece::One => {
                let mut chars = text.chars();
                if is_terminator(chars.next_back()?) {
                    return None;
                }
                chars.as_str()
            }
        };
    }
    Some(text)
}

/// What follows the first place where the segment is found.
fn after_first<'a>(segment: &[Piece], text: &'a str) -> Option<&'a str> {
    if let [Piece::Text(t)] = segment {
        return text.split_once(t.as_str()).map(|(_, rest)| rest);
    }
    let mut chars = text.chars();
    loop {
        if let Some(rest) = after_segment(segment, chars.as_str()) {
            return Some(rest);
        }
        chars.next()?;
    }
}

fn match_segments(segments: &[Segment], text: &str) -> bool {
    let [first, rest @ ..] = segments else { return false };
    let Some(mut text) = after_segment(first, text) else { return false };
    let [middle @ .., last] = rest else { return text.is_empty() };
    match before_segment(last, text) {
        Some(before) => text = before,
        None => return false,
    }
    for segment in middle {
        match after_first(segment, text) {
            Some(after) => text = after,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like() {
        for (text, pattern, escape, want) in [
            ("Hello World", "Hello%", None, true),
            ("Hello World", "hello%", None, false),
            ("Hello World", "%o_W%", None, true),
            ("Grüße 東京", "_____ %", None, true),
            ("a,b;c=d%e_f", r"%\_f", Some("\\"), true),
            (r"a\_b", r"a\_b", None, true),
            (r"a\xb", r"a\_b", None, true),
            ("", "", None, true),
            ("a", "", None, false),
            ("", "%", None, true),
            ("", "_", None, false),
            ("a\nb", "a_b", None, false),
            ("a\nb", "a%b", None, true),
            ("100%", "100!%", Some("!"), true),
            ("1000", "100!%", Some("!"), false),
            ("a!b", "a!!b", Some("!"), true),
            ("aab", "%a_", None, true),
            ("abab", "ab%ab", None, true),
            ("aba", "ab%ba", None, false),
            ("abcabc", "%b%b%", None, true),
            ("abc", "%%", None, true),
            ("abc", "_%_%_", None, true),
            ("ab", "_%_%_", None, false),
            ("😀", "_", None, true),
        ] {
            assert_eq!(LikePattern::new(pattern, escape).unwrap().is_match(text), want, "{text} {pattern}");
        }
        for (pattern, escape) in [("a!b", "!"), ("a!", "!"), ("a", "!!"), ("a", "")] {
            assert!(LikePattern::new(pattern, Some(escape)).is_err());
        }
    }
}
