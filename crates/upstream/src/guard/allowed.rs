//! The allow-list: hosts and networks that the operator allows although they are not public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Url;

use super::{address, literal};

/// Hosts and networks that requests may go to although they are not public.
///
/// `tools.corp` and `10.0.0.7` allow a host on every port, `tools.corp:8080` and `[fd00::7]:8080` on one port;
/// they are compared with the host of a URL. `10.0.0.0/8` and `fd00::/8` allow addresses, including those that a
/// host name resolves to.
///
/// ```
/// use panpan_upstream::Allowed;
///
/// assert!(Allowed::parse(["127.0.0.1:7077", "10.0.0.0/8"]).is_ok());
/// assert!(Allowed::parse(["10.0.0.0/99"]).is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    hosts: Vec<(String, Option<u16>)>,
    networks: Vec<Network>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Network {
    V4(Ipv4Addr, u8),
    V6(Ipv6Addr, u8),
}

/// An invalid entry of the allow-list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllowedError {
    /// The entry is neither a host nor a network.
    #[error(
        "{0:?} is not a host; expected a form such as tools.example, 10.0.0.7:8080 or 10.0.0.0/8"
    )]
    Host(String),
    /// The network is malformed.
    #[error("{0:?} is not a network; expected a form such as 10.0.0.0/8 or fd00::/8")]
    Network(String),
}

impl Allowed {
    /// Parses entries: hosts, hosts with a port, and networks.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, AllowedError> {
        let mut allowed = Self::default();
        for entry in entries {
            allowed.add(entry.trim())?;
        }
        Ok(allowed)
    }

    /// Allows the host and port of a URL that the operator configured.
    pub fn allow_url(&mut self, url: &Url) {
        if let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) {
            self.hosts.push((normalized(host), Some(port)));
        }
    }

    /// Adds the entries of another list.
    pub fn extend(&mut self, other: Self) {
        self.hosts.extend(other.hosts);
        self.networks.extend(other.networks);
    }

    pub(super) fn names_host(&self, host: &str, port: u16) -> bool {
        let host = without_dot(host);
        let fits = |only: &Option<u16>| only.is_none_or(|only| only == port);
        self.hosts
            .iter()
            .any(|(named, only)| named.eq_ignore_ascii_case(host) && fits(only))
    }

    pub(super) fn contains(&self, address: IpAddr) -> bool {
        self.networks
            .iter()
            .any(|network| match (*network, address) {
                (Network::V4(network, length), IpAddr::V4(address)) => {
                    address::within_v4(address, network, length)
                }
                (Network::V6(network, length), IpAddr::V6(address)) => {
                    address::within_v6(address, network, length)
                }
                _ => false,
            })
    }

    fn add(&mut self, entry: &str) -> Result<(), AllowedError> {
        if let Some((address, length)) = entry.split_once('/') {
            let network = network(address, length);
            let network = network.ok_or_else(|| AllowedError::Network(entry.to_owned()))?;
            self.networks.push(network);
        } else {
            let host = host(entry).ok_or_else(|| AllowedError::Host(entry.to_owned()))?;
            self.hosts.push(host);
        }
        Ok(())
    }
}

fn network(address: &str, length: &str) -> Option<Network> {
    let length: u8 = length.parse().ok()?;
    match address.parse().ok()? {
        IpAddr::V4(address) => (length <= 32).then_some(Network::V4(address, length)),
        IpAddr::V6(address) => (length <= 128).then_some(Network::V6(address, length)),
    }
}

fn host(entry: &str) -> Option<(String, Option<u16>)> {
    if let Ok(IpAddr::V6(address)) = entry.parse() {
        return Some((format!("[{address}]"), None));
    }
    let (host, port) = match entry.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port.parse().ok()?)),
        _ => (entry, None),
    };
    // Parsed as part of a URL, so that it has the same canonical form as the host of a URL.
    let url = Url::parse(&format!("http://{host}/")).ok()?;
    let is_only_host = url.username().is_empty()
        && url.password().is_none()
        && url.port().is_none()
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none();
    let host = url.host_str().filter(|_| is_only_host)?;
    Some((normalized(host), port))
}

fn normalized(host: &str) -> String {
    without_dot(host).to_ascii_lowercase()
}

/// A host name with a trailing dot is the same host.
fn without_dot(host: &str) -> &str {
    if literal(host).is_some() {
        host
    } else {
        host.trim_end_matches('.')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_allowed_by_its_exact_name_and_port() {
        for (entry, host, port, expected) in [
            ("tools.corp", "tools.corp", 80, true),
            ("Tools.Corp.", "tools.corp", 8080, true),
            ("tools.corp", "tools.corp.", 80, true),
            ("tools.corp:8080", "tools.corp", 8080, true),
            ("tools.corp:8080", "tools.corp", 80, false),
            ("tools.corp:80", "tools.corp", 443, false),
            ("tools.corp", "a.tools.corp", 80, false),
            ("127.0.0.1:7077", "127.0.0.1", 7077, true),
            ("0x7f000001", "127.0.0.1", 1, true),
            ("::1", "[::1]", 80, true),
            ("[::1]:80", "[::1]", 80, true),
            ("[::1]:80", "[::1]", 81, false),
            ("10.0.0.0/8", "10.0.0.1", 80, false),
        ] {
            let allowed = Allowed::parse([entry]).unwrap();
            assert_eq!(
                allowed.names_host(host, port),
                expected,
                "{entry} {host}:{port}"
            );
        }
    }

    #[test]
    fn a_network_contains_its_addresses() {
        let allowed = Allowed::parse(["10.0.0.0/8", "fd00::/8", "127.0.0.1"]).unwrap();
        for (address, expected) in [
            ("10.255.0.1", true),
            ("11.0.0.1", false),
            ("fd00:ec2::254", true),
            ("fc00::1", false),
            ("127.0.0.1", false),
            ("::ffff:10.0.0.1", false),
        ] {
            assert_eq!(
                allowed.contains(address.parse().unwrap()),
                expected,
                "{address}"
            );
        }
    }

    #[test]
    fn invalid_entries_are_refused() {
        for entry in [
            "",
            "10.0.0.0/33",
            "fd00::/129",
            "10.0.0.0/-1",
            "tools.corp/8",
            "http://tools.corp",
            "tools.corp:port",
            "tools.corp:99999",
            "me@tools.corp",
            "tools.corp?x",
            "tools corp",
        ] {
            assert!(Allowed::parse([entry]).is_err(), "{entry}");
        }
    }
}
