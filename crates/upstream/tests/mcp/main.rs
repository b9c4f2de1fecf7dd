//! MCP servers behind operations, as real processes and over real sockets of the loopback interface.
//!
//! This program starts itself as the server that misbehaves. Arguments that are not options choose facts
//! by a part of their name.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]
#![allow(
    clippy::exit,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "it says what it found, and is a server that comes to a bad end"
)]

mod asking;
mod child;
mod fixture;
mod server;
mod sessions;
mod web;

use std::panic::catch_unwind;
use std::process::ExitCode;

/// A table of functions with their names.
macro_rules! by_name {
    ($($fact:path),* $(,)?) => { &[$((stringify!($fact), $fact)),*] };
}

/// What holds.
const FACTS: &[(&str, fn())] = by_name![
    asking::a_question_reaches_the_person_behind_the_call,
    asking::what_could_not_be_asked_stands_in_the_failure,
    asking::a_client_is_asked_for_its_model_and_its_folders_under_the_names_of_the_server,
    asking::a_server_asks_up_to_so_many_rounds,
    asking::nobody_is_asked_a_question_of_another_call,
    asking::one_that_was_given_up_may_still_ask_its_own_caller,
    asking::a_question_is_decided_before_the_answer_after_it,
    asking::the_stream_of_a_call_tells_whom_to_ask,
    asking::a_server_does_not_choose_whom_it_asks,
    asking::a_server_that_asks_reads_what_it_is_answered,
    asking::a_question_before_a_prompt_or_a_resource_reaches_the_person_behind_the_request,
    asking::an_address_that_has_to_be_visited_first_is_asked_for_or_told,
    asking::what_a_client_declares_and_lacks_is_passed_on,
    child::a_child_that_shows_that_it_is_at_work_is_waited_for,
    child::a_reading_tool_that_may_still_answer_is_not_called_again,
    child::what_a_child_gives_beside_a_failure_is_passed_on_without_secrets,
    child::how_long_a_list_stays_fresh_is_known_once_it_was_read,
    child::tools_are_operations,
    child::every_known_shape_of_a_failure_is_typed,
    child::a_child_that_dies_in_a_call_is_told_and_started_again,
    child::a_child_that_keeps_dying_is_left_alone_though_it_answers_in_between,
    child::a_child_that_hangs_is_given_up_and_told_so,
    child::nonsense_between_messages_makes_no_difference,
    child::a_child_that_only_speaks_nonsense_is_given_up,
    child::a_message_without_end_ends_the_connection,
    child::lines_are_read_up_to_their_limits,
    child::lists_are_read_up_to_their_limits,
    child::a_child_that_does_not_start_is_left_alone_for_longer_and_longer,
    child::a_child_that_never_answers_the_handshake_is_given_up,
    child::a_child_that_dies_of_what_it_does_not_know_is_asked_in_the_old_way,
    child::changed_lists_are_noticed,
    child::progress_trace_and_key_are_handed_on,
    child::what_a_child_was_given_stands_in_no_failure,
    child::a_child_inherits_no_secrets,
    child::a_child_ends_with_everything_it_started,
    child::a_closed_child_is_gone_and_stays_so,
    child::a_child_that_does_not_mind_its_end_can_be_killed_at_once,
    child::resources_prompts_and_completion_are_passed_on,
    child::several_servers_are_one_library,
    child::what_a_server_has_is_there_only_for_callers_with_its_scopes,
    sessions::callers_have_sessions_of_their_own,
    sessions::a_shared_session_is_noticed,
    sessions::a_server_without_sessions_is_reached_over_one_connection,
    sessions::no_more_sessions_are_open_than_may_be,
    sessions::a_session_that_is_not_used_ends,
    sessions::all_sessions_end_with_the_server,
    sessions::only_the_owner_hears_that_its_lists_have_changed,
    web::statuses_are_told_apart,
    web::nobody_listens_there,
    web::what_is_wrong_with_an_address_is_told,
    web::an_expired_session_is_renewed_and_the_call_runs_once,
    web::a_refusal_that_speaks_of_sessions_is_one_of_the_call,
    web::an_answer_that_breaks_off_leaves_the_outcome_unknown,
    web::an_answer_without_end_is_not_read,
    web::answers_in_streams_are_read_and_headers_are_sent,
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, way] = arguments.as_slice()
        && command == server::SERVE
    {
        server::serve(way);
        return ExitCode::SUCCESS;
    }
    let parts: Vec<&String> = arguments.iter().filter(|it| !it.starts_with('-')).collect();
    let chosen = |name: &str| parts.is_empty() || parts.iter().any(|part| name.contains(*part));
    let mut failed = 0;
    for (name, fact) in FACTS.iter().filter(|(name, _)| chosen(name)) {
        let holds = catch_unwind(fact).is_ok();
        println!("test {name} ... {}", if holds { "ok" } else { "FAILED" });
        failed += usize::from(!holds);
    }
    match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
