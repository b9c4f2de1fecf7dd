//! The cases, by topic.

pub(crate) mod cancellation;
pub(crate) mod crashes;
pub(crate) mod edge_cases;
pub(crate) mod expiry;
pub(crate) mod fencing;
pub(crate) mod in_flight;
pub(crate) mod keys;
pub(crate) mod outages;
pub(crate) mod reopening;
pub(crate) mod replays;
pub(crate) mod retention;
pub(crate) mod sizes;

/// Declares a test for every case, on the store that `$open` opens. A case that is not listed is dead code.
macro_rules! all {
    ($open:expr) => {
        crate::cases::run! { $open;
            keys: [
                a_key_belongs_to_its_caller_and_its_operation,
                a_quoted_key_is_the_same_key,
                a_mutation_that_requires_a_key_is_refused_without_one,
                only_the_operation_and_its_input_identify_a_call,
                different_input_is_refused_if_there_may_have_been_an_effect,
                a_key_can_be_reused_for_corrected_input,
                a_possible_effect_is_remembered_by_its_key,
                a_rejected_input_is_replayed_for_the_same_input,
                the_downstream_key_is_constant_and_does_not_reveal_the_callers_key,
            ]
            in_flight: [
                a_running_call_is_in_flight_with_a_short_retry_delay,
                a_waiting_caller_gets_the_outcome_of_the_running_call,
                a_waiting_caller_waits_until_its_timeout,
                an_abort_ends_the_wait,
                a_waiting_caller_runs_the_call_when_the_key_is_released,
                only_one_of_many_callers_at_many_gateways_runs,
                a_task_gets_the_outcome_of_a_running_call_later,
                a_task_repeats_its_attempts_under_its_key,
            ]
            retention: [
                final_outcomes_and_possible_effects_are_kept,
                the_next_call_continues_the_attempt_count,
                a_refused_call_keeps_nothing,
                a_call_whose_handler_never_ran_is_not_kept,
            ]
            crashes: [
                an_idempotent_call_runs_again_after_a_crash,
                a_crashed_mutation_has_an_unknown_outcome,
                a_crashed_call_is_reconciled_first,
                a_call_is_not_reconciled_without_a_crash,
                a_failed_reconciliation_is_repeated_by_the_next_call,
                a_call_that_crashes_repeatedly_is_given_up,
                a_key_stays_held_during_a_long_reconciliation,
                a_reconciled_output_is_checked_against_the_output_schema,
            ]
            fencing: [
                a_late_call_returns_the_recorded_outcome,
                a_late_call_reports_that_another_call_is_in_flight,
                a_late_call_is_recorded_if_its_lease_was_not_taken_over,
                heartbeats_keep_the_key_of_a_long_call,
                heartbeats_continue_during_a_retry_delay,
                a_call_that_lost_its_lease_stops,
            ]
            expiry: [
                an_outcome_is_kept_for_a_day_from_its_completion,
                a_replay_has_the_same_call_id_and_expiry,
                an_expired_key_is_new_before_it_is_swept,
                expired_keys_are_swept_while_flushing_fails,
                zero_settings_do_not_disable_keys,
                a_held_key_never_expires,
            ]
            replays: [
                an_output_is_replayed_byte_by_byte,
                a_failure_is_replayed_byte_by_byte,
                a_replay_keeps_the_definition_of_its_details,
                a_replay_keeps_the_number_of_attempts,
                a_replay_is_returned_while_the_circuit_is_open,
                a_replay_does_not_add_to_the_retry_budget,
                a_replayed_failure_does_not_count_against_its_upstream,
                a_replay_requires_permission_to_call,
            ]
            outages: [
                no_call_with_a_key_runs_without_the_store,
                an_unwritten_outcome_is_reported_in_time_and_written_later,
                an_outcome_written_while_the_caller_waits_is_returned,
                a_known_outcome_is_written_after_its_lease_expired,
                a_caller_waits_for_a_stuck_store_for_a_bounded_time,
                a_call_waits_for_its_claim_until_its_timeout,
                an_abort_does_not_wait_for_a_stuck_store,
                a_crashed_key_that_is_granted_too_late_is_abandoned_again,
                an_outcome_whose_confirmation_was_lost_is_returned,
                a_closed_store_is_reported_at_once,
            ]
            sizes: [
                an_output_up_to_the_limit_is_replayed_in_full,
                an_output_beyond_the_limit_is_returned_once_and_then_described,
                a_failure_beyond_the_limit_keeps_its_code_and_reports_its_size,
                a_deeply_nested_output_is_replayed,
            ]
            reopening: [
                a_reopened_key_runs_again_as_a_new_generation,
                a_reopened_key_records_who_reopened_it_and_its_earlier_outcome,
                an_unknown_outcome_can_be_reopened,
            ]
            cancellation: [
                a_keyed_call_is_recorded_after_its_caller_left,
                a_drain_waits_for_running_keyed_calls,
                a_call_without_a_key_stops_when_its_caller_leaves,
                a_granted_call_runs_even_if_its_caller_left_during_the_claim,
                a_crashed_key_is_recovered_even_if_the_caller_left_during_the_claim,
                an_abort_of_a_mutation_is_kept,
                an_abort_reports_the_known_effect,
                a_key_aborted_before_any_effect_is_free_again,
                an_abort_after_completion_changes_nothing,
            ]
            edge_cases: [
                a_defect_of_the_handler_is_its_outcome,
                a_mutation_that_times_out_has_an_unknown_outcome,
                an_idempotent_call_that_times_out_releases_its_key,
                an_unknown_outcome_names_the_key_of_its_own_call,
                a_refusal_after_an_attempt_does_not_deny_its_effect,
                an_unreadable_outcome_does_not_run_the_call_again,
                large_and_deeply_nested_inputs_are_distinguished,
                a_nested_call_is_keyed_under_the_identity_of_its_operation,
                a_nested_call_ends_with_its_operation_and_is_recorded,
                a_keyed_call_of_an_unknown_operation_keeps_nothing,
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
                    let storage = crate::support::Storage::new($open);
                    let case = crate::cases::$module::$case(storage);
                    let limit = std::time::Duration::from_secs(30);
                    tokio::time::timeout(limit, case).await.expect("the case takes too long");
                }
            )*
        })*
    };
}

pub(crate) use {all, run};
