//! Those who call: they repeat with the same key, come in twos, wait, leave, abort, and reopen.

use std::sync::Arc;
use std::time::Duration;

use panpan_failure::codes;
use panpan_runtime::ports::{Clock as _, Reopening, Scope};
use panpan_runtime::{Answer, CallRequest, CancellationToken, IdempotencyKey, InFlight};
use serde_json::json;

use crate::environment::{Environment, GATEWAYS, LEASE_MS};
use crate::faults::{Fault, Manner};
use crate::journal::short;
use crate::operations::{KINDS, Kind};
use crate::process::Life;
use crate::properties::{Property, has_code, heard_text};
use crate::store::SLOW_MS;

/// How much later than its deadline a call may be answered: a claim and a record, slow both ways.
const GRACE_MS: u64 = 4 * SLOW_MS + 200;
/// When a caller is sure that no answer will ever come.
const NEVER: Duration = Duration::from_secs(600);
/// How often a caller asks for the same piece of work.
const ROUNDS: usize = 8;

/// A piece of work somebody wants done.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    work: u64,
    kind: Kind,
    key: Option<IdempotencyKey>,
}

/// What a caller hears.
#[derive(Debug)]
pub(crate) enum Heard {
    Answer(Box<Answer>),
    /// The gateway is gone, or the caller is.
    Nothing,
}

/// How one call is made.
#[derive(Clone, Copy, Debug, Default)]
struct How {
    other_input: bool,
    waits: bool,
    leaves_after_ms: Option<u64>,
    aborts_after_ms: Option<u64>,
}

impl Piece {
    pub(crate) fn draw(environment: &Environment, work: u64) -> Self {
        let random = &environment.faults.random;
        let kind = random.pick(&KINDS);
        let keyed = kind == Kind::Book || random.happens(8000);
        let key = keyed.then(|| IdempotencyKey::new(&format!("work-{work}")).unwrap());
        let piece = Self { work, kind, key };
        if let Some(scope) = piece.scope() {
            environment.checks.expects(scope, work, kind);
        }
        piece
    }

    fn scope(&self) -> Option<Scope> {
        let key = self.key.as_ref()?;
        Some(Scope::of(None, &self.kind.name(), key))
    }

    pub(crate) fn is_keyed(&self) -> bool {
        self.key.is_some()
    }

    /// Asks until there is an outcome, then whether it stays.
    pub(crate) async fn pursue(&self, environment: &Arc<Environment>) {
        let random = &environment.faults.random;
        for _ in 0..ROUNDS {
            let heard = self.round(environment).await;
            if !self.is_keyed() {
                return;
            }
            let settled = heard.iter().any(is_settled);
            if settled && !self.reopens(environment, &heard).await {
                break;
            }
            self.rest(environment, &heard).await;
        }
        for _ in 0..random.between(0, 2) {
            environment
                .clock
                .sleep(random.between(1, 2 * LEASE_MS))
                .await;
            self.ask(environment, How::default()).await;
        }
    }

    /// One caller asks, or two at once.
    async fn round(&self, environment: &Arc<Environment>) -> Vec<Heard> {
        let mut asking = Vec::new();
        let twice = self.is_keyed() && strikes(environment, Manner::CallsTwiceAtOnce);
        for second in 0..=u64::from(twice) {
            let (piece, environment) = (self.clone(), environment.clone());
            let how = self.how(&environment);
            let later_ms = second
                * environment
                    .faults
                    .random
                    .pick(&[0, 5, LEASE_MS, 2 * LEASE_MS]);
            asking.push(tokio::spawn(async move {
                environment.clock.sleep(later_ms).await;
                piece.ask(&environment, how).await
            }));
        }
        let mut heard = Vec::new();
        for asked in asking {
            heard.push(asked.await.unwrap());
        }
        heard
    }

    fn how(&self, environment: &Environment) -> How {
        let random = &environment.faults.random;
        let after_ms = |manner| {
            strikes(environment, manner).then(|| random.between(0, random.pick(&[100, LEASE_MS])))
        };
        How {
            other_input: self.is_keyed() && strikes(environment, Manner::SendsOtherInput),
            waits: self.is_keyed() && strikes(environment, Manner::WaitsForAnother),
            leaves_after_ms: after_ms(Manner::Leaves),
            aborts_after_ms: after_ms(Manner::Aborts),
        }
    }

    /// A person looks at a failure and lets the work run again.
    async fn reopens(&self, environment: &Environment, heard: &[Heard]) -> bool {
        let failed = |heard: &Heard| match heard {
            Heard::Answer(answer) => answer.outcome.is_err(),
            Heard::Nothing => false,
        };
        let Some(scope) = self.scope().filter(|_| heard.iter().any(failed)) else {
            return false;
        };
        let reopens = strikes(environment, Manner::Reopens);
        if reopens {
            let reopening = Reopening {
                scope,
                by: "a person".to_owned(),
                reason: "it did not happen".to_owned(),
            };
            environment.medium.reopen(reopening).await.unwrap();
        }
        reopens
    }

    /// Waits a while; a lease may have run out by then, or not.
    async fn rest(&self, environment: &Environment, heard: &[Heard]) {
        let silent = heard.iter().any(|heard| matches!(heard, Heard::Nothing));
        environment.faults.count(Fault::Caller(match silent {
            true => Manner::RepeatsAfterSilence,
            false => Manner::RepeatsAfterFailure,
        }));
        let rest_ms = environment
            .faults
            .random
            .between(1, LEASE_MS + LEASE_MS / 2);
        environment.clock.sleep(rest_ms).await;
    }

    /// Asks when nothing goes wrong any more: there has to be an answer, and it has to be kept.
    pub(crate) async fn confirm(&self, environment: &Arc<Environment>) -> Option<Box<Answer>> {
        let mut how = How::default();
        let mut heard = self.ask(environment, how).await;
        if is_reused(&heard) {
            how.other_input = true;
            heard = self.ask(environment, how).await;
        }
        match heard {
            Heard::Answer(answer) if answer.expires_at.is_some() => Some(answer),
            heard => {
                let text = format!("work {}: at last {heard:?}", self.work);
                environment.checks.violated(Property::Answered, text);
                None
            }
        }
    }

    /// Makes one call, and judges what comes of it.
    async fn ask(&self, environment: &Arc<Environment>, how: How) -> Heard {
        let work = self.work;
        let timeout_ms = environment.faults.random.between(2000, 20_000);
        let gateway = usize::try_from(environment.faults.random.next()).unwrap() % GATEWAYS;
        let gone = after(environment, how.leaves_after_ms);
        let note = |event: &str| {
            environment
                .journal
                .note(format_args!("work {work}: {event}"))
        };
        note(&format!("goes to {gateway} for {timeout_ms} ms, {how:?}"));
        let asked_ms = environment.journal.now_ms();
        let request = self.request(environment, how, timeout_ms);
        let Some((life, answer)) = environment.call(gateway, request, gone.clone()) else {
            note("finds the gateway down");
            return Heard::Nothing;
        };
        let stalled_ms = life.stalled_ms(asked_ms);
        let heard = tokio::time::timeout(NEVER, answer).await;
        let now_ms = environment.journal.now_ms();
        let took_ms = now_ms - asked_ms - (life.stalled_ms(now_ms) - stalled_ms);
        let Ok(Ok(answer)) = heard else {
            note("hears nothing");
            self.must_be_excused(environment, &life, &gone);
            return Heard::Nothing;
        };
        let call = short(answer.call);
        note(&format!("hears of {call}: {}", heard_text(&answer)));
        if took_ms > (timeout_ms + GRACE_MS).cast_signed() {
            let text = format!("work {work}: {took_ms} ms where {timeout_ms} ms were allowed");
            environment.checks.violated(Property::Answered, text);
        }
        environment.checks.answered(self.scope(), &answer, asked_ms);
        Heard::Answer(Box::new(answer))
    }

    fn request(&self, environment: &Environment, how: How, timeout_ms: u64) -> CallRequest {
        let variant = u8::from(how.other_input);
        let input = json!({"work": self.work, "variant": variant});
        let in_flight = match how.waits {
            true => InFlight::Wait,
            false => InFlight::Refuse,
        };
        CallRequest {
            key: self.key.clone(),
            in_flight,
            timeout_ms: Some(timeout_ms),
            abort: how.aborts_after_ms.map(|ms| after(environment, Some(ms))),
            ..CallRequest::from_wire(self.kind.name().as_str(), input)
        }
    }

    /// Silence means that one of the two is gone.
    fn must_be_excused(&self, environment: &Environment, life: &Life, gone: &CancellationToken) {
        if !life.is_over() && !gone.is_cancelled() {
            let text = format!("work {}: no answer from a gateway that lives", self.work);
            environment.checks.violated(Property::Answered, text);
        }
    }
}

fn is_settled(heard: &Heard) -> bool {
    match heard {
        Heard::Answer(answer) => answer.expires_at.is_some(),
        Heard::Nothing => false,
    }
}

/// Whether the key belongs to a call with other input.
fn is_reused(heard: &Heard) -> bool {
    match heard {
        Heard::Answer(answer) => has_code(answer, codes::ERR_IDEMPOTENCY_KEY_REUSED),
        Heard::Nothing => false,
    }
}

fn strikes(environment: &Environment, manner: Manner) -> bool {
    environment.faults.strikes(Fault::Caller(manner))
}

/// A token that fires after so long, or never.
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
