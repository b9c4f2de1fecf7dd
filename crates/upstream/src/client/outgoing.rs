//! A request to send: its parts, its limits and what repeating it would do.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::{HeaderMap, HeaderName};
use panpan_contract::binding::CONNECTION_HEADERS;
use url::Url;

use crate::exchange::{RepeatSafety, display_url};

/// The default timeout.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The default limit on the length of a response body, in bytes.
const RESPONSE_BYTES: usize = 10 * 1024 * 1024;
/// The default limit on redirects.
const REDIRECTS: usize = 5;

/// The number of headers that are added before a request is sent.
const ADDED_HEADERS: usize = 8;

/// A request to send. Its debug form shows no header, no body and no query.
#[derive(Clone)]
pub struct Outgoing {
    /// The method.
    pub method: Method,
    /// The URL.
    pub url: Url,
    /// The headers; those that belong to the connection are not sent.
    pub headers: HeaderMap,
    /// The body.
    pub body: Option<Bytes>,
    /// The longest wait for the response, redirects included.
    pub timeout: Duration,
    /// The timeout as the caller or operator set it, which messages state, if it differs.
    pub stated_timeout: Option<Duration>,
    /// The longest response body that is read, in bytes.
    pub response_bytes_limit: usize,
    /// How many redirects are followed; with 0, a redirect is returned as the response.
    pub redirects_limit: usize,
    /// What repeating the request does, for the case that the response is lost.
    pub repeat_safety: RepeatSafety,
}

impl Outgoing {
    /// A request without headers and body, with the default limits and the repeat safety of its method.
    pub fn new(method: Method, url: Url) -> Self {
        Self {
            repeat_safety: repeat_safety(&method),
            method,
            url,
            headers: HeaderMap::new(),
            body: None,
            timeout: TIMEOUT,
            stated_timeout: None,
            response_bytes_limit: RESPONSE_BYTES,
            redirects_limit: REDIRECTS,
        }
    }

    /// Whether a header belongs to the connection and cannot be set.
    pub fn is_of_connection(name: &HeaderName) -> bool {
        CONNECTION_HEADERS.contains(&name.as_str())
    }
}

/// A copy of the headers with spare capacity, so that adding headers does not reallocate.
pub(crate) fn with_spare_capacity(headers: &HeaderMap) -> HeaderMap {
    let mut copy = HeaderMap::with_capacity(headers.len() + ADDED_HEADERS);
    let all = headers.iter();
    copy.extend(all.map(|(name, value)| (name.clone(), value.clone())));
    copy
}

fn repeat_safety(method: &Method) -> RepeatSafety {
    if method.is_safe() {
        RepeatSafety::ReadOnly
    } else if *method == Method::PUT {
        RepeatSafety::Idempotent
    } else {
        RepeatSafety::NotRepeatable
    }
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Outgoing")
            .field("method", &self.method)
            .field("url", &display_url(&self.url))
            .field("timeout", &self.timeout)
            .field("repeat_safety", &self.repeat_safety)
            .finish_non_exhaustive()
    }
}
