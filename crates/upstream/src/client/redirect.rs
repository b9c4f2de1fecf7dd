//! Redirects, followed by hand: where to, with what, and when no further.

use http::header::{self, HeaderMap, HeaderName};
use http::{Method, StatusCode};
use panpan_contract::binding::CONNECTION_HEADERS;
use panpan_failure::{Failure, Upstream, codes};
use panpan_redact::is_sensitive_name;
use url::Url;

use super::outgoing::Outgoing;
use super::sent;
use crate::guard::{Forbidden, Refusal};
use crate::trouble::Trouble;
use crate::wire::Reply;

/// The detail that says who redirected to a host that may not be asked.
pub(crate) const REDIRECTED_FROM: &str = "redirected_from";

/// A request and where it has been.
#[derive(Debug)]
pub(super) struct Trip {
    pub(super) outgoing: Outgoing,
    visited: Vec<(Method, Url)>,
    /// Whether a request before this one may have taken effect.
    earlier: bool,
    /// The status that would carry a body to another server.
    leads_elsewhere: Option<StatusCode>,
}

/// What an answer means for a trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It goes on.
    On,
    /// This is the answer.
    Arrived,
}

/// Why a redirect cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stuck {
    Loop,
    TooMany,
    Unusable,
    /// It would carry what was sent to another server.
    Elsewhere,
}

impl Stuck {
    fn facts(self) -> (&'static str, &'static str) {
        match self {
            Stuck::Loop => ("redirect_loop", "its redirects lead in a circle"),
            Stuck::TooMany => ("redirects_limit", "it redirects too often"),
            Stuck::Unusable => ("redirect_unusable", "it redirects to what is no address"),
            Stuck::Elsewhere => (
                "redirect_elsewhere",
                "it redirects a request with a body to another server, which is not sent it",
            ),
        }
    }
}

impl Trip {
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
            earlier: false,
            leads_elsewhere: None,
        }
    }

    /// What was sent to one server is not sent on to another: the operator chose to trust the first.
    pub(super) fn stays(&self, trouble: &Trouble) -> Result<(), Failure> {
        match self.leads_elsewhere {
            Some(status) => Err(self.stuck(Stuck::Elsewhere, status, trouble)),
            None => Ok(()),
        }
    }

    pub(super) fn redirects(&self) -> usize {
        self.visited.len()
    }

    /// A failure with whoever led to a host that may not be asked, if that was not the caller.
    pub(super) fn traced(&self, failure: Failure) -> Failure {
        let is_blocked = failure.code().as_str() == codes::ERR_BLOCKED_HOST.code;
        match self.visited.last().filter(|_| is_blocked) {
            Some((_, from)) => failure.with_detail(REDIRECTED_FROM, crate::trouble::shown(from)),
            None => failure,
        }
    }

    pub(super) fn trouble(&self) -> Trouble {
        Trouble {
            url: self.outgoing.url.clone(),
            url_detail: "url",
            operation: None,
            stake: self.outgoing.stake,
            patience: self
                .outgoing
                .stated_timeout
                .unwrap_or(self.outgoing.timeout),
            sent: sent(&self.outgoing),
            earlier: self.earlier,
        }
    }

    /// Takes the step an answer asks for.
    pub(super) fn step(&mut self, reply: &Reply, trouble: &Trouble) -> Result<Step, Failure> {
        let location = reply.headers().get(header::LOCATION);
        let (true, Some(location)) = (follows(reply.status()), location) else {
            return Ok(Step::Arrived);
        };
        if self.outgoing.redirects_limit == 0 {
            return Ok(Step::Arrived);
        }
        let target = location
            .to_str()
            .ok()
            .and_then(|text| self.outgoing.url.join(text).ok());
        let target = target.ok_or_else(|| self.stuck(Stuck::Unusable, reply.status(), trouble))?;
        self.turn(reply.status(), target, trouble)?;
        Ok(Step::On)
    }

    fn turn(
        &mut self,
        status: StatusCode,
        mut target: Url,
        trouble: &Trouble,
    ) -> Result<(), Failure> {
        target.set_fragment(None);
        let old = std::mem::replace(&mut self.outgoing.url, target);
        self.visited
            .push((self.outgoing.method.clone(), old.clone()));
        self.change_method(status);
        if old.scheme() == "https" && self.outgoing.url.scheme() == "http" {
            return Err(self.trouble().blocked(&Refusal {
                host: self.outgoing.url.host_str().unwrap_or_default().to_owned(),
                why: Forbidden::Downgrade,
            }));
        }
        let next = (&self.outgoing.method, &self.outgoing.url);
        if self
            .visited
            .iter()
            .any(|(method, url)| (method, url) == next)
        {
            return Err(self.stuck(Stuck::Loop, status, trouble));
        }
        if self.visited.len() > self.outgoing.redirects_limit {
            return Err(self.stuck(Stuck::TooMany, status, trouble));
        }
        if old.origin() != self.outgoing.url.origin() {
            let has_body = self.outgoing.body.as_ref().is_some_and(|it| !it.is_empty());
            self.leads_elsewhere = has_body.then_some(status);
            drop_credentials(&mut self.outgoing.headers);
        }
        Ok(())
    }

    /// 303 asks for the result of what was done; 301 and 302 mean the same after a POST, as everyone
    /// has read them since the first browsers. Others repeat the request elsewhere.
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
        self.earlier = true;
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

    fn stuck(&self, stuck: Stuck, status: StatusCode, trouble: &Trouble) -> Failure {
        let (word, sentence) = stuck.facts();
        let mut upstream = Upstream::status(status.as_u16());
        if let Some(host) = trouble.url.host_str() {
            upstream = upstream.provider(host);
        }
        let failure = Failure::new(codes::ERR_REDIRECT_FAILED)
            .with_upstream(upstream)
            .with_message(format!(
                "{}: {sentence}",
                crate::trouble::shown(&trouble.url)
            ))
            .with_detail("reason", word)
            .with_detail("redirects", self.redirects())
            .with_effect(self.trouble().effect_before());
        trouble.located(failure)
    }
}

fn follows(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// What is meant for one server is not shown to another.
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
