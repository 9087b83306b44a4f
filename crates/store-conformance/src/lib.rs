//! The contract of a checkpoint store, as a library of tests.
//!
//! [`CheckpointStore`] says what a store promises; this crate checks it. A store is one that passes. Its crate has one
//! test file:
//!
//! ```
//! use headpond_checkpoint::DirectoryStore;
//! use headpond_store_conformance::StoreFactory;
//! use std::sync::Arc;
//!
//! headpond_store_conformance::conformance_tests!(|| -> StoreFactory {
//!     let directory = tempfile::tempdir().expect("a temporary directory can be made");
//!     Box::new(move || Arc::new(DirectoryStore::new(directory.path())))
//! });
//! ```
//!
//! [`conformance_tests!`] takes a function that makes a new, empty [`StoreFactory`] and expands to a `#[test]`
//! function for each part of the contract ([`contract`]). What crashes leave is enumerated by [`crash`]: a process
//! that dies at any
//! call of its store. [`injection`] runs jobs over a store that fails at random, from a seed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

pub mod contract;
pub mod crash;
mod faulty;
mod incoming;
pub mod injection;
pub mod jobs;
mod mortal;
pub mod rows;

pub use faulty::{Faults, Faulty};
pub use incoming::Bytes;
pub use mortal::{Crash, Mortal};

use headpond_checkpoint::CheckpointStore;
use std::sync::Arc;

/// A place for checkpoints: each call opens its store anew, as another process would.
pub type StoreFactory = Box<dyn Fn() -> Arc<dyn CheckpointStore> + Send + Sync>;

/// Expands to all scenarios of the contract as `#[test]` functions. The argument is a function that makes a
/// [`StoreFactory`].
#[macro_export]
macro_rules! conformance_tests {
    ($place:expr) => {
        $crate::conformance_tests! { @expand $place;
            contents {
                contents_of_all_sizes_are_read_back,
                a_file_is_read_back_as_a_stream_is,
                a_content_that_fails_leaves_nothing_under_its_key,
                a_content_whose_key_is_refused_leaves_nothing,
                a_key_may_be_stored_again,
                discarding_takes_nothing_away_that_has_its_key,
                contents_may_come_from_many_threads_at_once,
                keys_may_have_percent_signs_and_spaces,
            }
            keys {
                an_exclusive_key_is_created_once,
                one_of_many_creators_wins,
                what_is_not_there_is_none,
                a_listing_has_the_names_immediately_below,
                files_are_deleted_and_absent_ones_are_no_error,
                a_directory_that_is_not_empty_stays,
                clearing_what_is_staged_spares_what_has_its_key,
            }
            owners {
                there_is_one_owner_and_the_other_is_told_its_name,
                an_owner_that_has_let_go_is_followed_by_another,
            }
            whole_jobs {
                checkpoints_are_committed_restored_and_collected,
                the_older_of_two_attempts_commits_nothing_more,
                what_is_at_a_location_is_found,
            }
        }
    };
    (@expand $place:expr; $($module:ident { $($scenario:ident,)* })*) => {
        $(mod $module {
            use super::*;
            $(
                #[test]
                fn $scenario() {
                    $crate::contract::$module::$scenario(&$place());
                }
            )*
        })*
    };
}
