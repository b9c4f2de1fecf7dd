//! Decides which hosts requests may go to: public addresses, and those that the operator allowed.
//!
//! Pure: checks URLs and addresses, resolves no names and opens no connections. A client checks twice: the URL of
//! every hop, and every address that its host name resolves to.

mod address;
mod allowed;
mod names;
mod ports;

use std::net::IpAddr;

use url::Url;

pub use allowed::{Allowed, AllowedError};

/// Declares the reasons, each with the value of the detail `reason` and a clause of a message.
macro_rules! block_reasons {
    ($($reason:ident = $word:literal, $description:literal;)+) => {
        /// The reason that requests to a host are not allowed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum BlockReason {
            $(#[doc = $description] $reason,)+
        }

        impl BlockReason {
            /// The value of the detail `reason`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$reason => $word,)+ }
            }

            /// What is wrong, as a clause of a message.
            pub fn description(self) -> &'static str {
                match self { $(Self::$reason => $description,)+ }
            }
        }
    };
}

block_reasons! {
    Scheme = "scheme", "only http and https are allowed";
    Credentials = "credentials", "the URL contains a user name or password";
    NoHost = "no_host", "the URL has no host";
    Port = "port", "the port belongs to another protocol";
    LocalName = "local_name", "the host name belongs to the local network";
    ThisNetwork = "this_network", "the address means \"this network\"";
    Private = "private", "the address is in a private network";
    Shared = "shared", "the address is in a shared provider network";
    Loopback = "loopback", "the address is a loopback address";
    LinkLocal = "link_local", "the address is link-local";
    Metadata = "metadata", "the address is a cloud metadata service";
    Protocol = "protocol", "the address is reserved for protocols";
    Documentation = "documentation", "the address is reserved for documentation";
    Benchmark = "benchmark", "the address is reserved for benchmarks";
    Multicast = "multicast", "the address is a multicast address";
    Reserved = "reserved", "the address is reserved";
    Broadcast = "broadcast", "the address is the broadcast address";
    EmbeddedV4 = "embedded_v4", "the address embeds an IPv4 address";
    Nat64 = "nat64", "the address is translated to one that is not public";
    SixToFour = "6to4", "the address is a 6to4 tunnel address";
    Teredo = "teredo", "the address is a Teredo tunnel address";
    UniqueLocal = "unique_local", "the address is in a private network";
    SiteLocal = "site_local", "the address is site-local";
    Downgrade = "downgrade", "a redirect leads from https to http";
}

/// A host that requests must not go to. Shows nothing of the URL but its host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("requests to {host} are not allowed: {}", reason.description())]
pub struct BlockedHost {
    /// The host of the URL, or its scheme if it has no host.
    pub host: String,
    /// The reason.
    pub reason: BlockReason,
}

/// How an allowed URL is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The operator named this host: every address of it is allowed.
    Named,
    /// Its address is public, or has to be checked once it is resolved.
    Public,
}

/// Checks a URL; the addresses of its host name are checked by [`check_address`].
pub fn check_url(url: &Url, allowed: &Allowed) -> Result<Trust, BlockedHost> {
    let host = url.host_str().unwrap_or_default();
    check_parts(url, host, allowed).map_err(|reason| BlockedHost {
        host: if host.is_empty() {
            format!("{}:", url.scheme())
        } else {
            host.to_owned()
        },
        reason,
    })
}

/// Checks an address before a connection to it is opened.
pub fn check_address(address: IpAddr, allowed: &Allowed) -> Result<(), BlockReason> {
    if allowed.contains(address) {
        return Ok(());
    }
    address::check_public(address)
}

fn check_parts(url: &Url, host: &str, allowed: &Allowed) -> Result<Trust, BlockReason> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(BlockReason::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(BlockReason::Credentials);
    }
    let port = url
        .port_or_known_default()
        .filter(|_| !host.is_empty())
        .ok_or(BlockReason::NoHost)?;
    if allowed.names_host(host, port) {
        return Ok(Trust::Named);
    }
    match literal(host) {
        Some(address) if allowed.contains(address) => return Ok(Trust::Public),
        Some(address) => address::check_public(address)?,
        None if names::is_local(host) => return Err(BlockReason::LocalName),
        None => {}
    }
    if ports::is_blocked(port) {
        return Err(BlockReason::Port);
    }
    Ok(Trust::Public)
}

/// The address if a host is an IP address; a parsed URL has it in its canonical form.
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
    fn a_blocked_host_shows_nothing_else_of_the_url() {
        let url = Url::parse("http://me:hunter2@127.0.0.1/path?token=hunter2").unwrap();
        let blocked = check_url(&url, &Allowed::default()).unwrap_err();
        assert_eq!(
            blocked.to_string(),
            "requests to 127.0.0.1 are not allowed: the URL contains a user name or password"
        );
        let url = Url::parse("data:text/plain,hunter2").unwrap();
        let blocked = check_url(&url, &Allowed::default()).unwrap_err();
        assert_eq!(
            blocked.to_string(),
            "requests to data: are not allowed: only http and https are allowed"
        );
    }
}
