//! What a source and a sink of one's own are made of.
//!
//! A [`Connector`] stands for a word behind `connector` in `CREATE TABLE … WITH (…)`. It declares its options and makes
//! a [`Source`] or a [`Sink`], which speak of rows in Arrow's columns. SQL knows it in a program whose `main` calls
//! that of the crate `headpond-cli`, the stream API by
//! [`from_connector`](crate::stream::StreamExecutionEnvironment::from_connector) and
//! [`write_to_connector`](crate::stream::DataStream::write_to_connector). `docs/own-connector.md` shows one.
//!
//! For a program's own records, without columns, see [`RecordSource`](crate::stream::RecordSource) and
//! [`RecordSink`](crate::stream::RecordSink).

pub use arrow_array;
pub use arrow_schema;
pub use headpond_config::{ConfigOption, OptionValue, choices};
pub use headpond_connectors::options::{OptionGroup, Options};
pub use headpond_connectors::{Connector, Connectors, SinkInput, TableDescription};
pub use headpond_runtime::Result;
pub use headpond_runtime::batch::{ChangeBatch, ChangeKind};
pub use headpond_runtime::key::Keys;
pub use headpond_runtime::sink::{
    CheckpointRef, Committable, OutputClaim, Sink, SinkContext, SinkJob, SinkSetup, SinkWriter, Unclaimed,
};
pub use headpond_runtime::source::{
    Backlog, BacklogUnit, ChangelogMode, CommittedSplit, ReadBatch, ReaderContext, Source, SourceSplit, SplitReader,
};
pub use headpond_state::{CheckpointId, Context};
pub use serde_json;
