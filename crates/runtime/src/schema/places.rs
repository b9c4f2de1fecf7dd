//! Places in a value and in a schema, as numbers.
//!
//! A place keeps only its last step and the number of the place around it, so that it takes the same memory at any
//! depth. Its pointer is written when it is shown.

use std::collections::HashMap;
use std::sync::Arc;

use panpan_failure::pointer::joined;

/// The whole value or schema.
pub(super) const TOP: usize = 0;

/// The places of a value that a search has reached.
pub(super) struct ValuePlaces<'a>(Vec<(usize, Step<'a>)>);

/// The way from a value to one directly inside it.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    Member(&'a str),
    Item(usize),
}

impl Default for ValuePlaces<'_> {
    fn default() -> Self {
        Self(vec![(TOP, Step::Item(0))])
    }
}

impl<'a> ValuePlaces<'a> {
    /// The place of a value inside another.
    pub(super) fn inside(&mut self, around: usize, step: Step<'a>) -> usize {
        self.0.push((around, step));
        self.0.len() - 1
    }

    pub(super) fn pointer(&self, mut place: usize) -> String {
        let mut steps = Vec::new();
        while place != TOP {
            let (around, step) = self.0[place];
            steps.push(step);
            place = around;
        }
        let mut pointer = String::new();
        for step in steps.into_iter().rev() {
            pointer = match step {
                Step::Member(name) => joined(&pointer, name),
                Step::Item(index) => joined(&pointer, &index.to_string()),
            };
        }
        pointer
    }
}

/// The places of a schema. The same place always gets the same number.
pub(super) struct SchemaPlaces(Vec<SchemaPlace>);

struct SchemaPlace {
    around: usize,
    step: Arc<str>,
    inside: HashMap<Arc<str>, usize>,
}

impl Default for SchemaPlaces {
    fn default() -> Self {
        Self(vec![SchemaPlace::new(TOP, "".into())])
    }
}

impl SchemaPlace {
    fn new(around: usize, step: Arc<str>) -> Self {
        Self {
            around,
            step,
            inside: HashMap::new(),
        }
    }
}

impl SchemaPlaces {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The place that a step leads to.
    pub(super) fn inside(&mut self, around: usize, step: &str) -> usize {
        if let Some(known) = self.0[around].inside.get(step) {
            return *known;
        }
        let (place, step) = (self.0.len(), Arc::<str>::from(step));
        self.0.push(SchemaPlace::new(around, step.clone()));
        self.0[around].inside.insert(step, place);
        place
    }

    pub(super) fn pointer(&self, mut place: usize) -> String {
        let mut steps = Vec::new();
        while place != TOP {
            steps.push(&self.0[place].step);
            place = self.0[place].around;
        }
        let join = |pointer: String, step: &Arc<str>| joined(&pointer, step);
        steps.into_iter().rev().fold(String::new(), join)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_written_as_its_pointer() {
        let mut places = ValuePlaces::default();
        let list = places.inside(TOP, Step::Member("a/b"));
        let item = places.inside(list, Step::Item(3));
        assert_eq!(places.pointer(TOP), "");
        assert_eq!(places.pointer(item), "/a~1b/3");
    }

    #[test]
    fn the_same_place_of_a_schema_has_one_number() {
        let mut places = SchemaPlaces::default();
        let mut place = |steps: &[&str]| {
            let inside = |around, step: &&str| places.inside(around, step);
            steps.iter().fold(TOP, inside)
        };
        let (first, other) = (place(&["$defs", "a~b"]), place(&["$defs", "c"]));
        assert_eq!(place(&["$defs", "a~b"]), first);
        assert_ne!(other, first);
        assert_eq!(places.pointer(first), "/$defs/a~0b");
        assert_eq!(places.len(), 4);
    }
}
