//! The state backend that keeps keyed state in RocksDB: larger than memory, checkpointed incrementally.
//!
//! Every operator has one database per worker, with a column family per state and no write-ahead log: the checkpoint is
//! the log. An entry's key is stored as given, so RocksDB's order is the state's order and a key group is a range of
//! keys. All databases of a process share one block cache, one account of memory and a few threads.
//!
//! Three decisions shape the rest:
//!
//! - **We say when memory is sealed.** RocksDB never switches a memtable by itself; the owner of the state does, when
//!   one is full or at the cut of a checkpoint. So nothing can slip into the files of a cut while its memtables are
//!   being flushed in the background, and a snapshot need not wait for them: see `cut`.
//! - **We say what is compacted.** Compaction decides how much an incremental checkpoint uploads. Automatic compactions
//!   are off; a planner chooses merges by what they would upload again: see `compaction`.
//! - **A batch's misses overlap.** A batch is read from memory first; what is not there is fetched by several threads:
//!   see `read`.
//!
//! In reading order: `options`, `backend` (the factory), `keyed` (the state of one operator), `database`, `cut` and
//! `upload` (checkpoints), `restore`, `assemble` and `clip` (rescaling), `reader`, `compaction`.
//!
//! ```
//! use headpond_state_rocksdb::EmbeddedRocksDbStateBackend;
//! use headpond_state::StateBackend;
//!
//! let incremental = true;
//! let backend = EmbeddedRocksDbStateBackend::new(incremental);
//! assert!(backend.capabilities().incremental_checkpoints);
//! assert_eq!(backend.to_string(), "rocksdb (incremental checkpoints)");
//! ```

mod age;
mod assemble;
mod backend;
mod bulk_load;
mod clip;
mod column_family;
mod compaction;
mod cut;
mod database;
mod details;
mod error;
mod expiry;
mod handle_files;
mod import;
mod keyed;
mod ledger;
mod local_dir;
mod options;
mod placement;
mod read;
mod reader;
mod restore;
mod scan;
mod shared;
mod threads;
mod upload;

pub use backend::EmbeddedRocksDbStateBackend;
pub use compaction::CompactionTotals;
pub use options::{CompactionOptions, Compression, PredefinedOptions, RocksDbOptions};
pub use upload::{FORMAT, FORMAT_VERSION};
