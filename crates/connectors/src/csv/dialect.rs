//! The options of CSV, read.

use crate::options::{Options, declared};
use crate::table::TableDescription;
use headpond_runtime::{Error, Result};
use headpond_state::Context;

/// How a table's CSV is written.
#[derive(Debug, Clone)]
pub(crate) struct Dialect {
    pub(crate) header: bool,
    pub(crate) delimiter: u8,
    pub(crate) quote: Option<u8>,
    pub(crate) escape: Option<u8>,
    pub(crate) null_literal: Option<Vec<u8>>,
    pub(crate) comments: bool,
    pub(crate) ignore_errors: bool,
}

impl Dialect {
    pub(crate) fn of(table: &TableDescription) -> Result<Self> {
        let options = Options::new(table);
        let delimiter = options.char(&declared::CSV_FIELD_DELIMITER)?.unwrap_or(b',');
        let quote = options.char(&declared::CSV_QUOTE_CHARACTER)?;
        let quote = if options.bool(&declared::CSV_DISABLE_QUOTE_CHARACTER)? { None } else { quote };
        let escape = options.char(&declared::CSV_ESCAPE_CHARACTER)?;
        if quote == Some(delimiter) || escape == Some(delimiter) {
            return Err(Error::invalid("a character cannot both separate fields and quote or escape")
                .with(Context::Option, declared::CSV_FIELD_DELIMITER.key)
                .with(Context::Text, char::from(delimiter))
                .hint("choose different characters"));
        }
        Ok(Dialect {
            header: options.bool(&declared::CSV_HEADER)?,
            delimiter,
            quote,
            // A quote that escapes itself is what quotes do anyway.
            escape: escape.filter(|escape| Some(*escape) != quote),
            null_literal: options.text(&declared::CSV_NULL_LITERAL).map(|text| text.as_bytes().to_vec()),
            comments: options.bool(&declared::CSV_ALLOW_COMMENTS)?,
            ignore_errors: options.bool(&declared::CSV_IGNORE_PARSE_ERRORS)?,
        })
    }
}
