//! The clients: they repeat calls with the same key, call twice, wait, disconnect, abort and reopen.

use std::sync::Arc;
use std::time::Duration;

use panpan_failure::codes;
use panpan_runtime::ports::{Clock as _, Reopening, Scope};
use panpan_runtime::{Answer, CallRequest, CancellationToken, IdempotencyKey, InFlight};
use serde_json::json;

use crate::environment::{Environment, GATEWAYS, LEASE_MS};
use crate::faults::{CallerBehaviour, Fault};
use crate::journal::short;
use crate::operations::{KINDS, Kind};
use crate::process::ProcessState;
use crate::properties::{Property, answer_text, has_code};
use crate::store::SLOW_MS;

/// How much later than its deadline a call may be answered: a claim and a record, both slow in both directions.
const LATENESS_MAX_MS: u64 = 4 * SLOW_MS + 200;
/// How long a client waits for a reply before it counts as lost.
const REPLY_WAIT_MAX: Duration = Duration::from_secs(600);
/// How often a client calls for the same work item.
const ROUNDS_MAX: usize = 8;

/// One operation that a client wants done, under one key.
#[derive(Clone, Debug)]
pub(crate) struct WorkItem {
    number: u64,
    kind: Kind,
    key: Option<IdempotencyKey>,
}

/// The reply to one call.
#[derive(Debug)]
pub(crate) enum Reply {
    Answer(Box<Answer>),
    /// The gateway crashed, or the client disconnected.
    Lost,
}

/// How one call is made.
#[derive(Clone, Copy, Debug, Default)]
struct CallOptions {
    different_input: bool,
    waits: bool,
    disconnect_after_ms: Option<u64>,
    abort_after_ms: Option<u64>,
}

impl WorkItem {
    pub(crate) fn draw(environment: &Environment, number: u64) -> Self {
        let random = &environment.faults.random;
        let kind = random.pick(&KINDS);
        let keyed = kind == Kind::Book || random.happens(8000);
        let key = keyed.then(|| IdempotencyKey::new(&format!("item-{number}")).unwrap());
        let item = Self { number, kind, key };
        if let Some(scope) = item.scope() {
            environment.checks.register_key(scope, number, kind);
        }
        item
    }

    fn scope(&self) -> Option<Scope> {
        let key = self.key.as_ref()?;
        Some(Scope::of(None, &self.kind.name(), key))
    }

    pub(crate) fn is_keyed(&self) -> bool {
        self.key.is_some()
    }

    /// Calls until there is an outcome, then calls again to check that it stays.
    pub(crate) async fn run(&self, environment: &Arc<Environment>) {
        let random = &environment.faults.random;
        for _ in 0..ROUNDS_MAX {
            let replies = self.call_round(environment).await;
            if !self.is_keyed() {
                return;
            }
            let settled = replies.iter().any(has_outcome);
            if settled && !self.maybe_reopen(environment, &replies).await {
                break;
            }
            self.wait(environment, &replies).await;
        }
        for _ in 0..random.between(0, 2) {
            environment
                .clock
                .sleep(random.between(1, 2 * LEASE_MS))
                .await;
            self.call(environment, CallOptions::default()).await;
        }
    }

    /// Calls once, or twice at about the same time.
    async fn call_round(&self, environment: &Arc<Environment>) -> Vec<Reply> {
        let mut calls = Vec::new();
        let twice = self.is_keyed() && occurs(environment, CallerBehaviour::CallTwice);
        for second in 0..=u64::from(twice) {
            let (item, environment) = (self.clone(), environment.clone());
            let options = self.options(&environment);
            let later_ms = second
                * environment
                    .faults
                    .random
                    .pick(&[0, 5, LEASE_MS, 2 * LEASE_MS]);
            calls.push(tokio::spawn(async move {
                environment.clock.sleep(later_ms).await;
                item.call(&environment, options).await
            }));
        }
        let mut replies = Vec::new();
        for call in calls {
            replies.push(call.await.unwrap());
        }
        replies
    }

    fn options(&self, environment: &Environment) -> CallOptions {
        let random = &environment.faults.random;
        let after_ms = |behaviour| {
            occurs(environment, behaviour).then(|| random.between(0, random.pick(&[100, LEASE_MS])))
        };
        CallOptions {
            different_input: self.is_keyed()
                && occurs(environment, CallerBehaviour::SendDifferentInput),
            waits: self.is_keyed() && occurs(environment, CallerBehaviour::WaitInFlight),
            disconnect_after_ms: after_ms(CallerBehaviour::Disconnect),
            abort_after_ms: after_ms(CallerBehaviour::Abort),
        }
    }

    /// An operator may reopen the key after a failure.
    async fn maybe_reopen(&self, environment: &Environment, replies: &[Reply]) -> bool {
        let failed = |reply: &Reply| match reply {
            Reply::Answer(answer) => answer.outcome.is_err(),
            Reply::Lost => false,
        };
        let Some(scope) = self.scope().filter(|_| replies.iter().any(failed)) else {
            return false;
        };
        let reopen = occurs(environment, CallerBehaviour::Reopen);
        if reopen {
            let reopening = Reopening {
                scope,
                by: "operator".to_owned(),
                reason: "no effect".to_owned(),
            };
            environment.shared_store.reopen(reopening).await.unwrap();
        }
        reopen
    }

    /// Waits for a while; a lease may or may not expire meanwhile.
    async fn wait(&self, environment: &Environment, replies: &[Reply]) {
        let lost = replies.iter().any(|reply| matches!(reply, Reply::Lost));
        environment.faults.count(Fault::Caller(match lost {
            true => CallerBehaviour::RepeatAfterLostReply,
            false => CallerBehaviour::RepeatAfterFailure,
        }));
        let wait_ms = environment
            .faults
            .random
            .between(1, LEASE_MS + LEASE_MS / 2);
        environment.clock.sleep(wait_ms).await;
    }

    /// Calls after all faults are over: there must be an answer, and its outcome must be kept.
    pub(crate) async fn confirm(&self, environment: &Arc<Environment>) -> Option<Box<Answer>> {
        let mut options = CallOptions::default();
        let mut reply = self.call(environment, options).await;
        if is_reused(&reply) {
            options.different_input = true;
            reply = self.call(environment, options).await;
        }
        match reply {
            Reply::Answer(answer) if answer.expires_at.is_some() => Some(answer),
            reply => {
                let text = format!("item {}: finally {reply:?}", self.number);
                environment.checks.violated(Property::Answered, text);
                None
            }
        }
    }

    /// Makes one call and checks the reply.
    async fn call(&self, environment: &Arc<Environment>, options: CallOptions) -> Reply {
        let number = self.number;
        let timeout_ms = environment.faults.random.between(2000, 20_000);
        let gateway = usize::try_from(environment.faults.random.next()).unwrap() % GATEWAYS;
        let gone = after(environment, options.disconnect_after_ms);
        let note = |event: &str| {
            environment
                .journal
                .note(format_args!("item {number}: {event}"));
        };
        note(&format!(
            "calls gateway {gateway} with timeout {timeout_ms} ms, {options:?}"
        ));
        let asked_ms = environment.journal.now_ms();
        let request = self.request(environment, options, timeout_ms);
        let Some((process, answer)) = environment.call(gateway, request, gone.clone()) else {
            note("finds the gateway down");
            return Reply::Lost;
        };
        let stalled_ms = process.stalled_ms(asked_ms);
        let reply = tokio::time::timeout(REPLY_WAIT_MAX, answer).await;
        let now_ms = environment.journal.now_ms();
        let took_ms = now_ms - asked_ms - (process.stalled_ms(now_ms) - stalled_ms);
        let Ok(Ok(answer)) = reply else {
            note("gets no reply");
            self.check_lost_reply(environment, &process, &gone);
            return Reply::Lost;
        };
        let call = short(answer.call);
        note(&format!(
            "gets the answer of {call}: {}",
            answer_text(&answer)
        ));
        if took_ms > (timeout_ms + LATENESS_MAX_MS).cast_signed() {
            let text =
                format!("item {number}: answered after {took_ms} ms with timeout {timeout_ms} ms");
            environment.checks.violated(Property::Answered, text);
        }
        environment.checks.answered(self.scope(), &answer, asked_ms);
        Reply::Answer(Box::new(answer))
    }

    fn request(
        &self,
        environment: &Environment,
        options: CallOptions,
        timeout_ms: u64,
    ) -> CallRequest {
        let variant = u8::from(options.different_input);
        let input = json!({"work": self.number, "variant": variant});
        let in_flight = match options.waits {
            true => InFlight::Wait,
            false => InFlight::Refuse,
        };
        CallRequest {
            key: self.key.clone(),
            in_flight,
            timeout_ms: Some(timeout_ms),
            abort: options
                .abort_after_ms
                .map(|ms| after(environment, Some(ms))),
            ..CallRequest::from_wire(self.kind.name().as_str(), input)
        }
    }

    /// A reply may be lost only if the gateway crashed or the client disconnected.
    fn check_lost_reply(
        &self,
        environment: &Environment,
        process: &ProcessState,
        gone: &CancellationToken,
    ) {
        if !process.is_dead() && !gone.is_cancelled() {
            let text = format!("item {}: no answer from a running gateway", self.number);
            environment.checks.violated(Property::Answered, text);
        }
    }
}

fn has_outcome(reply: &Reply) -> bool {
    match reply {
        Reply::Answer(answer) => answer.expires_at.is_some(),
        Reply::Lost => false,
    }
}

/// Whether the key belongs to a call with different input.
fn is_reused(reply: &Reply) -> bool {
    match reply {
        Reply::Answer(answer) => has_code(answer, codes::ERR_IDEMPOTENCY_KEY_REUSED),
        Reply::Lost => false,
    }
}

fn occurs(environment: &Environment, behaviour: CallerBehaviour) -> bool {
    environment.faults.occurs(Fault::Caller(behaviour))
}

/// A token that is cancelled after this delay, or never.
fn after(environment: &Environment, delay_ms: Option<u64>) -> CancellationToken {
    let token = CancellationToken::new();
    if let Some(delay_ms) = delay_ms {
        let (fired, sleep) = (token.clone(), environment.clock.sleep(delay_ms));
        tokio::spawn(async move {
            sleep.await;
            fired.cancel();
        });
    }
    token
}
