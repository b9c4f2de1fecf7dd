//! Names that are assigned once.

use std::collections::{HashMap, HashSet};

/// Assigns each name once.
#[derive(Debug, Default)]
pub(crate) struct UniqueNames {
    taken: HashSet<String>,
    /// How often each name was requested, so that the search for a free number does not restart.
    preferred: HashMap<String, usize>,
}

impl UniqueNames {
    /// The requested name, with a separator and a number after it if it is taken.
    pub(crate) fn assign(&mut self, preferred: String, separator: char) -> String {
        let times = self.preferred.entry(preferred.clone()).or_default();
        loop {
            *times += 1;
            let name = match *times {
                1 => preferred.clone(),
                times => format!("{preferred}{separator}{times}"),
            };
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}
