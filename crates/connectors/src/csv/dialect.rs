//! The options of CSV, read.

use crate::options::{Options, declared};
use crate::table::TableDescription;
use headpond_config::{Character, Verbatim};
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
        let Character(delimiter) = options.get(&declared::CSV_FIELD_DELIMITER)?;
        let Character(quote) = options.get(&declared::CSV_QUOTE_CHARACTER)?;
        let quote = (!options.get(&declared::CSV_DISABLE_QUOTE_CHARACTER)?).then_some(quote);
        let escape = options.get(&declared::CSV_ESCAPE_CHARACTER)?.map(|Character(escape)| escape);
        if quote == Some(delimiter) || escape == Some(delimiter) {
            return Err(Error::invalid("a character cannot both separate fields and quote or escape")
                .with(Context::Option, declared::CSV_FIELD_DELIMITER.key())
                .with(Context::Text, char::from(delimiter))
                .hint("choose different characters"));
        }
        Ok(Dialect {
            header: options.get(&declared::CSV_HEADER)?,
            delimiter,
            quote,
            // A quote that escapes itself is what quotes do anyway.
            escape: escape.filter(|escape| Some(*escape) != quote),
            null_literal: options.get(&declared::CSV_NULL_LITERAL)?.map(|Verbatim(text)| text.into_bytes()),
            comments: options.get(&declared::CSV_ALLOW_COMMENTS)?,
            ignore_errors: options.get(&declared::CSV_IGNORE_PARSE_ERRORS)?,
        })
    }
}
