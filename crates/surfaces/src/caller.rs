//! Who calls, as far as that is known, and whose share of the limits it takes.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use panpan_runtime::{CallRequest, Credentials, Identity, StateOwner, Trace};

use crate::meta::Terms;

/// Who calls, as far as that is known.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Whose limits the call counts against.
    pub principal: Principal,
    /// The proved identity; `None` for a caller without a token.
    pub identity: Option<Arc<Identity>>,
    /// The trace the caller's request belongs to.
    pub trace: Option<Trace>,
    /// The id the caller knows its request by.
    pub request_id: Option<Arc<str>>,
    /// Secrets it brought along for the services behind, by the names of the headers they came in.
    pub brought: Option<Credentials>,
    /// The id of the token that proved the identity, which is no secret.
    pub token: Option<Arc<str>>,
    /// The session its request belongs to, in a protocol that has them. A secret: those who know it are in it.
    pub(crate) session: Option<Arc<str>>,
    /// What the headers of its request say about the one call in it.
    pub(crate) terms: Option<Arc<Terms>>,
}

/// Whose share of the limits a call takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Principal {
    /// A known caller.
    Known(Arc<str>),
    /// Whoever calls from an address without a token; of IPv6, from its network.
    Address(IpAddr),
    /// Whoever started this process.
    Local,
}

impl Principal {
    /// Whoever calls from an address. Of IPv6 a customer has at least a network of 64 bits, and so as
    /// many addresses as one likes.
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
    /// A caller of whom nothing is known but where it calls from.
    pub fn anonymous(address: Option<IpAddr>) -> Self {
        Self {
            principal: address.map_or(Principal::Local, Principal::at),
            identity: None,
            trace: None,
            request_id: None,
            brought: None,
            token: None,
            session: None,
            terms: None,
        }
    }

    /// A caller who proved to be somebody.
    pub fn known(identity: Arc<Identity>) -> Self {
        Self {
            principal: Principal::Known(identity.id.as_str().into()),
            identity: Some(identity),
            trace: None,
            request_id: None,
            brought: None,
            token: None,
            session: None,
            terms: None,
        }
    }

    /// The same caller, proved by the token of this id.
    pub fn proved_by(mut self, token: Option<&str>) -> Self {
        self.token = token.map(Arc::from);
        self
    }

    /// The same caller within a trace, with a request it knows by an id.
    pub fn within(mut self, trace: Option<Trace>, request_id: Option<Arc<str>>) -> Self {
        self.trace = trace;
        self.request_id = request_id;
        self
    }
}

impl Caller {
    /// The same caller with secrets for the services behind.
    pub fn bringing(mut self, brought: Option<Credentials>) -> Self {
        self.brought = brought;
        self
    }

    /// The same caller within a session.
    pub(crate) fn in_session(mut self, session: &str) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Who owns what its calls leave at services that keep state: itself where it is known, else its session.
    pub fn state_owner(&self) -> StateOwner {
        match (&self.principal, &self.session) {
            (Principal::Known(name), _) => StateOwner::Caller(name.clone()),
            (_, Some(session)) => StateOwner::Session(session.clone()),
            (Principal::Address(_) | Principal::Local, None) => StateOwner::Anyone,
        }
    }

    /// Makes a call the caller's own, with its trace and what it brought along.
    pub(crate) fn signs(&self, request: &mut CallRequest) {
        request.caller.clone_from(&self.identity);
        request.owner = self.state_owner();
        request.trace = request.trace.or(self.trace);
        request.brought.clone_from(&self.brought);
    }

    /// The same caller, whose headers say this about the one call in its request.
    pub(crate) fn stating(mut self, terms: Terms) -> Self {
        self.terms = Some(Arc::new(terms));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_one_network_of_ipv6_are_one_caller() {
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
