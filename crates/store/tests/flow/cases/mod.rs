//! The cases that every store passes, by topic.

pub(crate) mod execution;
pub(crate) mod random {
    pub(crate) use crate::model::events_in_any_order_follow_the_rules;
}

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
                a_task_that_failed_runs_again_as_a_new_generation,
                cancelling_a_running_task_stops_its_handler,
                another_worker_takes_over_when_a_lease_ends,
                a_caller_sees_only_its_own_tasks,
            ]
            random: [events_in_any_order_follow_the_rules]
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
