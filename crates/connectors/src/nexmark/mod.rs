//! The connector `nexmark`: the events of the Nexmark benchmark, an auction house's persons, auctions and bids.
//!
//! Events are made by the crate `nexmark`, which follows the benchmark's definition; an event follows from its number
//! alone. They come as the benchmark's Flink tables have them: one row an event, with the columns `event_type`,
//! `person`, `auction` and `bid`, of which one is not NULL ([`columns`]).

mod columns;
mod source;

pub(crate) use source::source;
