//! One attempt of a task: through the stages like any call, but its owner waits between attempts and keeps the outcome.
//!
//! A task with a key shares the claim of the key with direct calls: the first of them runs, and the other one gets its
//! outcome.

use std::sync::Arc;

use panpan_contract::retry::Attempt;
use panpan_failure::codes;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::Dispatcher;
use super::answer::{Answer, Reply, TaskAttempt};
use super::attempt_loop::{self, Finished};
use super::claim::{Claimed, Grant, KeyCheck, Keyed, check_key, claim};
use super::recover::{Recovered, recover};
use super::request::{Call, CallRequest, TaskState};
use super::validate::{Expected, Validated};

/// How long a task waits before it is reconciled again after that failed.
const RECONCILE_AGAIN_MS: u64 = 5000;

/// How long a task waits before it asks again for a key that another call holds, or for an outcome that is not stored yet.
const CLAIM_AGAIN_MS: u64 = 1000;

impl Dispatcher {
    /// Runs one attempt of a task. The owner of the task holds the lease, waits between attempts and keeps
    /// the outcome.
    pub async fn dispatch_task(&self, request: CallRequest, task: TaskState) -> TaskAttempt {
        // A key in the input only names the call to the service.
        let shares_key = request.key.is_some();
        let call = self.begin(request);
        let validated = match self.resolve_authorize_validate(call.clone(), Expected::Answer) {
            Ok(validated) => validated,
            Err(raised) => return TaskAttempt::last(self.refuse(raised, &call)),
        };
        if !shares_key {
            return self.unkeyed_attempt(validated, task).await;
        }
        match check_key(validated) {
            Ok(KeyCheck::Keyed(keyed)) => self.keyed_attempt(keyed, &call, task).await,
            Ok(KeyCheck::Unkeyed(claimed)) => {
                let finished = attempt_loop::run_once(self, claimed, task).await;
                self.task_attempt(finished)
            }
            Err(raised) => TaskAttempt::last(self.refuse(raised, &call)),
        }
    }

    async fn unkeyed_attempt(&self, validated: Validated, task: TaskState) -> TaskAttempt {
        let claimed = Claimed::for_task(validated, task.before());
        let claimed = match recover(self, claimed).await {
            Recovered::Run(claimed) => claimed,
            Recovered::Known(finished) => return self.task_attempt(finished),
            Recovered::Unclear(finished) => {
                return TaskAttempt {
                    retry_after_ms: Some(RECONCILE_AGAIN_MS),
                    ..self.task_attempt(finished)
                };
            }
        };
        let scope = match &claimed.call.key {
            Some(_) => claimed.scope(),
            None => task.scope,
        };
        let task = TaskState { scope, ..task };
        let finished = attempt_loop::run_once(self, claimed, task).await;
        self.task_attempt(finished)
    }

    /// The store knows the history of the key, also of an attempt whose process has stopped.
    async fn keyed_attempt(&self, keyed: Keyed, call: &Arc<Call>, task: TaskState) -> TaskAttempt {
        let operation = keyed.validated.operation.clone();
        let (sender, receiver) = oneshot::channel();
        let reply = Reply::to(sender);
        let (held, claimed) = match claim(self, keyed, &reply).await {
            Err(raised) => {
                return self.unless_open(TaskAttempt::last(self.refuse(raised, call)), None);
            }
            Ok(Grant::Replay(kept)) => {
                return TaskAttempt::last(self.replay(kept, &operation, call));
            }
            Ok(Grant::Run(held, claimed)) => (held, claimed),
        };
        let work = async {
            match recover(self, claimed).await {
                Recovered::Run(claimed) => {
                    let scope = claimed.scope();
                    let task = TaskState { scope, ..task };
                    Ok(attempt_loop::run_once(self, claimed, task).await)
                }
                Recovered::Known(finished) => Ok(finished),
                Recovered::Unclear(finished) => Err(finished),
            }
        };
        let (own, ran) = match self.while_lease_held(held, work).await {
            Some(Ok(finished)) => {
                let own = finished.outcome.as_ref().err().and_then(|it| it.id());
                let ran = (finished.failed_attempt(), finished.ran.retry_after_ms);
                self.record_keyed(held, finished, reply).await;
                (own, ran)
            }
            Some(Err(unclear)) => {
                self.abandon(held, unclear, reply).await;
                (None, (None, Some(RECONCILE_AGAIN_MS)))
            }
            None => {
                reply.send(self.lost(held, &operation, call).await);
                (None, (None, None))
            }
        };
        let answer = receiver.await;
        let attempt = TaskAttempt {
            answer: answer.expect("every way through a held key sends an answer"),
            attempt: ran.0,
            retry_after_ms: ran.1,
        };
        self.unless_open(attempt, own)
    }

    /// The attempt, to be repeated if the outcome of its key is still open: another call holds it, or the store does
    /// not answer. A failure with the id of the operation's own one is its outcome.
    fn unless_open(&self, attempt: TaskAttempt, own: Option<Uuid>) -> TaskAttempt {
        let open = [
            codes::ERR_IDEMPOTENCY_IN_FLIGHT,
            codes::ERR_STORE_UNAVAILABLE,
        ];
        let is_open = attempt.answer.outcome.as_ref().is_err_and(|failure| {
            let is_own = own.is_some() && failure.id() == own;
            !is_own && open.iter().any(|it| it.code == failure.code().as_str())
        });
        if !is_open || attempt.retry_after_ms.is_some() {
            return attempt;
        }
        TaskAttempt {
            retry_after_ms: Some(CLAIM_AGAIN_MS),
            ..attempt
        }
    }

    fn task_attempt(&self, finished: Finished) -> TaskAttempt {
        TaskAttempt {
            attempt: finished.failed_attempt(),
            retry_after_ms: finished.ran.retry_after_ms,
            answer: self.record(finished),
        }
    }
}

impl TaskAttempt {
    /// The last one: the task ends with this answer.
    fn last(answer: Answer) -> Self {
        Self {
            answer,
            attempt: None,
            retry_after_ms: None,
        }
    }
}

impl Finished {
    /// Its last attempt, if that failed.
    fn failed_attempt(&self) -> Option<Attempt> {
        self.ran.steps.last().and_then(|step| step.failed.clone())
    }
}
