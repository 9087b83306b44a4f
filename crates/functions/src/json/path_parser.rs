//! Reading the text of a path as JsonPath reads it.

use crate::json::path::{Function, Step};

const MAX_STEPS: usize = 200;
const MAX_NESTING: usize = 10;

/// Reads the steps of a path that begins with `$` or `@`; other texts are taken as names below `$`.
pub(crate) fn parse_steps(text: &str, depth: usize) -> Result<Vec<Step>, String> {
    if depth > MAX_NESTING {
        return Err("paths in filters are nested too deep".into());
    }
    if text.is_empty() {
        return Err("it is empty".into());
    }
    let owned;
    let text = if text.starts_with(['$', '@']) {
        text
    } else {
        owned = format!("$.{text}");
        owned.as_str()
    };
    let text = text.trim_end_matches(' ');
    if text.ends_with('.') {
        return Err("it ends with '.'".into());
    }
    let mut parser = Parser { text, at: 1, depth, steps: Vec::new() };
    if parser.peek().is_some_and(|c| c != '.' && c != '[') {
        return Err(parser.error("'.' or '['"));
    }
    while parser.peek().is_some() {
        parser.step()?;
        if parser.steps.len() > MAX_STEPS {
            return Err(format!("it has more than {MAX_STEPS} steps"));
        }
    }
    let steps = parser.steps;
    if let Some(at) = steps.iter().position(|step| matches!(step, Step::Function(_))) {
        if at + 1 != steps.len() {
            return Err("a function is supported at the end only".into());
        }
        if steps.first() == Some(&Step::Scan) {
            return Err("a function after '..' is not supported".into());
        }
    }
    Ok(steps)
}

/// A position in a path's text.
pub(crate) struct Parser<'t> {
    pub(crate) text: &'t str,
    pub(crate) at: usize,
    pub(crate) depth: usize,
    steps: Vec<Step>,
}

impl<'t> Parser<'t> {
    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(crate) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn error(&self, expected: &str) -> String {
        match self.peek() {
            Some(found) => format!("expected {expected} at position {}, found '{found}'", self.at),
            None => format!("expected {expected} at the end"),
        }
    }

    pub(crate) fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches(' ').len();
    }

    pub(crate) fn take(&mut self, wanted: &str) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len();
        }
        found
    }

    pub(crate) fn expect(&mut self, wanted: &str) -> Result<(), String> {
        self.blanks();
        if self.take(wanted) { Ok(()) } else { Err(self.error(&format!("'{wanted}'"))) }
    }

    fn step(&mut self) -> Result<(), String> {
        if self.take("..") {
            self.steps.push(Step::Scan);
        } else {
            self.take(".");
        }
        match self.peek() {
            Some('[') => self.bracket(),
            Some('*') => {
                self.at += 1;
                self.steps.push(Step::Wildcard);
                Ok(())
            }
            None | Some('.' | ' ') => Err(self.error("a name")),
            Some(_) => self.name(),
        }
    }

    fn name(&mut self) -> Result<(), String> {
        let rest = self.rest();
        let length = rest.find(['.', '[', '(', ' ']).unwrap_or(rest.len());
        let name = rest.get(..length).unwrap_or_default();
        self.at += length;
        match self.peek() {
            Some(' ') => Err(self.error("no blank in a name (names with blanks are written ['a b'])")),
            Some('(') => {
                self.at += 1;
                self.blanks();
                if !self.take(")") {
                    return Err(self.error("')' (functions take no arguments)"));
                }
                let function = match name {
                    "length" | "size" => Function::Length,
                    "keys" => Function::Keys,
                    "sum" => Function::Sum,
                    "avg" => Function::Avg,
                    "min" => Function::Min,
                    "max" => Function::Max,
                    "concat" => Function::Concat,
                    "first" => Function::First,
                    "last" => Function::Last,
                    _ => return Err(format!("the function {name}() is unknown or not supported")),
                };
                self.steps.push(Step::Function(function));
                Ok(())
            }
            _ => {
                self.steps.push(Step::Property(vec![name.into()]));
                Ok(())
            }
        }
    }

    fn bracket(&mut self) -> Result<(), String> {
        self.at += 1;
        self.blanks();
        let step = match self.peek() {
            Some(quote @ ('\'' | '"')) => self.names(quote)?,
            Some('0'..='9' | '-' | ':') => self.positions()?,
            Some('*') => {
                self.at += 1;
                Step::Wildcard
            }
            Some('?') => {
                self.at += 1;
                self.blanks();
                if self.peek() != Some('(') {
                    return Err(self.error("'(' after '?'"));
                }
                Step::Filter(self.operand(0)?)
            }
            _ => return Err(self.error("a name in quotes, an index, '*' or '?'")),
        };
        self.expect("]")?;
        self.steps.push(step);
        Ok(())
    }

    fn names(&mut self, quote: char) -> Result<Step, String> {
        let mut names = Vec::new();
        loop {
            self.blanks();
            if self.peek() != Some(quote) {
                return Err(self.error(&format!("a name in {quote}")));
            }
            names.push(self.quoted(quote)?);
            self.blanks();
            if !self.take(",") {
                return Ok(Step::Property(names));
            }
        }
    }

    /// The quoted text whose opening quote is next.
    pub(crate) fn quoted(&mut self, quote: char) -> Result<String, String> {
        let start = self.at + quote.len_utf8();
        let mut escaped = false;
        for (at, c) in self.text.get(start..).unwrap_or_default().char_indices() {
            if escaped {
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == quote {
                self.at = start + at + 1;
                return unescape(self.text.get(start..start + at).unwrap_or_default());
            }
        }
        Err(format!("the {quote} at position {} is not closed", self.at))
    }

    fn positions(&mut self) -> Result<Step, String> {
        let rest = self.rest();
        let Some(length) = rest.find(']') else {
            return Err(format!("the '[' before position {} is not closed", self.at));
        };
        let text = rest.get(..length).unwrap_or_default().trim_matches(' ');
        let start = self.at;
        let number = |text: &str| {
            let wrong = text.starts_with('+');
            text.parse::<i32>()
                .ok()
                .filter(|_| !wrong)
                .map(i64::from)
                .ok_or_else(|| format!("expected an index at position {start}, found '{text}'"))
        };
        self.at += length;
        if !text.contains(':') {
            let indexes: Result<Vec<i64>, String> =
                text.split(',').map(|part| number(part.trim_matches(' '))).collect();
            return Ok(Step::Index(indexes?));
        }
        if text.contains([' ', ',']) {
            return Err(format!("expected a range at position {start}, found '{text}'"));
        }
        let mut parts = text.split(':').map(|part| if part.is_empty() { Ok(None) } else { number(part).map(Some) });
        let from = parts.next().transpose()?.flatten();
        let to = parts.next().transpose()?.flatten();
        if from.is_none() && to.is_none() {
            return Err(format!("expected a range at position {start}, found '{text}'"));
        }
        Ok(Step::Slice(from, to))
    }
}

/// Resolves the escapes of a quoted name or literal; an unknown escape stands for its character.
fn unescape(text: &str) -> Result<String, String> {
    if !text.contains('\\') {
        return Ok(text.into());
    }
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let c = match (c, if c == '\\' { chars.next() } else { None }) {
            (_, Some('u')) => {
                let digits: String = chars.by_ref().take(4).collect();
                units.push(u16::from_str_radix(&digits, 16).map_err(|_| format!("invalid escape \\u{digits}"))?);
                continue;
            }
            (_, Some('b')) => '\u{8}',
            (_, Some('f')) => '\u{c}',
            (_, Some('n')) => '\n',
            (_, Some('r')) => '\r',
            (_, Some('t')) => '\t',
            (_, Some(other)) => other,
            (c, None) => c,
        };
        units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
    }
    Ok(char::decode_utf16(units).map(|c| c.unwrap_or('?')).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::path::Path;

    fn property(name: &str) -> Step {
        Step::Property(vec![name.into()])
    }

    #[test]
    fn steps() {
        for (text, wanted) in [
            ("$", vec![]),
            ("$.a.b", vec![property("a"), property("b")]),
            ("a.b", vec![property("a"), property("b")]),
            ("$.['a b'] ", vec![property("a b")]),
            ("$[\"a\"]['b','c\\'d']", vec![property("a"), Step::Property(vec!["b".into(), "c'd".into()])]),
            ("$[0][-1][0, 1]", vec![Step::Index(vec![0]), Step::Index(vec![-1]), Step::Index(vec![0, 1])]),
            (
                "$[1:3][:2][-1:]",
                vec![Step::Slice(Some(1), Some(3)), Step::Slice(None, Some(2)), Step::Slice(Some(-1), None)],
            ),
            ("$.*[*]", vec![Step::Wildcard, Step::Wildcard]),
            ("$..a..*", vec![Step::Scan, property("a"), Step::Scan, Step::Wildcard]),
            ("$.größe.length()", vec![property("größe"), Step::Function(Function::Length)]),
        ] {
            assert_eq!(Path::parse(text).unwrap().steps().unwrap(), wanted, "{text}");
        }
    }

    #[test]
    fn errors_name_the_place() {
        for text in [
            "",
            "$.",
            "$..",
            "$a",
            "$[",
            "$[]",
            "$.a b",
            "$['a'",
            "$['a",
            "$['a',]",
            "$[a]",
            "$[1",
            "$[1:2,3]",
            "$[:]",
            "$...a",
            "$.a.nope()",
            "$[?]",
            "$[?(@.a",
            "$[?(@.a = 1)]",
            "$[?(@.a > )]",
            "$[?(1)]",
            "$[99999999999]",
            "$[1 2]",
            "  $.a",
        ] {
            assert!(Path::parse(text).is_err(), "{text}");
        }
        assert!(Path::parse("$.a[x]").unwrap_err().contains("position 4"));
        assert!(Path::parse(&format!("${}", ".a".repeat(100_000))).is_err());
        assert!(Path::parse(&format!("$[?({}@.a", "(".repeat(100_000))).is_err());
    }
}
