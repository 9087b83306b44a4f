//! The text form of types: `int64`, `utf8?`, `decimal(38,10)`, `list<int32?>`, `struct<a int64,b utf8?>`.
//!
//! Names of fields stand bare where they are made of ASCII letters, digits and `_` and do not begin with a digit; else
//! between backticks, a backtick within doubled.

use super::field::{DataKind, Field, FieldType, RowSchema};
use crate::error::{Context, Error, Result};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// How deep types may nest. Bounds the recursion of the parser, and so of every codec.
const DEPTH_MAX: usize = 32;

impl Display for DataKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            DataKind::Decimal { precision, scale } => write!(f, "decimal({precision},{scale})"),
            DataKind::List(element) => write!(f, "list<{element}>"),
            DataKind::Struct(fields) => {
                f.write_str("struct<")?;
                display_fields(fields, ",", f)?;
                f.write_str(">")
            }
            simple => f.write_str(simple_name(simple)),
        }
    }
}

impl Display for FieldType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind, if self.nullable { "?" } else { "" })
    }
}

impl Display for RowSchema {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        display_fields(self.fields(), ", ", f)
    }
}

/// Writes types separated by commas: the text form of a key's schema.
pub(crate) fn display_types(types: &[FieldType], f: &mut Formatter<'_>) -> fmt::Result {
    for (index, ty) in types.iter().enumerate() {
        write!(f, "{}{ty}", if index > 0 { "," } else { "" })?;
    }
    Ok(())
}

fn display_fields(fields: &[Field], separator: &str, f: &mut Formatter<'_>) -> fmt::Result {
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            f.write_str(separator)?;
        }
        if is_bare(&field.name) {
            write!(f, "{} {}", field.name, field.ty)?;
        } else {
            write!(f, "`{}` {}", field.name.replace('`', "``"), field.ty)?;
        }
    }
    Ok(())
}

fn is_bare(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn simple_name(kind: &DataKind) -> &'static str {
    match kind {
        DataKind::Bool => "bool",
        DataKind::Int8 => "int8",
        DataKind::Int16 => "int16",
        DataKind::Int32 => "int32",
        DataKind::Int64 => "int64",
        DataKind::UInt64 => "uint64",
        DataKind::Float32 => "float32",
        DataKind::Float64 => "float64",
        DataKind::Decimal { .. } => "decimal",
        DataKind::Date => "date",
        DataKind::Timestamp => "timestamp",
        DataKind::TimestampLtz => "timestamp_ltz",
        DataKind::Utf8 => "utf8",
        DataKind::Binary => "binary",
        DataKind::List(_) => "list",
        DataKind::Struct(_) => "struct",
    }
}

impl FromStr for FieldType {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let mut parser = Parser { text, rest: text };
        let ty = parser.field_type(0)?;
        parser.end().map(|()| ty)
    }
}

impl FromStr for RowSchema {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let mut parser = Parser { text, rest: text };
        let fields = if text.trim().is_empty() { Vec::new() } else { parser.fields(0)? };
        parser.end().map(|()| RowSchema::new(fields))
    }
}

/// Reads types separated by commas.
pub(crate) fn parse_types(text: &str) -> Result<Vec<FieldType>> {
    let mut parser = Parser { text, rest: text };
    let mut types = Vec::new();
    if !text.trim().is_empty() {
        types.push(parser.field_type(0)?);
        while parser.accept(',') {
            types.push(parser.field_type(0)?);
        }
    }
    parser.end().map(|()| types)
}

/// Conversions that serde uses.
macro_rules! as_text {
    ($($ty:ty),*) => {
        $(
            impl TryFrom<String> for $ty {
                type Error = Error;
                fn try_from(text: String) -> Result<Self> {
                    text.parse()
                }
            }

            impl From<$ty> for String {
                fn from(value: $ty) -> String {
                    value.to_string()
                }
            }
        )*
    };
}
as_text!(FieldType, RowSchema);

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn fields(&mut self, depth: usize) -> Result<Vec<Field>> {
        let mut fields = vec![self.field(depth)?];
        while self.accept(',') {
            fields.push(self.field(depth)?);
        }
        Ok(fields)
    }

    fn field(&mut self, depth: usize) -> Result<Field> {
        let name = self.name()?;
        Ok(Field { name, ty: self.field_type(depth)? })
    }

    fn field_type(&mut self, depth: usize) -> Result<FieldType> {
        if depth > DEPTH_MAX {
            return Err(self.error(&format!("types nest deeper than {DEPTH_MAX} levels")));
        }
        let kind = match self.word()? {
            "bool" => DataKind::Bool,
            "int8" => DataKind::Int8,
            "int16" => DataKind::Int16,
            "int32" => DataKind::Int32,
            "int64" => DataKind::Int64,
            "uint64" => DataKind::UInt64,
            "float32" => DataKind::Float32,
            "float64" => DataKind::Float64,
            "decimal" => self.decimal()?,
            "date" => DataKind::Date,
            "timestamp" => DataKind::Timestamp,
            "timestamp_ltz" => DataKind::TimestampLtz,
            "utf8" => DataKind::Utf8,
            "binary" => DataKind::Binary,
            "list" => {
                self.expect('<')?;
                let element = self.field_type(depth + 1)?;
                self.expect('>')?;
                DataKind::List(Box::new(element))
            }
            "struct" => {
                self.expect('<')?;
                let fields = self.fields(depth + 1)?;
                self.expect('>')?;
                DataKind::Struct(fields)
            }
            other => return Err(self.error(&format!("`{other}` is not a type"))),
        };
        Ok(FieldType { kind, nullable: self.accept('?') })
    }

    fn decimal(&mut self) -> Result<DataKind> {
        self.expect('(')?;
        let precision = self.number()?;
        self.expect(',')?;
        let scale = self.number()?;
        self.expect(')')?;
        if !(1..=38).contains(&precision) || scale > precision {
            return Err(self.error(&format!("decimal({precision},{scale}) is not a type")));
        }
        Ok(DataKind::Decimal { precision, scale })
    }

    fn name(&mut self) -> Result<String> {
        self.rest = self.rest.trim_start();
        let Some(quoted) = self.rest.strip_prefix('`') else {
            return self.word().map(str::to_owned);
        };
        self.rest = quoted;
        let mut name = String::new();
        loop {
            let Some((part, rest)) = self.rest.split_once('`') else {
                return Err(self.error("a closing backtick is missing"));
            };
            name.push_str(part);
            self.rest = rest;
            match rest.strip_prefix('`') {
                Some(after) => {
                    name.push('`');
                    self.rest = after;
                }
                None => return Ok(name),
            }
        }
    }

    fn word(&mut self) -> Result<&'a str> {
        self.rest = self.rest.trim_start();
        let len = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(self.rest.len());
        if len == 0 {
            return Err(self.error("a name is missing"));
        }
        let (word, rest) = self.rest.split_at(len);
        self.rest = rest;
        Ok(word)
    }

    fn number(&mut self) -> Result<u8> {
        let word = self.word()?;
        word.parse().map_err(|_| self.error(&format!("`{word}` is not a number from 0 to 255")))
    }

    fn accept(&mut self, wanted: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, wanted: char) -> Result<()> {
        if self.accept(wanted) { Ok(()) } else { Err(self.error(&format!("`{wanted}` is missing"))) }
    }

    fn end(&mut self) -> Result<()> {
        if self.rest.trim().is_empty() { Ok(()) } else { Err(self.error("a schema ends here, yet more follows")) }
    }

    fn error(&self, problem: &str) -> Error {
        Error::invalid(format!("{problem}, at character {} of the schema", self.text.len() - self.rest.len() + 1))
            .with(Context::Text, format_args!("`{}`", self.text))
    }
}
