//! Aggregates over keyed state.
//!
//! Each group has one state value: a hidden count of its rows, and the accumulators of its aggregates, as a row
//! ([`Layout`]) in the configured format. An operator groups a batch's rows by key ([`Grouping`]), reads the groups'
//! accumulators into columns ([`Accumulators`]), folds the batch's columns in, and writes the accumulators back: one
//! read and one write for a batch.
//!
//! What a row cannot hold, the values of a group that DISTINCT and MIN and MAX of changing rows need, is in sets beside
//! it ([`ValueSets`](value_sets::ValueSets)).
//!
//! [`GroupAggregate`](group::GroupAggregate) gives a changing result for each batch; the operators of [`window`] give a
//! window's result once, when time has passed it.
//!
//! In reading order: `layout`, `columns`, `fold`, `overflow`, `cell`, `transitions`, `accumulators`, `merge`,
//! `numbers`, `group_codec`, `grouping`, `value_sets`, `results`, `group`, `window`, `migration`.

mod accumulators;
mod cell;
mod columns;
mod fold;
mod group;
mod group_codec;
mod grouping;
mod layout;
mod merge;
mod migration;
mod numbers;
mod overflow;
mod results;
mod transitions;
mod value_sets;
mod window;

pub(crate) use group::GroupAggregateFactory;
pub(crate) use grouping::Grouping;
pub(crate) use layout::{AggregateCall, AggregateFunction, AggregatePlan, Layout, OutputColumn};
pub(crate) use window::{LATE_ROWS_PORT, LateRows, RowTime, WindowAggregateFactory, WindowSpec, Windows};
