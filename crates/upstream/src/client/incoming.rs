//! An answer: whole, or as it comes.

use std::borrow::Cow;
use std::fmt;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use jiff::Timestamp;
use panpan_failure::{Effect, Failure, Upstream, codes};
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::asked::Asked;
use crate::charset;
use crate::classify::{Answer, classify, classify_for};
use crate::events::{EVENT_BYTES_LIMIT, Event, Events};
use crate::trouble::{Stake, Trouble, shown};
use crate::wire::Reply;

/// How much of the body of a failing answer is read, in bytes; what lies behind is not looked at.
const FAILING_BYTES: usize = 1024 * 1024;

/// A whole answer. Its debug form shows no header and no body.
#[derive(Clone)]
pub struct Incoming {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// Whether the body is only its beginning; never so below 400.
    pub is_cut: bool,
    /// Who answered, after redirects.
    pub url: Url,
    /// How many redirects were followed.
    pub redirects: usize,
    /// Whether it answers what only reads, after a write that was redirected there and may have been done.
    pub after_write: bool,
}

impl Incoming {
    /// The failure the answer stands for, told of the service by its host; `None` below 400.
    pub fn failure(&self, now: Timestamp) -> Option<Failure> {
        self.read_as_failure(|answer| classify(answer, now))
    }

    /// The failure the answer to a question stands for; `None` below 400.
    pub(crate) fn failure_for(&self, asked: Asked<'_>, now: Timestamp) -> Option<Failure> {
        self.read_as_failure(|answer| classify_for(answer, asked, now))
    }

    fn read_as_failure(
        &self,
        read: impl FnOnce(&Answer<'_>) -> Option<Failure>,
    ) -> Option<Failure> {
        if self.status < 400 {
            return None;
        }
        let packing = self.content_encoding();
        let headers: Vec<(&str, &str)> = self
            .headers
            .iter()
            .filter(|(name, _)| packing.is_some() || *name != CONTENT_ENCODING)
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
            .collect();
        // What is packed says nothing to anyone.
        let body = match packing {
            None => self.text(),
            Some(_) => Cow::Borrowed(""),
        };
        let answer = Answer {
            status: self.status,
            headers: &headers,
            body: &body,
            provider: self.url.host_str(),
        };
        read(&answer).map(|failure| self.after_all(failure))
    }

    /// What a failure says when a write before it may have been done: not that nothing was.
    pub(crate) fn after_all(&self, failure: Failure) -> Failure {
        match failure.effect() {
            Effect::None if self.after_write => failure.with_effect(Effect::Unknown),
            _ => failure,
        }
    }

    /// How the body is packed, if it is, although nobody asked for that.
    pub(crate) fn content_encoding(&self) -> Option<String> {
        let stated = self.headers.get(CONTENT_ENCODING)?;
        let stated = String::from_utf8_lossy(stated.as_bytes());
        let stated = stated.trim().to_ascii_lowercase();
        let is_packed = !matches!(stated.as_str(), "" | "identity") && !self.body.is_empty();
        is_packed.then_some(stated)
    }

    /// The body as text, in the charset it is written in.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        charset::text(&self.body, self.content_type())
    }

    /// The body as text, if it is that.
    pub(crate) fn decoded(&self) -> Option<Cow<'_, str>> {
        charset::decoded(&self.body, self.content_type())
    }

    fn content_type(&self) -> Option<&str> {
        self.headers.get(CONTENT_TYPE)?.to_str().ok()
    }

    /// The media type without its parameters, in lower case.
    pub fn media_type(&self) -> Option<String> {
        media_type(&self.headers)
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Incoming")
            .field("status", &self.status)
            .field("url", &shown(&self.url))
            .field("bytes", &self.body.len())
            .field("redirects", &self.redirects)
            .finish_non_exhaustive()
    }
}

/// An answer that has begun; dropping it ends it.
#[derive(Debug)]
pub struct IncomingStream {
    reply: Reply,
    trouble: Trouble,
    deadline: Instant,
    limit: usize,
    redirects: usize,
    events: Events,
}

impl IncomingStream {
    pub(super) fn new(
        reply: Reply,
        trouble: Trouble,
        deadline: Instant,
        limit: usize,
        redirects: usize,
    ) -> Self {
        Self {
            reply,
            trouble,
            deadline,
            limit,
            redirects,
            events: Events::default(),
        }
    }

    /// The status.
    pub fn status(&self) -> u16 {
        self.reply.status().as_u16()
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        self.reply.headers()
    }

    /// Who answers, after redirects.
    pub fn url(&self) -> &Url {
        &self.trouble.url
    }

    /// Whether it gives events.
    pub fn is_events(&self) -> bool {
        let kind = media_type(self.headers());
        self.status() < 300 && kind.as_deref() == Some("text/event-stream")
    }

    /// The next event, at most [`EVENT_BYTES_LIMIT`] long; `None` when there are no more.
    pub async fn next_event(&mut self) -> Result<Option<Event>, Failure> {
        loop {
            if let Some(event) = self.events.next() {
                return Ok(Some(event));
            }
            let bytes = self.reply.chunk().await;
            match bytes.map_err(|error| self.trouble.of(&error))? {
                Some(bytes) => {
                    let fed = self.events.feed(&bytes);
                    fed.map_err(|_| self.too_large(EVENT_BYTES_LIMIT))?;
                }
                None if self.events.is_within_an_event() => return Err(self.trouble.cut()),
                None => return Ok(None),
            }
        }
    }

    /// The whole answer, in the time of its request. Of a failing answer what could be read: its status
    /// says more than the rest of its body.
    pub async fn read(mut self) -> Result<Incoming, Failure> {
        let fails = self.status() >= 400;
        let limit = if fails {
            self.limit.min(FAILING_BYTES)
        } else {
            self.limit
        };
        let mut body = BytesMut::new();
        let is_cut = match self.fill(&mut body, limit).await {
            Ok(is_whole) if is_whole || fails => !is_whole,
            Ok(_) => return Err(self.too_large(limit)),
            Err(_) if fails => true,
            Err(failure) => return Err(failure.with_detail("status", self.status())),
        };
        Ok(Incoming {
            status: self.status(),
            headers: self.reply.take_headers(),
            body: body.freeze(),
            is_cut,
            after_write: self.trouble.earlier && self.trouble.stake != Stake::Nothing,
            url: self.trouble.url,
            redirects: self.redirects,
        })
    }

    /// Reads to the end or to the limit; tells whether it was the end.
    async fn fill(&mut self, body: &mut BytesMut, limit: usize) -> Result<bool, Failure> {
        loop {
            let chunk = timeout_at(self.deadline, self.reply.chunk()).await;
            let chunk = chunk.map_err(|_| self.trouble.stall())?;
            let Some(bytes) = chunk.map_err(|error| self.trouble.of(&error))? else {
                return Ok(true);
            };
            let room = limit - body.len();
            if bytes.len() > room {
                body.extend_from_slice(&bytes[..room]);
                return Ok(false);
            }
            body.extend_from_slice(&bytes);
        }
    }

    /// What was done was done, however long its answer.
    fn too_large(&self, limit: usize) -> Failure {
        let reads = self.trouble.stake == Stake::Nothing;
        let failure = if reads {
            Failure::new(codes::ERR_JSON_SIZE_EXCEEDED).with_effect(Effect::None)
        } else {
            Failure::new(codes::ERR_OUTCOME_TOO_LARGE).with_effect(Effect::Applied)
        };
        let url = shown(&self.trouble.url);
        let mut upstream = Upstream::status(self.status());
        if let Some(host) = self.trouble.url.host_str() {
            upstream = upstream.provider(host);
        }
        let failure = failure
            .with_message(format!("{url}: its answer is longer than {limit} bytes"))
            .with_detail("reason", "answer_bytes_limit")
            .with_detail("limit_bytes", limit)
            .with_upstream(upstream);
        self.trouble.located(failure)
    }
}

fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let kind = value.split(';').next().unwrap_or_default().trim();
    (!kind.is_empty()).then(|| kind.to_ascii_lowercase())
}
