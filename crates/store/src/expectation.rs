//! Compares the stored version of a document with the version that a change expects.

use panpan_runtime::ports::ExpectedState;

/// Whether the stored version (`None` if there is no document) meets the expectation.
pub(crate) fn is_met(expect: ExpectedState, found: Option<u64>) -> bool {
    match expect {
        ExpectedState::Anything => true,
        ExpectedState::Absent => found.is_none(),
        ExpectedState::Version(version) => found == Some(version),
    }
}
