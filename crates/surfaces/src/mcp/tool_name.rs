//! The name of a tool, derived from the name of its operation.

use sha2::{Digest, Sha256};

/// The longest tool name that all clients accept.
pub const TOOL_NAME_LENGTH_LIMIT: usize = 64;

/// The replacement for a slash.
const SLASH: &str = "__";
/// The length of the hash that keeps shortened names unique.
const HASH_LENGTH: usize = 10;

/// The tool's name: slashes become `__`; a name that is ambiguous or too long ends in a hash.
///
/// ```
/// assert_eq!(panpan_surfaces::mcp::tool_name("fs/read"), "fs__read");
/// ```
pub fn tool_name(operation: &str) -> String {
    let plain = operation.replace('/', SLASH);
    let reads_back = plain.replace(SLASH, "/") == operation && plain.bytes().all(is_allowed);
    if reads_back && plain.len() <= TOOL_NAME_LENGTH_LIMIT {
        return plain;
    }
    let kept = TOOL_NAME_LENGTH_LIMIT - HASH_LENGTH - 1;
    let shortened: String = plain
        .bytes()
        .take(kept)
        .map(|byte| if is_allowed(byte) { byte as char } else { '_' })
        .collect();
    format!("{shortened}_{}", hash(operation))
}

/// Whether an operation may request this name: no other operation's name can become it.
pub(super) fn is_free_name(name: &str) -> bool {
    let is_short = (1..=TOOL_NAME_LENGTH_LIMIT).contains(&name.len());
    is_short && !name.contains(SLASH) && name.bytes().all(is_allowed)
}

fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn hash(operation: &str) -> String {
    let digest = Sha256::digest(operation.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    hex[..HASH_LENGTH].to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_name_that_another_operation_could_get_is_not_free() {
        let longest = "a".repeat(TOOL_NAME_LENGTH_LIMIT);
        for (name, is_free) in [
            ("read_file-2", true),
            (longest.as_str(), true),
            (&format!("{longest}a"), false),
            ("fs__read", false),
            ("fs/read", false),
            ("", false),
        ] {
            assert_eq!(is_free_name(name), is_free, "{name}");
        }
    }

    #[test]
    fn short_names_are_kept_up_to_the_limit() {
        let at = format!("a/{}", "b".repeat(TOOL_NAME_LENGTH_LIMIT - 3));
        assert_eq!(tool_name(&at), at.replace('/', "__"));
        let beyond = tool_name(&format!("{at}b"));
        assert_eq!(beyond.len(), TOOL_NAME_LENGTH_LIMIT);
        assert!(beyond.starts_with("a__bbb"));
    }

    #[test]
    fn no_two_operations_share_a_tool() {
        let operations = [
            "a/b/c", "a/b__c", "a__b/c", "a_/b", "a/_b", "a.b/c", "a_b/c", "a-b/c", "a/b.c",
        ];
        let names: BTreeSet<String> = operations.iter().map(|name| tool_name(name)).collect();
        assert_eq!(names.len(), operations.len());
        for name in names {
            assert!(name.bytes().all(is_allowed) && name.len() <= TOOL_NAME_LENGTH_LIMIT);
        }
    }
}
