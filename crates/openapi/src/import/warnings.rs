//! What was not understood, each thing once.

use std::collections::HashSet;

use crate::place::Place;

/// The most warnings that are kept; a last one says how many more there were.
pub const WARNINGS_LIMIT: usize = 1_000;

/// Something in the document that was not understood, or is not used.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Warning {
    /// Where, as an RFC 6901 pointer into the document.
    pub pointer: String,
    /// What is the matter, and what was made of it.
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
    /// Notes something. What many operations refer to is walked many times, and told once.
    pub(super) fn note(&mut self, place: &Place<'_>, message: impl Into<String>) {
        let warning = Warning {
            pointer: place.pointer(),
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
    fn a_warning_is_told_once_and_their_number_has_a_limit() {
        let finished = |count: usize| {
            let mut warnings = Warnings::default();
            for index in 0..count {
                for _ in 0..2 {
                    warnings.note(&Place::at("/a").index(index), "odd");
                }
            }
            warnings.finish()
        };
        assert_eq!(finished(WARNINGS_LIMIT).len(), WARNINGS_LIMIT);
        let told = finished(WARNINGS_LIMIT + 1);
        assert_eq!(told.len(), WARNINGS_LIMIT + 1);
        assert_eq!(told[WARNINGS_LIMIT].message, "and 2 more warnings");
    }
}
