//! What trouble on the way means: its code by what broke, its effect by how far the request had got.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use panpan_failure::{Cause, Effect, Failure, Kind, Upstream, codes};
use url::Url;

use crate::broken::{Broken, find};
use crate::guard::Refusal;
use crate::wire::WireError;

/// What is at stake when a request was sent and its answer is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stake {
    /// Nothing: it only reads.
    Nothing,
    /// It changes something, and doing it twice is the same as doing it once.
    Repeatable,
    /// It changes something, and the key it carries finds its outcome again.
    Keyed,
    /// It changes something, or may do so, and its outcome cannot be looked up again.
    Change,
}

/// What has to be known about a request to tell what trouble means for it.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    /// Whom the trouble is with.
    pub(crate) url: Url,
    /// The member of the details that says so.
    pub(crate) url_detail: &'static str,
    /// What was tried.
    pub(crate) operation: Option<String>,
    /// What is at stake.
    pub(crate) stake: Stake,
    /// How long an answer is waited for.
    pub(crate) patience: Duration,
    /// Whether it may have been sent.
    pub(crate) sent: Sent,
    /// Whether a request before this one may have taken effect for the same call.
    pub(crate) earlier: bool,
}

/// Whether a request may have left.
#[derive(Clone, Debug)]
pub(crate) struct Sent(Arc<AtomicBool>);

impl Sent {
    /// It may have, once there is a connection; nobody can tell.
    pub(crate) fn assumed() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    /// It has not, until it is marked.
    pub(crate) fn not_yet() -> Self {
        Self(Arc::new(AtomicBool::new(false)))
    }

    pub(crate) fn mark(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn may_be(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// What led to it, in plain words. The errors of the libraries below name their own parts, which tells
/// callers nothing; of them only the kind of the system's error is kept.
fn causes(error: &WireError) -> Vec<Cause> {
    let system = find::<io::Error>(error).map(io::Error::kind);
    let is_said = |kind: &io::ErrorKind| !matches!(kind, io::ErrorKind::Other);
    let system = system.filter(is_said).map(|kind| kind.to_string());
    let system = system.filter(|it| it != "uncategorized error");
    let messages = [Some(error.to_string()), system].into_iter().flatten();
    let cause = |message| Cause {
        code: None,
        message,
    };
    messages.map(cause).collect()
}

/// An address without anything that may be secret: no name, password, query or fragment.
pub(crate) fn shown(url: &Url) -> String {
    let origin = url.origin().ascii_serialization();
    format!("{origin}{}", url.path())
        .trim_end_matches('/')
        .to_owned()
}

impl Trouble {
    /// The failure an error stands for.
    pub(crate) fn of(&self, error: &WireError) -> Failure {
        if let WireError::Address(_) = error {
            return self.unsendable();
        }
        if let Some(refusal) = find::<Refusal>(error) {
            return self.blocked(refusal);
        }
        let is_sent = error.had_connection() && self.sent.may_be();
        let failure = self.failure(Broken::of(error), is_sent);
        causes(error).into_iter().fold(failure, Failure::with_cause)
    }

    /// Nothing was sent: usually for a value in the address that is too long for one.
    fn unsendable(&self) -> Failure {
        let length = self.url.as_str().len();
        let failure = Failure::new(codes::ERR_VALIDATION_FAILED)
            .with_message(format!("no request can carry an address of {length} bytes"))
            .with_detail("reason", "address")
            .with_effect(self.effect_before())
            .with_actions(["Give less of what becomes part of the address"]);
        self.located(failure)
    }

    /// Nothing came in time.
    pub(crate) fn silence(&self) -> Failure {
        if self.sent.may_be() {
            self.failure(Broken::HeadTimeout, true)
        } else {
            self.failure(Broken::ConnectTimeout, false)
        }
    }

    /// The answer began and did not come to an end in time.
    pub(crate) fn stall(&self) -> Failure {
        self.failure(Broken::BodyTimeout, true)
    }

    /// The connection ended in the middle.
    pub(crate) fn cut(&self) -> Failure {
        self.failure(Broken::Cut, true)
    }

    /// The host may not be asked.
    pub(crate) fn blocked(&self, refusal: &Refusal) -> Failure {
        let failure = Failure::new(codes::ERR_BLOCKED_HOST)
            .with_message(refusal.to_string())
            .with_detail("host", refusal.host.as_str())
            .with_detail("reason", refusal.why.word())
            .with_effect(self.effect_before());
        self.located(failure)
    }

    /// What is known about effects when this request did nothing.
    pub(crate) fn effect_before(&self) -> Effect {
        if self.earlier && self.stake != Stake::Nothing {
            Effect::Unknown
        } else {
            Effect::None
        }
    }

    /// Says whom a failure is about.
    pub(crate) fn located(&self, failure: Failure) -> Failure {
        let failure = failure.with_detail(self.url_detail, shown(&self.url));
        match &self.operation {
            Some(operation) => failure.with_operation(operation.as_str()),
            None => failure,
        }
    }

    fn failure(&self, broken: Broken, is_sent: bool) -> Failure {
        let failure = Failure::new(broken.way())
            .with_message(broken.sentence(&shown(&self.url), self.patience))
            .with_detail("reason", broken.word());
        let failure = self.located(failure);
        let failure = match self.url.host_str() {
            Some(host) => failure.with_upstream(Upstream::default().provider(host)),
            None => failure,
        };
        if is_sent || self.earlier {
            self.lost(failure)
        } else {
            failure.with_effect(Effect::None)
        }
    }

    fn lost(&self, failure: Failure) -> Failure {
        match self.stake {
            Stake::Nothing => failure.with_effect(Effect::None),
            Stake::Repeatable | Stake::Keyed => failure.with_effect(Effect::Unknown),
            Stake::Change => {
                let cause = Cause {
                    code: Some(failure.code().clone()),
                    message: failure.message().to_owned(),
                };
                let unknown = Kind::from(codes::ERR_OUTCOME_UNKNOWN);
                failure
                    .restated(unknown)
                    .with_effect(Effect::Unknown)
                    .with_cause(cause)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(stake: Stake, sent: Sent, earlier: bool) -> Trouble {
        Trouble {
            url: Url::parse("http://me:hunter2@tools.example/a?key=hunter2#hunter2").unwrap(),
            url_detail: "url",
            operation: None,
            stake,
            patience: Duration::from_secs(1),
            sent,
            earlier,
        }
    }

    #[test]
    fn what_a_lost_answer_means_depends_on_what_was_asked_and_whether_it_left() {
        use Stake::{Change, Keyed, Nothing, Repeatable};
        for (stake, sent, earlier, code, effect) in [
            (Nothing, true, false, "ERR_TIMEOUT", Effect::None),
            (Repeatable, true, false, "ERR_TIMEOUT", Effect::Unknown),
            (Keyed, true, false, "ERR_TIMEOUT", Effect::Unknown),
            (Change, true, false, "ERR_OUTCOME_UNKNOWN", Effect::Unknown),
            (Change, false, false, "ERR_TIMEOUT", Effect::None),
            (Change, false, true, "ERR_OUTCOME_UNKNOWN", Effect::Unknown),
            (Nothing, false, true, "ERR_TIMEOUT", Effect::None),
        ] {
            let mark = Sent::not_yet();
            if sent {
                mark.mark();
            }
            let failure = trouble(stake, mark, earlier).silence();
            let found = (failure.code().as_str(), failure.effect());
            assert_eq!(found, (code, effect), "{stake:?} {sent} {earlier}");
        }
    }

    #[test]
    fn nothing_secret_of_an_address_is_shown() {
        let failure = trouble(Stake::Nothing, Sent::assumed(), false).cut();
        let all = format!("{failure:?}");
        assert!(all.contains("http://tools.example/a"), "{all}");
        assert!(!all.contains("hunter2"), "{all}");
    }
}
