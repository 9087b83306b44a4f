//! The kinds of windows.

use super::WindowPart;

/// The kinds of windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum WindowKind {
    /// Windows side by side.
    Tumble,
    /// Windows that overlap.
    Hop,
    /// Windows that end where a key has no rows for a while.
    Session,
}

impl WindowKind {
    /// All of them.
    pub(crate) const ALL: [WindowKind; 3] = [WindowKind::Tumble, WindowKind::Hop, WindowKind::Session];

    /// The table function's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            WindowKind::Tumble => "TUMBLE",
            WindowKind::Hop => "HOP",
            WindowKind::Session => "SESSION",
        }
    }

    /// The kind whose table function has this name, in any case.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }

    /// What the functions take, in words.
    pub(crate) fn arguments(self) -> &'static str {
        match self {
            WindowKind::Tumble => "a time, a size and, perhaps, an offset",
            WindowKind::Hop => "a time, a slide, a size and, perhaps, an offset",
            WindowKind::Session => "a time and a gap",
        }
    }

    /// The name of the function that tells a part of these windows.
    pub(crate) fn function(self, part: WindowPart) -> &'static str {
        match (self, part) {
            (WindowKind::Tumble, WindowPart::Start) => "tumble_start",
            (WindowKind::Tumble, WindowPart::End) => "tumble_end",
            (WindowKind::Tumble, WindowPart::Time) => "tumble_rowtime",
            (WindowKind::Hop, WindowPart::Start) => "hop_start",
            (WindowKind::Hop, WindowPart::End) => "hop_end",
            (WindowKind::Hop, WindowPart::Time) => "hop_rowtime",
            (WindowKind::Session, WindowPart::Start) => "session_start",
            (WindowKind::Session, WindowPart::End) => "session_end",
            (WindowKind::Session, WindowPart::Time) => "session_rowtime",
        }
    }

    /// The kind and the part that a function of this name, in any case, tells.
    pub(crate) fn of_function(name: &str) -> Option<(Self, WindowPart)> {
        let parts = |kind: Self| WindowPart::ALL.into_iter().map(move |part| (kind, part));
        let mut all = Self::ALL.into_iter().flat_map(parts);
        all.find(|(kind, part)| kind.function(*part).eq_ignore_ascii_case(name))
    }
}
