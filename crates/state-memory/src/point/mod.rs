//! Shards for states that are read by whole key.
//!
//! The entries lie in pages, each as `size | key length | value length | key | value`, in the order of writing. A hash
//! table of 4-byte slots finds them. An overwrite goes into the entry's place when it fits (sizes are rounded up to 8
//! bytes), else elsewhere, and the old entry is dead. A new entry takes the place of a dead one of its size, if there
//! is one ([`gaps`]), else it goes to the end. A page whose entries are all dead is given back; one with many dead
//! entries is cleared out first: at once if a shard has more of them than living ones, else if new entries have not
//! taken their places when time has passed. Entries of more than a kilobyte are allocated by themselves.
//!
//! Only the entries are frozen by a snapshot: they are complete without the table.

mod entries;
mod gaps;
mod page;
mod shard;

pub(crate) use entries::Entries;
pub(crate) use page::PAGE_LEN_MAX;
pub(crate) use shard::{PointShard, Probe};
