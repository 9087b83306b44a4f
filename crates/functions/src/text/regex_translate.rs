//! Java's regular expression syntax, rewritten in the syntax of the Rust engines.

use crate::text::java_regex::RegexError;

pub(crate) type Translated<T> = Result<T, RegexError>;

pub(crate) fn invalid<T>(text: impl Into<String>) -> Translated<T> {
    Err(RegexError::Invalid(text.into()))
}

pub(crate) fn unsupported<T>(text: impl Into<String>) -> Translated<T> {
    Err(RegexError::Unsupported(text.into()))
}

/// The flags that change the meaning of what follows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Flags {
    pub(crate) ignore_case: bool,
    pub(crate) unicode_case: bool,
    multiline: bool,
    dot_all: bool,
    unix_lines: bool,
    pub(crate) comments: bool,
}

const MAX_GROUPS: usize = 250;

/// The state of a translation.
pub(crate) struct Translator<'a> {
    pub(crate) chars: std::iter::Peekable<std::str::Chars<'a>>,
    out: String,
    pub(crate) flags: Flags,
    groups: usize,
    names: Vec<(String, usize)>,
    /// The flags outside of each open group.
    open: Vec<Flags>,
    /// Whether a quantifier may follow.
    atom: bool,
    /// Whether only the backtracking engine can do it.
    pub(crate) backtracks: bool,
    /// Whether a `$` that may stand before a final line terminator occurs.
    pub(crate) end_anchor: bool,
    /// Whether such a `$` is written as the very end.
    plain_end: bool,
}

impl<'a> Translator<'a> {
    /// Rewrites a pattern. With `plain_end`, for texts that do not end with a line terminator.
    pub(crate) fn run(pattern: &'a str, plain_end: bool) -> Translated<(Self, String)> {
        let mut t = Self {
            chars: pattern.chars().peekable(),
            out: String::with_capacity(pattern.len() * 2),
            flags: Flags::default(),
            groups: 0,
            names: Vec::new(),
            open: Vec::new(),
            atom: false,
            backtracks: false,
            end_anchor: false,
            plain_end,
        };
        while let Some(c) = t.chars.next() {
            t.item(c)?;
        }
        if !t.open.is_empty() {
            return invalid("a group is not closed");
        }
        let out = std::mem::take(&mut t.out);
        Ok((t, out))
    }

    fn item(&mut self, c: char) -> Translated<()> {
        if self.flags.comments {
            if matches!(c, ' ' | '\t'..='\r') {
                return Ok(());
            }
            if c == '#' {
                while self.chars.next_if(|c| !matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')).is_some() {
                }
                return Ok(());
            }
        }
        match c {
            '(' => self.open_group(),
            ')' => {
                let Some(flags) = self.open.pop() else { return invalid("a closing ')' has no opening one") };
                self.flags = flags;
                self.out.push(')');
                self.atom = true;
                Ok(())
            }
            '|' => {
                self.out.push('|');
                self.atom = false;
                Ok(())
            }
            '*' | '+' | '?' if !self.atom => invalid(format!("the quantifier '{c}' has nothing to repeat")),
            '*' | '+' | '?' => {
                self.out.push(c);
                self.quantifier_kind();
                Ok(())
            }
            '{' if !self.atom => unsupported("a repetition '{' that has nothing to repeat"),
            '{' => self.repetition(),
            '[' => {
                let class = self.class(0)?;
                if self.flags.ignore_case && self.flags.unicode_case {
                    self.atom(&format!("(?i:{class})"));
                } else {
                    self.atom(&class);
                }
                Ok(())
            }
            '\\' => self.escape(),
            '.' => {
                self.atom(match (self.flags.dot_all, self.flags.unix_lines) {
                    (true, _) => "(?s:.)",
                    (_, true) => r"[^\n]",
                    _ => r"[^\n\r\x{85}\x{2028}\x{2029}]",
                });
                Ok(())
            }
            '^' => {
                self.line_start();
                Ok(())
            }
            '$' => {
                self.line_end(self.flags.multiline);
                Ok(())
            }
            _ => {
                self.literal(c);
                Ok(())
            }
        }
    }

    fn atom(&mut self, text: &str) {
        self.out.push_str(text);
        self.atom = true;
    }

    fn literal(&mut self, c: char) {
        let mut text = String::new();
        if self.flags.ignore_case && c.is_ascii_alphabetic() && !self.flags.unicode_case {
            text.extend(['[', c.to_ascii_lowercase(), c.to_ascii_uppercase(), ']']);
        } else if self.flags.ignore_case && self.flags.unicode_case {
            text.push_str("(?i:");
            push_escaped(&mut text, c);
            text.push(')');
        } else {
            push_escaped(&mut text, c);
        }
        self.atom(&text);
    }

    fn line_start(&mut self) {
        if !self.flags.multiline {
            return self.atom(r"\A");
        }
        self.backtracks = true;
        self.atom(if self.flags.unix_lines {
            r"(?:(?!\z)(?:\A|(?<=\n)))"
        } else {
            r"(?:(?!\z)(?:\A|(?<=[\n\x{85}\x{2028}\x{2029}])|(?<=\r)(?!\n)))"
        });
    }

    fn line_end(&mut self, multiline: bool) {
        if multiline {
            self.backtracks = true;
            return self.atom(if self.flags.unix_lines {
                r"(?:\z|(?=\n))"
            } else {
                r"(?:\z|(?=[\r\x{85}\x{2028}\x{2029}])|(?<!\r)(?=\n))"
            });
        }
        self.end_anchor = true;
        if self.plain_end {
            return self.atom(r"\z");
        }
        self.backtracks = true;
        self.atom(if self.flags.unix_lines {
            r"(?:\z|(?=\n\z))"
        } else {
            r"(?:\z|(?=[\r\x{85}\x{2028}\x{2029}]\z|\r\n\z)|(?<!\r)(?=\n\z))"
        });
    }

    fn open_group(&mut self) -> Translated<()> {
        if self.open.len() >= MAX_GROUPS {
            return unsupported("groups nested more than 250 deep");
        }
        self.open.push(self.flags);
        self.atom = false;
        if self.chars.next_if_eq(&'?').is_none() {
            self.groups += 1;
            self.out.push('(');
            return Ok(());
        }
        match self.chars.peek().copied() {
            Some(c @ (':' | '=' | '!' | '>')) => {
                self.chars.next();
                self.backtracks |= c != ':';
                self.out.extend(['(', '?', c]);
                Ok(())
            }
            Some('<') => {
                self.chars.next();
                if let Some(c) = self.chars.next_if(|c| matches!(c, '=' | '!')) {
                    self.backtracks = true;
                    self.out.extend(['(', '?', '<', c]);
                    return Ok(());
                }
                let name = self.name('>')?;
                if self.names.iter().any(|(n, _)| *n == name) {
                    return invalid(format!("the group name '{name}' occurs twice"));
                }
                self.groups += 1;
                self.names.push((name, self.groups));
                self.out.push('(');
                Ok(())
            }
            _ => self.inline_flags(),
        }
    }

    fn name(&mut self, end: char) -> Translated<String> {
        let mut name = String::new();
        while let Some(c) = self.chars.next_if(char::is_ascii_alphanumeric) {
            name.push(c);
        }
        if self.chars.next_if_eq(&end).is_none() || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return invalid("a group has no valid name");
        }
        Ok(name)
    }

    fn inline_flags(&mut self) -> Translated<()> {
        let mut on = true;
        loop {
            match self.chars.next() {
                Some('-') if on => on = false,
                Some('i') => self.flags.ignore_case = on,
                Some('m') => self.flags.multiline = on,
                Some('s') => self.flags.dot_all = on,
                Some('d') => self.flags.unix_lines = on,
                Some('x') => self.flags.comments = on,
                Some('u') => self.flags.unicode_case = on,
                Some('U') if !on => {}
                Some('U') => return unsupported("the flag (?U)"),
                Some(')') => {
                    // The flags hold until the group around them ends.
                    self.open.pop();
                    return Ok(());
                }
                Some(':') => {
                    self.out.push_str("(?:");
                    return Ok(());
                }
                _ => return invalid("an unknown group or flag follows '(?'"),
            }
        }
    }

    fn quantifier_kind(&mut self) {
        self.atom = false;
        if let Some(c) = self.chars.next_if(|c| matches!(c, '?' | '+')) {
            self.backtracks |= c == '+';
            self.out.push(c);
        }
    }

    fn repetition(&mut self) -> Translated<()> {
        let mut text = String::from("{");
        let number = |t: &mut Self, text: &mut String| {
            let mut value = None;
            while let Some(c) = t.chars.next_if(char::is_ascii_digit) {
                text.push(c);
                value = Some(value.unwrap_or(0u32).saturating_mul(10).saturating_add(u32::from(c) - 48));
            }
            value
        };
        let Some(min) = number(self, &mut text) else { return invalid("the repetition '{' has no number") };
        if self.chars.next_if_eq(&',').is_some() {
            text.push(',');
            if number(self, &mut text).is_some_and(|max| max < min) {
                return invalid("a repetition's range is not ascending");
            }
        }
        if self.chars.next_if_eq(&'}').is_none() {
            return invalid("a repetition '{' is not closed");
        }
        text.push('}');
        self.out.push_str(&text);
        self.quantifier_kind();
        Ok(())
    }

    fn escape(&mut self) -> Translated<()> {
        let Some(c) = self.chars.next() else { return invalid("the pattern ends with '\\'") };
        match c {
            'Q' => {
                while let Some(c) = self.chars.next() {
                    if c == '\\' && self.chars.next_if_eq(&'E').is_some() {
                        break;
                    }
                    self.literal(c);
                }
            }
            'b' if self.chars.clone().take(2).eq("{g".chars()) => return unsupported("the boundary \\b{g}"),
            'b' => self.atom(r"\b"),
            'B' => self.atom(r"\B"),
            'A' => self.atom(r"\A"),
            'z' => self.atom(r"\z"),
            'Z' => self.line_end(false),
            'R' => {
                self.backtracks = true;
                self.atom(r"(?:\r\n|[\n\x{B}\f\r\x{85}\x{2028}\x{2029}])");
            }
            'G' | 'X' | 'N' => return unsupported(format!("the construct \\{c}")),
            'k' => {
                if self.chars.next_if_eq(&'<').is_none() {
                    return invalid("a group name must follow \\k");
                }
                let name = self.name('>')?;
                let Some(number) = self.names.iter().find(|(n, _)| *n == name).map(|(_, g)| *g) else {
                    return invalid(format!("there is no group named '{name}'"));
                };
                self.back_reference(number)?;
            }
            '1'..='9' => {
                let mut number = c as usize - '0' as usize;
                while let Some(d) = self.chars.peek().and_then(|c| c.to_digit(10)) {
                    let longer = number * 10 + d as usize;
                    if longer > self.groups {
                        break;
                    }
                    number = longer;
                    self.chars.next();
                }
                if number > self.groups {
                    return unsupported(format!("the reference \\{number} to a group that is not open yet"));
                }
                self.back_reference(number)?;
            }
            c => match self.escaped(c)? {
                Escaped::Char(c) => self.literal(c),
                Escaped::Class(class) => {
                    if self.flags.ignore_case && self.flags.unicode_case {
                        self.atom(&format!("(?i:{class})"));
                    } else {
                        self.atom(&class);
                    }
                }
            },
        }
        Ok(())
    }

    fn back_reference(&mut self, number: usize) -> Translated<()> {
        if self.flags.ignore_case {
            return unsupported("a back reference that ignores case");
        }
        self.backtracks = true;
        self.atom(&format!(r"(?:\{number})"));
        Ok(())
    }
}

/// What an escape stands for.
pub(crate) enum Escaped {
    Char(char),
    /// A class in brackets.
    Class(String),
}

/// Appends a character so that it means itself, in and outside of classes.
pub(crate) fn push_escaped(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() || !c.is_ascii() {
        out.push(c);
    } else {
        out.push_str(&format!(r"\x{{{:X}}}", u32::from(c)));
    }
}

/// Whether a text ends with what a `$` may stand before.
pub(crate) fn ends_with_terminator(text: &str) -> bool {
    text.ends_with(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminators_agree() {
        let class = regex::Regex::new(r"[\n\r\x{85}\x{2028}\x{2029}]").unwrap();
        for c in ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}', 'a', '\u{b}'] {
            assert_eq!(class.is_match(&c.to_string()), ends_with_terminator(&c.to_string()));
        }
    }
}
