//! Typed states over a backend that is a sorted map.

mod expiry;
mod lists;
mod maps;
mod single_entries;
mod sorted_backend;
mod timers;
