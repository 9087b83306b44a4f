//! The contract of a state backend, as a library of tests.
//!
//! [`headpond_state::backend`] says what a backend promises; this crate checks it. A backend is one that passes. Its
//! crate has one test file:
//!
//! ```
//! # use headpond_state::*;
//! # #[derive(Debug)]
//! # struct MyBackend;
//! # impl std::fmt::Display for MyBackend {
//! #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("mine") }
//! # }
//! # impl MyBackend { fn new() -> Self { MyBackend } }
//! # impl StateBackend for MyBackend {
//! #     fn capabilities(&self) -> Capabilities {
//! #         Capabilities::default()
//! #     }
//! #     fn open_keyed(&self, _: KeyedBackendParams, _: &[RestoredState<'_>]) -> Result<Box<dyn KeyedStateBackend>> {
//! #         Err(Error::unsupported("an example holds no state"))
//! #     }
//! #     fn check_handle(&self, _: &KeyedStateHandle, _: MaxParallelism) -> Result<()> { Ok(()) }
//! #     fn open_reader<'a>(
//! #         &self, _: RestoredState<'a>, _: MaxParallelism, _: &std::path::Path,
//! #     ) -> Result<Box<dyn StateReader + 'a>> {
//! #         Err(Error::unsupported("an example holds no state"))
//! #     }
//! # }
//! headpond_state_conformance::conformance_tests!(MyBackend::new);
//! ```
//!
//! [`conformance_tests!`] takes a [`BackendFixture`], or a function that makes a backend, and expands to a module of
//! `#[test]` functions per part of the contract. Each opens backends of its own in a temporary directory and keeps
//! checkpoints in a [`MemoryStore`], which is also useful to tests of everything above backends.
//!
//! The scenarios are ordinary functions ([`scenarios`]), for those who want to run one of them by itself.

pub mod aging;
pub mod scenarios;
mod store;
mod subject;

pub use store::{MemorySink, MemoryStore};
pub use subject::Subject;

use headpond_state::StateBackend;

/// Makes the backends that are tested.
pub trait BackendFixture {
    /// A new backend, as a job would configure it.
    fn backend(&self) -> Box<dyn StateBackend>;
}

impl<B: StateBackend + 'static, F: Fn() -> B> BackendFixture for F {
    fn backend(&self) -> Box<dyn StateBackend> {
        Box::new(self())
    }
}

/// Expands to all scenarios as `#[test]` functions, run against the given [`BackendFixture`] or function that makes a
/// backend.
#[macro_export]
macro_rules! conformance_tests {
    ($fixture:expr) => {
        $crate::conformance_tests! { @expand $fixture;
            reads {
                reads_see_earlier_writes,
                a_batch_of_keys_is_read_in_its_order_with_duplicates_and_missing_keys,
                states_do_not_see_each_other,
                empty_and_large_values_are_kept,
                a_visitors_error_ends_the_call_and_nothing_else,
                a_batch_of_keys_is_read_into_one_buffer,
            }
            writes {
                later_writes_of_a_batch_win,
                a_batch_is_applied_to_all_its_states_and_cleared,
                values_may_grow_and_shrink,
                ranges_are_deleted_from_start_to_before_end,
                a_range_may_span_key_groups,
                many_entries_come_and_go,
                a_failed_write_poisons_the_instance,
            }
            merges {
                operands_fold_into_the_value_in_order,
                a_merge_after_a_put_or_delete_begins_there,
                merged_values_survive_a_restore,
            }
            scans {
                a_scan_visits_a_prefix_in_order,
                a_scan_honours_start_end_and_limit,
                a_scan_stops_when_told_and_resumes_after_a_key,
                a_point_state_is_scanned_in_order_too,
                a_scan_of_all_crosses_key_groups,
                scans_told_together_agree_with_scans_one_by_one,
            }
            cursors {
                a_cursor_gives_what_a_scan_visits,
                a_cursor_shows_the_state_as_it_is_at_each_batch,
            }
            registrations {
                equal_descriptors_have_one_id,
                a_second_registration_under_another_declaration_is_incompatible,
                a_name_that_is_empty_or_has_a_nul_character_is_invalid,
                an_id_that_was_not_given_is_invalid,
                states_are_numbered_in_order,
                a_ttl_with_a_merge_operator_is_invalid,
                a_restored_state_of_another_shape_is_incompatible,
                a_changed_ttl_duration_or_hint_is_no_difference,
            }
            restores {
                a_checkpoint_restores_all_states,
                states_registered_in_another_order_find_their_entries,
                an_empty_state_restores,
                a_restored_instance_restores_again,
                two_byte_key_groups_restore,
                closing_removes_local_files,
            }
            rescales {
                two_instances_become_three,
                three_instances_become_one,
                one_instance_becomes_four,
                foreign_keys_are_dropped,
                a_large_max_parallelism_rescales,
                an_instance_may_hold_no_key_group,
                what_moves_whole_is_not_uploaded_again,
                layers_of_changes_move_with_their_key_groups,
            }
            snapshots {
                a_snapshot_holds_what_was_there_at_its_cut,
                a_snapshot_uploads_while_writes_go_on,
                overlapping_snapshots_upload_in_any_order,
                a_dropped_snapshot_leaves_no_trace,
                notifications_come_in_any_order_or_never,
                a_cancelled_sink_ends_the_upload,
            }
            carried {
                an_unregistered_state_is_carried_into_the_next_snapshot,
                a_dropped_state_is_gone,
                a_registered_or_unknown_state_cannot_be_dropped,
            }
            incremental {
                a_full_checkpoint_reuses_nothing,
                only_what_the_base_names_is_reused,
                a_chain_of_checkpoints_restores_from_its_last,
                an_aborted_checkpoint_is_no_base,
                every_kind_of_write_is_a_change,
            }
            damage {
                a_flipped_byte_is_found_at_restore,
                a_missing_file_is_found_at_restore,
                a_handle_of_an_unknown_format_is_refused,
                a_failed_restore_leaves_nothing_behind,
            }
            canonical {
                a_canonical_handle_of_another_backend_restores,
                several_canonical_handles_restore_by_range,
                a_file_of_a_released_version_restores,
                another_number_of_key_groups_is_refused,
            }
            readers {
                a_reader_visits_what_a_restore_would_hold,
                a_reader_keeps_to_its_key_groups_and_stops_when_told,
                a_reader_of_a_canonical_handle_sees_the_same,
            }
            expiry {
                a_checkpoint_keeps_what_had_not_expired_at_its_cut,
                a_changed_ttl_takes_effect_at_restore,
                space_follows_what_is_live,
            }
            expiry_model {
                expired_values_are_never_read_and_refreshed_ones_never_lost,
            }
            model {
                random_operations_agree_with_a_sorted_map,
            }
        }
    };
    (@expand $fixture:expr; $($part:ident { $($scenario:ident,)* })*) => {
        $(
            mod $part {
                #[allow(unused_imports)]
                use super::*;
                $(
                    #[test]
                    fn $scenario() {
                        $crate::scenarios::$part::$scenario(&$fixture);
                    }
                )*
            }
        )*
    };
}
