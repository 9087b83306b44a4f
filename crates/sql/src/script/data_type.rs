//! Names of types, and the Arrow types they stand for.
//!
//! | SQL | Arrow |
//! |---|---|
//! | `BOOLEAN` | `Boolean` |
//! | `TINYINT`, `SMALLINT`, `INT`, `BIGINT` | `Int8` to `Int64` |
//! | `FLOAT`, `DOUBLE` | `Float32`, `Float64` |
//! | `DECIMAL(p, s)`, p up to 38 | `Decimal128(p, s)` |
//! | `STRING`, `VARCHAR(n)`, `CHAR(n)` | `Utf8` |
//! | `BYTES`, `VARBINARY(n)`, `BINARY(n)` | `Binary` |
//! | `DATE` | `Date32` |
//! | `TIMESTAMP(0 to 3)` | `Timestamp(Millisecond)` |
//! | `TIMESTAMP_LTZ(0 to 3)` | `Timestamp(Millisecond, "UTC")` |
//! | `ROW<…>`, `ARRAY<…>`, `MAP<…>` | `Struct`, `List`, `Map` |

use super::refusal::refused;
use super::scan::StatementText;
use super::tokens::{parser, position, syntax_error, tokenize, unexpected};
use super::words::{parse_words, word_here};
use crate::position::{At, Position};
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use datafusion_sql::sqlparser::parser::Parser;
use datafusion_sql::sqlparser::tokenizer::Token;
use headpond_state::{Error, Result};
use std::sync::Arc;

/// How deep types may nest.
const DEPTH_MAX: usize = 32;

/// Parses a type that stands alone.
pub(crate) fn parse_type_text(text: &str) -> Result<DataType> {
    let mut parser = parser(tokenize(&StatementText { position: Position::START, text })?);
    let parsed = TypeParser::new(&mut parser).parse(0)?;
    match parser.peek_token_ref().token {
        Token::EOF => Ok(parsed),
        _ => Err(unexpected(&parser, "the end of the type")),
    }
}

/// Parses a type.
pub(super) fn parse_type(parser: &mut Parser<'_>) -> Result<DataType> {
    let mut types = TypeParser::new(parser);
    let parsed = types.parse(0)?;
    if types.open_angles > 0 {
        return Err(unexpected(types.parser, "a type"));
    }
    Ok(parsed)
}

struct TypeParser<'p, 'a> {
    parser: &'p mut Parser<'a>,
    /// `>` that were read as part of a `>>`.
    open_angles: usize,
}

impl<'p, 'a> TypeParser<'p, 'a> {
    fn new(parser: &'p mut Parser<'a>) -> Self {
        TypeParser { parser, open_angles: 0 }
    }

    fn parse(&mut self, depth: usize) -> Result<DataType> {
        let at = position(self.parser);
        if depth > DEPTH_MAX {
            return Err(Error::invalid(format!("types nest deeper than {DEPTH_MAX} levels")).at(at));
        }
        let name = word_here(self.parser);
        if name.is_empty() {
            return Err(unexpected(self.parser, "a type"));
        }
        self.parser.next_token();
        Ok(match name.as_str() {
            "BOOLEAN" | "BOOL" => DataType::Boolean,
            "TINYINT" => DataType::Int8,
            "SMALLINT" => DataType::Int16,
            "INT" | "INTEGER" => DataType::Int32,
            "BIGINT" => DataType::Int64,
            "FLOAT" | "REAL" => DataType::Float32,
            "DOUBLE" => {
                parse_words(self.parser, &["PRECISION"]);
                DataType::Float64
            }
            "DECIMAL" | "DEC" | "NUMERIC" => self.decimal(at)?,
            "STRING" | "TEXT" => DataType::Utf8,
            "VARCHAR" | "CHAR" => self.ignoring_length(DataType::Utf8)?,
            "BYTES" => DataType::Binary,
            "VARBINARY" | "BINARY" => self.ignoring_length(DataType::Binary)?,
            "DATE" => DataType::Date32,
            "TIMESTAMP" => self.timestamp(at)?,
            "TIMESTAMP_LTZ" => {
                self.precision(at)?;
                timestamp_ltz()
            }
            "ROW" | "STRUCT" => self.row(depth)?,
            "ARRAY" => self.array(depth)?,
            "MAP" => self.map(depth)?,
            "TIME" | "INTERVAL" | "MULTISET" | "RAW" | "VARIANT" | "TIMESTAMP_TZ" => {
                return Err(refused(&format!("type {name}"), at, None));
            }
            _ => {
                let error = Error::invalid(format!("`{name}` is not a type")).at(at);
                return Err(match headpond_state::names::nearest(&name, TYPE_NAMES.iter().copied()) {
                    Some(near) => error.hint(format!("did you mean {near}?")),
                    None => error,
                });
            }
        })
    }

    fn decimal(&mut self, at: Position) -> Result<DataType> {
        let arguments = self.numbers()?;
        let (precision, scale) = match arguments[..] {
            [] => (10, 0),
            [precision] => (precision, 0),
            [precision, scale] => (precision, scale),
            _ => return Err(Error::invalid("DECIMAL has a precision and a scale").at(at)),
        };
        match (u8::try_from(precision), i8::try_from(scale)) {
            (Ok(p @ 1..=38), Ok(s)) if scale <= precision => Ok(DataType::Decimal128(p, s)),
            _ => Err(Error::invalid(format!("DECIMAL({precision}, {scale}) is not a type"))
                .hint("a decimal has 1 to 38 digits, and no more of them behind the point")
                .at(at)),
        }
    }

    fn timestamp(&mut self, at: Position) -> Result<DataType> {
        self.precision(at)?;
        if parse_words(self.parser, &["WITH", "LOCAL", "TIME", "ZONE"]) {
            return Ok(timestamp_ltz());
        }
        if word_here(self.parser) == "WITH" && parse_words(self.parser, &["WITH", "TIME", "ZONE"]) {
            return Err(refused("TIMESTAMP WITH TIME ZONE", at, Some("TIMESTAMP_LTZ(3) is supported")));
        }
        parse_words(self.parser, &["WITHOUT", "TIME", "ZONE"]);
        Ok(DataType::Timestamp(TimeUnit::Millisecond, None))
    }

    /// Reads the precision of a timestamp, which is kept in milliseconds.
    fn precision(&mut self, at: Position) -> Result<()> {
        match self.numbers()?[..] {
            [] | [0..=3] => Ok(()),
            [precision] => Err(Error::unsupported(format!("timestamps with {precision} digits are not supported"))
                .hint("timestamps are kept in milliseconds: declare a precision of 3")
                .at(at)),
            _ => Err(Error::invalid("a timestamp has one precision").at(at)),
        }
    }

    fn ignoring_length(&mut self, data_type: DataType) -> Result<DataType> {
        self.numbers().map(|_| data_type)
    }

    fn numbers(&mut self) -> Result<Vec<u64>> {
        let mut numbers = Vec::new();
        if self.parser.consume_token(&Token::LParen) {
            loop {
                numbers.push(self.parser.parse_literal_uint().map_err(syntax_error)?);
                if !self.parser.consume_token(&Token::Comma) {
                    break;
                }
            }
            self.parser.expect_token(&Token::RParen).map_err(syntax_error)?;
        }
        Ok(numbers)
    }

    fn row(&mut self, depth: usize) -> Result<DataType> {
        let in_parentheses = self.parser.consume_token(&Token::LParen);
        if !in_parentheses {
            self.open_angle()?;
        }
        let mut fields = Vec::new();
        loop {
            let name = self.parser.parse_identifier().map_err(syntax_error)?;
            let (data_type, nullable) = self.element(depth)?;
            if let Token::SingleQuotedString(_) = self.parser.peek_token_ref().token {
                self.parser.next_token();
            }
            fields.push(Field::new(name.value, data_type, nullable));
            // A `>>` has closed this row, too: a comma belongs to what is outside.
            if self.open_angles > 0 || !self.parser.consume_token(&Token::Comma) {
                break;
            }
        }
        if in_parentheses {
            self.parser.expect_token(&Token::RParen).map_err(syntax_error)?;
        } else {
            self.close_angle()?;
        }
        Ok(DataType::Struct(Fields::from(fields)))
    }

    fn array(&mut self, depth: usize) -> Result<DataType> {
        self.open_angle()?;
        let (data_type, nullable) = self.element(depth)?;
        self.close_angle()?;
        Ok(DataType::List(Arc::new(Field::new("item", data_type, nullable))))
    }

    fn map(&mut self, depth: usize) -> Result<DataType> {
        self.open_angle()?;
        let (key, _) = self.element(depth)?;
        self.parser.expect_token(&Token::Comma).map_err(syntax_error)?;
        let (value, nullable) = self.element(depth)?;
        self.close_angle()?;
        let entry = Fields::from(vec![Field::new("key", key, false), Field::new("value", value, nullable)]);
        Ok(DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entry), false)), false))
    }

    fn element(&mut self, depth: usize) -> Result<(DataType, bool)> {
        let data_type = self.parse(depth + 1)?;
        let nullable = !parse_words(self.parser, &["NOT", "NULL"]);
        if nullable {
            parse_words(self.parser, &["NULL"]);
        }
        Ok((data_type, nullable))
    }

    fn open_angle(&mut self) -> Result<()> {
        self.parser.expect_token(&Token::Lt).map(|_| ()).map_err(syntax_error)
    }

    fn close_angle(&mut self) -> Result<()> {
        if self.open_angles > 0 {
            self.open_angles -= 1;
        } else if self.parser.consume_token(&Token::ShiftRight) {
            self.open_angles += 1;
        } else {
            self.parser.expect_token(&Token::Gt).map_err(syntax_error)?;
        }
        Ok(())
    }
}

const TYPE_NAMES: [&str; 21] = [
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INT",
    "INTEGER",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL",
    "NUMERIC",
    "STRING",
    "VARCHAR",
    "CHAR",
    "BYTES",
    "VARBINARY",
    "DATE",
    "TIMESTAMP",
    "TIMESTAMP_LTZ",
    "ROW",
    "ARRAY",
    "MAP",
];

fn timestamp_ltz() -> DataType {
    DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))
}
