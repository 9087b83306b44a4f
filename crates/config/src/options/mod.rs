//! The registry: every option, declared once.
//!
//! A section is a file, and the sections stand in the order of the reference page. To add an option, declare it in its
//! section's `options!` block; the registry, the layers and the reference follow.

use crate::Definition;

mod checkpointing;
mod compatibility;
mod object_store;
mod pipeline;
mod rocksdb;
mod section;
mod state;
mod table;

pub use checkpointing::*;
pub use compatibility::*;
pub use object_store::*;
pub use pipeline::*;
pub use rocksdb::*;
pub use section::Section;
pub use state::*;
pub use table::*;

/// The sections, in reading order.
pub static SECTIONS: [&Section; 7] = [
    &pipeline::SECTION,
    &state::SECTION,
    &checkpointing::SECTION,
    &object_store::SECTION,
    &rocksdb::SECTION,
    &table::SECTION,
    &compatibility::SECTION,
];

/// Every option, in reading order.
pub fn registry() -> impl Iterator<Item = &'static Definition> {
    SECTIONS.iter().flat_map(|section| section.options.iter().copied())
}
