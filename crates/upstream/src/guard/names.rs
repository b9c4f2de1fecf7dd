//! Host names of the machine or the local network.
//!
//! They are blocked without resolving them: such a name may be public today and private tomorrow.

/// The last labels of names that belong to a machine or a local network.
const LOCAL: &[&str] = &[
    "arpa",
    "corp",
    "domain",
    "home",
    "internal",
    "intranet",
    "lan",
    "local",
    "localdomain",
    "localhost",
    "onion",
    "private",
];

/// Whether a name belongs to the machine or the local network: by its last label, or because it has no dot.
pub(super) fn is_local(host: &str) -> bool {
    let name = host.trim_end_matches('.');
    let Some((_, last)) = name.rsplit_once('.') else {
        return true;
    };
    LOCAL.iter().any(|local| last.eq_ignore_ascii_case(local))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_names_are_recognised_by_their_last_label() {
        for (name, expected) in [
            ("localhost", true),
            ("LOCALHOST.", true),
            ("a.b.localhost", true),
            ("metadata.google.internal.", true),
            ("printer.local", true),
            ("redis", true),
            ("router.home.arpa", true),
            ("", true),
            ("..", true),
            ("example.com", false),
            ("example.com.", false),
            ("local.example.com", false),
            ("notlocalhost.example", false),
            ("internal.io", false),
        ] {
            assert_eq!(is_local(name), expected, "{name}");
        }
    }
}
