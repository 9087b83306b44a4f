//! Where rows come from and where they go: tables outside of Headpond.
//!
//! A table is described by its columns and its options, as `CREATE TABLE … WITH (…)` gives them: a
//! [`TableDescription`]. The option `connector` says what stands behind it: a [`Connector`] makes the
//! [`Source`](headpond_runtime::source::Source) and the [`Sink`](headpond_runtime::sink::Sink) that read and write it.
//! [`Connectors`] has those there are.
//!
//! | connector | reads | writes |
//! |---|---|---|
//! | `filesystem` | files of CSV or JSON lines, compressed or not | files that appear at a checkpoint |
//! | `datagen` | rows made from a seed | |
//! | `nexmark` | the events of the Nexmark benchmark | |
//! | [`print`](mod@print) | | lines on stdout |
//! | [`blackhole`] | | nothing |
//!
//! Every option is declared once, in [`options`], which refuses unknown ones and makes the reference page.
//!
//! In reading order: [`table`], [`connector`], `built_in`, `connectors`, [`options`], `filesystem`, `datagen`,
//! `nexmark`, [`print`](mod@print), [`blackhole`]; below them `column` (rows into Arrow), `values` (values as text),
//! `csv`, `json`, `row_splits`.

pub mod blackhole;
mod built_in;
mod column;
pub mod connector;
mod connectors;
mod csv;
mod datagen;
mod filesystem;
mod json;
mod nexmark;
pub mod options;
pub mod print;
mod row_splits;
mod sink_input;
pub mod table;
mod values;

pub use connector::Connector;
pub use connectors::Connectors;
pub use sink_input::SinkInput;
pub use table::TableDescription;
