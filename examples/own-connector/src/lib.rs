//! A connector of one's own: the *ledger*, a text file of changes to read, and a directory of such files to write.
//!
//! ```text
//! put alice 30
//! put bob 5
//! delete alice
//! ```
//!
//! [`source`] reads the file: it gives changes (the current row of a key, and keys whose row is gone) and hears of
//! committed checkpoints. [`sink`] writes rows exactly once. [`Ledger`] gives both to SQL and to the stream API.

pub mod sink;
pub mod source;

use headpond::connector::{
    ConfigOption, Connector, OptionGroup, Options, Result, Sink, SinkInput, Source, TableDescription,
};
use headpond::{Error, connector::arrow_schema::DataType};
use std::path::PathBuf;
use std::sync::Arc;

static PATH: ConfigOption<PathBuf> =
    ConfigOption::unset("path", "required", "The file to read, or the directory to write.");
static FOLLOW: ConfigOption<bool> = ConfigOption::new(
    "follow",
    "false",
    "Whether to wait for lines that are appended to the file: the table never ends.",
);

static OPTIONS: OptionGroup = OptionGroup {
    name: "ledger",
    doc: "Reads and writes ledgers.",
    options: &[PATH.definition(), FOLLOW.definition()],
};

/// The connector `ledger`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ledger;

impl Connector for Ledger {
    fn options(&self) -> &'static OptionGroup {
        &OPTIONS
    }

    fn reads(&self) -> bool {
        true
    }

    fn writes(&self) -> bool {
        true
    }

    fn source(&self, table: &TableDescription, projection: Option<&[usize]>) -> Result<Arc<dyn Source>> {
        check_columns(table)?;
        let options = Options::new(table);
        let columns = projection.map_or_else(|| vec![0, 1], <[usize]>::to_vec);
        let (path, follow) = (options.get(&PATH)?, options.get(&FOLLOW)?);
        Ok(Arc::new(source::LedgerSource::new(path, follow, table.schema.clone(), columns)?))
    }

    fn sink(&self, table: &TableDescription, _input: &SinkInput) -> Result<Arc<dyn Sink>> {
        check_columns(table)?;
        Ok(Arc::new(sink::LedgerSink::new(Options::new(table).get(&PATH)?)))
    }
}

/// A ledger has a key and a number.
fn check_columns(table: &TableDescription) -> Result<()> {
    let types: Vec<&DataType> = table.schema.fields().iter().map(|field| field.data_type()).collect();
    match types[..] {
        [DataType::Utf8, DataType::Int64] => Ok(()),
        _ => Err(Error::invalid(format!("table {} is a ledger, which has a STRING and a BIGINT", table.name))
            .hint("declare two columns: (k STRING, v BIGINT)")),
    }
}
