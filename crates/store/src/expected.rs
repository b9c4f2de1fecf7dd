//! Whether what a change of a document finds is what it expects.

use panpan_runtime::ports::Expect;

/// Whether a document in this version, or none, is what is expected.
pub(crate) fn fits(expect: Expect, found: Option<u64>) -> bool {
    match expect {
        Expect::Anything => true,
        Expect::Absent => found.is_none(),
        Expect::Version(version) => found == Some(version),
    }
}
