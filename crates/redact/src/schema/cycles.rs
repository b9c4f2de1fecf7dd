//! Cycles in a graph, such as that of schemas and their references.

use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};

use serde_json::Value;

/// A schema that is identified by its address, because equal schemas can be in different locations.
#[derive(Clone, Copy, Debug)]
pub struct Same<'a>(pub &'a Value);

impl PartialEq for Same<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Same<'_> {}

impl Hash for Same<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.0).hash(state);
    }
}

/// Searches a graph depth-first and calls back with each cycle: its last node leads to its first.
///
/// Every edge that closes a cycle is found once. The stack is explicit, because cycles can be long.
pub fn cycles<N: Copy + Eq + Hash>(
    starts: impl IntoIterator<Item = N>,
    next: impl Fn(N) -> Vec<N>,
    mut found: impl FnMut(&[N]),
) {
    let mut finished = HashSet::new();
    for start in starts {
        if finished.contains(&start) {
            continue;
        }
        let mut path = vec![start];
        let mut on_path = HashMap::from([(start, 0)]);
        let mut open = vec![next(start).into_iter()];
        while let Some(edges) = open.last_mut() {
            let Some(node) = edges.next() else {
                open.pop();
                let ended = path.pop().expect("the path has a node for each open list");
                on_path.remove(&ended);
                finished.insert(ended);
                continue;
            };
            if let Some(&begin) = on_path.get(&node) {
                found(&path[begin..]);
            } else if !finished.contains(&node) {
                on_path.insert(node, path.len());
                path.push(node);
                open.push(next(node).into_iter());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cycle_is_found_once() {
        let edges = [vec![1, 2], vec![0], vec![2, 3], vec![1], vec![4]];
        let mut found = Vec::new();
        cycles(
            0..5,
            |node: usize| edges[node].clone(),
            |cycle| found.push(cycle.to_vec()),
        );
        assert_eq!(found, [vec![0, 1], vec![2], vec![4]]);
        let mut lengths = Vec::new();
        cycles(
            [0],
            |node| vec![(node + 1) % 20_000],
            |cycle| lengths.push(cycle.len()),
        );
        assert_eq!(lengths, [20_000]);
    }
}
