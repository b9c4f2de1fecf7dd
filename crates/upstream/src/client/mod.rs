//! The client everything goes out through: guarded, bounded, repeating nothing.
//!
//! An answer of any status is an answer; what it means is told by `classify`. A failure here says that
//! there is no answer, and what is known about side effects. Redirects are in `redirect`, reading the
//! answer in `incoming`; names, connections and bytes are the business of `wire`.

mod incoming;
mod outgoing;
mod redirect;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use panpan_failure::Failure;
use tokio::time::{Instant, timeout_at};

pub use incoming::{Incoming, IncomingStream};
pub use outgoing::Outgoing;
pub(crate) use outgoing::with_room;
pub(crate) use redirect::REDIRECTED_FROM;

use crate::guard::{Allowed, Trust, check_url};
use crate::trouble::{Sent, Trouble};
use crate::wire::{self, Lookup, Payload, Reply, Resolver, SetupError, SystemLookup, Wire};
use redirect::{Step, Trip};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);

/// The longest an answer is waited for, when whoever asks names a time beyond all clocks.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// How a client goes out.
#[derive(Clone)]
pub struct ClientSettings {
    /// What may be asked although it is not public.
    pub allowed: Allowed,
    /// How long a connection may take to come about, its name and its secrecy included.
    pub connect_timeout: Duration,
    /// Certificates to trust besides those of the system, as PEM.
    pub ca: Option<Vec<u8>>,
    /// Who knows the addresses of names.
    pub lookup: Arc<dyn Lookup>,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            allowed: Allowed::default(),
            connect_timeout: CONNECT,
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
    /// Connects to addresses that may be connected to, and to no others.
    public: Wire,
    /// Connects to whatever address a host has that the operator named.
    named: Wire,
    allowed: Allowed,
}

impl Client {
    /// Makes ready to ask; nothing is sent yet.
    ///
    /// Where the system trusts no certificates and none are given, every HTTPS server is refused.
    pub fn new(settings: ClientSettings) -> Result<Self, SetupError> {
        let tls = match wire::trusting(settings.ca.as_deref()) {
            Err(SetupError::Tls(_)) if settings.ca.is_none() => wire::trusting_nobody()?,
            tls => tls?,
        };
        let lookup = &settings.lookup;
        let guarded = Resolver::guarded(lookup.clone(), settings.allowed.clone());
        let trusting = Resolver::trusting(lookup.clone());
        let wire = |resolver| Wire::new(tls.clone(), resolver, settings.connect_timeout);
        Ok(Self(Arc::new(Inner {
            public: wire(guarded),
            named: wire(trusting),
            allowed: settings.allowed,
        })))
    }

    /// Asks, and reads the whole answer.
    pub async fn send(&self, outgoing: Outgoing) -> Result<Incoming, Failure> {
        self.open(outgoing).await?.read().await
    }

    /// Asks, and gives the answer as soon as it begins. The time of the request is for that beginning;
    /// what follows takes as long as it takes.
    pub async fn open(&self, outgoing: Outgoing) -> Result<IncomingStream, Failure> {
        let now = Instant::now();
        let deadline = now.checked_add(outgoing.timeout).unwrap_or(now + LONGEST);
        let mut trip = Trip::new(outgoing);
        loop {
            let trouble = trip.trouble();
            let response = self.hop(&trip, &trouble, deadline).await;
            let response = response.map_err(|failure| trip.traced(failure))?;
            let step = trip.step(&response, &trouble);
            if step.map_err(|failure| trip.traced(failure))? == Step::Arrived {
                let limit = trip.outgoing.answer_bytes_limit;
                let redirects = trip.redirects();
                let stream = IncomingStream::new(response, trouble, deadline, limit, redirects);
                return Ok(stream);
            }
        }
    }

    async fn hop(
        &self,
        trip: &Trip,
        trouble: &Trouble,
        deadline: Instant,
    ) -> Result<Reply, Failure> {
        let Outgoing {
            method,
            url,
            headers,
            body,
            ..
        } = &trip.outgoing;
        let trust = check_url(url, &self.0.allowed).map_err(|refusal| trouble.blocked(&refusal))?;
        trip.stays(trouble)?;
        let wire = match trust {
            Trust::Named => &self.0.named,
            Trust::Public => &self.0.public,
        };
        let payload = Payload::new(body.clone(), Some(trouble.sent.clone()));
        let sending = wire.send(method.clone(), url, with_room(headers), payload);
        let answered = timeout_at(deadline, sending).await;
        answered
            .map_err(|_| trouble.silence())?
            .map_err(|error| trouble.of(&error))
    }
}

/// Whether a request may have left can be seen by its body; without one it has to be assumed.
fn sent(outgoing: &Outgoing) -> Sent {
    match &outgoing.body {
        Some(body) if !body.is_empty() => Sent::not_yet(),
        _ => Sent::assumed(),
    }
}
