//! The cases that every store passes, by topic.

pub(crate) mod authority;
pub(crate) mod copies;
pub(crate) mod execution;
pub(crate) mod holding;
pub(crate) mod large;
pub(crate) mod limits;
pub(crate) mod queries;
pub(crate) mod random {
    pub(crate) use crate::model::events_in_any_order_follow_the_rules;
}
pub(crate) mod refusals;
pub(crate) mod running;
pub(crate) mod sources;
pub(crate) mod updates;
pub(crate) mod webhooks;

/// Declares a test for every case, on the store that `$open` opens. A case that is not listed is dead code.
macro_rules! all {
    ($open:expr) => {
        crate::cases::run! { $open;
            execution: [
                a_task_runs_its_operation_and_keeps_the_result,
                dependencies_run_before_dependents,
                a_failed_required_dependency_blocks_its_dependents,
                an_optional_dependency_may_fail,
                inputs_refer_to_results_of_dependencies,
                urgent_tasks_run_first,
                a_failure_is_retried_with_durable_waits,
                a_retry_waits_by_the_clock_of_the_store,
                a_task_that_failed_runs_again_as_a_new_generation,
                cancelling_a_running_task_stops_its_handler,
                another_worker_takes_over_when_a_lease_ends,
                a_worker_of_one_flow_leaves_the_others,
                a_caller_sees_only_its_own_tasks,
                inputs_may_be_the_result_of_another_task,
                a_failure_names_the_key_that_was_sent,
                an_execution_names_tasks_that_may_have_taken_effect,
            ]
            random: [events_in_any_order_follow_the_rules]
            refusals: [
                an_id_is_used_once,
                a_cycle_is_named,
                references_between_tasks_have_to_exist,
                a_method_has_to_exist,
                a_task_cannot_call_an_operation_on_tasks,
                a_malformed_member_is_described,
                inputs_match_the_schema_of_the_task,
                inputs_match_the_schema_of_the_operation,
                a_duplicate_id_fails_alone,
                an_origin_has_to_be_complete_and_completed,
                only_a_pending_task_without_others_is_deleted,
                a_method_may_be_the_name_of_a_tool,
                all_problems_are_reported_together,
                an_id_that_was_never_stored_is_not_named,
                options_of_the_call_are_checked_when_the_task_is_created,
                members_of_a_task_are_not_beside_a_list,
                literal_inputs_are_checked_beside_references,
                a_task_that_others_used_is_kept_by_them,
            ]
            queries: [
                a_list_is_filtered_and_paged,
                an_offset_is_a_whole_number,
                a_tree_nests_all_descendants,
                children_are_only_the_direct_ones,
                statistics_count_by_status,
                a_summary_has_no_inputs_and_no_results,
                a_list_ends_before_it_becomes_too_large,
                the_deepest_tree_can_be_read_by_common_parsers,
            ]
            authority: [
                an_owner_executes_with_the_scopes_of_now,
                tasks_that_others_add_belong_to_the_owner_of_the_flow,
                a_change_is_checked_against_the_authority_of_the_flow,
                a_task_of_a_caller_without_a_token_is_not_run,
                a_refused_copy_names_the_original,
            ]
            limits: [
                a_flow_runs_only_so_many_tasks_at_once,
                a_caller_leaves_places_to_others,
                an_operation_runs_only_so_often_at_once,
                tasks_behind_a_full_flow_are_found_without_reading_it_again,
                a_task_that_was_set_aside_is_cancelled_and_changed_like_others,
                a_new_flow_does_not_overtake_one_that_is_set_aside,
                priorities_are_strict_among_tasks_that_may_run,
                a_worker_without_limits_is_noticed,
                a_worker_without_priorities_is_noticed,
            ]
            updates: [
                a_pending_task_runs_as_it_was_changed,
                all_malformed_updates_are_reported,
                a_running_task_is_not_changed,
                an_ended_task_keeps_its_dependencies,
                changed_dependencies_are_checked_and_waited_for,
                changed_inputs_and_methods_are_checked,
            ]
            webhooks: [
                a_webhook_learns_how_the_flow_rests,
                a_message_is_sent_again_with_the_same_id,
                a_message_survives_the_end_of_its_process,
                a_refused_message_fails_alone,
                every_rest_is_a_message,
                a_flow_rests_when_its_last_ready_task_is_deleted,
                a_flow_rests_when_its_last_ready_task_has_to_wait,
                a_flow_rests_when_a_dependency_is_pending_again,
                tasks_that_were_never_executed_send_no_message,
                messages_do_not_keep_a_task_from_being_deleted,
                only_the_engine_makes_messages,
                a_message_is_not_changed_and_sent_only_so_often,
                a_malformed_webhook_is_described,
            ]
            copies: [
                a_copy_of_a_task_is_a_new_flow,
                a_copy_with_children_refers_to_the_copies,
                a_copy_cannot_refer_to_tasks_outside,
                a_link_has_the_result_of_its_original,
                a_link_fails_without_its_original,
                an_archive_is_never_changed,
                an_archive_keeps_what_its_original_had,
                an_archive_in_a_flow_is_a_dependency_with_a_result,
                a_task_that_was_changed_since_it_completed_is_not_archived,
                a_task_with_references_is_linked_and_archived_alone,
                flows_that_rest_for_long_are_deleted,
                many_flows_are_deleted_in_batches,
            ]
            sources: [
                a_task_waits_for_a_process_with_its_operation,
                a_task_runs_when_its_source_is_back,
                a_task_whose_operation_nobody_offers_fails_in_the_end,
                a_new_process_gives_its_sources_time,
                tasks_of_a_busy_process_do_not_fail_elsewhere,
                a_message_waits_for_a_process_with_webhooks,
                tasks_behind_those_of_others_are_found_without_reading_them_again,
            ]
            large: [
                one_claim_reads_only_so_much,
                tasks_of_an_owner_have_only_so_many_bytes_at_once,
                a_summary_reads_only_so_much,
                a_copy_has_only_so_many_tasks_and_bytes,
                generations_are_answered_in_parts,
                only_the_newest_generations_are_kept,
                a_task_that_refers_to_too_much_fails_alone,
                a_deep_result_is_read_back,
                an_unreadable_result_does_not_hide_other_tasks,
            ]
            holding: [
                a_task_that_was_cancelled_elsewhere_stops_soon,
                progress_is_written_long_before_the_lease_ends,
                a_handler_that_panics_ends_its_task,
            ]
            running: [
                two_flows_take_turns,
                a_deep_flow_takes_turns_with_a_wide_one,
                a_task_without_an_operation_completes,
                a_result_is_always_an_object,
                a_reference_to_a_failed_optional_dependency_is_null,
                a_late_end_of_a_cancelled_task_is_discarded,
                a_task_that_stops_every_process_ends,
                progress_is_stored_with_the_heartbeat,
                leases_are_extended_while_other_tasks_end,
                an_idle_worker_writes_nothing,
                cancelling_the_last_task_ends_the_journal,
                a_reader_learns_of_events_that_are_gone,
                an_execution_is_followed_to_its_own_end,
                a_reader_who_knows_the_last_event_is_not_kept_waiting,
                a_reader_with_a_number_of_another_flow_gets_all_events,
                the_events_of_a_deleted_flow_end,
                blocked_tasks_that_join_a_flow_at_rest_end_its_stream,
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
