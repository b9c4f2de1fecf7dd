//! Checks whether an IP address is public.
//!
//! An IPv4 address is public unless its network is in a table. An IPv6 address is public only within the assigned
//! range, except for the networks in a table.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::BlockReason;

/// An address by its first three segments and its last one.
const fn v6([first, second, third]: [u16; 3], last: u16) -> Ipv6Addr {
    Ipv6Addr::new(first, second, third, 0, 0, 0, 0, last)
}

/// IPv4 networks that are not public; a network comes before the larger network that contains it.
const V4: &[(Ipv4Addr, u8, BlockReason)] = &[
    (Ipv4Addr::new(169, 254, 169, 254), 32, BlockReason::Metadata),
    (Ipv4Addr::new(169, 254, 170, 2), 32, BlockReason::Metadata),
    (Ipv4Addr::new(100, 100, 100, 200), 32, BlockReason::Metadata),
    (Ipv4Addr::new(192, 0, 0, 192), 32, BlockReason::Metadata),
    (Ipv4Addr::new(168, 63, 129, 16), 32, BlockReason::Metadata),
    (Ipv4Addr::BROADCAST, 32, BlockReason::Broadcast),
    (Ipv4Addr::new(0, 0, 0, 0), 8, BlockReason::ThisNetwork),
    (Ipv4Addr::new(10, 0, 0, 0), 8, BlockReason::Private),
    (Ipv4Addr::new(172, 16, 0, 0), 12, BlockReason::Private),
    (Ipv4Addr::new(192, 168, 0, 0), 16, BlockReason::Private),
    (Ipv4Addr::new(100, 64, 0, 0), 10, BlockReason::Shared),
    (Ipv4Addr::new(127, 0, 0, 0), 8, BlockReason::Loopback),
    (Ipv4Addr::new(169, 254, 0, 0), 16, BlockReason::LinkLocal),
    (Ipv4Addr::new(192, 0, 0, 0), 24, BlockReason::Protocol),
    (Ipv4Addr::new(192, 88, 99, 0), 24, BlockReason::SixToFour),
    (Ipv4Addr::new(192, 0, 2, 0), 24, BlockReason::Documentation),
    (
        Ipv4Addr::new(198, 51, 100, 0),
        24,
        BlockReason::Documentation,
    ),
    (
        Ipv4Addr::new(203, 0, 113, 0),
        24,
        BlockReason::Documentation,
    ),
    (Ipv4Addr::new(198, 18, 0, 0), 15, BlockReason::Benchmark),
    (Ipv4Addr::new(224, 0, 0, 0), 4, BlockReason::Multicast),
    (Ipv4Addr::new(240, 0, 0, 0), 4, BlockReason::Reserved),
];

/// IPv6 networks that are not public and have a reason of their own.
const V6: &[(Ipv6Addr, u8, BlockReason)] = &[
    (v6([0xfd00, 0xec2, 0], 0x254), 128, BlockReason::Metadata),
    (v6([0xfd20, 0xce, 0], 0x254), 128, BlockReason::Metadata),
    (Ipv6Addr::LOCALHOST, 128, BlockReason::Loopback),
    (Ipv6Addr::UNSPECIFIED, 128, BlockReason::ThisNetwork),
    (
        Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0),
        96,
        BlockReason::EmbeddedV4,
    ),
    (
        Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0),
        96,
        BlockReason::EmbeddedV4,
    ),
    (Ipv6Addr::UNSPECIFIED, 96, BlockReason::EmbeddedV4),
    (v6([0x64, 0xff9b, 1], 0), 48, BlockReason::Nat64),
    (v6([0x2001, 0, 0], 0), 32, BlockReason::Teredo),
    (v6([0x2001, 0, 0], 0), 23, BlockReason::Protocol),
    (v6([0x2001, 0xdb8, 0], 0), 32, BlockReason::Documentation),
    (v6([0x3fff, 0, 0], 0), 20, BlockReason::Documentation),
    (v6([0x2002, 0, 0], 0), 16, BlockReason::SixToFour),
    (v6([0xfc00, 0, 0], 0), 7, BlockReason::UniqueLocal),
    (v6([0xfe80, 0, 0], 0), 10, BlockReason::LinkLocal),
    (v6([0xfec0, 0, 0], 0), 10, BlockReason::SiteLocal),
    (v6([0xff00, 0, 0], 0), 8, BlockReason::Multicast),
];

/// The well-known prefix of NAT64 addresses.
const NAT64: Ipv6Addr = v6([0x64, 0xff9b, 0], 0);

/// The IPv6 range that is assigned for public use, `2000::/3`.
const GLOBAL_UNICAST: Ipv6Addr = v6([0x2000, 0, 0], 0);

pub(super) fn check_public(address: IpAddr) -> Result<(), BlockReason> {
    match address {
        IpAddr::V4(address) => check_v4(address),
        IpAddr::V6(address) => check_v6(address),
    }
}

fn check_v4(address: Ipv4Addr) -> Result<(), BlockReason> {
    let network = V4
        .iter()
        .find(|(network, length, _)| within_v4(address, *network, *length));
    network.map_or(Ok(()), |(_, _, reason)| Err(*reason))
}

fn check_v6(address: Ipv6Addr) -> Result<(), BlockReason> {
    if within_v6(address, NAT64, 96) {
        // Networks without IPv4 reach every IPv4 service through this prefix.
        let [.., a, b, c, d] = address.octets();
        return check_v4(Ipv4Addr::new(a, b, c, d)).map_err(|_| BlockReason::Nat64);
    }
    let network = V6
        .iter()
        .find(|(network, length, _)| within_v6(address, *network, *length));
    match network {
        Some((_, _, reason)) => Err(*reason),
        None if within_v6(address, GLOBAL_UNICAST, 3) => Ok(()),
        None => Err(BlockReason::Reserved),
    }
}

/// Whether an address is in the network with this prefix length.
pub(super) fn within_v4(address: Ipv4Addr, network: Ipv4Addr, length: u8) -> bool {
    let host_bits = 32_u32.saturating_sub(length.into());
    let differs = u64::from(address.to_bits() ^ network.to_bits());
    differs >> host_bits == 0
}

/// The same for IPv6.
pub(super) fn within_v6(address: Ipv6Addr, network: Ipv6Addr, length: u8) -> bool {
    let host_bits = 128_u32.saturating_sub(length.into());
    let differs = address.to_bits() ^ network.to_bits();
    differs.checked_shr(host_bits).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_network_ends_at_its_boundary() {
        for (inside, outside) in [
            ("0.255.255.255", "1.0.0.0"),
            ("10.0.0.0", "9.255.255.255"),
            ("10.255.255.255", "11.0.0.0"),
            ("172.16.0.0", "172.15.255.255"),
            ("172.31.255.255", "172.32.0.0"),
            ("192.168.0.0", "192.167.255.255"),
            ("192.168.255.255", "192.169.0.0"),
            ("100.64.0.0", "100.63.255.255"),
            ("100.127.255.255", "100.128.0.0"),
            ("127.255.255.255", "128.0.0.0"),
            ("169.254.0.0", "169.253.255.255"),
            ("192.0.0.255", "192.0.1.0"),
            ("192.0.2.255", "192.0.3.0"),
            ("198.18.0.0", "198.17.255.255"),
            ("198.19.255.255", "198.20.0.0"),
            ("224.0.0.0", "223.255.255.255"),
            ("168.63.129.16", "168.63.129.17"),
            ("2001:1ff::", "2001:200::"),
            ("2001:db8::", "2001:db7:ffff::"),
            ("2001:db8:ffff::", "2001:db9::"),
            ("2002:ffff::", "2003::"),
            ("4000::", "3ffe::"),
            ("3fff:fff::", "3fff:1000::"),
            ("1fff::", "2000::"),
            ("64:ff9b::a00:1", "64:ff9b::808:808"),
        ] {
            assert!(check_public(inside.parse().unwrap()).is_err(), "{inside}");
            assert_eq!(check_public(outside.parse().unwrap()), Ok(()), "{outside}");
        }
    }

    #[test]
    fn a_prefix_length_may_be_zero_or_the_maximum() {
        let (a, b) = (Ipv4Addr::new(8, 8, 8, 8), Ipv4Addr::new(8, 8, 8, 9));
        assert!(within_v4(a, b, 0) && within_v4(a, b, 31) && !within_v4(a, b, 32));
        let (a, b) = (a.to_ipv6_mapped(), b.to_ipv6_mapped());
        assert!(within_v6(a, b, 0) && within_v6(a, b, 127) && !within_v6(a, b, 128));
    }
}
