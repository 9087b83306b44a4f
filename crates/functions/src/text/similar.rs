//! SIMILAR TO: patterns of SQL, rewritten as regular expressions.

use crate::text::error::{TextError, TextResult};
use crate::text::java_regex::JavaRegex;
use crate::text::like::single;

const JAVA_SPECIALS: &str = r"[]()|^-+*?{}$\.";
const SQL_SPECIALS: &str = "[]()|^-+*_%?{}";
const CLASSES: [(&str, &str); 7] = [
    ("[:ALPHA:]", r"\p{Alpha}"),
    ("[:UPPER:]", r"\p{Upper}"),
    ("[:LOWER:]", r"\p{Lower}"),
    ("[:DIGIT:]", r"\d"),
    ("[:SPACE:]", " "),
    ("[:WHITESPACE:]", r"\s"),
    ("[:ALNUM:]", r"\p{Alnum}"),
];

/// A compiled SIMILAR TO pattern.
#[derive(Debug, Clone)]
pub struct SimilarPattern {
    regex: JavaRegex,
}

impl SimilarPattern {
    /// Compiles a pattern; without an escape character, none is special. An error for what is not a pattern.
    pub fn new(pattern: &str, escape: Option<&str>) -> TextResult<Self> {
        let escape = match escape {
            Some(escape) => Some(single(escape)?),
            None => None,
        };
        check_escape(pattern, escape)?;
        let regex = JavaRegex::whole(&to_java(pattern, escape)?)?;
        Ok(Self { regex })
    }

    /// Whether the whole text matches; an error only if matching takes too many steps.
    pub fn is_match(&self, text: &str) -> TextResult<bool> {
        self.regex.is_match(text)
    }
}

fn bad_escape(pattern: &str) -> TextError {
    TextError::new(format!("Invalid escape sequence in '{pattern}'"))
}

fn bad_pattern(pattern: &str) -> TextError {
    TextError::new(format!("Invalid regular expression '{pattern}'"))
}

fn check_escape(pattern: &str, escape: Option<char>) -> TextResult<()> {
    let Some(escape) = escape else { return Ok(()) };
    if SQL_SPECIALS.contains(escape) {
        let chars: Vec<char> = pattern.chars().collect();
        for (i, _) in chars.iter().enumerate().filter(|(_, c)| **c == escape) {
            match chars.get(i + 1) {
                Some(next) if SQL_SPECIALS.contains(*next) => {}
                _ => return Err(bad_escape(pattern)),
            }
        }
    }
    if escape == ':' && !(pattern.contains("[:") && pattern.contains(":]")) {
        return Err(bad_escape(pattern));
    }
    Ok(())
}

fn push_special(out: &mut String, c: char) {
    if JAVA_SPECIALS.contains(c) {
        out.push('\\');
    }
    out.push(c);
}

fn to_java(pattern: &str, escape: Option<char>) -> TextResult<String> {
    let mut out = String::with_capacity(pattern.len() * 2);
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        if Some(c) == escape {
            match rest.next() {
                Some(next) if SQL_SPECIALS.contains(next) => push_special(&mut out, next),
                Some(next) if next == c => out.push(next),
                _ => return Err(bad_escape(pattern)),
            }
            continue;
        }
        match c {
            '_' => out.push('.'),
            '%' => out.push_str("(?s:.*)"),
            '[' => {
                out.push('[');
                let after = class(pattern, rest.as_str(), &mut out, escape)?;
                rest = after.chars();
            }
            ']' => return Err(bad_pattern(pattern)),
            '\\' => out.push_str("\\\\"),
            '$' => out.push_str("\\$"),
            c => out.push(c),
        }
    }
    Ok(out)
}

/// Rewrites a character class after its opening bracket; gives what follows it.
fn class<'a>(pattern: &str, text: &'a str, out: &mut String, escape: Option<char>) -> TextResult<&'a str> {
    let mut rest = text.chars();
    loop {
        let before = rest.as_str();
        let Some(c) = rest.next() else { return Err(bad_pattern(pattern)) };
        if c == ']' {
            out.push(']');
            return Ok(rest.as_str());
        }
        if Some(c) == escape {
            match rest.next() {
                Some(next) if SQL_SPECIALS.contains(next) => push_special(out, next),
                Some(next) if next == c => out.push(next),
                _ => return Err(bad_pattern(pattern)),
            }
        } else if matches!(c, '-' | '^') {
            out.push(c);
        } else if before.starts_with("[:") {
            let known = CLASSES
                .iter()
                .find(|(name, _)| before.starts_with(name) || before.starts_with(name.to_ascii_lowercase().as_str()));
            let Some((name, java)) = known else { return Err(bad_pattern(pattern)) };
            out.push_str(java);
            rest = before.get(name.len()..).unwrap_or("").chars();
        } else if SQL_SPECIALS.contains(c) {
            return Err(bad_pattern(pattern));
        } else {
            out.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar() {
        for (text, pattern, escape, want) in [
            ("abc", "a.c", None, true),
            ("abc", "(b|c)%", None, false),
            ("abc", "(a|c)%", None, true),
            ("abc", "a_c", None, true),
            ("abc", "b", None, false),
            ("Hello World", "H%", None, true),
            ("aaa", "a{3}", None, true),
            ("a1", "[a-z][0-9]", None, true),
            ("a1", "[[:ALPHA:]][[:digit:]]", None, true),
            ("a$", "a$", None, true),
            ("a\\b", "a\\b", None, true),
            ("a%", "a!%", Some("!"), true),
            ("ab", "a!%", Some("!"), false),
            ("x\ny", "x_y", None, false),
            ("x\ny", "x%y", None, true),
        ] {
            let compiled = SimilarPattern::new(pattern, escape).unwrap();
            assert_eq!(compiled.is_match(text), Ok(want), "{text} {pattern}");
        }
        for (pattern, escape) in [("a]", None), ("[a", None), ("[[:x:]]", None), ("(", None), ("a!b", Some("!"))] {
            assert!(SimilarPattern::new(pattern, escape).is_err(), "{pattern}");
        }
    }
}
