//! HTTP admission: checks host and origin, identifies the caller, then routes the request.
//!
//! A web page can send requests to servers on the visitor's machine, under a host name that it controls (DNS
//! rebinding). So the host of a request must be a name of this server, and its origin, if any, must be allowed.

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

use super::response::{self, BodyUnread};
use super::{HttpState, call, protocols};
use crate::caller::{Caller, Principal};
use crate::gateway::Surface;
use crate::limits::RequestBody;
use crate::listen::{HEAD_BYTES_LIMIT, OpenConnection};

/// The id of a request in logs; optional in requests.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const REQUEST_ID_LENGTH_LIMIT: usize = 128;

/// Headers that may appear once: those that admission, authentication and idempotency depend on.
const SINGLE_HEADERS: [HeaderName; 6] = [
    HOST,
    ORIGIN,
    AUTHORIZATION,
    super::headers::KEY,
    super::headers::SEED,
    super::headers::TIMEOUT,
];

/// A request as hyper received it.
type IncomingRequest = http::Request<Incoming>;

/// A request that passed admission.
pub(super) type Admitted = http::Request<RequestBody>;

/// The connection that a request arrived on.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionInfo {
    /// The address of the client.
    pub(crate) address: IpAddr,
    /// `http`, or `https` over TLS.
    pub(crate) scheme: &'static str,
    /// Keeps the connection counted; a WebSocket holds it longer than the request.
    pub(crate) open: Arc<OpenConnection>,
}

/// The caller of a request, or the failure to identify it.
pub(super) type Identified = Result<Caller, Failure>;

/// The caller that admission stored in the extensions of a routed request.
pub(super) fn identified(extensions: &Extensions) -> Identified {
    let identified = extensions.get::<Arc<Identified>>();
    identified.map_or_else(|| Ok(Caller::anonymous(None)), |it| Identified::clone(it))
}

/// The host names of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Hosts {
    /// `localhost` and loopback addresses.
    #[default]
    Loopback,
    /// These names, and those of `Loopback`.
    Named(Vec<String>),
    /// Any name: for a server that refuses callers without a token.
    Any,
}

/// The origins that may call from a browser, such as `https://app.example.com`. The server's own origin always may.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(pub Vec<String>);

/// The headers that admission reads. They are collected in one pass: most requests have few headers, so a
/// lookup of each would cost more.
#[derive(Default)]
struct AdmissionHeaders<'a> {
    host: Option<&'a HeaderValue>,
    origin: Option<&'a HeaderValue>,
    authorization: Option<&'a HeaderValue>,
    request_id: Option<&'a HeaderValue>,
    trace: Option<&'a HeaderValue>,
}

impl<'a> AdmissionHeaders<'a> {
    fn of(headers: &'a HeaderMap) -> Self {
        let mut found = Self::default();
        for (name, value) in headers {
            let field = match name.as_str() {
                "host" => &mut found.host,
                "origin" => &mut found.origin,
                "authorization" => &mut found.authorization,
                "x-request-id" => &mut found.request_id,
                "traceparent" => &mut found.trace,
                _ => continue,
            };
            field.get_or_insert(value);
        }
        found
    }
}

/// The HTTP service: admission in front of all paths. Clones share their state.
#[derive(Clone, Debug)]
pub struct HttpService {
    state: HttpState,
    paths: Router,
}

impl HttpService {
    pub(super) fn new(paths: Router, state: HttpState) -> Self {
        Self { state, paths }
    }

    /// Admits a request and answers it.
    ///
    /// One large function on purpose: each nested async function would move the request in and the response
    /// out.
    pub(crate) async fn handle(
        &self,
        connection: ConnectionInfo,
        request: IncomingRequest,
    ) -> Response {
        let (state, headers) = (&self.state, request.headers());
        let admission = AdmissionHeaders::of(headers);
        let context = match self.admit(connection.scheme, &admission, &request) {
            Ok(context) => context,
            Err(response) => return *response,
        };
        let id = context.request_id.as_ref();
        let identified = self.identify(&connection, id, &admission, headers).await;
        // The paths of nearly all calls are matched here, without the cost of the router. The router handles
        // all other paths and methods.
        let is_post = request.method() == Method::POST;
        let principal = match &identified {
            Ok(caller) => caller.principal.clone(),
            Err(_) => Principal::at(connection.address),
        };
        let buffered = state.0.gateway.buffered();
        let mut request = request.map(|body| buffered.count_request(&principal, body));
        let response = match request.uri().path() {
            "/call" if is_post => call::one(state, identified, request).await,
            "/rpc" | "/tasks" | "/" if is_post => {
                protocols::jsonrpc(state, identified, request).await
            }
            "/mcp" => protocols::mcp(state, identified, request).await,
            _ => {
                let extensions = request.extensions_mut();
                extensions.insert(Arc::new(identified));
                extensions.insert(connection);
                // A router is always ready and cannot fail.
                let Ok(response) = self.paths.clone().call(request.map(Body::new)).await;
                response
            }
        };
        buffered.count_response(&principal, context.finish(response))
    }

    /// The body of the response to a request head that hyper cannot parse.
    pub(crate) fn head_error_body(&self, status: StatusCode) -> Vec<u8> {
        let message = match status {
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
                format!("the request head exceeds {HEAD_BYTES_LIMIT} bytes or has too many headers")
            }
            StatusCode::URI_TOO_LONG => "the request URI is too long".to_owned(),
            _ => "the request head is not valid HTTP/1.1".to_owned(),
        };
        let failure = Failure::new(codes::INVALID_REQUEST).with_message(message);
        let failure = response::refusal(&self.state, Surface::Http, "", failure);
        let envelope = Envelope {
            http_status: Some(status.as_u16()),
            ..Envelope::default()
        };
        Dialect::Problem.write_failure(&failure, envelope)
    }

    /// Checks the headers of a request. Refusals and CORS preflights are answered here.
    fn admit(
        &self,
        scheme: &str,
        headers: &AdmissionHeaders<'_>,
        request: &IncomingRequest,
    ) -> Result<ResponseContext, Box<Response>> {
        let mut context = ResponseContext {
            has_body: !request.body().is_end_stream(),
            origin: None,
            request_id: None,
        };
        let checked = check_unambiguous(request.headers(), headers.host, request.uri())
            .map_err(|refusal| (refusal, StatusCode::BAD_REQUEST));
        let settings = &self.state.0.settings;
        let checked = checked.and_then(|()| {
            let checked = settings.check(scheme, headers);
            checked.map_err(|refusal| (refusal, StatusCode::FORBIDDEN))
        });
        if let Err((refusal, status)) = checked {
            let response = response::problem(&self.state, &refusal, status);
            return Err(Box::new(context.finish(response)));
        }
        context.origin = headers.origin.cloned();
        if request.method() == Method::OPTIONS && context.origin.is_some() {
            let response = StatusCode::NO_CONTENT.into_response();
            return Err(Box::new(context.finish(response)));
        }
        context.request_id = headers.request_id.and_then(usable_id);
        Ok(context)
    }

    async fn identify(
        &self,
        connection: &ConnectionInfo,
        request_id: Option<&HeaderValue>,
        admission: &AdmissionHeaders<'_>,
        headers: &HeaderMap,
    ) -> Identified {
        let gateway = &self.state.0.gateway;
        let caller = match admission.authorization.map(bearer).transpose() {
            Ok(token) => gateway.identify(token, Some(connection.address)).await,
            Err(invalid) => Err(invalid),
        };
        match &caller {
            Ok(caller) => gateway.take_request(&caller.principal)?,
            Err(_) => gateway.take_request(&Principal::at(connection.address))?,
        }
        let mut caller = caller?;
        caller.trace = admission
            .trace
            .and_then(|it| Trace::parse(it.to_str().ok()?));
        caller.request_id = request_id.and_then(redacted_id);
        caller.credentials = credentials(&self.state.0.settings.passed_headers, headers);
        Ok(caller)
    }
}

/// The facts about a request that its response headers depend on.
struct ResponseContext {
    has_body: bool,
    origin: Option<HeaderValue>,
    request_id: Option<HeaderValue>,
}

impl ResponseContext {
    /// Adds the headers that every response carries.
    fn finish(self, mut response: Response) -> Response {
        let closes = self.has_body && response.extensions().get::<BodyUnread>().is_some();
        let headers = response.headers_mut();
        if closes {
            // Announced, since a client that has sent its next request already would lose it.
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        // Responses repeat text of callers, so browsers must not guess another content type.
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if let Some(id) = self.request_id {
            headers.insert(REQUEST_ID, id);
        }
        if let Some(origin) = self.origin {
            allow_origin(origin, headers);
        }
        response
    }
}

fn text(header: &HeaderValue) -> &str {
    header.to_str().unwrap_or_default()
}

impl super::HttpSettings {
    fn check(&self, scheme: &str, headers: &AdmissionHeaders<'_>) -> Result<(), Failure> {
        let host = headers.host.map(text);
        let host = host.ok_or_else(|| refused("the request has no Host header", ""))?;
        if !self.hosts.includes(host) {
            let refused = refused("the Host header is not a name of this server", host);
            let action = "Add the name to `hosts` in panpan.toml if it belongs to this server";
            return Err(refused.with_actions([action]));
        }
        match headers.origin.map(text) {
            Some(origin) if !self.origins.includes(origin, scheme, host) => {
                Err(refused("the origin of the request is not allowed", origin)
                    .with_actions(["Add the origin to `origins` in panpan.toml if it may call"]))
            }
            _ => Ok(()),
        }
    }
}

/// Refuses duplicate headers and a host that differs between URI and header: a proxy in front of this server
/// may have checked the other value.
fn check_unambiguous(
    headers: &HeaderMap,
    host: Option<&HeaderValue>,
    uri: &Uri,
) -> Result<(), Failure> {
    let is_duplicate = |name: &&HeaderName| headers.get_all(*name).iter().nth(1).is_some();
    let has_duplicates = headers.len() > headers.keys_len();
    if has_duplicates && let Some(name) = SINGLE_HEADERS.iter().find(is_duplicate) {
        return Err(
            Failure::new(codes::INVALID_REQUEST).with_message(format!("duplicate header {name}"))
        );
    }
    let host = host.map(HeaderValue::as_bytes);
    match uri.authority() {
        Some(named)
            if !host.is_some_and(|it| it.eq_ignore_ascii_case(named.as_str().as_bytes())) =>
        {
            Err(Failure::new(codes::INVALID_REQUEST)
                .with_message("the host in the request line differs from the Host header"))
        }
        _ => Ok(()),
    }
}

fn refused(message: &str, from: &str) -> Failure {
    let shown: String = from.chars().take(REQUEST_ID_LENGTH_LIMIT).collect();
    Failure::new(codes::INVALID_REQUEST)
        .with_message(message)
        .with_detail("from", shown)
}

impl Hosts {
    /// Whether a host is one of these. A name without a port includes every port.
    fn includes(&self, host: &str) -> bool {
        let name = without_port(host);
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
        let is_own = origin
            .split_once("://")
            .is_some_and(|(of_origin, authority)| {
                of_origin.eq_ignore_ascii_case(scheme) && authority.eq_ignore_ascii_case(host)
            });
        is_own
            || self
                .0
                .iter()
                .any(|it| it.trim_end_matches('/').eq_ignore_ascii_case(origin))
    }
}

fn is_loopback(name: &str) -> bool {
    // Nearly every local client uses one of these; parsing an address costs more than the rest of the check.
    if matches!(name, "127.0.0.1" | "localhost" | "[::1]") {
        return true;
    }
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || address
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// The host without its port.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// The bearer token of a request, if there is one.
pub(super) fn token(headers: &HeaderMap) -> Result<Option<&str>, Failure> {
    headers.get(AUTHORIZATION).map(bearer).transpose()
}

/// The bearer token in an Authorization header. Other schemes are refused rather than ignored.
fn bearer(value: &HeaderValue) -> Result<&str, Failure> {
    let credentials = value.to_str().ok().and_then(|text| text.split_once(' '));
    match credentials {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim()),
        _ => Err(Failure::new(codes::FORBIDDEN)
            .with_message("the Authorization header has no bearer token")
            .with_detail("authenticated", false)
            .with_actions(["Send a bearer token in the Authorization header"])),
    }
}

/// The secrets for upstream services in the headers that this server passes on; usually none.
fn credentials(passed: &[HeaderName], headers: &HeaderMap) -> Option<Credentials> {
    let credential = |name: &HeaderName| {
        let value = headers.get(name)?.to_str().ok()?;
        Some((name.as_str().to_owned(), Secret::new(value.to_owned())))
    };
    let found: Vec<_> = passed.iter().filter_map(credential).collect();
    (!found.is_empty()).then(|| found.into_iter().collect())
}

fn usable_id(id: &HeaderValue) -> Option<HeaderValue> {
    let usable = id.len() <= REQUEST_ID_LENGTH_LIMIT && id.to_str().is_ok();
    usable.then(|| id.clone())
}

/// A request id for the log, redacted: a caller may have put a secret there.
fn redacted_id(id: &HeaderValue) -> Option<Arc<str>> {
    let id = Redactor::new().text(id.to_str().ok()?);
    Some(Arc::from(&*id))
}

/// Adds the CORS headers that let a page read the response.
fn allow_origin(origin: HeaderValue, headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(VARY, HeaderValue::from_static("origin"));
    let readable = "idempotent-replayed, mcp-session-id, panpan-error-id, retry-after, www-authenticate, x-request-id";
    let sent = "authorization, content-type, accept, idempotency-key, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, panpan-retry-seed, panpan-timeout-ms, traceparent, x-request-id";
    for (name, value) in [
        (ACCESS_CONTROL_EXPOSE_HEADERS, readable),
        (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
        (ACCESS_CONTROL_ALLOW_HEADERS, sent),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_sent_as_request_id_is_not_logged() {
        let logged = |id: &str| redacted_id(&id.parse().unwrap()).unwrap();
        assert_eq!(&*logged("request-1"), "request-1");
        let secret = "ab".repeat(32);
        let token = format!("panpan_0123456789ab_{secret}");
        assert!(!logged(&token).contains(&secret));
    }
}
