//! The cases every store passes, by what they are about.

pub(crate) mod claims;
pub(crate) mod counts;
pub(crate) mod documents;
pub(crate) mod endings;
pub(crate) mod leases;
pub(crate) mod outcomes;
pub(crate) mod recordings;
pub(crate) mod reopening;
pub(crate) mod sweeping;

/// A test for every case, on the store that `$open` opens. A case that is not listed is dead code.
macro_rules! all {
    ($open:expr) => {
        crate::cases::run! { $open;
            claims: [
                of_many_threads_one_holds_a_key,
                a_new_key_is_held_after_nothing,
                a_held_key_is_in_flight_for_what_is_left_of_its_lease,
                other_input_is_found_before_the_state,
                a_key_without_an_effect_takes_other_input_as_its_next_generation,
                a_key_without_an_effect_is_replayed_to_its_own_input,
                a_forgotten_key_takes_any_input,
                keys_do_not_touch_each_other,
            ]
            outcomes: [
                an_outcome_is_replayed_as_it_was_written,
                odd_text_comes_back_as_it_went_in,
                some_megabytes_come_back_as_they_went_in,
                an_outcome_is_there_until_it_expires,
                an_expired_outcome_is_absent_everywhere,
                the_longest_keeping_ends_with_time_itself,
                no_debug_form_shows_what_is_stored,
            ]
            leases: [
                a_lease_that_ran_out_is_taken_over,
                every_takeover_is_counted,
                attempts_of_before_are_remembered_over_a_takeover,
                takeovers_are_counted_anew_after_a_word,
                an_extended_lease_lasts_from_its_extension,
                a_lease_that_ran_out_can_be_extended_until_it_is_taken_over,
                a_lost_lease_is_not_extended,
                epochs_rise_and_begin_at_the_time,
                an_epoch_does_not_come_back_with_a_forgotten_key,
                what_stays_unclear_is_abandoned_at_once_and_not_counted,
                a_lease_may_be_of_any_length,
            ]
            endings: [
                a_released_key_remembers_its_attempts,
                a_released_key_remembers_whether_something_may_have_happened,
                a_late_end_writes_nothing_while_another_works,
                a_late_end_is_told_the_outcome_there_is,
                an_end_is_taken_once,
                an_end_after_the_lease_ran_out_counts_while_it_is_the_newest,
                a_recording_is_written_with_the_end_or_not_at_all,
                a_held_key_never_expires,
                a_free_key_is_forgotten_after_a_day,
            ]
            reopening: [
                only_a_finished_key_is_reopened,
                a_reopened_key_is_free_for_the_same_input,
                generations_and_earlier_outcomes_add_up,
                an_earlier_outcome_says_who_reopened_it_and_why,
                a_reopened_outcome_is_not_forgotten_before_its_time,
                a_forgotten_key_begins_again_at_the_first_generation,
            ]
            recordings: [
                a_recording_is_found_by_its_call,
                a_call_has_one_recording,
                the_newest_recordings_come_first,
                at_the_same_time_the_last_noted_is_the_newest,
                only_failed_recordings_if_asked_for,
                nothing_is_dropped_in_good_times,
            ]
            counts: [
                counts_of_one_hour_add_up,
                counts_are_ordered_with_success_first,
                counts_are_told_from_an_hour_on,
                a_count_belongs_to_the_hour_it_lies_in,
                counts_stop_at_their_limit,
            ]
            sweeping: [
                an_empty_store_has_nothing_to_sweep,
                what_nobody_can_ask_for_is_swept,
                what_somebody_can_ask_for_is_not_swept,
                a_sweep_is_bounded_and_the_next_goes_on,
                recordings_and_counts_from_before_are_swept,
                sweeping_recordings_and_counts_is_bounded,
                earlier_outcomes_are_swept_with_their_key,
            ]
            documents: [
                a_document_is_there_once_it_was_made,
                a_body_comes_back_as_it_went_in,
                a_change_finds_what_it_expects_or_conflicts,
                a_conflict_changes_nothing_and_names_the_change,
                changes_see_those_before_them,
                versions_rise_and_are_never_given_twice,
                an_empty_batch_changes_nothing,
                a_collection_is_listed_by_the_bytes_of_its_ids,
                a_list_goes_on_behind_an_id,
                collections_do_not_touch_each_other,
                of_many_threads_one_changes_a_version,
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
                    let bench = crate::support::Bench::new($open);
                    crate::cases::$module::$case(bench).await;
                }
            )*
        })*
    };
}

pub(crate) use {all, run};
