//! PRINTF: formats as of Java's `Formatter` with the locale US.

use crate::text::error::{TextError, TextResult, check_size};
use crate::text::number_text::{write_decimal, write_double, write_float};
use crate::text::printf_number::{floating, integer};
use crate::text::utf16::{utf16_len, utf16_prefix};

/// An argument of PRINTF.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Argument<'a> {
    /// NULL of any type.
    Null,
    /// A BOOLEAN.
    Bool(bool),
    /// A TINYINT, SMALLINT, INT or BIGINT, with its number of bytes: 1, 2, 4 or 8. A DATE is its days, too.
    Int(i64, u8),
    /// A FLOAT.
    Float(f32),
    /// A DOUBLE.
    Double(f64),
    /// A DECIMAL of an unscaled value and a scale; only for %s and %b, as in Flink.
    Decimal(i128, u8),
    /// A text, or the text of a value of another type.
    Text(&'a str),
}

/// The flags of a format specifier.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Flags {
    pub(crate) left: bool,
    pub(crate) alternate: bool,
    pub(crate) plus: bool,
    pub(crate) space: bool,
    pub(crate) zero: bool,
    pub(crate) group: bool,
    pub(crate) parentheses: bool,
    previous: bool,
}

/// A format specifier without its argument.
#[derive(Debug, Clone)]
pub(crate) struct Specifier {
    pub(crate) flags: Flags,
    pub(crate) width: Option<usize>,
    pub(crate) precision: Option<usize>,
    pub(crate) conversion: char,
    upper: bool,
    argument: Source,
    text: String,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    Next,
    Previous,
    At(usize),
    None,
}

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Specifier(Specifier),
}

/// A format of PRINTF, read once.
#[derive(Debug, Clone)]
pub struct Format {
    parts: Vec<Part>,
}

impl Format {
    /// Reads a format; an error names the specifier that Java refuses.
    pub fn new(format: &str) -> TextResult<Self> {
        let mut parts = Vec::new();
        let mut rest = format;
        while let Some((text, after)) = rest.split_once('%') {
            if !text.is_empty() {
                parts.push(Part::Text(text.to_owned()));
            }
            let (specifier, end) = read_specifier(after)?;
            parts.push(Part::Specifier(specifier));
            rest = after.get(end..).unwrap_or("");
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Self { parts })
    }

    /// Appends the formatted arguments; an error for a missing argument or one of a type the conversion does not take.
    pub fn write(&self, out: &mut String, arguments: &[Argument<'_>]) -> TextResult<()> {
        let start = out.len();
        let mut next = 0;
        let mut previous = None;
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Specifier(specifier) => {
                    let index = match specifier.argument {
                        Source::None => None,
                        Source::Next => {
                            next += 1;
                            Some(next - 1)
                        }
                        Source::Previous => Some(previous.ok_or_else(|| missing(specifier))?),
                        Source::At(index) => Some(index),
                    };
                    let argument = match index {
                        Some(index) => *arguments.get(index).ok_or_else(|| missing(specifier))?,
                        None => Argument::Null,
                    };
                    previous = index.or(previous);
                    write_specifier(out, specifier, argument)?;
                }
            }
            check_size("PRINTF", (out.len() - start) as u128)?;
        }
        Ok(())
    }
}

fn missing(specifier: &Specifier) -> TextError {
    TextError::new(format!("PRINTF: there is no argument for '%{}'", specifier.text))
}

fn number(text: &str) -> (Option<&str>, &str) {
    let end = text.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    (Some(digits).filter(|d| !d.is_empty()), rest)
}

/// Reads what follows a `%`; gives the number of bytes, too.
fn read_specifier(text: &str) -> TextResult<(Specifier, usize)> {
    let unknown =
        || TextError::new(format!("PRINTF: '%{}' is not a conversion", text.chars().take(12).collect::<String>()));
    let size = |digits: &str| digits.parse::<i32>().ok().and_then(|n| usize::try_from(n).ok()).ok_or_else(unknown);
    let mut rest = text;
    let mut argument = Source::Next;
    if let (Some(digits), after) = number(rest)
        && let Some(after) = after.strip_prefix('$')
    {
        // Index 0 stands for the next argument.
        argument = size(digits)?.checked_sub(1).map_or(Source::Next, Source::At);
        rest = after;
    }
    let mut flags = Flags::default();
    loop {
        let mut chars = rest.chars();
        let flag = match chars.next() {
            Some('-') => &mut flags.left,
            Some('#') => &mut flags.alternate,
            Some('+') => &mut flags.plus,
            Some(' ') => &mut flags.space,
            Some('0') => &mut flags.zero,
            Some(',') => &mut flags.group,
            Some('(') => &mut flags.parentheses,
            Some('<') => &mut flags.previous,
            _ => break,
        };
        if *flag {
            return Err(TextError::new(format!("PRINTF: a flag occurs twice in '%{text}'")));
        }
        *flag = true;
        rest = chars.as_str();
    }
    if flags.previous {
        argument = Source::Previous;
    }
    let (width, after) = number(rest);
    let width = width.map(size).transpose()?;
    rest = after;
    let mut precision = None;
    if let Some(after) = rest.strip_prefix('.') {
        let (digits, after) = number(after);
        precision = Some(size(digits.ok_or_else(unknown)?)?);
        rest = after;
    }
    let Some(c) = rest.chars().next() else { return Err(unknown()) };
    let (conversion, upper) = match c {
        'B' | 'H' | 'S' | 'C' | 'X' | 'E' | 'G' => (c.to_ascii_lowercase(), true),
        'b' | 'h' | 's' | 'c' | 'd' | 'o' | 'x' | 'e' | 'f' | 'g' | 'n' | '%' => (c, false),
        'a' | 'A' | 't' | 'T' => return Err(TextError::new(format!("PRINTF: the conversion '%{c}' is not supported"))),
        _ => return Err(unknown()),
    };
    if matches!(conversion, 'n' | '%') {
        argument = Source::None;
    }
    let end = text.len() - rest.len() + c.len_utf8();
    let shown = text.get(..end).unwrap_or(text).to_owned();
    let specifier = Specifier { flags, width, precision, conversion, upper, argument, text: shown };
    specifier.check()?;
    Ok((specifier, end))
}

impl Specifier {
    fn refuse<T>(&self, why: &str) -> TextResult<T> {
        Err(TextError::new(format!("PRINTF: {why} in '%{}'", self.text)))
    }

    /// Whether Java takes these flags, width and precision with this conversion.
    fn check(&self) -> TextResult<()> {
        let f = self.flags;
        check_size("PRINTF", self.width.unwrap_or(0) as u128)?;
        if self.conversion == 'n' {
            return match (self.width, self.precision, f.any()) {
                (None, None, false) => Ok(()),
                _ => self.refuse("there is a flag, width or precision"),
            };
        }
        if (f.left || f.zero) && self.width.is_none() {
            return self.refuse("the width is missing");
        }
        let numeric = f.plus || f.space || f.zero || f.group || f.parentheses;
        let fits = match self.conversion {
            '%' | 'c' => !numeric && !f.alternate,
            'b' | 'h' => !numeric && !f.alternate,
            's' => !numeric,
            'd' => !f.alternate,
            'o' | 'x' => !f.group,
            'e' => !f.group,
            'g' => !f.alternate,
            _ => true,
        };
        if !fits {
            return self.refuse("there is a flag that does not fit");
        }
        if f.plus && f.space || f.left && f.zero {
            return self.refuse("two flags exclude each other");
        }
        if self.precision.is_some() && matches!(self.conversion, '%' | 'c' | 'd' | 'o' | 'x') {
            return self.refuse("there is a precision");
        }
        Ok(())
    }

    fn mismatch<T>(&self, argument: Argument<'_>) -> TextResult<T> {
        let kind = match argument {
            Argument::Null => "NULL",
            Argument::Bool(_) => "BOOLEAN",
            Argument::Int(..) => "integer",
            Argument::Float(_) => "FLOAT",
            Argument::Double(_) => "DOUBLE",
            Argument::Decimal(..) => "DECIMAL",
            Argument::Text(_) => "STRING",
        };
        self.refuse(&format!("a {kind} value does not fit the conversion '{}'", self.conversion))
    }
}

impl Flags {
    fn any(self) -> bool {
        self.left || self.alternate || self.plus || self.space || self.zero || self.group || self.parentheses
    }
}

fn write_specifier(out: &mut String, specifier: &Specifier, argument: Argument<'_>) -> TextResult<()> {
    let mut text = String::new();
    // Values without digits are cut to the precision.
    let mut cut = specifier.precision;
    match (specifier.conversion, argument) {
        ('n', _) => text.push('\n'),
        ('%', _) => text.push('%'),
        ('b', Argument::Null) => text.push_str("false"),
        ('b', Argument::Bool(b)) => text.push_str(if b { "true" } else { "false" }),
        ('b', _) => text.push_str("true"),
        ('x' | 'o', Argument::Int(..))
            if specifier.flags.plus || specifier.flags.space || specifier.flags.parentheses =>
        {
            return specifier.refuse("there is a flag that does not fit");
        }
        ('s', _) if specifier.flags.alternate => return specifier.refuse("there is a flag that does not fit"),
        (_, Argument::Null) => text.push_str("null"),
        ('h', argument) => match hash(argument) {
            Some(hash) => text = format!("{hash:x}"),
            None => return specifier.mismatch(argument),
        },
        ('s', Argument::Bool(b)) => text.push_str(if b { "true" } else { "false" }),
        ('s', Argument::Int(value, _)) => text = value.to_string(),
        ('s', Argument::Float(value)) => write_float(&mut text, value),
        ('s', Argument::Double(value)) => write_double(&mut text, value),
        ('s', Argument::Decimal(unscaled, scale)) => write_decimal(&mut text, unscaled, scale),
        ('s', Argument::Text(value)) => text.push_str(value),
        ('c', Argument::Int(code, bytes)) if bytes < 8 => match u32::try_from(code).ok().filter(|c| *c <= 0x10FFFF) {
            Some(code) => text.push(char::from_u32(code).unwrap_or('?')),
            None => return specifier.refuse("the value is not a character"),
        },
        ('d' | 'x' | 'o', Argument::Int(value, bytes)) => {
            cut = None;
            integer(&mut text, specifier, value, bytes);
        }
        ('e' | 'f' | 'g', Argument::Float(value)) => {
            cut = None;
            check_size("PRINTF", specifier.precision.unwrap_or(0) as u128)?;
            floating(&mut text, specifier, f64::from(value));
        }
        ('e' | 'f' | 'g', Argument::Double(value)) => {
            cut = None;
            check_size("PRINTF", specifier.precision.unwrap_or(0) as u128)?;
            floating(&mut text, specifier, value);
        }
        (_, argument) => return specifier.mismatch(argument),
    }
    if let Some(cut) = cut.filter(|cut| *cut < utf16_len(&text)) {
        text = utf16_prefix(&text, cut);
    }
    if specifier.upper {
        text = text.to_uppercase();
    }
    pad(out, specifier, &text)
}

fn pad(out: &mut String, specifier: &Specifier, text: &str) -> TextResult<()> {
    let missing = specifier.width.unwrap_or(0).saturating_sub(utf16_len(text));
    check_size("PRINTF", missing as u128)?;
    if specifier.flags.left {
        out.push_str(text);
    }
    out.extend(std::iter::repeat_n(' ', missing));
    if !specifier.flags.left {
        out.push_str(text);
    }
    Ok(())
}

/// Java's hash code of a value.
fn hash(argument: Argument<'_>) -> Option<i32> {
    let folded = |bits: i64| (bits ^ ((bits as u64) >> 32) as i64) as i32;
    match argument {
        Argument::Bool(true) => Some(1231),
        Argument::Bool(false) => Some(1237),
        Argument::Int(value, 8) => Some(folded(value)),
        Argument::Int(value, _) => Some(value as i32),
        Argument::Float(value) => Some(value.to_bits() as i32),
        Argument::Double(value) => Some(folded(value.to_bits() as i64)),
        _ => None,
    }
}

/// PRINTF: the formatted arguments.
pub fn printf(format: &str, arguments: &[Argument<'_>]) -> TextResult<String> {
    let mut out = String::new();
    Format::new(format)?.write(&mut out, arguments)?;
    Ok(out)
}

#[cfg(test)]
#[path = "printf_tests.rs"]
mod tests;
