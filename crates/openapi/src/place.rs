//! Where in the document something stands, written out only when somebody has to be told.

use panpan_failure::pointer::escaped;

/// A place in the document, as the way down to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'p> {
    above: Option<&'p Place<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'p> {
    Pointer(&'p str),
    Name(&'p str),
    Index(usize),
}

impl<'p> Place<'p> {
    /// The place an RFC 6901 pointer leads to.
    pub(crate) fn at(pointer: &'p str) -> Self {
        Self {
            above: None,
            step: Step::Pointer(pointer),
        }
    }

    /// A member of what stands here.
    pub(crate) fn name(&'p self, name: &'p str) -> Self {
        Self {
            above: Some(self),
            step: Step::Name(name),
        }
    }

    /// An item of what stands here.
    pub(crate) fn index(&'p self, index: usize) -> Self {
        Self {
            above: Some(self),
            step: Step::Index(index),
        }
    }

    /// The RFC 6901 pointer.
    pub(crate) fn pointer(&self) -> String {
        let mut way = vec![self];
        while let Some(above) = way.last().and_then(|place| place.above) {
            way.push(above);
        }
        let mut pointer = String::new();
        for place in way.into_iter().rev() {
            match place.step {
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
    fn a_place_is_told_as_a_pointer() {
        let top = Place::at("/paths");
        let path = top.name("/a~b");
        assert_eq!(path.name("get").index(2).pointer(), "/paths/~1a~0b/get/2");
        assert_eq!(Place::at("").pointer(), "");
    }
}
