//! JSON pointers, RFC 6901: making them and taking them apart.

use std::borrow::Cow;

/// One step, escaped.
pub fn escaped(step: &str) -> Cow<'_, str> {
    if step.contains(['~', '/']) {
        step.replace('~', "~0").replace('/', "~1").into()
    } else {
        step.into()
    }
}

/// One step, as the name it stands for.
pub fn unescaped(step: &str) -> Cow<'_, str> {
    if step.contains('~') {
        step.replace("~1", "/").replace("~0", "~").into()
    } else {
        step.into()
    }
}

/// A pointer one step further.
pub fn joined(pointer: &str, name: &str) -> String {
    // Readers call it for every object they open, and formatting costs more than joining.
    let step = escaped(name);
    let mut joined = String::with_capacity(pointer.len() + 1 + step.len());
    joined.push_str(pointer);
    joined.push('/');
    joined.push_str(&step);
    joined
}

/// The names on the way, from the top.
pub fn steps(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(unescaped)
}

/// Whether a text is a pointer: empty, or steps that each follow a slash, with `~` only as `~0` and
/// `~1`.
pub fn is_pointer(text: &str) -> bool {
    let mut after_tildes = text.split('~').skip(1);
    let escapes_are_known = after_tildes.all(|rest| rest.starts_with(['0', '1']));
    escapes_are_known && (text.is_empty() || text.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_from_the_pointers_made_of_them() {
        for name in ["", "a", "a/b", "a~b", "~1", "~01", "/~", "é"] {
            let pointer = joined("/top", name);
            assert!(is_pointer(&pointer), "{pointer}");
            assert_eq!(steps(&pointer).collect::<Vec<_>>(), ["top", name]);
        }
        assert_eq!(joined("/a", "b/c~d"), "/a/b~1c~0d");
        assert_eq!(steps("").count(), 0);
    }
}
