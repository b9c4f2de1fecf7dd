//! Which addresses may be asked: everything public, and what the operator named.
//!
//! Pure: looks at URLs and addresses, resolves nothing and opens nothing. Whoever connects has to ask
//! twice: about the URL of every hop, and about every address its name turned out to have.

mod address;
mod allowed;
mod names;
mod ports;

use std::net::IpAddr;

use url::Url;

pub use allowed::{Allowed, AllowedError};

/// Why something may not be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Forbidden {
    /// Another scheme than HTTP's.
    Scheme,
    /// A name or password in the URL.
    Credentials,
    /// No host at all.
    NoHost,
    /// A port that belongs to another protocol.
    Port,
    /// A name of the machine or of the local network.
    LocalName,
    /// "This network", `0.0.0.0/8` and `::`.
    ThisNetwork,
    /// A private network.
    Private,
    /// Addresses providers share among customers.
    Shared,
    /// The machine itself.
    Loopback,
    /// The link only.
    LinkLocal,
    /// Where clouds tell machines their secrets.
    Metadata,
    /// Reserved for protocols.
    Protocol,
    /// For documentation.
    Documentation,
    /// For benchmarks.
    Benchmark,
    /// A group.
    Multicast,
    /// Reserved, or not given to anyone.
    Reserved,
    /// Everyone on the link.
    Broadcast,
    /// An IPv4 address inside an IPv6 address.
    EmbeddedV4,
    /// A translated IPv4 address.
    Nat64,
    /// A 6to4 tunnel.
    SixToFour,
    /// A Teredo tunnel.
    Teredo,
    /// A private network of IPv6.
    UniqueLocal,
    /// A site's own addresses.
    SiteLocal,
    /// A redirect from HTTPS to HTTP.
    Downgrade,
}

impl Forbidden {
    /// The word it is told by.
    pub fn word(self) -> &'static str {
        self.facts().0
    }

    /// What it means, as part of a sentence.
    pub fn sentence(self) -> &'static str {
        self.facts().1
    }

    /// Word and sentence.
    fn facts(self) -> (&'static str, &'static str) {
        match self {
            Forbidden::Scheme => ("scheme", "only http and https are asked"),
            Forbidden::Credentials => ("credentials", "the address holds a name or password"),
            Forbidden::NoHost => ("no_host", "the address has no host"),
            Forbidden::Port => ("port", "the port belongs to another protocol"),
            Forbidden::LocalName => ("local_name", "the name belongs to the local network"),
            Forbidden::ThisNetwork => ("this_network", "the address means this network"),
            Forbidden::Private => ("private", "the address is of a private network"),
            Forbidden::Shared => ("shared", "the address is of a provider's own network"),
            Forbidden::Loopback => ("loopback", "the address is this machine"),
            Forbidden::LinkLocal => ("link_local", "the address is of the local link"),
            Forbidden::Metadata => ("metadata", "the address is a cloud's metadata service"),
            Forbidden::Protocol => ("protocol", "the address is reserved for protocols"),
            Forbidden::Documentation => ("documentation", "the address is for documentation"),
            Forbidden::Benchmark => ("benchmark", "the address is for benchmarks"),
            Forbidden::Multicast => ("multicast", "the address is of a group"),
            Forbidden::Reserved => ("reserved", "the address is reserved"),
            Forbidden::Broadcast => ("broadcast", "the address is everyone on the link"),
            Forbidden::EmbeddedV4 => ("embedded_v4", "the address hides an IPv4 address"),
            Forbidden::Nat64 => ("nat64", "the address is translated to a local one"),
            Forbidden::SixToFour => ("6to4", "the address is of a 6to4 tunnel"),
            Forbidden::Teredo => ("teredo", "the address is of a Teredo tunnel"),
            Forbidden::UniqueLocal => ("unique_local", "the address is of a private network"),
            Forbidden::SiteLocal => ("site_local", "the address is of a site's own network"),
            Forbidden::Downgrade => ("downgrade", "a redirect leads from https to http"),
        }
    }
}

/// A host that may not be asked, and why. Shows nothing of the URL but its host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{host} may not be asked: {}", why.sentence())]
pub struct Refusal {
    /// The host of the URL, or its scheme where it has none.
    pub host: String,
    /// Why.
    pub why: Forbidden,
}

/// How far a URL that may be asked is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The operator named this host: whatever address it has is fine.
    Named,
    /// Its address is fine, or has to be looked at once it is known.
    Public,
}

/// Whether a URL may be asked, as far as the URL tells.
pub fn check_url(url: &Url, allowed: &Allowed) -> Result<Trust, Refusal> {
    let host = url.host_str().unwrap_or_default();
    judge(url, host, allowed).map_err(|why| Refusal {
        host: if host.is_empty() {
            format!("{}:", url.scheme())
        } else {
            host.to_owned()
        },
        why,
    })
}

/// Whether an address may be connected to.
pub fn check_address(address: IpAddr, allowed: &Allowed) -> Result<(), Forbidden> {
    if allowed.holds(address) {
        return Ok(());
    }
    address::public(address)
}

fn judge(url: &Url, host: &str, allowed: &Allowed) -> Result<Trust, Forbidden> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Forbidden::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Forbidden::Credentials);
    }
    let port = url
        .port_or_known_default()
        .filter(|_| !host.is_empty())
        .ok_or(Forbidden::NoHost)?;
    if allowed.names(host, port) {
        return Ok(Trust::Named);
    }
    match literal(host) {
        Some(address) if allowed.holds(address) => return Ok(Trust::Public),
        Some(address) => address::public(address)?,
        None if names::is_local(host) => return Err(Forbidden::LocalName),
        None => {}
    }
    if ports::is_foreign(port) {
        return Err(Forbidden::Port);
    }
    Ok(Trust::Public)
}

/// The address a host is, if it is one. URLs have them in their one normal form.
fn literal(host: &str) -> Option<IpAddr> {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    bare.unwrap_or(host).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_shows_nothing_of_the_url_but_its_host() {
        let url = Url::parse("http://me:hunter2@127.0.0.1/path?token=hunter2").unwrap();
        let refusal = check_url(&url, &Allowed::default()).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "127.0.0.1 may not be asked: the address holds a name or password"
        );
        let url = Url::parse("data:text/plain,hunter2").unwrap();
        let refusal = check_url(&url, &Allowed::default()).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "data: may not be asked: only http and https are asked"
        );
    }
}
