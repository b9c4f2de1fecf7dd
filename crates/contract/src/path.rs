//! The path of a value during a walk through a document, written as a JSON Pointer only on request.

use panpan_failure::pointer::escaped;
use panpan_redact::schema::PathStep;

/// A path from the top of a document to a value.
#[derive(Clone, Copy, Debug)]
pub enum Path<'a> {
    /// The path of a pointer; the empty one is the top of the document.
    At(&'a str),
    /// The path one step further down.
    Down(&'a Path<'a>, PathStep<'a>),
}

impl<'a> Path<'a> {
    /// The top of the document.
    pub const TOP: Path<'static> = Path::At("");

    /// The path of a member.
    pub const fn name(&'a self, name: &'a str) -> Path<'a> {
        Path::Down(self, PathStep::Name(name))
    }

    /// The path of an item.
    pub const fn index(&'a self, index: usize) -> Path<'a> {
        Path::Down(self, PathStep::Index(index))
    }

    /// The path as an RFC 6901 pointer.
    pub fn pointer(&self) -> String {
        let (mut path, mut steps) = (self, Vec::new());
        let top = loop {
            match path {
                Path::At(top) => break *top,
                Path::Down(above, step) => {
                    steps.push(step);
                    path = above;
                }
            }
        };
        let mut pointer = top.to_owned();
        for step in steps.into_iter().rev() {
            match step {
                PathStep::Name(name) => pointer.extend(["/", &escaped(name)]),
                PathStep::Index(index) => pointer.extend(["/", &index.to_string()]),
            }
        }
        pointer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_with_escapes() {
        let top = Path::At("/a");
        let names = top.name("b/c~d");
        assert_eq!(names.index(3).pointer(), "/a/b~1c~0d/3");
        assert_eq!(Path::TOP.pointer(), "");
    }
}
