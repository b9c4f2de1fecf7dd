//! A response: read whole, or as a stream of events.

use std::borrow::Cow;
use std::fmt;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use jiff::Timestamp;
use panpan_failure::{Effect, Failure, codes};
use serde_json::Value;
use tokio::time::Instant;
use url::Url;

use crate::bounded::bounded;
use crate::charset;
use crate::classify::{ErrorResponse, RequestContext, classify_for, classify_unknown};
use crate::events::{EVENT_BYTES_LIMIT, Event, EventError, EventParser};
use crate::exchange::{Exchange, RepeatSafety, display_url, upstream};
use crate::transport::{RawResponse, header_pairs, media_type};

/// The longest error body that is read, in bytes; the rest is ignored.
const ERROR_BODY_BYTES_LIMIT: usize = 1024 * 1024;

/// A whole response. Its debug form shows no header and no body.
#[derive(Clone)]
pub struct Incoming {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// Whether only the beginning of the body was read; never the case below status 400.
    pub is_cut: bool,
    /// The URL that answered, after redirects.
    pub url: Url,
    /// How many redirects were followed.
    pub redirects: usize,
    /// Whether a write was redirected to the request that this answers, and may have been done.
    pub after_write: bool,
}

impl Incoming {
    /// The failure of an error response, with the host as the provider; `None` below status 400. `reads` says that the
    /// request only reads.
    pub fn failure(&self, reads: bool, now: Timestamp) -> Option<Failure> {
        let failure = self.classified(|response| classify_unknown(response, reads, now))?;
        Some(self.after_redirected_write(failure))
    }

    /// The failure of an error response to a known request; `None` if it is none.
    pub(crate) fn failure_for(
        &self,
        request: RequestContext<'_>,
        now: Timestamp,
    ) -> Option<Failure> {
        self.classified(|response| classify_for(response, request, now))
    }

    /// Hands status, headers and decoded body to a classifier.
    fn classified(
        &self,
        classify: impl FnOnce(&ErrorResponse<'_>) -> Option<Failure>,
    ) -> Option<Failure> {
        if self.status < 300 {
            return None;
        }
        // A compressed body is not readable text.
        let body = self.text();
        let is_kept = |name: &str| body.is_none() || name != CONTENT_ENCODING.as_str();
        let headers: Vec<(&str, &str)> = header_pairs(&self.headers)
            .filter(|(name, _)| is_kept(name))
            .collect();
        let body = body.unwrap_or_default();
        let response = ErrorResponse {
            status: self.status,
            headers: &headers,
            body: &body,
            provider: self.url.host_str(),
        };
        classify(&response)
    }

    /// Does not claim "no effect" if a redirected write may have been done.
    pub(crate) fn after_redirected_write(&self, failure: Failure) -> Failure {
        match failure.effect() {
            Effect::None if self.after_write => failure.with_effect(Effect::Unknown),
            _ => failure,
        }
    }

    /// The content encoding of a body that is compressed although the request did not accept that.
    pub(crate) fn compression(&self) -> Option<String> {
        let stated = self.headers.get(CONTENT_ENCODING)?;
        let stated = String::from_utf8_lossy(stated.as_bytes());
        let stated = stated.trim().to_ascii_lowercase();
        let is_compressed = !matches!(stated.as_str(), "" | "identity") && !self.body.is_empty();
        is_compressed.then_some(stated)
    }

    /// The body as text in its charset, with invalid sequences replaced; `None` if it is compressed.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        let is_readable = self.compression().is_none();
        is_readable.then(|| charset::text(&self.body, self.content_type()))
    }

    /// The body as text in its charset; `None` if it is not valid text.
    pub fn strict_text(&self) -> Option<Cow<'_, str>> {
        charset::strict_text(&self.body, self.content_type())
    }

    /// The beginning of the body as text; it does not end within a word or a value of `input`. `None` if there is
    /// nothing to read.
    pub fn excerpt(&self, characters: usize, input: &Value) -> Option<String> {
        let text = self.text()?;
        let excerpt = bounded(text.trim(), characters, input);
        (!excerpt.is_empty()).then_some(excerpt)
    }

    fn content_type(&self) -> Option<&str> {
        self.headers.get(CONTENT_TYPE)?.to_str().ok()
    }

    /// The media type without its parameters.
    pub(crate) fn media_type(&self) -> Option<&str> {
        media_type(&self.headers)
    }

    /// Whether the media type is JSON.
    pub fn is_json(&self) -> bool {
        self.media_type().is_some_and(|it| {
            let suffix = it.rsplit_once('+').map(|(_, suffix)| suffix);
            it.eq_ignore_ascii_case("application/json")
                || suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case("json"))
        })
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Incoming")
            .field("status", &self.status)
            .field("url", &display_url(&self.url))
            .field("bytes", &self.body.len())
            .field("redirects", &self.redirects)
            .finish_non_exhaustive()
    }
}

/// A response whose head was received; dropping it aborts the rest.
#[derive(Debug)]
pub struct IncomingStream {
    response: RawResponse,
    exchange: Exchange,
    deadline: Instant,
    limit: usize,
    redirects: usize,
    events: EventParser,
}

impl IncomingStream {
    pub(super) fn new(
        response: RawResponse,
        exchange: Exchange,
        deadline: Instant,
        limit: usize,
        redirects: usize,
    ) -> Self {
        Self {
            response,
            exchange,
            deadline,
            limit,
            redirects,
            events: EventParser::default(),
        }
    }

    /// The status.
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Whether the body is a stream of server-sent events.
    pub fn is_events(&self) -> bool {
        self.status() < 300 && self.response.is_events()
    }

    /// The next event, at most [`EVENT_BYTES_LIMIT`] long; `None` at the end.
    pub async fn next_event(&mut self) -> Result<Option<Event>, Failure> {
        let event = self.events.read(&mut self.response).await;
        event.map_err(|error| match error {
            EventError::TooLong => self.too_large(EVENT_BYTES_LIMIT),
            ended => self.exchange.events_ended(&ended),
        })
    }

    /// Reads the whole response before the deadline of its request. An error response is returned even if its body
    /// is incomplete: the status says more than the rest of the body.
    pub async fn read(mut self) -> Result<Incoming, Failure> {
        let is_error = self.status() >= 400;
        let limit = if is_error {
            self.limit.min(ERROR_BODY_BYTES_LIMIT)
        } else {
            self.limit
        };
        let mut body = BytesMut::new();
        let (exchange, response) = (&self.exchange, &mut self.response);
        let is_complete = exchange.read_body(self.deadline, response, &mut body, limit);
        let is_cut = match is_complete.await {
            Ok(is_complete) if is_complete || is_error => !is_complete,
            Ok(_) => return Err(self.too_large(limit)),
            Err(_) if is_error => true,
            Err(failure) => return Err(failure.with_detail("status", self.status())),
        };
        let is_write = self.exchange.repeat_safety != RepeatSafety::ReadOnly;
        Ok(Incoming {
            status: self.status(),
            headers: self.response.take_headers(),
            body: body.freeze(),
            is_cut,
            after_write: self.exchange.follows_effect && is_write,
            url: self.exchange.url,
            redirects: self.redirects,
        })
    }

    /// The response is too long. A write was done all the same.
    fn too_large(&self, limit: usize) -> Failure {
        let failure = if self.exchange.repeat_safety == RepeatSafety::ReadOnly {
            Failure::new(codes::ERR_JSON_SIZE_EXCEEDED).with_effect(Effect::None)
        } else {
            Failure::new(codes::ERR_OUTCOME_TOO_LARGE).with_effect(Effect::Applied)
        };
        let url = display_url(&self.exchange.url);
        let failure = failure
            .with_message(format!(
                "the response of {url} is longer than {limit} bytes"
            ))
            .with_detail("reason", "answer_bytes_limit")
            .with_detail("limit_bytes", limit)
            .with_upstream(upstream(&self.exchange.url, self.status()));
        self.exchange.located(failure)
    }
}
