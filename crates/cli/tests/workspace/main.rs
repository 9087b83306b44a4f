//! The workspace as a whole: its layers, dependencies and licences, from `cargo metadata`.

mod dependencies;
mod layers;
mod licences;
mod metadata;
mod one_build;
mod unused;
