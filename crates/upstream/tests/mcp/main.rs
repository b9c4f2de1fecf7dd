//! MCP servers behind operations, as real processes and over real sockets on the loopback
//! interface.
//!
//! This program starts itself as the misbehaving server. Arguments that are not options select
//! tests by a part of their name.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]
#![allow(
    clippy::exit,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "it prints its results, and is a server that exits early"
)]

mod effects;
mod fixture;
mod http;
mod input_requests;
mod server;
mod sessions;
mod stdio;

use std::panic::catch_unwind;
use std::process::ExitCode;

/// A table of functions with their names.
macro_rules! by_name {
    ($($test:path),* $(,)?) => { &[$((stringify!($test), $test)),*] };
}

/// All tests.
const TESTS: &[(&str, fn())] = by_name![
    effects::a_write_is_not_repeated_because_of_a_call_inside_it,
    effects::a_call_is_repeatable_if_that_is_harmless,
    effects::a_refused_write_did_nothing,
    effects::a_text_about_another_service_opens_no_circuit,
    input_requests::an_elicitation_reaches_the_client_of_the_call,
    input_requests::an_unanswered_elicitation_is_in_the_failure,
    input_requests::sampling_and_roots_reach_the_client_under_the_names_of_the_server,
    input_requests::the_number_of_rounds_is_limited,
    input_requests::an_ambiguous_elicitation_reaches_no_client,
    input_requests::an_abandoned_call_may_still_ask_its_own_caller,
    input_requests::an_elicitation_is_routed_before_the_response_after_it,
    input_requests::an_elicitation_is_routed_by_the_stream_of_its_call,
    input_requests::a_server_cannot_choose_whom_it_asks,
    input_requests::a_server_that_does_not_read_responses_is_disconnected,
    input_requests::an_elicitation_before_a_prompt_or_resource_reaches_the_client,
    input_requests::a_required_url_elicitation_is_forwarded_or_reported,
    input_requests::client_extensions_and_missing_capabilities_are_passed_on,
    stdio::progress_extends_the_timeout_of_an_attempt,
    stdio::a_read_only_call_is_not_repeated_while_it_may_still_respond,
    stdio::content_beside_a_failure_is_passed_on_redacted,
    stdio::the_freshness_of_a_list_is_known_after_reading_it,
    stdio::tools_are_operations,
    stdio::every_known_error_shape_is_classified,
    stdio::a_child_that_exits_during_a_call_is_reported_and_restarted,
    stdio::a_child_that_keeps_exiting_gets_a_backoff_despite_responses_in_between,
    stdio::a_call_that_hangs_times_out_and_is_cancelled,
    stdio::invalid_lines_between_messages_are_skipped,
    stdio::a_child_that_sends_only_invalid_lines_is_disconnected,
    stdio::an_endless_message_ends_the_connection,
    stdio::lines_are_read_up_to_their_limits,
    stdio::lists_are_read_up_to_their_limits,
    stdio::a_child_that_does_not_start_gets_a_growing_backoff,
    stdio::a_handshake_without_response_times_out,
    stdio::a_child_that_exits_on_unknown_methods_gets_the_older_handshake,
    stdio::changed_lists_are_reported,
    stdio::progress_trace_and_key_are_passed_on,
    stdio::secrets_of_a_child_are_redacted_in_failures,
    stdio::a_child_inherits_no_secrets,
    stdio::a_child_ends_with_everything_it_started,
    stdio::a_closed_child_is_not_started_again,
    stdio::a_child_that_ignores_its_end_can_be_killed,
    stdio::resources_prompts_and_completion_are_passed_on,
    stdio::several_servers_are_merged,
    stdio::resources_and_prompts_are_visible_only_with_the_scopes_of_their_server,
    sessions::callers_have_their_own_sessions,
    sessions::a_shared_session_shares_state,
    sessions::a_stateless_server_is_reached_over_one_connection,
    sessions::the_number_of_sessions_is_limited,
    sessions::an_idle_session_is_closed,
    sessions::closing_the_server_closes_all_sessions,
    sessions::only_the_owner_is_notified_of_its_changed_lists,
    http::http_statuses_are_classified,
    http::a_refused_connection_is_classified,
    http::a_wrong_address_is_explained,
    http::an_expired_session_is_renewed_and_the_call_runs_once,
    http::an_error_that_mentions_sessions_belongs_to_the_call,
    http::a_response_that_is_cut_off_leaves_the_outcome_unknown,
    http::an_endless_response_is_not_read,
    http::responses_in_event_streams_are_read_and_headers_are_sent,
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, behaviour] = arguments.as_slice()
        && command == server::SERVE
    {
        match behaviour.as_str() {
            effects::COUNTING => effects::serve(),
            behaviour => server::serve(behaviour),
        }
        return ExitCode::SUCCESS;
    }
    let parts: Vec<&String> = arguments.iter().filter(|it| !it.starts_with('-')).collect();
    let selected = |name: &str| parts.is_empty() || parts.iter().any(|part| name.contains(*part));
    let mut failed = 0;
    for (name, test) in TESTS.iter().filter(|(name, _)| selected(name)) {
        let passed = catch_unwind(test).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        failed += usize::from(!passed);
    }
    match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
