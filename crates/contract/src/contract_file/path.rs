//! A place in a document while it is walked, written out as a JSON Pointer only when asked for.

use std::borrow::Cow;

use panpan_failure::pointer::escaped;

/// A place, as the way from the top to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<'a> {
    above: Option<&'a Path<'a>>,
    step: Step<'a>,
}

/// One step down.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'a> {
    /// A pointer that is already written out; the top of the document is the empty one.
    Pointer(&'a str),
    /// The member of this name.
    Name(&'a str),
    /// The item of this number.
    Index(usize),
}

impl<'a> Path<'a> {
    /// The top of the document.
    pub(super) const fn top() -> Path<'static> {
        Path::at("")
    }

    /// The place of a pointer.
    pub(super) const fn at(pointer: &str) -> Path<'_> {
        let step = Step::Pointer(pointer);
        Path { above: None, step }
    }

    /// A place one step further down.
    pub(super) const fn down(&'a self, step: Step<'a>) -> Path<'a> {
        let above = Some(self);
        Path { above, step }
    }

    /// The place of a member.
    pub(super) const fn name(&'a self, name: &'a str) -> Path<'a> {
        self.down(Step::Name(name))
    }

    /// The place of an item.
    pub(super) const fn index(&'a self, index: usize) -> Path<'a> {
        self.down(Step::Index(index))
    }

    /// The place as an RFC 6901 pointer.
    pub(super) fn pointer(&self) -> String {
        let mut steps = vec![self.step];
        let mut place = self;
        while let Some(above) = place.above {
            place = above;
            steps.push(place.step);
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

/// The steps of a written pointer, unescaped.
pub(super) fn steps(pointer: &str) -> impl Iterator<Item = String> {
    panpan_failure::pointer::steps(pointer).map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_written_with_escapes_and_read_back() {
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
