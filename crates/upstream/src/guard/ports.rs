//! Ports of protocols other than HTTP: a service there could misread an HTTP request as a command.

/// The ports in ascending order: those that browsers block, and those of databases and control interfaces.
const BLOCKED: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    445, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989,
    990, 993, 995, 1433, 1521, 1719, 1720, 1723, 2049, 2375, 2376, 2379, 2380, 3306, 3389, 3659,
    4045, 4190, 5060, 5061, 5432, 5672, 5900, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679,
    6697, 9042, 10080, 10250, 11211, 27017,
];

pub(super) fn is_blocked(port: u16) -> bool {
    BLOCKED.binary_search(&port).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ports_are_sorted_and_exclude_http() {
        assert!(BLOCKED.is_sorted());
        for port in [0, 22, 25, 6379, 27017] {
            assert!(is_blocked(port), "{port}");
        }
        for port in [80, 443, 3000, 5000, 7077, 8000, 8080, 8443, 9000, 65535] {
            assert!(!is_blocked(port), "{port}");
        }
    }
}
