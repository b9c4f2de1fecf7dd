//! Compares the stored version of a document with the version that a change expects.

use panpan_runtime::ports::Expect;

/// Whether the stored version (`None` if there is no document) meets the expectation.
pub(crate) fn is_met(expect: Expect, found: Option<u64>) -> bool {
    match expect {
        Expect::Anything => true,
        Expect::Absent => found.is_none(),
        Expect::Version(version) => found == Some(version),
    }
}
