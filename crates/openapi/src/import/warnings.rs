//! The warnings of an import, without duplicates.

use std::collections::HashSet;

use panpan_contract::path::Path;

/// The most warnings that are kept; a last warning has the number of others.
pub const WARNINGS_LIMIT: usize = 1_000;

/// A part of the document that was not understood or not used.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Warning {
    /// The location, as an RFC 6901 pointer into the document.
    pub pointer: String,
    /// What is wrong, what to do, and how the import treated it.
    pub message: String,
}

/// The warnings so far.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    kept: Vec<Warning>,
    seen: HashSet<Warning>,
    more: usize,
}

impl Warnings {
    /// Adds a warning, unless it is a duplicate: shared parts of a document are read many times.
    pub(super) fn note(&mut self, location: &Path<'_>, message: impl Into<String>) {
        let warning = Warning {
            pointer: location.pointer(),
            message: message.into(),
        };
        if self.seen.contains(&warning) {
            return;
        }
        if self.kept.len() >= WARNINGS_LIMIT {
            self.more += 1;
            return;
        }
        self.seen.insert(warning.clone());
        self.kept.push(warning);
    }

    pub(super) fn finish(mut self) -> Vec<Warning> {
        if self.more > 0 {
            self.kept.push(Warning {
                pointer: String::new(),
                message: format!("and {} more warnings", self.more),
            });
        }
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_unique_and_limited() {
        let finished = |count: usize| {
            let mut warnings = Warnings::default();
            for index in 0..count {
                for _ in 0..2 {
                    warnings.note(&Path::At("/a").index(index), "odd");
                }
            }
            warnings.finish()
        };
        assert_eq!(finished(WARNINGS_LIMIT).len(), WARNINGS_LIMIT);
        let listed = finished(WARNINGS_LIMIT + 1);
        assert_eq!(listed.len(), WARNINGS_LIMIT + 1);
        assert_eq!(listed[WARNINGS_LIMIT].message, "and 2 more warnings");
    }
}
