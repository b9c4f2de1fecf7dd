//! A request on its way out.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::{HeaderMap, HeaderName};
use panpan_contract::binding::CONNECTION_HEADERS;
use url::Url;

use crate::trouble::{Stake, shown};

/// How long an answer is waited for when nobody says.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);
/// The longest answer that is read when nobody says, in bytes.
pub(super) const ANSWER_BYTES: usize = 10 * 1024 * 1024;
/// How many redirects are followed when nobody says.
pub(super) const REDIRECTS: usize = 5;

/// How many headers are added to those of a request on its way.
const ADDED_HEADERS: usize = 8;

/// What to ask. Its debug form shows no header, no body and no query.
#[derive(Clone)]
pub struct Outgoing {
    /// The method.
    pub method: Method,
    /// The address.
    pub url: Url,
    /// Headers; those that belong to the connection are left out when it is sent.
    pub headers: HeaderMap,
    /// The body.
    pub body: Option<Bytes>,
    /// How long an answer is waited for, redirects included.
    pub timeout: Duration,
    /// How long that is in the words of whoever set the limit, if not exactly so.
    pub stated_timeout: Option<Duration>,
    /// The longest answer that is read, in bytes.
    pub answer_bytes_limit: usize,
    /// How many redirects are followed; with none, a redirect is an answer.
    pub redirects_limit: usize,
    /// What is at stake when the answer is lost.
    pub stake: Stake,
}

impl Outgoing {
    /// A request without headers and body, with the usual limits, and at stake what its method says.
    pub fn new(method: Method, url: Url) -> Self {
        Self {
            stake: stake(&method),
            method,
            url,
            headers: HeaderMap::new(),
            body: None,
            timeout: TIMEOUT,
            stated_timeout: None,
            answer_bytes_limit: ANSWER_BYTES,
            redirects_limit: REDIRECTS,
        }
    }

    /// Whether a header belongs to the connection and cannot be set.
    pub fn is_of_connection(name: &HeaderName) -> bool {
        CONNECTION_HEADERS.contains(&name.as_str())
    }
}

/// The same headers with room for those that are added on the way, which then moves none of them.
pub(crate) fn with_room(headers: &HeaderMap) -> HeaderMap {
    let mut roomy = HeaderMap::with_capacity(headers.len() + ADDED_HEADERS);
    let all = headers.iter();
    roomy.extend(all.map(|(name, value)| (name.clone(), value.clone())));
    roomy
}

fn stake(method: &Method) -> Stake {
    if method.is_safe() {
        Stake::Nothing
    } else if *method == Method::PUT {
        Stake::Repeatable
    } else {
        Stake::Change
    }
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Outgoing")
            .field("method", &self.method)
            .field("url", &shown(&self.url))
            .field("timeout", &self.timeout)
            .field("stake", &self.stake)
            .finish_non_exhaustive()
    }
}
