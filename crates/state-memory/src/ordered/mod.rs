//! Shards for states that are scanned.
//!
//! A key group's entries lie in *leaves* of a few kilobytes, each sorted; a directory, sorted too, finds the leaf a key
//! belongs to. Both are searched by a few bytes of the keys, those behind what all of them begin with, so that a search
//! touches one or two entries. A full leaf splits in two, or, when keys arrive in ascending order, hands only its last
//! entry on. Leaves are the pieces a snapshot shares.

mod directory;
mod head;
mod leaf;
mod shard;

pub(crate) use directory::Leaves;
pub(crate) use shard::{LeafPosition, OrderedShard};
