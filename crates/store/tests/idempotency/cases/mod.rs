//! The cases, by what they are about; each module names the behaviours it is for.

pub(crate) mod crashes;
pub(crate) mod expiry;
pub(crate) mod fencing;
pub(crate) mod frozen;
pub(crate) mod in_flight;
pub(crate) mod keys;
pub(crate) mod leaving;
pub(crate) mod oddities;
pub(crate) mod outages;
pub(crate) mod reopening;
pub(crate) mod replays;
pub(crate) mod sizes;

/// A test for every case, on the store that `$open` opens. A case that is not listed is dead code.
macro_rules! all {
    ($open:expr) => {
        crate::cases::run! { $open;
            keys: [
                a_key_belongs_to_its_caller_and_its_operation,
                a_key_in_quotes_is_the_same_key,
                a_call_that_may_do_harm_needs_its_key,
                nothing_but_the_operation_and_its_input_counts,
                other_input_is_refused_first_where_there_may_have_been_an_effect,
                a_key_survives_a_correction,
                a_key_never_forgets_that_something_may_have_happened,
                what_was_refused_is_replayed_to_the_same_input,
                the_key_handed_on_is_constant_and_says_nothing_of_the_callers_own,
            ]
            in_flight: [
                a_running_call_is_in_flight_and_asked_for_again_soon,
                who_waits_gets_the_outcome_of_the_other,
                who_waits_does_so_no_longer_than_it_said,
                who_waits_and_is_aborted_waits_no_more,
                who_waits_runs_it_when_the_other_set_the_key_free,
                of_many_callers_at_many_gateways_one_runs,
            ]
            frozen: [
                what_repeating_cannot_or_must_not_change_is_kept,
                attempts_are_counted_on_by_the_next_call,
                everything_is_kept_where_that_is_chosen,
                nothing_is_kept_of_a_call_that_was_refused,
                a_call_whose_work_never_began_is_not_kept_even_where_all_is,
            ]
            crashes: [
                work_that_does_no_harm_runs_again,
                of_work_that_may_do_harm_nobody_knows_and_that_is_its_outcome,
                who_can_be_asked_is_asked_first,
                nobody_is_asked_without_a_crash,
                who_cannot_say_today_is_asked_again_tomorrow,
                what_ends_its_worker_again_and_again_is_given_up,
                a_key_stays_held_while_somebody_is_asked_for_long,
                what_was_found_is_held_against_the_output_schema_at_once,
            ]
            fencing: [
                a_late_worker_answers_what_is_recorded,
                a_late_worker_hears_that_another_is_at_work,
                a_worker_nobody_took_over_from_still_counts,
                signs_of_life_keep_the_key_of_long_work,
                signs_of_life_go_on_while_a_retry_is_waited_for,
                a_worker_that_finds_its_key_lost_stops,
            ]
            expiry: [
                an_outcome_is_kept_for_a_day_from_its_completion,
                first_answer_and_replay_say_the_same_about_themselves,
                an_expired_key_is_new_though_nobody_swept_it,
                what_expired_is_swept_even_while_nothing_can_be_flushed,
                settings_of_nothing_do_not_defeat_a_key,
                a_key_that_is_held_never_expires,
            ]
            replays: [
                an_output_is_replayed_byte_by_byte,
                a_failure_is_replayed_byte_by_byte,
                details_that_were_checked_stay_so_in_the_replay,
                an_answer_after_retries_is_replayed_with_their_number,
                a_replay_is_given_while_the_circuit_is_open,
                a_replay_earns_no_retries,
                a_replayed_failure_does_not_count_against_its_upstream,
                a_replay_needs_the_right_to_call,
            ]
            outages: [
                nothing_that_may_do_harm_runs_without_the_store,
                work_without_the_store_hands_on_the_same_key,
                an_outcome_that_is_not_written_is_told_in_time_and_written_later,
                an_outcome_written_while_the_caller_waits_is_its_answer,
                a_known_outcome_is_not_lost_because_its_lease_was_over,
                a_caller_does_not_wait_for_a_stuck_store_beyond_its_time,
                a_call_does_not_wait_for_a_stuck_store_to_begin,
                an_abort_does_not_wait_for_a_stuck_store,
                a_crashed_key_granted_too_late_is_left_as_it_was,
                an_outcome_whose_confirmation_was_lost_is_still_the_answer,
                a_store_that_closed_for_good_is_told_at_once,
            ]
            sizes: [
                an_output_up_to_the_limit_is_replayed_whole,
                a_larger_output_is_given_once_and_then_only_described,
                a_larger_failure_keeps_its_code_and_says_what_is_missing,
                a_deep_output_is_given_each_time_as_a_value,
            ]
            reopening: [
                a_reopened_key_runs_once_more_as_a_new_generation,
                who_reopened_a_key_and_what_it_gave_before_can_be_read,
                an_unknown_outcome_can_be_reopened_by_whoever_looked,
            ]
            leaving: [
                a_keyed_call_nobody_waits_for_still_reaches_its_record,
                a_drained_house_has_recorded_what_it_began,
                a_call_without_a_key_stops_with_its_caller,
                a_call_that_was_let_through_runs_even_if_its_caller_left_while_claiming,
                a_crashed_key_is_recovered_even_if_the_caller_left_while_claiming,
                an_abort_is_kept_where_repeating_might_do_harm,
                an_abort_says_what_it_knows_of_the_effect,
                what_was_aborted_before_anything_happened_is_free_again,
                an_abort_after_the_end_changes_nothing,
            ]
            oddities: [
                a_defect_of_the_work_is_its_outcome,
                work_that_runs_out_of_time_may_have_happened,
                work_that_can_be_repeated_and_runs_out_of_time_is_free_again,
                an_unknown_outcome_names_the_key_of_its_own_call,
                a_refusal_after_an_attempt_does_not_deny_its_effect,
                an_outcome_that_cannot_be_read_is_no_reason_to_run,
                a_large_and_deep_input_is_told_from_another,
                a_call_by_an_operation_is_keyed_under_its_authority,
                a_call_by_an_operation_ends_with_it_and_is_recorded,
                a_keyed_call_of_what_is_not_there_keeps_nothing,
            ]
        }
    };
}

macro_rules! run {
    ($open:expr; $($module:ident: [$($case:ident),* $(,)?])*) => {
        $(mod $module {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let bench = crate::support::Bench::new($open);
                    let case = crate::cases::$module::$case(bench);
                    let patience = std::time::Duration::from_secs(30);
                    tokio::time::timeout(patience, case).await.expect("the case ends");
                }
            )*
        })*
    };
}

pub(crate) use {all, run};
