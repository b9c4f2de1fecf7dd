//! The cases that every store passes, by topic.

pub(crate) mod claims;
pub(crate) mod completion;
pub(crate) mod counts;
pub(crate) mod documents;
pub(crate) mod leases;
pub(crate) mod outcomes;
pub(crate) mod recordings;
pub(crate) mod reopening;
pub(crate) mod sweeping;

/// Declares a test for every case, on the store that `$open` opens. A case that is not listed is dead code.
macro_rules! all {
    ($open:expr) => {
        crate::cases::run! { $open;
            claims: [
                only_one_of_many_threads_gets_a_key,
                a_new_key_has_no_history,
                a_held_key_is_in_flight_until_its_lease_ends,
                different_input_is_reported_in_every_state,
                a_key_without_effect_accepts_different_input_as_the_next_generation,
                a_key_without_effect_is_replayed_for_the_same_input,
                an_expired_key_accepts_any_input,
                keys_are_independent,
            ]
            outcomes: [
                an_outcome_is_replayed_unchanged,
                unusual_text_is_stored_unchanged,
                large_text_is_stored_unchanged,
                an_outcome_is_kept_until_it_expires,
                an_expired_outcome_is_absent_everywhere,
                retention_is_clamped_to_the_last_timestamp,
                debug_output_shows_no_stored_data,
            ]
            leases: [
                an_expired_lease_is_taken_over,
                every_takeover_is_counted,
                earlier_attempts_survive_a_takeover,
                a_completion_resets_the_takeover_count,
                an_extension_starts_at_the_current_time,
                an_expired_lease_can_be_extended_until_it_is_taken_over,
                a_lost_lease_is_not_extended,
                epochs_rise_and_start_at_the_current_time,
                an_expired_key_does_not_reuse_an_epoch,
                abandoning_a_key_ends_its_lease_and_is_not_counted_as_a_takeover,
                a_lease_can_have_any_length,
            ]
            completion: [
                a_released_key_remembers_its_attempts,
                a_released_key_remembers_whether_it_may_have_had_an_effect,
                a_late_completion_writes_nothing_while_another_call_runs,
                a_late_completion_returns_the_recorded_outcome,
                a_key_is_completed_once,
                a_completion_after_the_lease_is_accepted_while_its_epoch_is_the_newest,
                a_recording_is_written_with_its_completion_or_not_at_all,
                a_held_key_never_expires,
                a_free_key_expires_after_a_day,
            ]
            reopening: [
                only_a_finished_key_is_reopened,
                a_reopened_key_can_be_claimed_for_the_same_input,
                generations_and_earlier_outcomes_accumulate,
                an_earlier_outcome_records_who_reopened_it_and_why,
                a_reopened_outcome_is_kept_until_it_expires,
                an_expired_key_restarts_at_the_first_generation,
            ]
            recordings: [
                a_recording_is_found_by_its_call,
                a_call_has_one_recording,
                the_newest_recordings_come_first,
                recordings_of_the_same_time_are_ordered_by_arrival,
                recent_recordings_can_be_limited_to_failures,
                no_recording_is_dropped_under_normal_load,
            ]
            counts: [
                counts_of_one_hour_add_up,
                counts_are_ordered_with_success_first,
                counts_can_be_listed_from_an_hour_on,
                a_count_belongs_to_the_hour_of_its_time,
                counts_stop_at_their_limit,
            ]
            sweeping: [
                an_empty_store_has_nothing_to_sweep,
                expired_keys_are_swept,
                keys_in_use_are_not_swept,
                a_sweep_is_bounded_and_the_next_continues,
                old_recordings_and_counts_are_swept,
                sweeping_recordings_and_counts_is_bounded,
                earlier_outcomes_are_swept_with_their_key,
            ]
            documents: [
                a_document_exists_from_creation_to_deletion,
                a_body_is_stored_unchanged,
                a_change_conflicts_unless_its_expectation_is_met,
                a_conflict_changes_nothing_and_names_the_change,
                a_change_sees_earlier_changes_of_its_batch,
                versions_rise_and_are_never_reused,
                an_empty_batch_changes_nothing,
                a_collection_is_listed_in_byte_order_of_ids,
                a_list_continues_after_an_id,
                collections_are_independent,
                only_one_of_many_threads_changes_a_version,
            ]
        }
    };
}

macro_rules! run {
    ($open:expr; $($module:ident: [$($case:ident),* $(,)?])*) => {
        $(mod $module {
            $(
                #[tokio::test]
                async fn $case() {
                    let fixture = crate::support::Fixture::new($open);
                    crate::cases::$module::$case(fixture).await;
                }
            )*
        })*
    };
}

pub(crate) use {all, run};
