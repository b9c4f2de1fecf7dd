//! The problems of a file, in the order of the file, and the limit on how many are listed.

use std::collections::BinaryHeap;

use serde::Serialize;

use super::layout::Layout;
use super::rule;
use crate::path::Path;
use panpan_failure::read::display_pointer;

/// The most problems that are listed; one more counts the rest.
pub const PROBLEMS_LIMIT: usize = 1_000;

/// One problem of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, thiserror::Error)]
#[error("at {}: {message}", display_pointer(pointer))]
pub struct Problem {
    /// The location, as an RFC 6901 pointer. For a missing member, the location where it belongs.
    pub pointer: String,
    /// The violated rule; [`rule::ALL`] lists them.
    pub rule: &'static str,
    /// What is wrong, and what to write instead.
    pub message: String,
}

impl Problem {
    pub(super) fn new(path: &Path<'_>, rule: &'static str, message: impl Into<String>) -> Self {
        Self {
            pointer: path.pointer(),
            rule,
            message: message.into(),
        }
    }
}

/// The problems found so far: the first ones in the order of the file, and the total.
#[derive(Debug)]
pub(super) struct Problems<'a> {
    layout: &'a Layout,
    /// Each with its position in the file and its number, by which they are sorted.
    first: BinaryHeap<(Vec<u32>, usize, Problem)>,
    total: usize,
}

impl<'a> Problems<'a> {
    pub(super) fn new(layout: &'a Layout) -> Self {
        Self {
            layout,
            first: BinaryHeap::new(),
            total: 0,
        }
    }

    /// Adds a problem.
    pub(super) fn note(&mut self, path: &Path<'_>, rule: &'static str, message: impl Into<String>) {
        let problem = Problem::new(path, rule, message);
        let position = self.layout.position(&problem.pointer);
        self.first.push((position, self.total, problem));
        self.total += 1;
        if self.first.len() > PROBLEMS_LIMIT {
            self.first.pop();
        }
    }

    /// The problems in the order of the file.
    pub(super) fn finish(self) -> Vec<Problem> {
        let ordered = self.first.into_sorted_vec();
        let mut listed: Vec<_> = ordered.into_iter().map(|(.., problem)| problem).collect();
        let more = self.total - listed.len();
        if more > 0 {
            let message = format!(
                "{more} more problems are not listed; fix these {PROBLEMS_LIMIT} and check again"
            );
            listed.push(Problem::new(&Path::TOP, rule::FILE_MORE, message));
        }
        listed
    }
}
