//! The connectors that Headpond has.

use crate::connector::Connector;
use crate::options::{OptionGroup, Options, declared};
use crate::sink_input::SinkInput;
use crate::table::TableDescription;
use crate::{blackhole, datagen, filesystem, nexmark, print};
use headpond_runtime::sink::Sink;
use headpond_runtime::source::Source;
use headpond_runtime::{Error, Result};
use std::sync::Arc;

/// All of them.
pub(crate) const BUILT_IN: &[BuiltIn] =
    &[BuiltIn::Filesystem, BuiltIn::Datagen, BuiltIn::Nexmark, BuiltIn::Print, BuiltIn::Blackhole];

/// A connector that Headpond has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuiltIn {
    Filesystem,
    Datagen,
    Nexmark,
    Print,
    Blackhole,
}

impl Connector for BuiltIn {
    fn options(&self) -> &'static OptionGroup {
        match self {
            BuiltIn::Filesystem => &declared::FILESYSTEM,
            BuiltIn::Datagen => &declared::DATAGEN,
            BuiltIn::Nexmark => &declared::NEXMARK,
            BuiltIn::Print => &declared::PRINT,
            BuiltIn::Blackhole => &declared::BLACKHOLE,
        }
    }

    fn reads(&self) -> bool {
        matches!(self, BuiltIn::Filesystem | BuiltIn::Datagen | BuiltIn::Nexmark)
    }

    fn writes(&self) -> bool {
        matches!(self, BuiltIn::Filesystem | BuiltIn::Print | BuiltIn::Blackhole)
    }

    fn source(&self, table: &TableDescription, projection: Option<&[usize]>) -> Result<Arc<dyn Source>> {
        match self {
            BuiltIn::Filesystem => filesystem::source(table, projection),
            BuiltIn::Datagen => datagen::source(table, projection),
            BuiltIn::Nexmark => nexmark::source(table, projection),
            BuiltIn::Print | BuiltIn::Blackhole => Err(Error::internal(format!("{self:?} was asked for a source"))),
        }
    }

    fn sink(&self, table: &TableDescription, input: &SinkInput) -> Result<Arc<dyn Sink>> {
        match self {
            BuiltIn::Filesystem => filesystem::sink(table, input),
            BuiltIn::Print => print::sink(table, input),
            BuiltIn::Blackhole => Ok(Arc::new(blackhole::BlackholeSink)),
            BuiltIn::Datagen | BuiltIn::Nexmark => Err(Error::internal(format!("{self:?} was asked for a sink"))),
        }
    }

    fn further_options(&self, table: &TableDescription) -> Result<Option<&'static OptionGroup>> {
        if *self != BuiltIn::Filesystem {
            return Ok(None);
        }
        Ok(Some(match Options::new(table).get(&declared::FORMAT)? {
            declared::Format::Csv => &declared::CSV,
            declared::Format::Json => &declared::JSON,
        }))
    }
}
