//! Names to addresses, looked at before anything connects to them.
//!
//! What is connected to is what was looked at: nobody resolves the name a second time in between.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::Name;
use panpan_runtime::BoxFuture;
use tower_service::Service;

use crate::guard::{Allowed, Refusal, check_address};

/// Why there is no address to connect to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAddress {
    /// The name has none.
    #[error("the name has no address")]
    Unknown(#[source] io::Error),
    /// The name has one that may not be asked.
    #[error("the name has an address that may not be asked")]
    Refused(#[source] Refusal),
}

/// The addresses of a name, when they are known.
pub type Lookups = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Who knows the addresses of names.
pub trait Lookup: Send + Sync {
    /// The addresses of a name.
    fn lookup(&self, name: String) -> Lookups;
}

/// Asks the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, name: String) -> Lookups {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Gives addresses to whoever connects.
#[derive(Clone)]
pub(crate) struct Resolver {
    lookup: Arc<dyn Lookup>,
    /// Which addresses are fine besides public ones; without it all are.
    guard: Option<Arc<Allowed>>,
}

impl Resolver {
    /// Gives addresses that may be connected to. One that may not spoils the name.
    pub(crate) fn guarded(lookup: Arc<dyn Lookup>, allowed: Allowed) -> Self {
        Self {
            lookup,
            guard: Some(Arc::new(allowed)),
        }
    }

    /// Gives every address.
    pub(crate) fn trusting(lookup: Arc<dyn Lookup>) -> Self {
        Self {
            lookup,
            guard: None,
        }
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Resolver")
            .field("guard", &self.guard)
            .finish_non_exhaustive()
    }
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = NoAddress;
    type Future = BoxFuture<'static, Result<Self::Response, NoAddress>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NoAddress>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let host = name.as_str().to_owned();
        let lookup = self.lookup.lookup(host.clone());
        let guard = self.guard.clone();
        Box::pin(async move {
            let addresses = lookup.await.map_err(NoAddress::Unknown)?;
            if addresses.is_empty() {
                return Err(NoAddress::Unknown(io::ErrorKind::NotFound.into()));
            }
            if let Some(allowed) = guard {
                check(&host, &addresses, &allowed).map_err(NoAddress::Refused)?;
            }
            // Whoever connects knows the port.
            let addresses = addresses.into_iter().map(|ip| SocketAddr::new(ip, 0));
            Ok(addresses.collect::<Vec<_>>().into_iter())
        })
    }
}

fn check(host: &str, addresses: &[IpAddr], allowed: &Allowed) -> Result<(), Refusal> {
    for address in addresses {
        check_address(*address, allowed).map_err(|why| Refusal {
            host: host.to_owned(),
            why,
        })?;
    }
    Ok(())
}
