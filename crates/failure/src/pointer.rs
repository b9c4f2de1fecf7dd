//! JSON pointers (RFC 6901): building and splitting them.

use std::borrow::Cow;

/// Escapes one step.
pub fn escaped(step: &str) -> Cow<'_, str> {
    if step.contains(['~', '/']) {
        step.replace('~', "~0").replace('/', "~1").into()
    } else {
        step.into()
    }
}

/// Unescapes one step.
pub fn unescaped(step: &str) -> Cow<'_, str> {
    if step.contains('~') {
        step.replace("~1", "/").replace("~0", "~").into()
    } else {
        step.into()
    }
}

/// Appends a step to a pointer.
pub fn joined(pointer: &str, name: &str) -> String {
    // Called for every object that is read, and `format!` costs more.
    let step = escaped(name);
    let mut joined = String::with_capacity(pointer.len() + 1 + step.len());
    joined.push_str(pointer);
    joined.push('/');
    joined.push_str(&step);
    joined
}

/// The unescaped steps, from the top.
pub fn steps(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(unescaped)
}

/// Whether a text is a pointer: empty, or steps that each follow a slash, with `~` only in `~0` and `~1`.
pub fn is_pointer(text: &str) -> bool {
    let mut after_tildes = text.split('~').skip(1);
    let escapes_are_known = after_tildes.all(|rest| rest.starts_with(['0', '1']));
    escapes_are_known && (text.is_empty() || text.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_return_the_names_that_were_joined() {
        for name in ["", "a", "a/b", "a~b", "~1", "~01", "/~", "é"] {
            let pointer = joined("/top", name);
            assert!(is_pointer(&pointer), "{pointer}");
            assert_eq!(steps(&pointer).collect::<Vec<_>>(), ["top", name]);
        }
        assert_eq!(joined("/a", "b/c~d"), "/a/b~1c~0d");
        assert_eq!(steps("").count(), 0);
    }
}
