//! Types of options and their values.

use crate::units::{MemorySize, ShownDuration, parse_duration};
use std::cmp::Ordering;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The type of an option: how its text is read.
#[derive(Debug, Clone, Copy)]
pub enum ValueType {
    /// `true` or `false`.
    Bool,
    /// A whole number that fits the option's Rust type.
    Int {
        /// The least that fits.
        least: i64,
        /// The greatest that fits.
        greatest: i64,
    },
    /// A number.
    Float,
    /// A duration; see [`parse_duration`].
    Duration,
    /// A size in bytes; see [`MemorySize::parse`].
    Memory,
    /// Any text that is not empty, without the blanks around it.
    Text,
    /// Any text as it is: it may be empty or have blanks around it.
    Verbatim,
    /// One ASCII character; `\t` is a tab.
    Character,
    /// A file or directory: a path, or a `file:` URI. Relative paths begin at the current directory.
    Path,
    /// Where checkpoints are: a path, a `file:` URI, or the URL of a store.
    Location,
    /// One of the words, or a location.
    WordOrLocation(&'static [&'static str]),
    /// Several paths, separated by `,` or `;`.
    Paths,
    /// One of the choices.
    Choice(&'static [Choice]),
}

/// One value of an option that offers a choice.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// The name that is shown.
    pub name: &'static str,
    /// Other names, compared without case; a dotted text (a class name) is compared by its last part too.
    pub also: &'static [&'static str],
    /// Why the choice cannot be taken, if so.
    pub refused: Option<&'static str>,
}

/// The value of an option.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Of [`ValueType::Bool`].
    Bool(bool),
    /// Of [`ValueType::Int`].
    Int(i64),
    /// Of [`ValueType::Float`].
    Float(f64),
    /// Of [`ValueType::Duration`].
    Duration(Duration),
    /// Of [`ValueType::Memory`].
    Memory(MemorySize),
    /// Of [`ValueType::Character`].
    Character(u8),
    /// Of [`ValueType::Text`], [`ValueType::Verbatim`], [`ValueType::Choice`] (the shown name),
    /// [`ValueType::WordOrLocation`], [`ValueType::Location`] and [`ValueType::Path`].
    Text(String),
    /// Of [`ValueType::Paths`].
    List(Vec<String>),
}

/// Why a text is not a value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    /// It is none; the text says what is expected.
    Invalid(String),
    /// It is one that Headpond does not support; the text says why, and what to do instead.
    Refused(String),
}

impl Rejection {
    /// What is expected, or why it is not supported.
    pub fn why(&self) -> &str {
        match self {
            Rejection::Invalid(why) | Rejection::Refused(why) => why,
        }
    }
}

impl Choice {
    /// A choice with one name.
    pub const fn new(name: &'static str) -> Self {
        Choice { name, also: &[], refused: None }
    }

    /// The choice with other names.
    pub const fn also(self, also: &'static [&'static str]) -> Self {
        Choice { also, ..self }
    }

    /// The choice, known and refused.
    pub const fn refused(self, why: &'static str) -> Self {
        Choice { refused: Some(why), ..self }
    }

    fn answers_to(&self, text: &str) -> bool {
        let class = text.rsplit('.').next().unwrap_or(text);
        [text, class].iter().any(|text| {
            self.name.eq_ignore_ascii_case(text) || self.also.iter().any(|name| name.eq_ignore_ascii_case(text))
        })
    }
}

impl ValueType {
    /// Reads a value.
    pub(crate) fn parse(self, text: &str) -> Result<Value, Rejection> {
        let whole = text;
        let text = text.trim();
        let invalid = |expected: &str| Rejection::Invalid(format!("expected {expected}"));
        match self {
            ValueType::Bool if text.eq_ignore_ascii_case("true") => Ok(Value::Bool(true)),
            ValueType::Bool if text.eq_ignore_ascii_case("false") => Ok(Value::Bool(false)),
            ValueType::Bool => Err(invalid("true or false")),
            // `1_000` is easier to read than `1000`.
            ValueType::Int { least, greatest } => match text.replace('_', "").parse::<i64>() {
                Ok(number) if (least..=greatest).contains(&number) => Ok(Value::Int(number)),
                Ok(_) => Err(invalid(&format!("a whole number from {least} to {greatest}"))),
                Err(_) => Err(invalid("a whole number")),
            },
            ValueType::Float => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(Value::Float(number)),
                _ => Err(invalid("a number")),
            },
            ValueType::Duration => parse_duration(text).map(Value::Duration).map_err(Rejection::Invalid),
            ValueType::Memory => MemorySize::parse(text).map(Value::Memory).map_err(Rejection::Invalid),
            ValueType::Text if text.is_empty() => Err(invalid("a text that is not empty")),
            ValueType::Text => Ok(Value::Text(text.to_owned())),
            ValueType::Verbatim => Ok(Value::Text(whole.to_owned())),
            // A blank may be the character.
            ValueType::Character => character(whole).map(Value::Character),
            ValueType::Path => local_path(text).map(Value::Text),
            ValueType::Location => location(text).map(Value::Text),
            ValueType::WordOrLocation(words) => match words.iter().find(|word| word.eq_ignore_ascii_case(text)) {
                Some(word) => Ok(Value::Text((*word).to_owned())),
                None => location(text).map(Value::Text),
            },
            ValueType::Paths => elements(text, &[',', ';']).map(local_path).collect::<Result<_, _>>().map(Value::List),
            ValueType::Choice(choices) => choose(choices, text).map(Value::Text),
        }
    }

    /// The type as the reference names it.
    pub(crate) fn described(self) -> String {
        let named = |choices: &[Choice]| {
            let names: Vec<&str> = choices.iter().filter(|c| c.refused.is_none()).map(|c| c.name).collect();
            names.join(", ")
        };
        match self {
            ValueType::Bool => "boolean".to_owned(),
            ValueType::Int { .. } => "integer".to_owned(),
            ValueType::Float => "number".to_owned(),
            ValueType::Duration => "duration".to_owned(),
            ValueType::Memory => "size".to_owned(),
            ValueType::Text | ValueType::Verbatim => "text".to_owned(),
            ValueType::Character => "character".to_owned(),
            ValueType::Path => "path".to_owned(),
            ValueType::Location => "path or URL".to_owned(),
            ValueType::WordOrLocation(words) => format!("{}, or a path or URL", words.join(", ")),
            ValueType::Paths => "paths".to_owned(),
            ValueType::Choice(choices) => format!("one of {}", named(choices)),
        }
    }
}

impl Value {
    /// Compares two values of the same type, if the type has an order.
    pub(crate) fn compare(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Int(one), Value::Int(other)) => Some(one.cmp(other)),
            (Value::Float(one), Value::Float(other)) => one.partial_cmp(other),
            (Value::Duration(one), Value::Duration(other)) => Some(one.cmp(other)),
            (Value::Memory(one), Value::Memory(other)) => Some(one.cmp(other)),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value}"),
            Value::Duration(value) => write!(f, "{}", ShownDuration(*value)),
            Value::Memory(value) => write!(f, "{value}"),
            Value::Character(b'\t') => f.write_str("\\t"),
            Value::Character(value) => write!(f, "{}", char::from(*value)),
            Value::Text(value) => f.write_str(value),
            Value::List(values) => f.write_str(&values.join(";")),
        }
    }
}

/// A Rust type that an option can have.
pub trait OptionValue: Sized {
    /// How its text is read.
    const TYPE: ValueType;

    /// The value, or `None` if `value` is not of the type that `TYPE` reads.
    fn from_value(value: Option<&Value>) -> Option<Self>;
}

/// Implements [`OptionValue`] for a type that one variant of [`Value`] holds.
macro_rules! held_by_variant {
    ($($type:ty, $kind:expr, $variant:ident($value:ident) => $result:expr;)*) => {$(
        impl OptionValue for $type {
            const TYPE: ValueType = $kind;

            fn from_value(value: Option<&Value>) -> Option<Self> {
                match value {
                    Some(Value::$variant($value)) => $result,
                    _ => None,
                }
            }
        }
    )*};
}
held_by_variant! {
    bool, ValueType::Bool, Bool(value) => Some(*value);
    i32, ValueType::Int { least: i32::MIN as i64, greatest: i32::MAX as i64 }, Int(value) => i32::try_from(*value).ok();
    u32, ValueType::Int { least: 0, greatest: u32::MAX as i64 }, Int(value) => u32::try_from(*value).ok();
    i64, ValueType::Int { least: i64::MIN, greatest: i64::MAX }, Int(value) => Some(*value);
    u64, ValueType::Int { least: 0, greatest: i64::MAX }, Int(value) => u64::try_from(*value).ok();
    usize, ValueType::Int { least: 0, greatest: u32::MAX as i64 }, Int(value) => usize::try_from(*value).ok();
    f64, ValueType::Float, Float(value) => Some(*value);
    Duration, ValueType::Duration, Duration(value) => Some(*value);
    MemorySize, ValueType::Memory, Memory(value) => Some(*value);
    Character, ValueType::Character, Character(value) => Some(Character(*value));
    String, ValueType::Text, Text(value) => Some(value.clone());
    Verbatim, ValueType::Verbatim, Text(value) => Some(Verbatim(value.clone()));
    PathBuf, ValueType::Path, Text(value) => Some(PathBuf::from(value));
    Location, ValueType::Location, Text(value) => Some(Location(value.clone()));
    Vec<PathBuf>, ValueType::Paths, List(values) => Some(values.iter().map(PathBuf::from).collect());
}

/// An ASCII character, neither CR nor LF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Character(pub u8);

/// A text as it was written: it may be empty or have blanks around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verbatim(pub String);

/// Where checkpoints are: a local path, or the URL of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location(String);

impl Location {
    /// The path or URL; a `file:` URI has become a path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for Location {
    fn from(text: T) -> Self {
        Location(text.into())
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An option without a default: `None` until it is set.
impl<T: OptionValue> OptionValue for Option<T> {
    const TYPE: ValueType = T::TYPE;

    fn from_value(value: Option<&Value>) -> Option<Self> {
        match value {
            None => Some(None),
            some => T::from_value(some).map(Some),
        }
    }
}

/// Declares an enumeration whose variants are the choices of an option. What follows `known:` is known and refused.
#[macro_export]
macro_rules! choices {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $choice:expr,)*
        }
        $(known: $($known:expr,)*)?
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)*
        }

        impl $name {
            const CHOICES: &'static [$crate::Choice] = &[$($choice,)* $($($known,)*)?];

            /// The name that is shown and written.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$variant => const { $choice.name },)*
                }
            }

            fn from_name(name: &str) -> Option<Self> {
                [$($name::$variant),*].into_iter().find(|variant| variant.name() == name)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl $crate::OptionValue for $name {
            const TYPE: $crate::ValueType = $crate::ValueType::Choice(Self::CHOICES);

            fn from_value(value: Option<&$crate::Value>) -> Option<Self> {
                match value {
                    Some($crate::Value::Text(name)) => Self::from_name(name),
                    _ => None,
                }
            }
        }
    };
}
fn character(text: &str) -> Result<u8, Rejection> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r') => Ok(*byte),
        _ => Err(Rejection::Invalid("expected one ASCII character, or \\t for a tab".to_owned())),
    }
}

fn choose(choices: &[Choice], text: &str) -> Result<String, Rejection> {
    match choices.iter().find(|choice| choice.answers_to(text)) {
        Some(Choice { refused: Some(why), name, .. }) => Err(Rejection::Refused(format!("'{name}': {why}"))),
        Some(choice) => Ok(choice.name.to_owned()),
        None => {
            let names: Vec<&str> = choices.iter().filter(|c| c.refused.is_none()).map(|c| c.name).collect();
            Err(Rejection::Invalid(format!("expected {}", names.join(" or "))))
        }
    }
}

fn elements<'a>(text: &'a str, separators: &'a [char]) -> impl Iterator<Item = &'a str> {
    text.split(separators).map(str::trim).filter(|element| !element.is_empty())
}

/// Schemes of stores that checkpoints may be on.
const STORES: [&str; 7] = ["s3", "s3a", "s3p", "gs", "az", "abfs", "abfss"];

/// The path or the store's URL that a text names.
fn location(text: &str) -> Result<String, Rejection> {
    let Some((scheme, rest)) = text.split_once("://").filter(|(scheme, _)| *scheme != "file") else {
        return local_path(text);
    };
    let authority = rest.split('/').next().unwrap_or_default();
    if crate::mask_urls(text) != text {
        let why = "a URL must not have credentials in it; set 's3.access-key' and 's3.secret-key'";
        return Err(Rejection::Invalid(why.to_owned()));
    }
    match scheme.to_ascii_lowercase().as_str() {
        "hdfs" | "viewfs" | "webhdfs" => Err(Rejection::Refused(format!(
            "checkpoints on HDFS ('{scheme}://') are not supported yet; use 's3://bucket/path' or a local path"
        ))),
        known if STORES.contains(&known) && !authority.is_empty() => Ok(text.to_owned()),
        known if STORES.contains(&known) => {
            Err(Rejection::Invalid(format!("expected a bucket, as in '{scheme}://bucket/path'")))
        }
        _ => Err(Rejection::Refused(format!(
            "'{scheme}://' is not supported; only local paths, 'file:', 's3://', 'gs://' and 'abfss://' are"
        ))),
    }
}

/// The path that a text names: `file:///a/b`, `file:/a/b` and `/a/b` are one, so are `file:a/b` and `a/b`.
fn local_path(text: &str) -> Result<String, Rejection> {
    let path = match text.split_once(':') {
        Some(("file", rest)) => match rest.strip_prefix("//") {
            None => rest,
            Some(rest) if rest.starts_with('/') => rest,
            Some(rest) => match rest.strip_prefix("localhost/") {
                Some(_) => &rest["localhost".len()..],
                None => {
                    return Err(Rejection::Invalid(format!(
                        "'{text}' names a host; write 'file:///…' for an absolute path or 'file:…' for a relative one"
                    )));
                }
            },
        },
        Some((scheme, rest)) if rest.starts_with("//") => {
            return Err(Rejection::Refused(format!(
                "'{scheme}://' is not supported; only local paths and 'file:' are"
            )));
        }
        _ => text,
    };
    if Path::new(path).as_os_str().is_empty() {
        return Err(Rejection::Invalid("expected a path".to_owned()));
    }
    Ok(path.to_owned())
}
