//! Keyed state in memory.
//!
//! The fastest place for state that fits. Each state has one *shard* per key group, in one of two shapes, chosen by the
//! state's [access pattern](headpond_state::AccessPattern):
//!
//! - **point**: a hash table of 4-byte slots that refer to entries packed into pages (`point`);
//! - **ordered**: a tree of sorted leaves (`ordered`).
//!
//! Both keep what a snapshot needs in small pieces behind `Arc`s: pages, leaves. The synchronous part of a snapshot
//! clones one `Arc` per shard. The first write to a shard after it copies the shard's list of pieces, the first write
//! to a piece copies that piece: the cost is spread over the writes and bounded for each. Snapshots are uploaded in the
//! [canonical format](headpond_state::canonical), so that any backend restores them.
//!
//! Pieces count their bytes against a budget that all instances of a [`MemoryStateBackend`] share, frozen copies
//! included. A write that would exceed it fails before it changes anything: the job stops, and its last checkpoint
//! restores in a backend for state larger than memory.

mod backend;
mod bounds;
mod budget;
mod expired;
mod keyed;
mod ordered;
mod point;
mod snapshot;
mod sweep;
mod table;

pub use backend::{HashMapStateBackend, MemoryStateBackend};
