//! Follows redirects: to which URL, with which method and headers, and when to stop.

use http::header::{self, HeaderMap, HeaderName};
use http::{Method, StatusCode};
use panpan_contract::binding::CONNECTION_HEADERS;
use panpan_failure::{Failure, codes};
use panpan_redact::is_sensitive_name;
use url::Url;

use super::outgoing::Outgoing;
use super::sent_flag;
use crate::exchange::{Exchange, display_url, upstream};
use crate::guard::{BlockReason, BlockedHost};
use crate::transport::RawResponse;

/// The detail with the URL that redirected to a blocked host.
pub(crate) const REDIRECTED_FROM: &str = "redirected_from";

/// A request and the redirects that it followed.
#[derive(Debug)]
pub(super) struct RedirectChain {
    pub(super) outgoing: Outgoing,
    visited: Vec<(Method, Url)>,
    /// Whether an earlier request of the chain may have taken effect.
    follows_effect: bool,
    /// The status of a redirect that would send the body to another server.
    moved_body: Option<StatusCode>,
}

/// What to do after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Send the redirected request.
    Redirect,
    /// Return the response.
    Done,
}

/// The reason that a redirect is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RedirectError {
    Loop,
    TooMany,
    InvalidTarget,
    /// The redirect would send the body to another server.
    MovedBody,
}

impl RedirectError {
    /// The detail `reason`, and the message.
    fn facts(self) -> (&'static str, &'static str) {
        match self {
            Self::Loop => ("redirect_loop", "redirect loop"),
            Self::TooMany => ("redirects_limit", "too many redirects"),
            Self::InvalidTarget => (
                "redirect_unusable",
                "the target of the redirect is not a valid URL",
            ),
            Self::MovedBody => (
                "redirect_elsewhere",
                "redirects to another server are not followed for a request with a body",
            ),
        }
    }
}

impl RedirectChain {
    pub(super) fn new(mut outgoing: Outgoing) -> Self {
        if outgoing.headers.keys().any(Outgoing::is_of_connection) {
            for name in CONNECTION_HEADERS {
                outgoing.headers.remove(name);
            }
        }
        outgoing.url.set_fragment(None);
        Self {
            outgoing,
            visited: Vec::new(),
            follows_effect: false,
            moved_body: None,
        }
    }

    /// Fails if the body would go to another server: the operator chose to trust the first one only.
    pub(super) fn check_body_target(&self, exchange: &Exchange) -> Result<(), Failure> {
        match self.moved_body {
            Some(status) => Err(self.failed(RedirectError::MovedBody, status, exchange)),
            None => Ok(()),
        }
    }

    pub(super) fn redirects(&self) -> usize {
        self.visited.len()
    }

    /// Adds to a failure about a blocked host the URL that redirected there.
    pub(super) fn with_origin(&self, failure: Failure) -> Failure {
        let is_blocked = failure.code().as_str() == codes::ERR_BLOCKED_HOST.code;
        match self.visited.last().filter(|_| is_blocked) {
            Some((_, from)) => failure.with_detail(REDIRECTED_FROM, display_url(from)),
            None => failure,
        }
    }

    pub(super) fn exchange(&self) -> Exchange {
        Exchange {
            url: self.outgoing.url.clone(),
            url_detail: "url",
            operation: None,
            repeat_safety: self.outgoing.repeat_safety,
            timeout: self
                .outgoing
                .stated_timeout
                .unwrap_or(self.outgoing.timeout),
            sent: sent_flag(&self.outgoing),
            follows_effect: self.follows_effect,
        }
    }

    /// Prepares the next request if a response is a redirect.
    pub(super) fn follow(
        &mut self,
        response: &RawResponse,
        exchange: &Exchange,
    ) -> Result<Step, Failure> {
        let status = response.status();
        if !is_redirect(status) || self.outgoing.redirects_limit == 0 {
            return Ok(Step::Done);
        }
        let Some(location) = response.headers().get(header::LOCATION) else {
            return Ok(Step::Done);
        };
        let target = location
            .to_str()
            .ok()
            .and_then(|text| self.outgoing.url.join(text).ok());
        let invalid = || self.failed(RedirectError::InvalidTarget, status, exchange);
        let target = target.ok_or_else(invalid)?;
        self.redirect_to(status, target, exchange)?;
        Ok(Step::Redirect)
    }

    fn redirect_to(
        &mut self,
        status: StatusCode,
        mut target: Url,
        exchange: &Exchange,
    ) -> Result<(), Failure> {
        target.set_fragment(None);
        let old = std::mem::replace(&mut self.outgoing.url, target);
        self.visited
            .push((self.outgoing.method.clone(), old.clone()));
        self.change_method(status);
        if old.scheme() == "https" && self.outgoing.url.scheme() == "http" {
            return Err(self.exchange().blocked(&BlockedHost {
                host: self.outgoing.url.host_str().unwrap_or_default().to_owned(),
                reason: BlockReason::Downgrade,
            }));
        }
        let next = (&self.outgoing.method, &self.outgoing.url);
        if self
            .visited
            .iter()
            .any(|(method, url)| (method, url) == next)
        {
            return Err(self.failed(RedirectError::Loop, status, exchange));
        }
        if self.visited.len() > self.outgoing.redirects_limit {
            return Err(self.failed(RedirectError::TooMany, status, exchange));
        }
        if old.origin() != self.outgoing.url.origin() {
            let has_body = self.outgoing.body.as_ref().is_some_and(|it| !it.is_empty());
            self.moved_body = has_body.then_some(status);
            drop_credentials(&mut self.outgoing.headers);
        }
        Ok(())
    }

    /// 303 means that the result is at the target; after a POST every browser treats 301 and 302 the same. Other
    /// redirects repeat the request at the target.
    fn change_method(&mut self, status: StatusCode) {
        let method = &self.outgoing.method;
        let changes = match status {
            StatusCode::SEE_OTHER => *method != Method::HEAD && *method != Method::GET,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => *method == Method::POST,
            _ => false,
        };
        if !changes {
            return;
        }
        self.follows_effect = true;
        self.outgoing.method = Method::GET;
        self.outgoing.body = None;
        for name in [
            header::CONTENT_TYPE,
            header::CONTENT_ENCODING,
            header::CONTENT_LANGUAGE,
            header::CONTENT_LOCATION,
        ] {
            self.outgoing.headers.remove(name);
        }
    }

    fn failed(&self, error: RedirectError, status: StatusCode, exchange: &Exchange) -> Failure {
        let (reason, message) = error.facts();
        let failure = Failure::new(codes::ERR_REDIRECT_FAILED)
            .with_upstream(upstream(&exchange.url, status.as_u16()))
            .with_message(format!("{}: {message}", display_url(&exchange.url)))
            .with_detail("reason", reason)
            .with_detail("redirects", self.redirects())
            .with_effect(self.exchange().effect_unless_sent());
        exchange.located(failure)
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Removes headers that are meant for one server only.
fn drop_credentials(headers: &mut HeaderMap) {
    let secret: Vec<HeaderName> = headers
        .iter()
        .filter(|(name, value)| {
            value.is_sensitive()
                || **name == header::AUTHORIZATION
                || **name == header::COOKIE
                || is_sensitive_name(name.as_str())
        })
        .map(|(name, _)| name.clone())
        .collect();
    for name in secret {
        headers.remove(name);
    }
}
