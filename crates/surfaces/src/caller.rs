//! The caller of a request, and the principal whose limits the request counts against.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use panpan_contract::hex;
use panpan_runtime::{CallRequest, Credentials, Identity, StateOwner, Trace};
use sha2::{Digest as _, Sha256};

use crate::options::CallOptions;

/// The caller of a request.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The principal whose limits the call counts against.
    pub principal: Principal,
    /// The identity that the token proved; `None` for a caller without a token.
    pub identity: Option<Arc<Identity>>,
    /// The trace that the request belongs to.
    pub trace: Option<Trace>,
    /// The request id that the caller sent.
    pub request_id: Option<Arc<str>>,
    /// Secrets for upstream services that the request carried, by header name.
    pub credentials: Option<Credentials>,
    /// The id of the token that proved the identity. Not a secret.
    pub token_id: Option<Arc<str>>,
    /// A digest of the session of the request, in a protocol that has sessions. The session itself is a secret that
    /// grants access to it, and the owner of state is stored with tasks.
    pub(crate) session: Option<Arc<str>>,
    /// The options in the request headers; they apply to the one call in the request.
    pub(crate) header_options: Option<Arc<CallOptions>>,
}

/// The identity that limits, keys and sessions belong to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Principal {
    /// The owner of a token.
    Known(Arc<str>),
    /// The address of a caller without a token; the /64 network of an IPv6 address.
    Address(IpAddr),
    /// The process that started panpan, over a pipe.
    Local,
}

impl Principal {
    /// The principal of an address. IPv6 customers get at least a /64 network, so single addresses cannot
    /// be limited.
    pub(crate) fn at(address: IpAddr) -> Self {
        Self::Address(match address {
            IpAddr::V4(_) => address,
            IpAddr::V6(address) => {
                let network = address.to_bits() & !u128::from(u64::MAX);
                IpAddr::V6(Ipv6Addr::from_bits(network))
            }
        })
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(name) => formatter.pad(name),
            Self::Address(address) => write!(formatter, "{address}"),
            Self::Local => formatter.pad("local"),
        }
    }
}

impl Caller {
    /// A caller without a token.
    pub fn anonymous(address: Option<IpAddr>) -> Self {
        Self::of(address.map_or(Principal::Local, Principal::at), None)
    }

    /// A caller with a proved identity.
    pub fn known(identity: Arc<Identity>) -> Self {
        let principal = Principal::Known(identity.id.as_str().into());
        Self::of(principal, Some(identity))
    }

    fn of(principal: Principal, identity: Option<Arc<Identity>>) -> Self {
        Self {
            principal,
            identity,
            trace: None,
            request_id: None,
            credentials: None,
            token_id: None,
            session: None,
            header_options: None,
        }
    }

    /// Adds the session of the request.
    pub(crate) fn in_session(mut self, session: &str) -> Self {
        self.session = Some(hex(&Sha256::digest(session)).into());
        self
    }

    /// The owner of the state that its calls create at upstream servers: the known caller, else its session.
    pub fn state_owner(&self) -> StateOwner {
        match (&self.principal, &self.session) {
            (Principal::Known(name), _) => StateOwner::Caller(name.clone()),
            (_, Some(session)) => StateOwner::Session(session.clone()),
            (Principal::Address(_) | Principal::Local, None) => StateOwner::Anyone,
        }
    }

    /// Adds identity, state owner, trace and credentials to a call of this caller.
    pub(crate) fn apply_to(&self, request: &mut CallRequest) {
        request.caller.clone_from(&self.identity);
        request.owner = self.state_owner();
        request.trace = request.trace.or(self.trace);
        request.caller_secrets.clone_from(&self.credentials);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv6_addresses_of_one_network_are_one_principal() {
        let shown = |address: &str| {
            let address = address.parse().unwrap();
            Caller::anonymous(Some(address)).principal.to_string()
        };
        for (address, principal) in [
            ("192.0.2.1", "192.0.2.1"),
            ("192.0.2.2", "192.0.2.2"),
            ("2001:db8:1:2::1", "2001:db8:1:2::"),
            ("2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::"),
            ("2001:db8:1:3::1", "2001:db8:1:3::"),
        ] {
            assert_eq!(shown(address), principal, "{address}");
        }
    }
}
