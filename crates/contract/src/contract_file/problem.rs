//! What is wrong with a file, and how much of it is told.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use serde::Serialize;

use super::layout::Layout;
use super::path::Path;
use super::rule;
use panpan_failure::read::display_pointer;

/// The most problems that are listed; one more says how many there are beyond.
pub const PROBLEMS_LIMIT: usize = 1_000;

/// One thing that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("at {}: {message}", display_pointer(pointer))]
pub struct Problem {
    /// Where, as an RFC 6901 pointer. A missing member is pointed at where it should stand.
    pub pointer: String,
    /// Which rule is broken; [`rule::ALL`] lists them.
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

/// The problems found so far: the first ones in the order of the file, and the number of all.
#[derive(Debug)]
pub(super) struct Problems<'a> {
    layout: &'a Layout,
    first: BinaryHeap<Placed>,
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

    /// Notes a problem.
    pub(super) fn note(&mut self, path: &Path<'_>, rule: &'static str, message: impl Into<String>) {
        let problem = Problem::new(path, rule, message);
        let place = self.layout.place(&problem.pointer);
        let number = self.total;
        self.total += 1;
        self.first.push(Placed {
            place,
            number,
            problem,
        });
        if self.first.len() > PROBLEMS_LIMIT {
            self.first.pop();
        }
    }

    /// The problems in the order of the file.
    pub(super) fn finish(self) -> Vec<Problem> {
        let placed = self.first.into_sorted_vec();
        let mut listed: Vec<_> = placed.into_iter().map(|placed| placed.problem).collect();
        let more = self.total - listed.len();
        if more > 0 {
            let message = format!(
                "{more} more problems are not listed; mend these {PROBLEMS_LIMIT} and check again"
            );
            listed.push(Problem::new(&Path::top(), rule::FILE_MORE, message));
        }
        listed
    }
}

/// A problem that knows where it stands among the others: by its place, then as it was found.
#[derive(Debug)]
struct Placed {
    place: Vec<u32>,
    number: usize,
    problem: Problem,
}

impl Placed {
    fn key(&self) -> (&[u32], usize) {
        (&self.place, self.number)
    }
}

impl Ord for Placed {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Placed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Placed {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Placed {}
