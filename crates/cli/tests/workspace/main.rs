//! The workspace as a whole: its layers, dependencies and licences, from `cargo metadata`; and how its files know each
//! other.

mod dependencies;
mod file_graph;
mod layers;
mod licences;
mod metadata;
mod one_build;
mod unused;
