//! Character classes and escapes of Java's regular expressions.

use crate::text::regex_translate::{Escaped, Translated, Translator, invalid, push_escaped, unsupported};

const MAX_DEPTH: usize = 50;
const CATEGORIES: [&str; 37] = [
    "L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Me", "Mc", "N", "Nd", "Nl", "No", "Z", "Zs", "Zl", "Zp", "C", "Cc",
    "Cf", "Co", "Cn", "P", "Pd", "Ps", "Pe", "Pc", "Po", "Pi", "Pf", "S", "Sm", "Sc", "Sk", "So", "LC",
];

impl Translator<'_> {
    /// The class after its opening bracket, in Rust's syntax.
    pub(crate) fn class(&mut self, depth: usize) -> Translated<String> {
        if depth > MAX_DEPTH {
            return unsupported("character classes nested more than 50 deep");
        }
        let mut out = String::from("[");
        if self.chars.next_if_eq(&'^').is_some() {
            out.push('^');
        }
        let head = out.len();
        loop {
            let Some(c) = self.chars.next() else { return invalid("a character class is not closed") };
            match c {
                ']' if out.len() > head => break,
                '[' => {
                    let inner = self.class(depth + 1)?;
                    out.push_str(&inner);
                }
                '&' if self.chars.peek() == Some(&'&') => {
                    while self.chars.next_if_eq(&'&').is_some() {}
                    if self.chars.peek() == Some(&']') {
                        if out.len() == head {
                            return invalid("the intersection '&&' has no sides");
                        }
                    } else if out.len() > head {
                        out.push_str("&&");
                    }
                }
                c if self.flags.comments && matches!(c, ' ' | '\t'..='\r') => {}
                '\\' if self.chars.peek() == Some(&'Q') => {
                    self.chars.next();
                    while let Some(c) = self.chars.next() {
                        if c == '\\' && self.chars.next_if_eq(&'E').is_some() {
                            break;
                        }
                        self.push_range(&mut out, c, c);
                    }
                }
                '\\' => match self.class_escape()? {
                    Escaped::Class(class) => out.push_str(&class),
                    Escaped::Char(c) => self.range(&mut out, c)?,
                },
                c => self.range(&mut out, c)?,
            }
        }
        out.push(']');
        Ok(out)
    }

    fn class_escape(&mut self) -> Translated<Escaped> {
        match self.chars.next() {
            Some(c) => self.escaped(c),
            None => invalid("the pattern ends with '\\'"),
        }
    }

    /// A character, or the range that it begins.
    fn range(&mut self, out: &mut String, low: char) -> Translated<()> {
        let mut ahead = self.chars.clone();
        let ranged = ahead.next() == Some('-') && !matches!(ahead.next(), None | Some('[' | ']'));
        if !ranged {
            self.push_range(out, low, low);
            return Ok(());
        }
        self.chars.next();
        let high = match self.chars.next() {
            Some('\\') => match self.class_escape()? {
                Escaped::Char(c) => c,
                Escaped::Class(_) => return invalid("a character range ends with a class"),
            },
            Some(c) => c,
            None => return invalid("a character class is not closed"),
        };
        if high < low {
            return invalid(format!("the character range {low}-{high} is not ascending"));
        }
        self.push_range(out, low, high);
        Ok(())
    }

    fn push_range(&self, out: &mut String, low: char, high: char) {
        let mut push = |low: char, high: char| {
            push_escaped(out, low);
            // A range keeps `[:alpha:]` from being a class of its own.
            if low != high || low == ':' {
                out.push('-');
                push_escaped(out, high);
            }
        };
        push(low, high);
        if !self.flags.ignore_case || self.flags.unicode_case {
            return;
        }
        let (l, h) = (low.max('a'), high.min('z'));
        if l <= h {
            push(l.to_ascii_uppercase(), h.to_ascii_uppercase());
        }
        let (l, h) = (low.max('A'), high.min('Z'));
        if l <= h {
            push(l.to_ascii_lowercase(), h.to_ascii_lowercase());
        }
    }

    /// What `\c` stands for where it is a character or a class.
    pub(crate) fn escaped(&mut self, c: char) -> Translated<Escaped> {
        let class = |text: &str| Ok(Escaped::Class(text.to_owned()));
        match c {
            'd' => class("[0-9]"),
            'D' => class("[^0-9]"),
            'w' => class("[a-zA-Z_0-9]"),
            'W' => class("[^a-zA-Z_0-9]"),
            's' => class(r"[ \t\n\x{B}\f\r]"),
            'S' => class(r"[^ \t\n\x{B}\f\r]"),
            'h' => class(r"[ \t\x{A0}\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}]"),
            'H' => class(r"[^ \t\x{A0}\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}]"),
            'v' => class(r"[\n\x{B}\f\r\x{85}\x{2028}\x{2029}]"),
            'V' => class(r"[^\n\x{B}\f\r\x{85}\x{2028}\x{2029}]"),
            'p' => self.property(false),
            'P' => self.property(true),
            't' => Ok(Escaped::Char('\t')),
            'n' => Ok(Escaped::Char('\n')),
            'r' => Ok(Escaped::Char('\r')),
            'f' => Ok(Escaped::Char('\x0C')),
            'a' => Ok(Escaped::Char('\x07')),
            'e' => Ok(Escaped::Char('\x1B')),
            'c' => match self.chars.next() {
                Some(c) => code_point(u32::from(c) ^ 64),
                None => invalid("a control character must follow \\c"),
            },
            '0' => self.octal(),
            'x' if self.chars.next_if_eq(&'{').is_some() => {
                let mut digits = String::new();
                while let Some(c) = self.chars.next_if(char::is_ascii_hexdigit) {
                    digits.push(c);
                }
                if self.chars.next_if_eq(&'}').is_none() {
                    return invalid("the code point \\x{…} is not closed");
                }
                u32::from_str_radix(&digits, 16).map_or_else(|_| invalid("\\x{…} is not a code point"), code_point)
            }
            'x' => self.hexadecimal(2).and_then(code_point),
            'u' => self.unicode(),
            c if c.is_ascii_alphanumeric() => invalid(format!("the escape \\{c} does not exist")),
            c => Ok(Escaped::Char(c)),
        }
    }

    fn hexadecimal(&mut self, count: usize) -> Translated<u32> {
        let mut value = 0;
        for _ in 0..count {
            let Some(d) = self.chars.next().and_then(|c| c.to_digit(16)) else {
                return invalid(format!("an escape has fewer than {count} hexadecimal digits"));
            };
            value = value * 16 + d;
        }
        Ok(value)
    }

    fn unicode(&mut self) -> Translated<Escaped> {
        let first = self.hexadecimal(4)?;
        if !(0xD800..0xDC00).contains(&first) {
            return code_point(first);
        }
        if self.chars.next_if_eq(&'\\').is_none() || self.chars.next_if_eq(&'u').is_none() {
            return unsupported("half of a surrogate pair");
        }
        let second = self.hexadecimal(4)?;
        if !(0xDC00..0xE000).contains(&second) {
            return unsupported("half of a surrogate pair");
        }
        code_point(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
    }

    fn octal(&mut self) -> Translated<Escaped> {
        let mut value = None;
        for _ in 0..3 {
            let Some(d) = self.chars.peek().and_then(|c| c.to_digit(8)) else { break };
            let longer = value.unwrap_or(0) * 8 + d;
            if longer > 0o377 {
                break;
            }
            value = Some(longer);
            self.chars.next();
        }
        match value {
            Some(value) => code_point(value),
            None => invalid("no octal digit follows \\0"),
        }
    }

    fn property(&mut self, negated: bool) -> Translated<Escaped> {
        let mut name = String::new();
        match self.chars.next() {
            Some('{') => loop {
                match self.chars.next() {
                    Some('}') => break,
                    Some(c) => name.push(c),
                    None => return invalid("a property \\p{…} is not closed"),
                }
            },
            Some(c) => name.push(c),
            None => return invalid("a property's name must follow \\p"),
        }
        let inner = match name.as_str() {
            "Lower" | "Upper" if self.flags.ignore_case => "a-zA-Z",
            "Lower" => "a-z",
            "Upper" => "A-Z",
            "ASCII" => r"\x{0}-\x{7F}",
            "Alpha" => "a-zA-Z",
            "Digit" => "0-9",
            "Alnum" => "a-zA-Z0-9",
            "Punct" => r"\x{21}-\x{2F}\x{3A}-\x{40}\x{5B}-\x{60}\x{7B}-\x{7E}",
            "Graph" => r"\x{21}-\x{7E}",
            "Print" => r"\x{20}-\x{7E}",
            "Blank" => r" \t",
            "Cntrl" => r"\x{0}-\x{1F}\x{7F}",
            "XDigit" => "0-9a-fA-F",
            "Space" => r" \t\n\x{B}\f\r",
            "L1" => r"\x{0}-\x{FF}",
            "javaLowerCase" => r"\p{Lowercase}",
            "javaUpperCase" => r"\p{Uppercase}",
            "javaAlphabetic" => r"\p{Alphabetic}",
            "javaLetter" => r"\p{L}",
            "javaDigit" => r"\p{Nd}",
            "javaLetterOrDigit" => r"\p{L}\p{Nd}",
            "javaSpaceChar" => r"\p{Z}",
            "javaWhitespace" => {
                r"\t-\r\x{1C}-\x{20}\x{1680}\x{2000}-\x{2006}\x{2008}-\x{200A}\x{2028}\x{2029}\x{205F}\x{3000}"
            }
            _ => "",
        };
        let inner = if inner.is_empty() { unicode_property(&name)? } else { inner.to_owned() };
        Ok(Escaped::Class(format!("[{}{inner}]", if negated { "^" } else { "" })))
    }
}

/// A general category, or with `Is` or a key also a script or a binary property.
fn unicode_property(name: &str) -> Translated<String> {
    let (prefixed, bare) = match name.split_once('=') {
        Some((key, value)) => match key.to_ascii_lowercase().as_str() {
            "gc" | "general_category" => (false, value),
            "sc" | "script" => (true, value),
            "blk" | "block" => return unsupported(format!("the block \\p{{{name}}}")),
            _ => return invalid(format!("the property \\p{{{name}}} does not exist")),
        },
        None => name.strip_prefix("Is").map_or((false, name), |bare| (true, bare)),
    };
    if bare == "LC" {
        return Ok(r"\p{Lu}\p{Ll}\p{Lt}".to_owned());
    }
    if CATEGORIES.contains(&bare) {
        return Ok(format!(r"\p{{{bare}}}"));
    }
    if prefixed && bare.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        let known = format!(r"\p{{{bare}}}");
        return match regex::Regex::new(&known) {
            Ok(_) => Ok(known),
            Err(_) => invalid(format!("the property \\p{{{name}}} does not exist")),
        };
    }
    if name.starts_with("In") || name.starts_with("java") {
        return unsupported(format!("the property \\p{{{name}}}"));
    }
    invalid(format!("the property \\p{{{name}}} does not exist"))
}

fn code_point(value: u32) -> Translated<Escaped> {
    match char::from_u32(value) {
        Some(c) => Ok(Escaped::Char(c)),
        None if value <= 0x10FFFF => unsupported("half of a surrogate pair"),
        None => invalid("a code point is larger than 10FFFF"),
    }
}
