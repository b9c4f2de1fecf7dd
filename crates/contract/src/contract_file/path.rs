//! The path of a value during a walk through a document, written as a JSON Pointer only on request.

use std::borrow::Cow;

use panpan_failure::pointer::escaped;

/// A path from the top of a document to a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<'a> {
    above: Option<&'a Path<'a>>,
    step: Step<'a>,
}

/// One step down.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'a> {
    /// A complete pointer; the empty one is the top of the document.
    Pointer(&'a str),
    /// A member of an object.
    Name(&'a str),
    /// An item of a list.
    Index(usize),
}

impl<'a> Path<'a> {
    /// The top of the document.
    pub(super) const fn top() -> Path<'static> {
        Path::at("")
    }

    /// The path of a pointer.
    pub(super) const fn at(pointer: &str) -> Path<'_> {
        let step = Step::Pointer(pointer);
        Path { above: None, step }
    }

    /// The path one step further down.
    pub(super) const fn down(&'a self, step: Step<'a>) -> Path<'a> {
        let above = Some(self);
        Path { above, step }
    }

    /// The path of a member.
    pub(super) const fn name(&'a self, name: &'a str) -> Path<'a> {
        self.down(Step::Name(name))
    }

    /// The path of an item.
    pub(super) const fn index(&'a self, index: usize) -> Path<'a> {
        self.down(Step::Index(index))
    }

    /// The path as an RFC 6901 pointer.
    pub(super) fn pointer(&self) -> String {
        let mut steps = vec![self.step];
        let mut path = self;
        while let Some(above) = path.above {
            path = above;
            steps.push(path.step);
        }
        let mut pointer = String::new();
        for step in steps.into_iter().rev() {
            match step {
                Step::Pointer(text) => pointer.push_str(text),
                Step::Name(name) => pointer.extend(["/", &escaped(name)]),
                Step::Index(index) => pointer.extend(["/", &index.to_string()]),
            }
        }
        pointer
    }
}

/// The steps of a pointer, unescaped.
pub(super) fn steps(pointer: &str) -> impl Iterator<Item = String> {
    panpan_failure::pointer::steps(pointer).map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_with_escapes_and_read_back() {
        let top = Path::at("/a");
        let (names, item);
        {
            names = top.name("b/c~d");
            item = names.index(3);
        }
        assert_eq!(item.pointer(), "/a/b~1c~0d/3");
        let read: Vec<_> = steps(&item.pointer()).collect();
        assert_eq!(read, ["a", "b/c~d", "3"]);
        assert_eq!(steps("").count(), 0);
    }
}
