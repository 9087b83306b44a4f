//! The connectors there are, by name.

use crate::built_in::BUILT_IN;
use crate::connector::Connector;
use crate::options::{self, Options, declared};
use crate::sink_input::SinkInput;
use crate::table::TableDescription;
use headpond_runtime::sink::Sink;
use headpond_runtime::source::Source;
use headpond_runtime::{Error, Result};
use headpond_state::Context;
use headpond_state::names::nearest;
use std::sync::Arc;

/// The connectors that tables may name.
#[derive(Debug, Clone)]
pub struct Connectors(Vec<Arc<dyn Connector>>);

impl Default for Connectors {
    fn default() -> Self {
        Connectors::built_in()
    }
}

impl Connectors {
    /// Those that Headpond has.
    pub fn built_in() -> Self {
        Connectors(BUILT_IN.iter().map(|connector| Arc::new(*connector) as Arc<dyn Connector>).collect())
    }

    /// One more. It takes the place of one of the same name.
    #[must_use]
    pub fn with(mut self, connector: impl Connector + 'static) -> Self {
        self.0.retain(|known| !known.options().name.eq_ignore_ascii_case(connector.options().name));
        self.0.push(Arc::new(connector));
        self
    }

    /// Checks a table's options: that its connector and format know each and can read it.
    ///
    /// # Errors
    /// [`Invalid`](headpond_runtime::ErrorKind::Invalid), naming the option and the nearest one there is.
    pub fn check(&self, table: &TableDescription) -> Result<()> {
        self.checked(table).map(drop)
    }

    /// Makes the source that reads `projection`'s columns of a table, all without one.
    ///
    /// # Errors
    /// [`Invalid`](headpond_runtime::ErrorKind::Invalid) for an option that is unknown or wrong,
    /// [`Unsupported`](headpond_runtime::ErrorKind::Unsupported) for a table that cannot be read.
    pub fn source(&self, table: &TableDescription, projection: Option<&[usize]>) -> Result<Arc<dyn Source>> {
        let connector = self.checked(table)?;
        match connector.reads() {
            true => connector.source(table, projection),
            false => Err(self.cannot(table, connector, "read", |other| other.reads())),
        }
    }

    /// Makes the sink that writes to a table. A [stateful](Sink::is_stateful) one needs its rows exchanged by the
    /// table's primary key.
    ///
    /// # Errors
    /// [`Invalid`](headpond_runtime::ErrorKind::Invalid) for an option that is unknown or wrong,
    /// [`Unsupported`](headpond_runtime::ErrorKind::Unsupported) for a table that cannot be written.
    pub fn sink(&self, table: &TableDescription, input: &SinkInput) -> Result<Arc<dyn Sink>> {
        let connector = self.checked(table)?;
        match connector.writes() {
            true => connector.sink(table, input),
            false => Err(self.cannot(table, connector, "written", |other| other.writes())),
        }
    }

    /// The connector of a table whose options have been checked.
    fn checked(&self, table: &TableDescription) -> Result<&dyn Connector> {
        let options = Options::new(table);
        let name = options.get(&declared::CONNECTOR)?;
        let name = name.as_str();
        let found = self.0.iter().find(|connector| connector.options().name.eq_ignore_ascii_case(name));
        let Some(connector) = found else {
            let near = nearest(name, self.names()).map(|near| format!("; did you mean '{near}'?"));
            let known: Vec<&str> = self.names().collect();
            let why = format!("expected one of {}{}", known.join(", "), near.unwrap_or_default());
            return Err(options.refuse(declared::CONNECTOR.key(), name, &why));
        };
        let mut groups = vec![&declared::TABLE, connector.options()];
        groups.extend(connector.further_options(table)?);
        options::check(table, &groups)?;
        Ok(&**connector)
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|connector| connector.options().name)
    }

    #[cold]
    fn cannot(
        &self,
        table: &TableDescription,
        connector: &dyn Connector,
        what: &str,
        can: impl Fn(&dyn Connector) -> bool,
    ) -> Error {
        let others = self.0.iter().filter(|other| can(&***other)).map(|other| other.options().name);
        let (name, others) = (connector.options().name, others.collect::<Vec<_>>().join(", "));
        Error::unsupported(format!("table {} cannot be {what}: its connector is '{name}'", table.name))
            .with(Context::Option, declared::CONNECTOR.key())
            .hint(format!("connectors that can: {others}"))
    }
}
