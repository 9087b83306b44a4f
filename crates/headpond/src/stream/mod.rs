//! Jobs as Rust programs: typed records, functions with typed keyed state, Flink's names.
//!
//! A program describes a job: where records come from, what is done with each of them, by which key they meet, what
//! is kept for each key, and where results go. Nothing runs until [`execute`](StreamExecutionEnvironment::execute),
//! which runs the job on several workers, checkpointed, and from its last
//! checkpoint on when it was run before.
//!
//! - [`StreamExecutionEnvironment`] holds the settings and the program.
//! - Records come from a collection, from a [`RecordSource`], or from any [`Source`](headpond_runtime::source::Source)
//!   of rows.
//! - [`DataStream`] is a stream of records: [`map`](DataStream::map), [`filter`](DataStream::filter),
//!   [`flat_map`](DataStream::flat_map), [`union`](DataStream::union), [`key_by`](DataStream::key_by),
//!   [`sink_to`](DataStream::sink_to).
//! - A [`WatermarkStrategy`] gives records timestamps, and the stream event time.
//! - [`KeyedProcessFunction`] is what a [`KeyedStream`] is processed with. It declares its states by descriptors (see
//!   [`state`]) and is given one record at a time, with the states of the record's key. It may set timers
//!   ([`Context::timers`]), by event time or by processing time, and give records to side outputs
//!   ([`OutputTag`]).
//! - [`RecordSink`] takes the results; [`CollectSink`] keeps them in memory.
//!
//! Between the steps of a job a record travels as bytes (see [`Record`]), so any type serde knows can be one. Steps
//! without a key are not steps of their own: they run where their records are read next.
//!
//! # Example
//!
//! The balance of every account, after every payment.
//!
//! ```
//! use headpond::prelude::*;
//! use std::time::Duration;
//!
//! struct Balance;
//!
//! impl KeyedProcessFunction for Balance {
//!     type Key = String;
//!     type In = (String, i64);
//!     type Out = (String, i64);
//!     type States = ValueState<i64>;
//!
//!     fn open(&self, ctx: &mut RuntimeContext<'_>) -> Result<ValueState<i64>> {
//!         ctx.value_state(ValueStateDescriptor::new("balance", FixedWidth))
//!     }
//!
//!     fn process_element(
//!         &self,
//!         balance: &mut ValueState<i64>,
//!         (account, amount): (String, i64),
//!         ctx: &mut Context<'_, String>,
//!         out: &mut Collector<(String, i64)>,
//!     ) -> Result<()> {
//!         let after = balance.value(ctx)?.unwrap_or(0) + amount;
//!         balance.update(ctx, &after)?;
//!         out.collect((account, after));
//!         Ok(())
//!     }
//! }
//!
//! # let dir = tempfile::tempdir().expect("a directory");
//! # let checkpoints = format!("file://{}", dir.path().display());
//! let env = StreamExecutionEnvironment::new();
//! env.set_state_backend(HashMapStateBackend::new());
//! env.enable_checkpointing(Duration::from_secs(1)).set_checkpoint_dir(checkpoints);
//! env.set_parallelism(2);
//!
//! let mut balances = env
//!     .from_iter([("Ada", 100), ("Bob", 50), ("Ada", -30), ("Eve", 0)].map(|(who, sum)| (who.to_owned(), sum)))
//!     .filter(|(_, amount)| *amount != 0)
//!     .key_by(|(account, _)| account.clone())
//!     .process(Balance)
//!     .execute_and_collect("balances")?;
//! balances.sort();
//! assert_eq!(balances, [("Ada".to_owned(), 70), ("Ada".to_owned(), 100), ("Bob".to_owned(), 50)]);
//! # Ok::<(), headpond::Error>(())
//! ```

mod broadcast;
mod broadcast_state;
mod collect;
mod connected;
mod connector;
mod data_stream;
mod environment;
mod files;
mod fold;
mod function;
mod items;
mod key_columns;
mod keyed_function;
mod keyed_stream;
mod operator;
mod program_options;
mod record;
mod settings;
mod side_output;
mod sink;
mod source;
mod stamp;
pub mod state;
mod timers;
mod watermarks;
pub mod window;
mod write_behind;

pub use broadcast::{BroadcastConnectedStream, KeyedBroadcastProcessFunction};
pub use broadcast_state::{BroadcastContext, BroadcastState};
pub use collect::CollectSink;
pub use connected::{ConnectedStreams, KeyedCoProcessFunction};
pub use connector::{Change, ConnectorTable};
pub use data_stream::{DataStream, DataStreamSink};
pub use environment::{JobExecutionResult, StreamExecutionEnvironment};
pub use files::{FileSink, FileSource};
pub use fold::MergingAggregate;
pub use function::{Collector, Context, KeyedProcessFunction, RuntimeContext};
pub use headpond_runtime::ChangeKind;
pub use headpond_state::encoding::KeyComponent;
pub use keyed_stream::KeyedStream;
pub use program_options::ProgramOptions;
pub use record::Record;
pub use side_output::OutputTag;
pub use sink::{RecordSink, RecordWriter};
pub use source::{RecordReader, RecordSource};
pub use timers::TimerService;
pub use watermarks::{WatermarkGenerator, WatermarkStrategy};

/// What the harnesses of [`testing`](crate::testing) are made of.
pub(crate) mod internal {
    pub(crate) use super::broadcast::WithBroadcast;
    pub(crate) use super::connected::TwoInputs;
    pub(crate) use super::keyed_function::{KeyedFunction, OneInput};
    pub(crate) use super::operator::ProcessOperatorFactory;
    pub(crate) use super::program_options::ways_out;
    pub(crate) use super::record::{Record, read, records};
    pub(crate) use super::side_output::SideTags;
    pub(crate) use super::stamp::{Stamp, StampedRecords, Stamps, stamped_schema};
}
