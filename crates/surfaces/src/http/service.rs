//! The service of HTTP: where a request may come from, and who sent it.
//!
//! A page in a browser can reach servers on its reader's machine, under a name it controls. So a request
//! must be addressed to a name this server goes by, and one that a page sent must come from a page that
//! is allowed to.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, AUTHORIZATION, CONNECTION, HOST, ORIGIN, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use http_body::Body as _;
use hyper::body::Incoming;
use panpan_failure::dialect::{Dialect, Envelope};
use panpan_failure::{Failure, codes};
use panpan_redact::{Redactor, Secret};
use panpan_runtime::{Credentials, Trace};
use tower::Service as _;

use super::answer::{self, Unread};
use super::{HttpState, call, protocols};
use crate::caller::{Caller, Principal};
use crate::gateway::Surface;
use crate::limits::Receiving;
use crate::listen::{HEAD_BYTES_LIMIT, Open};

/// The id a request is known by in logs, sent by the caller or left out.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const REQUEST_ID_LENGTH_LIMIT: usize = 128;

/// Headers that say where a request may come from, who sends it, and which piece of work it is.
const ONCE: [HeaderName; 6] = [
    HOST,
    ORIGIN,
    AUTHORIZATION,
    super::key::KEY,
    super::key::SEED,
    super::key::TIMEOUT,
];

/// A request as it comes over a connection.
type IncomingRequest = http::Request<Incoming>;

/// A request that the service has let in.
pub(super) type Admitted = http::Request<Receiving>;

/// Where a request comes from.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// The address at the other end.
    pub(crate) address: IpAddr,
    /// What the addresses of the server begin with on this connection: `http`, or `https` over TLS.
    pub(crate) scheme: &'static str,
    /// The connection, to be held by whatever outlives the request on it.
    pub(crate) open: Arc<Open>,
}

/// Who sent a request, or what is wrong with their token.
pub(super) type Identified = Result<Caller, Failure>;

/// Who sent a request that the service has let in.
pub(super) fn identified(extensions: &Extensions) -> Identified {
    let identified = extensions.get::<Arc<Identified>>();
    identified.map_or_else(|| Ok(Caller::anonymous(None)), |it| Identified::clone(it))
}

/// The names a server is reached by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Hosts {
    /// Those of the machine itself, and these.
    #[default]
    Loopback,
    /// These, and those of the machine itself.
    Named(Vec<String>),
    /// Any name: for a server whose callers all have to be known.
    Any,
}

/// The pages that may call from a browser, such as `https://app.example.com`; the server's own always may.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(pub Vec<String>);

/// What the service looks at in every request, found in one walk over its headers: of most there are none,
/// and to look for each by itself costs more than the few there are.
#[derive(Default)]
struct Head<'a> {
    host: Option<&'a HeaderValue>,
    origin: Option<&'a HeaderValue>,
    authorization: Option<&'a HeaderValue>,
    request_id: Option<&'a HeaderValue>,
    trace: Option<&'a HeaderValue>,
}

impl<'a> Head<'a> {
    fn of(headers: &'a HeaderMap) -> Self {
        let mut head = Self::default();
        for (name, value) in headers {
            let place = match name.as_str() {
                "host" => &mut head.host,
                "origin" => &mut head.origin,
                "authorization" => &mut head.authorization,
                "x-request-id" => &mut head.request_id,
                "traceparent" => &mut head.trace,
                _ => continue,
            };
            place.get_or_insert(value);
        }
        head
    }
}

/// All that is served over HTTP, behind its service. Clones are the same service.
#[derive(Clone, Debug)]
pub struct HttpService {
    state: HttpState,
    paths: Router,
}

impl HttpService {
    pub(super) fn before(paths: Router, state: HttpState) -> Self {
        Self { state, paths }
    }

    /// Lets a request in, with who sent it, or answers it at the service.
    ///
    /// One function and not several that wait for each other: a request is moved into each of those, and
    /// its answer out of each.
    pub(crate) async fn enter(&self, peer: Peer, request: IncomingRequest) -> Response {
        let (state, headers) = (&self.state, request.headers());
        let head = Head::of(headers);
        let entry = match self.entry(peer.scheme, &head, &request) {
            Ok(entry) => entry,
            Err(response) => return *response,
        };
        let id = entry.request_id.as_ref();
        let identified = self.identified(&peer, id, &head, headers).await;
        // The paths nearly all calls take are known here, and reached without a router's work; the
        // router knows all others, and all other methods.
        let is_post = request.method() == Method::POST;
        let principal = match &identified {
            Ok(caller) => caller.principal.clone(),
            Err(_) => Principal::at(peer.address),
        };
        let unread = state.0.gateway.unread();
        let mut request = request.map(|body| unread.receiving(&principal, body));
        let response = match request.uri().path() {
            "/call" if is_post => call::one(state, identified, request).await,
            "/rpc" | "/tasks" | "/" if is_post => {
                protocols::jsonrpc(state, identified, request).await
            }
            "/mcp" => protocols::mcp(state, identified, request).await,
            _ => {
                let extensions = request.extensions_mut();
                extensions.insert(Arc::new(identified));
                extensions.insert(peer);
                // A router is always ready, and never fails.
                let Ok(response) = self.paths.clone().call(request.map(Body::new)).await;
                response
            }
        };
        unread.counting(&principal, entry.leave(response))
    }

    /// What is wrong with a head that could not be read, as the body of its answer.
    pub(crate) fn unreadable_head(&self, status: StatusCode) -> Vec<u8> {
        let message = match status {
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
                format!(
                    "the head of the request has more than {HEAD_BYTES_LIMIT} bytes, or too many headers"
                )
            }
            StatusCode::URI_TOO_LONG => "the address of the request is too long".to_owned(),
            _ => "the head of the request is not HTTP/1.1".to_owned(),
        };
        let failure = Failure::new(codes::INVALID_REQUEST).with_message(message);
        let failure = answer::refusal(&self.state, Surface::Http, "", failure);
        let envelope = Envelope {
            http_status: Some(status.as_u16()),
            ..Envelope::default()
        };
        Dialect::Problem.write_failure(&failure, envelope)
    }

    /// What has to be remembered of a request until it is answered, or its answer at the service.
    fn entry(
        &self,
        scheme: &str,
        head: &Head<'_>,
        request: &IncomingRequest,
    ) -> Result<Entry, Box<Response>> {
        let entry = Entry {
            has_body: !request.body().is_end_stream(),
            origin: None,
            request_id: None,
        };
        if let Err(refusal) = unambiguous(request.headers(), head.host, request.uri()) {
            let response = answer::plain(&self.state, &refusal, StatusCode::BAD_REQUEST);
            return Err(Box::new(entry.leave(response)));
        }
        if let Err(refusal) = self.state.0.settings.check(scheme, head) {
            let response = answer::plain(&self.state, &refusal, StatusCode::FORBIDDEN);
            return Err(Box::new(entry.leave(response)));
        }
        let origin = head.origin.cloned();
        if request.method() == Method::OPTIONS && origin.is_some() {
            let entry = Entry { origin, ..entry };
            let response = StatusCode::NO_CONTENT.into_response();
            return Err(Box::new(entry.leave(response)));
        }
        Ok(Entry {
            origin,
            request_id: head.request_id.and_then(usable_id),
            ..entry
        })
    }

    async fn identified(
        &self,
        peer: &Peer,
        request_id: Option<&HeaderValue>,
        head: &Head<'_>,
        headers: &HeaderMap,
    ) -> Identified {
        let trace = head.trace.and_then(trace);
        let gateway = &self.state.0.gateway;
        let caller = match head.authorization.map(bearer).transpose() {
            Ok(token) => gateway.identify(token, Some(peer.address)).await,
            Err(unreadable) => Err(unreadable),
        };
        match &caller {
            Ok(caller) => gateway.take_request(&caller.principal)?,
            Err(_) => gateway.take_request(&Principal::at(peer.address))?,
        }
        let caller = caller?.within(trace, request_id.and_then(logged));
        Ok(caller.bringing(brought(&self.state.0.settings.passed_headers, headers)))
    }
}

/// What the answer to a request depends on besides what was asked.
struct Entry {
    has_body: bool,
    origin: Option<HeaderValue>,
    request_id: Option<HeaderValue>,
}

impl Entry {
    /// The answer as it leaves.
    fn leave(self, mut response: Response) -> Response {
        let unread = self.has_body && response.extensions().get::<Unread>().is_some();
        let headers = response.headers_mut();
        if unread {
            // Said beforehand: a client that has begun its next request would lose it.
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        // What callers sent is repeated to them: a browser is to take it for nothing else than it says.
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if let Some(id) = self.request_id {
            headers.insert(REQUEST_ID, id);
        }
        if let Some(origin) = self.origin {
            allow(origin, headers);
        }
        response
    }
}

impl super::HttpSettings {
    fn check(&self, scheme: &str, head: &Head<'_>) -> Result<(), Failure> {
        let host = head.host.map(|host| host.to_str().unwrap_or_default());
        let host =
            host.ok_or_else(|| foreign("the request does not say which host it is for", ""))?;
        if !self.hosts.includes(host) {
            let shown = "this server does not go by the name the request is addressed to";
            return Err(foreign(shown, host).with_actions([
                "Add the name to `hosts` in panpan.toml if it is really one of this server",
            ]));
        }
        match head
            .origin
            .map(|origin| origin.to_str().unwrap_or_default())
        {
            Some(origin) if !self.origins.includes(origin, scheme, host) => {
                let shown = "pages of this origin may not call this server";
                Err(foreign(shown, origin)
                    .with_actions(["Add the origin to `origins` in panpan.toml if it may"]))
            }
            _ => Ok(()),
        }
    }
}

/// Whether it can be told what a request means: of two that differ, somebody in front of this server may
/// have looked at the other one.
fn unambiguous(headers: &HeaderMap, host: Option<&HeaderValue>, uri: &Uri) -> Result<(), Failure> {
    let twice = |name: &&HeaderName| headers.get_all(*name).iter().nth(1).is_some();
    let some_stand_twice = headers.len() > headers.keys_len();
    if some_stand_twice && let Some(name) = ONCE.iter().find(twice) {
        return Err(Failure::new(codes::INVALID_REQUEST)
            .with_message(format!("the header {name} stands twice in the request")));
    }
    let host = host.map(HeaderValue::as_bytes);
    match uri.authority() {
        Some(named)
            if !host.is_some_and(|it| it.eq_ignore_ascii_case(named.as_str().as_bytes())) =>
        {
            Err(Failure::new(codes::INVALID_REQUEST).with_message(
                "the request names one host in its first line and another in the header host",
            ))
        }
        _ => Ok(()),
    }
}

fn foreign(message: &str, from: &str) -> Failure {
    let shown: String = from.chars().take(REQUEST_ID_LENGTH_LIMIT).collect();
    Failure::new(codes::INVALID_REQUEST)
        .with_message(message)
        .with_detail("from", shown)
}

impl Hosts {
    /// Whether a host is one of these; one that was named without a port has every port.
    fn includes(&self, host: &str) -> bool {
        let name = name_of(host);
        let is =
            |named: &String| named.eq_ignore_ascii_case(name) || named.eq_ignore_ascii_case(host);
        match self {
            Self::Any => true,
            Self::Loopback => is_loopback(name),
            Self::Named(names) => is_loopback(name) || names.iter().any(is),
        }
    }
}

impl Origins {
    fn includes(&self, origin: &str, scheme: &str, host: &str) -> bool {
        let own = origin.split_once("://").is_some_and(|(its, authority)| {
            its.eq_ignore_ascii_case(scheme) && authority.eq_ignore_ascii_case(host)
        });
        own || self
            .0
            .iter()
            .any(|it| it.trim_end_matches('/').eq_ignore_ascii_case(origin))
    }
}

fn is_loopback(name: &str) -> bool {
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || address
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// The host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// The bearer token of a request, if it carries one.
pub(super) fn token(headers: &HeaderMap) -> Result<Option<&str>, Failure> {
    headers.get(AUTHORIZATION).map(bearer).transpose()
}

/// The bearer token in a header. Credentials of another kind are refused rather than overlooked.
fn bearer(value: &HeaderValue) -> Result<&str, Failure> {
    let stated = value.to_str().ok().and_then(|text| text.split_once(' '));
    match stated {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim()),
        _ => Err(Failure::new(codes::FORBIDDEN)
            .with_message("the Authorization header carries no bearer token")
            .with_detail("authenticated", false)
            .with_actions(["Send the word Bearer and then the token in the header Authorization"])),
    }
}

fn trace(stated: &HeaderValue) -> Option<Trace> {
    Trace::parse(stated.to_str().ok()?)
}

/// The secrets for services behind that a request carries; most servers pass none on.
fn brought(passed: &[HeaderName], headers: &HeaderMap) -> Option<Credentials> {
    let stated = |name: &HeaderName| {
        let value = headers.get(name)?.to_str().ok()?;
        Some((name.as_str().to_owned(), Secret::new(value.to_owned())))
    };
    let found: Vec<_> = passed.iter().filter_map(stated).collect();
    (!found.is_empty()).then(|| found.into_iter().collect())
}

fn usable_id(id: &HeaderValue) -> Option<HeaderValue> {
    let usable = id.len() <= REQUEST_ID_LENGTH_LIMIT && id.to_str().is_ok();
    usable.then(|| id.clone())
}

/// An id as it is logged: a caller may have put anything there.
fn logged(id: &HeaderValue) -> Option<Arc<str>> {
    let id = Redactor::new().text(id.to_str().ok()?);
    Some(Arc::from(&*id))
}

/// Tells the browser that the page may read the answer.
fn allow(origin: HeaderValue, headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(VARY, HeaderValue::from_static("origin"));
    let readable = "idempotent-replayed, mcp-session-id, panpan-error-id, retry-after, www-authenticate, x-request-id";
    headers.insert(
        ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static(readable),
    );
    headers.insert(
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, POST, DELETE"),
    );
    let sent = "authorization, content-type, accept, idempotency-key, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, panpan-retry-seed, panpan-timeout-ms, traceparent, x-request-id";
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(sent));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_in_the_place_of_an_id_is_not_logged() {
        let logged = |id: &str| logged(&id.parse().unwrap()).unwrap();
        assert_eq!(&*logged("request-1"), "request-1");
        let secret = "ab".repeat(32);
        let token = format!("panpan_0123456789ab_{secret}");
        assert!(!logged(&token).contains(&secret));
    }
}
