//! Stage decide: whether to answer after an attempt, retry now, or retry later.
//!
//! Knows policies, deadlines and stated delays. Does not sleep and does not call handlers. Calls wait inline,
//! tasks durably; both use this function.

use jiff::Timestamp;
use panpan_contract::retry::{
    Attempt, Decision, RetryPolicy, StopReason, Terms, Waiting, delay_ms,
};
use panpan_failure::{Category, Effect};

use crate::time::later;

/// Decides what follows the last attempt of a history.
///
/// `budget_allows` is called last, so that only a retry that takes place is taken from the budget.
pub fn decide(
    history: &[Attempt],
    now: Timestamp,
    seed: i64,
    terms: Terms,
    budget_allows: impl FnOnce() -> bool,
) -> Decision {
    let Some(last) = history.last() else {
        return Decision::Again { delay_ms: 0 };
    };
    if let Some(why) = forbidden(last, terms) {
        return Decision::Answer(why);
    }
    let policy = terms
        .policy
        .unwrap_or_else(|| RetryPolicy::for_category(last.category));
    let retries = retries_so_far(history, terms, last.category);
    if retries >= policy.max_retries() {
        return Decision::Answer(StopReason::AttemptsSpent);
    }
    let delay = delay_ms(&policy, retries, seed).max(last.hint_ms.unwrap_or_default());
    if let Some(why) = too_long(delay, last, &policy, now, terms) {
        return Decision::Answer(why);
    }
    if !budget_allows() {
        return Decision::Answer(StopReason::BudgetSpent);
    }
    match terms.waiting {
        Waiting::Inline => Decision::Again { delay_ms: delay },
        Waiting::Durable => Decision::Later(later(now, delay)),
    }
}

fn forbidden(last: &Attempt, terms: Terms) -> Option<StopReason> {
    if !last.retryable {
        return Some(StopReason::NotRetryable);
    }
    let may_have_happened = last.effect != Effect::None || last.effect_only_said;
    if may_have_happened && !terms.repeatable {
        return Some(StopReason::MayHaveHappened);
    }
    if last.refused_retry {
        return Some(StopReason::RefusedRetry);
    }
    if last.refused_by_circuit && terms.waiting == Waiting::Inline {
        return Some(StopReason::CircuitOpen);
    }
    if terms
        .categories
        .is_some_and(|categories| !categories.contains(last.category))
    {
        return Some(StopReason::CategoryOff);
    }
    last.retried_inside.then_some(StopReason::RetriedInside)
}

/// How many retries count against the policy: all under a policy of the operation, otherwise those that failed
/// in the same category, since each category has its own policy.
fn retries_so_far(history: &[Attempt], terms: Terms, category: Category) -> u32 {
    let counts = |attempt: &&Attempt| terms.policy.is_some() || attempt.category == category;
    let failed = history.iter().filter(counts).count();
    u32::try_from(failed.saturating_sub(1)).unwrap_or(u32::MAX)
}

fn too_long(
    delay_ms: u64,
    last: &Attempt,
    policy: &RetryPolicy,
    now: Timestamp,
    terms: Terms,
) -> Option<StopReason> {
    let hint_ms = last.hint_ms.unwrap_or_default();
    if terms.waiting == Waiting::Inline && hint_ms > policy.max_delay_ms() {
        return Some(StopReason::HintTooLong);
    }
    let next_at = later(now, delay_ms);
    if terms.deadline.is_some_and(|deadline| next_at >= deadline) {
        return Some(StopReason::DeadlineTooNear);
    }
    let patient_until = terms
        .patient_until
        .filter(|_| terms.waiting == Waiting::Inline);
    // The next attempt has to end within the patience, too.
    let next_end = later(next_at, last.took_ms);
    let is_late = patient_until.is_some_and(|until| next_end > until);
    is_late.then_some(StopReason::PatienceSpent)
}

#[cfg(test)]
mod tests {
    use panpan_contract::retry::Categories;
    use panpan_failure::{Failure, Repeat, codes};

    use super::*;

    const SEED: i64 = 42;

    fn failed(entry: &'static panpan_failure::catalogue::Entry) -> Attempt {
        Attempt::of(&Failure::new(entry))
    }

    fn terms() -> Terms {
        Terms {
            policy: None,
            categories: None,
            repeatable: true,
            deadline: None,
            patient_until: None,
            waiting: Waiting::Inline,
        }
    }

    fn decided(history: &[Attempt], terms: Terms) -> Decision {
        decide(history, Timestamp::UNIX_EPOCH, SEED, terms, || true)
    }

    #[test]
    fn delays_follow_the_formula() {
        let mut history = Vec::new();
        for delay_ms in [965, 1806, 4243] {
            history.push(failed(codes::ERR_HTTP_429_RATE_LIMITED));
            assert_eq!(decided(&history, terms()), Decision::Again { delay_ms });
        }
        history.push(failed(codes::ERR_HTTP_429_RATE_LIMITED));
        assert_eq!(
            decided(&history, terms()),
            Decision::Answer(StopReason::AttemptsSpent)
        );
    }

    #[test]
    fn a_failure_that_is_not_retryable_is_not_retried() {
        for entry in [
            codes::ERR_HTTP_404_NOT_FOUND,
            codes::ERR_SSL_ERROR,
            codes::INTERNAL,
            codes::ERR_OUTCOME_UNKNOWN,
        ] {
            assert_eq!(
                decided(&[failed(entry)], terms()),
                Decision::Answer(StopReason::NotRetryable),
                "{}",
                entry.code
            );
        }
    }

    #[test]
    fn a_call_that_may_have_taken_effect_is_retried_only_if_that_is_harmless() {
        let harmful = Terms {
            repeatable: false,
            ..terms()
        };
        for (entry, repeated) in [
            (codes::ERR_HTTP_429_RATE_LIMITED, true),
            (codes::ERR_CONNECTION_REFUSED, true),
            (codes::ERR_HTTP_500_SERVER_ERROR, false),
            (codes::TIMEOUT, false),
        ] {
            let again = matches!(decided(&[failed(entry)], harmful), Decision::Again { .. });
            assert_eq!(again, repeated, "{}", entry.code);
            assert!(matches!(
                decided(&[failed(entry)], terms()),
                Decision::Again { .. }
            ));
        }
    }

    #[test]
    fn a_stated_delay_is_respected_up_to_the_maximum_of_the_policy() {
        let hinted = |hint_ms| Attempt {
            hint_ms: Some(hint_ms),
            ..failed(codes::ERR_HTTP_429_RATE_LIMITED)
        };
        for (hint_ms, decision) in [
            (10, Decision::Again { delay_ms: 965 }),
            (7000, Decision::Again { delay_ms: 7000 }),
            (30_000, Decision::Again { delay_ms: 30_000 }),
            (30_001, Decision::Answer(StopReason::HintTooLong)),
            (u64::MAX, Decision::Answer(StopReason::HintTooLong)),
        ] {
            assert_eq!(decided(&[hinted(hint_ms)], terms()), decision, "{hint_ms}");
        }
    }

    #[test]
    fn a_durable_wait_respects_any_stated_delay() {
        let durable = Terms {
            waiting: Waiting::Durable,
            ..terms()
        };
        let hinted = Attempt {
            hint_ms: Some(3_600_000),
            ..failed(codes::ERR_HTTP_429_RATE_LIMITED)
        };
        let in_an_hour = Timestamp::from_second(3600).unwrap();
        assert_eq!(decided(&[hinted], durable), Decision::Later(in_an_hour));
        let endless = Attempt {
            hint_ms: Some(u64::MAX),
            ..failed(codes::ERR_HTTP_429_RATE_LIMITED)
        };
        assert_eq!(
            decided(&[endless], durable),
            Decision::Later(Timestamp::MAX)
        );
    }

    #[test]
    fn there_is_no_retry_after_the_deadline() {
        let until = |milliseconds| Terms {
            deadline: Timestamp::from_millisecond(milliseconds).ok(),
            ..terms()
        };
        let history = [failed(codes::ERR_HTTP_503_UNAVAILABLE)];
        assert_eq!(
            decided(&history, until(97)),
            Decision::Again { delay_ms: 96 }
        );
        assert_eq!(
            decided(&history, until(96)),
            Decision::Answer(StopReason::DeadlineTooNear)
        );
    }

    #[test]
    fn a_mutation_is_not_retried_because_an_error_text_claims_no_effect() {
        let claimed = [Attempt {
            effect: Effect::None,
            effect_only_said: true,
            ..failed(codes::ERR_HTTP_500_SERVER_ERROR)
        }];
        let change = Terms {
            repeatable: false,
            ..terms()
        };
        let refused = Decision::Answer(StopReason::MayHaveHappened);
        assert_eq!(decided(&claimed, change), refused);
        assert!(matches!(decided(&claimed, terms()), Decision::Again { .. }));
    }

    #[test]
    fn there_is_no_retry_after_the_patience() {
        let until = |milliseconds| Terms {
            patient_until: Timestamp::from_millisecond(milliseconds).ok(),
            ..terms()
        };
        let history = [failed(codes::ERR_HTTP_503_UNAVAILABLE)];
        let spent = Decision::Answer(StopReason::PatienceSpent);
        let again = Decision::Again { delay_ms: 96 };
        assert_eq!(decided(&history, until(96)), again);
        assert_eq!(decided(&history, until(95)), spent);
        let hinted = [Attempt {
            hint_ms: Some(7000),
            ..failed(codes::ERR_HTTP_429_RATE_LIMITED)
        }];
        assert_eq!(decided(&hinted, until(4000)), spent);
        // The duration of the attempts counts too.
        let late = Timestamp::from_millisecond(4000).unwrap();
        let decision = decide(&history, late, SEED, until(4000), || true);
        assert_eq!(decision, spent);
        let durable = Terms {
            waiting: Waiting::Durable,
            ..until(95)
        };
        assert!(matches!(decided(&history, durable), Decision::Later(_)));
    }

    #[test]
    fn only_the_chosen_categories_are_retried() {
        let only_network = Terms {
            categories: Some(Categories::from_iter([Category::Network])),
            ..terms()
        };
        for (entry, decision) in [
            (codes::ERR_SOCKET_ERROR, Decision::Again { delay_ms: 96 }),
            (
                codes::ERR_HTTP_503_UNAVAILABLE,
                Decision::Answer(StopReason::CategoryOff),
            ),
            (
                codes::ERR_HTTP_404_NOT_FOUND,
                Decision::Answer(StopReason::NotRetryable),
            ),
        ] {
            let found = decided(&[failed(entry)], only_network);
            assert_eq!(found, decision, "{}", entry.code);
        }
    }

    #[test]
    fn only_a_durable_wait_outlasts_an_open_circuit() {
        let refused = [Attempt {
            refused_by_circuit: true,
            hint_ms: Some(1),
            ..failed(codes::ERR_CIRCUIT_OPEN)
        }];
        assert_eq!(
            decided(&refused, terms()),
            Decision::Answer(StopReason::CircuitOpen)
        );
        let durable = Terms {
            waiting: Waiting::Durable,
            ..terms()
        };
        assert!(matches!(decided(&refused, durable), Decision::Later(_)));
    }

    #[test]
    fn attempts_are_counted_per_category_unless_the_operation_has_a_policy() {
        let history = [
            failed(codes::ERR_HTTP_503_UNAVAILABLE),
            failed(codes::ERR_TIMEOUT),
        ];
        assert_eq!(
            decided(&history, terms()),
            Decision::Again { delay_ms: 193 }
        );
        let own = Terms {
            policy: Some(RetryPolicy::DEFAULT),
            ..terms()
        };
        assert_eq!(decided(&history, own), Decision::Again { delay_ms: 180 });
    }

    #[test]
    fn a_failure_that_the_upstream_retried_is_not_retried_again() {
        let inside = Attempt {
            retried_inside: true,
            ..failed(codes::ERR_HTTP_503_UNAVAILABLE)
        };
        assert_eq!(
            decided(&[inside], terms()),
            Decision::Answer(StopReason::RetriedInside)
        );
    }

    #[test]
    fn a_service_that_refuses_retries_is_not_retried() {
        let failure = Failure::new(codes::ERR_HTTP_503_UNAVAILABLE);
        for (repeat, expected) in [
            (Repeat::Refused, Decision::Answer(StopReason::RefusedRetry)),
            (Repeat::Allowed, Decision::Again { delay_ms: 96 }),
        ] {
            let attempt = Attempt::of(&failure.clone().with_repeat(repeat));
            assert_eq!(decided(&[attempt], terms()), expected, "{repeat:?}");
        }
    }

    #[test]
    fn the_budget_is_asked_last() {
        let asked = std::cell::Cell::new(0);
        let ask = |history: &[Attempt]| {
            decide(history, Timestamp::UNIX_EPOCH, SEED, terms(), || {
                asked.set(asked.get() + 1);
                false
            })
        };
        assert_eq!(
            ask(&[failed(codes::INTERNAL)]),
            Decision::Answer(StopReason::NotRetryable)
        );
        assert_eq!(asked.get(), 0);
        assert_eq!(
            ask(&[failed(codes::ERR_TIMEOUT)]),
            Decision::Answer(StopReason::BudgetSpent)
        );
        assert_eq!(asked.get(), 1);
    }

    #[test]
    fn the_first_attempt_has_no_delay() {
        assert_eq!(decided(&[], terms()), Decision::Again { delay_ms: 0 });
    }
}
