//! One request to an upstream, and the failure to report when its response does not arrive.
//!
//! The code follows from what went wrong (`transport_failure`), the effect from how far the request got and from
//! what repeating it would do.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::BytesMut;
use panpan_failure::{Cause, Effect, Failure, Kind, Upstream, codes};
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::events::EventError;
use crate::guard::BlockedHost;
use crate::transport::{RawResponse, TransportError};
use crate::transport_failure::{TransportFailure, find};

/// What repeating a request does, for the case that its response is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepeatSafety {
    /// The request only reads.
    ReadOnly,
    /// The request changes something, and repeating it changes nothing more.
    Idempotent,
    /// The request changes something and carries an idempotency key that finds its outcome again.
    Keyed,
    /// The request changes something, or may do so, and repeating it could do that twice.
    NotRepeatable,
}

/// A request, with everything that its failure has to mention.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    /// The URL of the request.
    pub(crate) url: Url,
    /// The member of the details that shows the URL.
    pub(crate) url_detail: &'static str,
    /// The operation of the call.
    pub(crate) operation: Option<String>,
    /// What repeating the request does.
    pub(crate) repeat_safety: RepeatSafety,
    /// The timeout that messages state.
    pub(crate) timeout: Duration,
    /// Whether the request may have been sent.
    pub(crate) sent: SentFlag,
    /// Whether an earlier request of the same call may have taken effect.
    pub(crate) follows_effect: bool,
}

/// Whether a request may have been sent. Clones share the flag.
#[derive(Clone, Debug)]
pub(crate) struct SentFlag(Arc<AtomicBool>);

impl SentFlag {
    /// Set from the start: once there is a connection, sending cannot be observed.
    pub(crate) fn assumed() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    /// Not set until [`set`](Self::set) is called.
    pub(crate) fn unset() -> Self {
        Self(Arc::new(AtomicBool::new(false)))
    }

    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The causes to show for an error. The errors of the libraries below name their own parts, which helps no caller;
/// only the kind of the operating system's error is kept.
fn causes(error: &TransportError) -> Vec<Cause> {
    let system = find::<io::Error>(error).map(io::Error::kind);
    let is_specific = |kind: &io::ErrorKind| !matches!(kind, io::ErrorKind::Other);
    let system = system.filter(is_specific).map(|kind| kind.to_string());
    let system = system.filter(|it| it != "uncategorized error");
    let messages = [Some(error.to_string()), system].into_iter().flatten();
    let cause = |message| Cause {
        code: None,
        message,
    };
    messages.map(cause).collect()
}

/// A URL without the parts that may be secret: user name, password, query and fragment.
pub(crate) fn display_url(url: &Url) -> String {
    let origin = url.origin().ascii_serialization();
    format!("{origin}{}", url.path())
        .trim_end_matches('/')
        .to_owned()
}

/// The server at a URL that answered with this status.
pub(crate) fn upstream(url: &Url, status: u16) -> Upstream {
    let upstream = Upstream::status(status);
    match url.host_str() {
        Some(host) => upstream.provider(host),
        None => upstream,
    }
}

impl Exchange {
    /// The failure for an error of the transport.
    pub(crate) fn failure(&self, error: &TransportError) -> Failure {
        if let TransportError::InvalidUrl(_) = error {
            return self.invalid_url();
        }
        if let Some(blocked) = find::<BlockedHost>(error) {
            return self.blocked(blocked);
        }
        let is_sent = error.had_connection() && self.sent.is_set();
        let failure = self.transport_failure(TransportFailure::of(error), is_sent);
        causes(error).into_iter().fold(failure, Failure::with_cause)
    }

    /// Waits for the head of the response.
    pub(crate) async fn head<T>(
        &self,
        deadline: Instant,
        head: impl Future<Output = Result<T, TransportError>>,
    ) -> Result<T, Failure> {
        let head = timeout_at(deadline, head).await;
        head.map_err(|_| self.response_timeout())?
            .map_err(|error| self.failure(&error))
    }

    /// Reads the body up to a limit; returns whether that was all of it.
    pub(crate) async fn read_body(
        &self,
        deadline: Instant,
        response: &mut RawResponse,
        body: &mut BytesMut,
        limit: usize,
    ) -> Result<bool, Failure> {
        timeout_at(deadline, response.read_into(body, limit))
            .await
            .map_err(|_| self.transport_failure(TransportFailure::BodyTimeout, true))?
            .map_err(|error| self.failure(&error))
    }

    /// The failure for events that ended early.
    pub(crate) fn events_ended(&self, error: &EventError) -> Failure {
        match error {
            EventError::Transport(error) => self.failure(error),
            EventError::Cut | EventError::TooLong => {
                self.transport_failure(TransportFailure::Cut, true)
            }
        }
    }

    /// The URL cannot be sent, usually because an argument made it too long.
    fn invalid_url(&self) -> Failure {
        let length = self.url.as_str().len();
        let failure = Failure::new(codes::ERR_VALIDATION_FAILED)
            .with_message(format!("a request cannot carry a URL of {length} bytes"))
            .with_detail("reason", "address")
            .with_effect(self.effect_unless_sent())
            .with_actions(["Shorten the arguments that become part of the URL"]);
        self.located(failure)
    }

    /// The response did not begin in time.
    fn response_timeout(&self) -> Failure {
        if self.sent.is_set() {
            self.transport_failure(TransportFailure::HeadTimeout, true)
        } else {
            self.transport_failure(TransportFailure::ConnectTimeout, false)
        }
    }

    /// Requests to the host are not allowed.
    pub(crate) fn blocked(&self, blocked: &BlockedHost) -> Failure {
        let failure = Failure::new(codes::ERR_BLOCKED_HOST)
            .with_message(blocked.to_string())
            .with_detail("host", blocked.host.as_str())
            .with_detail("reason", blocked.reason.as_str())
            .with_effect(self.effect_unless_sent());
        self.located(failure)
    }

    /// The effect of the call if this request was not sent.
    pub(crate) fn effect_unless_sent(&self) -> Effect {
        if self.follows_effect && self.repeat_safety != RepeatSafety::ReadOnly {
            Effect::Unknown
        } else {
            Effect::None
        }
    }

    /// Adds the URL and the operation to a failure.
    pub(crate) fn located(&self, failure: Failure) -> Failure {
        let failure = failure.with_detail(self.url_detail, display_url(&self.url));
        match &self.operation {
            Some(operation) => failure.with_operation(operation.as_str()),
            None => failure,
        }
    }

    fn transport_failure(&self, found: TransportFailure, is_sent: bool) -> Failure {
        let failure = Failure::new(found.network_failure())
            .with_message(found.message(&display_url(&self.url), self.timeout))
            .with_detail("reason", found.reason());
        let failure = self.located(failure);
        let failure = match self.url.host_str() {
            Some(host) => failure.with_upstream(Upstream::default().provider(host)),
            None => failure,
        };
        if is_sent || self.follows_effect {
            self.response_lost(failure)
        } else {
            failure.with_effect(Effect::None)
        }
    }

    /// Sets the effect of a request that may have been processed.
    fn response_lost(&self, failure: Failure) -> Failure {
        match self.repeat_safety {
            RepeatSafety::ReadOnly => failure.with_effect(Effect::None),
            RepeatSafety::Idempotent | RepeatSafety::Keyed => failure.with_effect(Effect::Unknown),
            RepeatSafety::NotRepeatable => {
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

    fn exchange(repeat_safety: RepeatSafety, sent: SentFlag, follows_effect: bool) -> Exchange {
        Exchange {
            url: Url::parse("http://me:hunter2@tools.example/a?key=hunter2#hunter2").unwrap(),
            url_detail: "url",
            operation: None,
            repeat_safety,
            timeout: Duration::from_secs(1),
            sent,
            follows_effect,
        }
    }

    #[test]
    fn a_lost_response_has_an_effect_if_the_request_was_sent_and_writes() {
        use RepeatSafety::{Idempotent, Keyed, NotRepeatable, ReadOnly};
        for (safety, is_sent, follows_effect, code, effect) in [
            (ReadOnly, true, false, "ERR_TIMEOUT", Effect::None),
            (Idempotent, true, false, "ERR_TIMEOUT", Effect::Unknown),
            (Keyed, true, false, "ERR_TIMEOUT", Effect::Unknown),
            (
                NotRepeatable,
                true,
                false,
                "ERR_OUTCOME_UNKNOWN",
                Effect::Unknown,
            ),
            (NotRepeatable, false, false, "ERR_TIMEOUT", Effect::None),
            (
                NotRepeatable,
                false,
                true,
                "ERR_OUTCOME_UNKNOWN",
                Effect::Unknown,
            ),
            (ReadOnly, false, true, "ERR_TIMEOUT", Effect::None),
        ] {
            let sent = SentFlag::unset();
            if is_sent {
                sent.set();
            }
            let failure = exchange(safety, sent, follows_effect).response_timeout();
            let found = (failure.code().as_str(), failure.effect());
            assert_eq!(
                found,
                (code, effect),
                "{safety:?} {is_sent} {follows_effect}"
            );
        }
    }

    #[test]
    fn a_failure_shows_no_secret_part_of_the_url() {
        let exchange = exchange(RepeatSafety::ReadOnly, SentFlag::assumed(), false);
        let failure = exchange.events_ended(&EventError::Cut);
        let all = format!("{failure:?}");
        assert!(all.contains("http://tools.example/a"), "{all}");
        assert!(!all.contains("hunter2"), "{all}");
    }
}
