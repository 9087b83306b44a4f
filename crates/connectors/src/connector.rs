//! What a word behind `connector` means: from a table to its source or sink.

use crate::options::OptionGroup;
use crate::sink_input::SinkInput;
use crate::table::TableDescription;
use headpond_runtime::Result;
use headpond_runtime::sink::Sink;
use headpond_runtime::source::Source;
use std::fmt::Debug;
use std::sync::Arc;

/// What a word behind `connector` means. A third party's connector implements this.
///
/// Before [`source`](Self::source) or [`sink`](Self::sink) is called, the options of the table have been checked
/// against the declared ones: there is none of another name, and each can be read as what it is declared to be.
pub trait Connector: Debug + Send + Sync {
    /// Its name, what it is, and the options it has.
    fn options(&self) -> &'static OptionGroup;

    /// Whether tables can be read.
    fn reads(&self) -> bool;

    /// Whether tables can be written.
    fn writes(&self) -> bool;

    /// Makes the source that reads `projection`'s columns of a table, all without one. Called where
    /// [`reads`](Self::reads) says so.
    ///
    /// # Errors
    /// [`Invalid`](headpond_runtime::ErrorKind::Invalid) for options that do not go together, naming one and the way
    /// out.
    fn source(&self, table: &TableDescription, projection: Option<&[usize]>) -> Result<Arc<dyn Source>>;

    /// Makes the sink that writes to a table. A [stateful](Sink::is_stateful) one gets its rows exchanged by the
    /// table's primary key. Called where [`writes`](Self::writes) says so.
    ///
    /// # Errors
    /// As [`source`](Self::source).
    fn sink(&self, table: &TableDescription, input: &SinkInput) -> Result<Arc<dyn Sink>>;

    /// Options besides its own that a table has, such as those of its format.
    ///
    /// # Errors
    /// [`Invalid`](headpond_runtime::ErrorKind::Invalid) when the option that chooses them is missing or wrong.
    fn further_options(&self, _table: &TableDescription) -> Result<Option<&'static OptionGroup>> {
        Ok(None)
    }
}
