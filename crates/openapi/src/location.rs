//! A location in the document, converted to a JSON pointer only when it is needed.

use panpan_failure::pointer::escaped;

/// A location in the document: a link to its parent, and one step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Location<'p> {
    above: Option<&'p Location<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'p> {
    Pointer(&'p str),
    Name(&'p str),
    Index(usize),
}

impl<'p> Location<'p> {
    /// The location of an RFC 6901 pointer.
    pub(crate) fn at(pointer: &'p str) -> Self {
        Self {
            above: None,
            step: Step::Pointer(pointer),
        }
    }

    /// A member of the object at this location.
    pub(crate) fn name(&'p self, name: &'p str) -> Self {
        Self {
            above: Some(self),
            step: Step::Name(name),
        }
    }

    /// An item of the array at this location.
    pub(crate) fn index(&'p self, index: usize) -> Self {
        Self {
            above: Some(self),
            step: Step::Index(index),
        }
    }

    /// The RFC 6901 pointer.
    pub(crate) fn pointer(&self) -> String {
        let mut steps = vec![self];
        while let Some(above) = steps.last().and_then(|location| location.above) {
            steps.push(above);
        }
        let mut pointer = String::new();
        for location in steps.into_iter().rev() {
            match location.step {
                Step::Pointer(top) => pointer.push_str(top),
                Step::Name(name) => pointer.extend(["/", &escaped(name)]),
                Step::Index(index) => pointer.push_str(&format!("/{index}")),
            }
        }
        pointer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_written_as_a_pointer() {
        let top = Location::at("/paths");
        let path = top.name("/a~b");
        assert_eq!(path.name("get").index(2).pointer(), "/paths/~1a~0b/get/2");
        assert_eq!(Location::at("").pointer(), "");
    }
}
