//! The HTTP client for upstream services: guarded, bounded, without retries.
//!
//! A response of any status is returned as a response; `classify` says what it means. A failure here means that
//! there is no complete response, and states what is known about effects. Redirects are in `redirect`, reading
//! the response in `incoming`; name lookup and connections are in `transport`.

mod incoming;
mod outgoing;
mod redirect;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use panpan_failure::Failure;
use tokio::time::Instant;

pub use incoming::{Incoming, IncomingStream};
pub use outgoing::Outgoing;
pub(crate) use outgoing::with_spare_capacity;
pub(crate) use redirect::REDIRECTED_FROM;

use crate::exchange::{Exchange, SentFlag};
use crate::guard::{Allowed, Trust, check_url};
use crate::transport::{
    self, ConnectionPool, Lookup, Payload, RawResponse, Resolver, SetupError, SystemLookup,
};
use redirect::{RedirectChain, Step};

/// The default connect timeout.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The timeout that replaces one that the clock cannot represent.
const TIMEOUT_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The settings of a [`Client`].
#[derive(Clone)]
pub struct ClientSettings {
    /// Hosts and networks that are allowed although they are not public.
    pub allowed: Allowed,
    /// The connect timeout, including the name lookup and the TLS handshake.
    pub connect_timeout: Duration,
    /// Certificates to trust in addition to those of the system, as PEM.
    pub ca: Option<Vec<u8>>,
    /// Finds the addresses of host names.
    pub lookup: Arc<dyn Lookup>,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            allowed: Allowed::default(),
            connect_timeout: CONNECT_TIMEOUT,
            ca: None,
            lookup: Arc::new(SystemLookup),
        }
    }
}

impl fmt::Debug for ClientSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ClientSettings")
            .field("allowed", &self.allowed)
            .field("connect_timeout", &self.connect_timeout)
            .finish_non_exhaustive()
    }
}

/// A guarded HTTP client. Clones share their connections.
#[derive(Clone, Debug)]
pub struct Client(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Connects to allowed addresses only.
    guarded: ConnectionPool,
    /// Connects to every address of a host that the operator named.
    unguarded: ConnectionPool,
    allowed: Allowed,
}

impl Client {
    /// Initialises a client; nothing is sent yet.
    ///
    /// If neither the system nor the settings have trusted certificates, every HTTPS server is refused.
    pub fn new(settings: ClientSettings) -> Result<Self, SetupError> {
        let tls = match transport::with_system_roots(settings.ca.as_deref()) {
            Err(SetupError::Tls(_)) if settings.ca.is_none() => transport::without_roots()?,
            tls => tls?,
        };
        let lookup = &settings.lookup;
        let guarded = Resolver::guarded(lookup.clone(), settings.allowed.clone());
        let unguarded = Resolver::unguarded(lookup.clone());
        let pool = |resolver| ConnectionPool::new(tls.clone(), resolver, settings.connect_timeout);
        Ok(Self(Arc::new(Inner {
            guarded: pool(guarded),
            unguarded: pool(unguarded),
            allowed: settings.allowed,
        })))
    }

    /// Sends a request and reads the whole response.
    pub async fn send(&self, outgoing: Outgoing) -> Result<Incoming, Failure> {
        self.open(outgoing).await?.read().await
    }

    /// Sends a request and returns the response as soon as its head arrives. The timeout covers the head only.
    pub async fn open(&self, outgoing: Outgoing) -> Result<IncomingStream, Failure> {
        let now = Instant::now();
        let deadline = now
            .checked_add(outgoing.timeout)
            .unwrap_or(now + TIMEOUT_MAX);
        let mut chain = RedirectChain::new(outgoing);
        loop {
            let exchange = chain.exchange();
            let response = self.hop(&chain, &exchange, deadline).await;
            let response = response.map_err(|failure| chain.with_origin(failure))?;
            let step = chain.follow(&response, &exchange);
            if step.map_err(|failure| chain.with_origin(failure))? == Step::Done {
                let limit = chain.outgoing.response_bytes_limit;
                let redirects = chain.redirects();
                let stream = IncomingStream::new(response, exchange, deadline, limit, redirects);
                return Ok(stream);
            }
        }
    }

    async fn hop(
        &self,
        chain: &RedirectChain,
        exchange: &Exchange,
        deadline: Instant,
    ) -> Result<RawResponse, Failure> {
        let Outgoing {
            method,
            url,
            headers,
            body,
            ..
        } = &chain.outgoing;
        let trust =
            check_url(url, &self.0.allowed).map_err(|blocked| exchange.blocked(&blocked))?;
        chain.check_body_target(exchange)?;
        let pool = match trust {
            Trust::Named => &self.0.unguarded,
            Trust::Public => &self.0.guarded,
        };
        let payload = Payload::new(body.clone(), Some(exchange.sent.clone()));
        let headers = with_spare_capacity(headers);
        let response = pool.send(method.clone(), url, headers, payload);
        exchange.head(deadline, response).await
    }
}

/// Sending can be observed by the body; a request without a body has to be assumed sent.
fn sent_flag(outgoing: &Outgoing) -> SentFlag {
    match &outgoing.body {
        Some(body) if !body.is_empty() => SentFlag::unset(),
        _ => SentFlag::assumed(),
    }
}
