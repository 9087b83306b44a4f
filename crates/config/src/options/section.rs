//! What a section of the registry is, and how one is declared.

use crate::Definition;

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

        pub(super) static SECTION: $crate::options::section::Section = $crate::options::section::Section {
            title: $title,
            intro: $intro,
            options: &[$($name.definition()),*],
        };
    };
}
pub(crate) use options;
