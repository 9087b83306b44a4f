//! Shards for states that are scanned.
//!
//! A key group's entries lie in *leaves* of a few kilobytes, each sorted; a map finds the leaf by its separator, a lower bound of
//! the leaf's keys. A full leaf splits in two, or, when keys arrive in ascending order, hands only its last entry on. Leaves are
//! the pieces a snapshot shares.

mod leaf;
mod shard;

pub(crate) use shard::{Leaves, OrderedShard};
