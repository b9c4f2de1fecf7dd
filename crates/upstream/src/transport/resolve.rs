//! Resolves host names and checks the addresses before anything connects to them.
//!
//! Connections use the addresses that were checked; the name is not resolved a second time.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::Name;
use panpan_runtime::BoxFuture;
use tower_service::Service;

use crate::guard::{Allowed, BlockedHost, check_address};

/// The reason that there is no address to connect to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAddress {
    /// The name has no address.
    #[error("the host name has no address")]
    Unknown(#[source] io::Error),
    /// The name has an address that is not allowed.
    #[error("the host name has an address that is not allowed")]
    Blocked(#[source] BlockedHost),
}

/// The result of a [`Lookup`].
pub type LookupFuture = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Finds the addresses of host names.
pub trait Lookup: Send + Sync {
    /// The addresses of a name.
    fn lookup(&self, name: String) -> LookupFuture;
}

/// Looks names up with the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, name: String) -> LookupFuture {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Resolves names for the connector.
#[derive(Clone)]
pub(crate) struct Resolver {
    lookup: Arc<dyn Lookup>,
    /// The addresses that are allowed besides public ones; `None` allows every address.
    guard: Option<Arc<Allowed>>,
}

impl Resolver {
    /// Allows public addresses and those of the allow-list. One address that is not allowed blocks the name.
    pub(crate) fn guarded(lookup: Arc<dyn Lookup>, allowed: Allowed) -> Self {
        Self {
            lookup,
            guard: Some(Arc::new(allowed)),
        }
    }

    /// Allows every address.
    pub(crate) fn unguarded(lookup: Arc<dyn Lookup>) -> Self {
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
                check(&host, &addresses, &allowed).map_err(NoAddress::Blocked)?;
            }
            // The connector sets the port.
            let addresses = addresses.into_iter().map(|ip| SocketAddr::new(ip, 0));
            Ok(addresses.collect::<Vec<_>>().into_iter())
        })
    }
}

fn check(host: &str, addresses: &[IpAddr], allowed: &Allowed) -> Result<(), BlockedHost> {
    for address in addresses {
        check_address(*address, allowed).map_err(|reason| BlockedHost {
            host: host.to_owned(),
            reason,
        })?;
    }
    Ok(())
}
