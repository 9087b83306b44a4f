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
mod state;
mod table;

pub use checkpointing::*;
pub use compatibility::*;
pub use object_store::*;
pub use pipeline::*;
pub use rocksdb::*;
pub use state::*;
pub use table::*;

/// A section of the reference page.
#[derive(Debug)]
pub struct Section {
    /// Its heading.
    pub title: &'static str,
    /// What its options are about.
    pub intro: &'static str,
    /// Its options.
    pub options: &'static [&'static Definition],
}

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

/// Declares the options of a section: a static for each, and the section that lists them.
macro_rules! options {
    (
        $title:literal, $intro:literal;
        $($(#[$meta:meta])* $name:ident: $type:ty = $option:expr;)*
    ) => {
        $(
            $(#[$meta])*
            pub static $name: $crate::ConfigOption<$type> = $option;
        )*

        pub(super) static SECTION: $crate::options::Section = $crate::options::Section {
            title: $title,
            intro: $intro,
            options: &[$($name.definition()),*],
        };
    };
}
pub(crate) use options;
