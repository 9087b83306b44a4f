//! What most programs use.
//!
//! ```
//! use headpond::prelude::*;
//! ```

#[cfg(feature = "rocksdb")]
pub use crate::EmbeddedRocksDbStateBackend;
pub use crate::codec::{Codec, FixedWidth, ProstCodec, SerdeCodec, Utf8};
pub use crate::serde::{Deserialize, Serialize};
pub use crate::stream::state::{
    AggregateFunction, AggregatingState, AggregatingStateDescriptor, ListState, ListStateDescriptor, MapState,
    MapStateDescriptor, ReducingState, ReducingStateDescriptor, StateTtlConfig, ValueState, ValueStateDescriptor,
};
pub use crate::stream::window::{HoppingWindows, SessionWindows, TumblingWindows, Windowed};
pub use crate::stream::{
    CollectSink, Collector, Context, DataStream, FileSink, FileSource, KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction, KeyedProcessFunction, KeyedStream, OutputTag, RuntimeContext, StreamExecutionEnvironment,
    WatermarkStrategy,
};
pub use crate::{Error, HashMapStateBackend, Result};
