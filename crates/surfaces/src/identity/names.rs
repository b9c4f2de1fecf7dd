//! Checks of the names of principals, scopes, resource types and actions, and of their number in a token.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Maximum length of a name, in characters.
pub const NAME_CHARACTERS_LIMIT: usize = 64;

/// Maximum number of scopes of a token, of resource types, and of actions on one resource type.
pub const GRANTS_LIMIT: usize = 64;

/// The kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameOf {
    /// A principal.
    Principal,
    /// A scope.
    Scope,
    /// A resource type.
    Resource,
    /// An action on a resource.
    Action,
}

impl NameOf {
    /// One of them, and several.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Principal => ("a principal", "principals"),
            Self::Scope => ("a scope", "scopes"),
            Self::Resource => ("a resource type", "resource types"),
            Self::Action => ("an action", "actions on one resource type"),
        }
    }
}

impl fmt::Display for NameOf {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.words().0)
    }
}

/// An invalid name or number of names. The name itself is not shown: it may be a token in the wrong argument.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenNameError {
    /// The name is empty.
    #[error("the name of {0} is empty")]
    Empty(NameOf),
    /// The name is too long.
    #[error("the name of {of} has {length} characters; the limit is {NAME_CHARACTERS_LIMIT}")]
    Length {
        /// The kind of the name.
        of: NameOf,
        /// Its length in characters.
        length: usize,
    },
    /// The name contains invisible or look-alike characters.
    #[error("the name of {0} must consist of visible ASCII characters without spaces")]
    Character(NameOf),
    /// There are too many names.
    #[error("{count} {} given; the limit is {GRANTS_LIMIT}", of.words().1)]
    Many {
        /// The kind of the names.
        of: NameOf,
        /// Their number.
        count: usize,
    },
}

/// Checks one name.
pub(super) fn check(of: NameOf, name: &str) -> Result<(), TokenNameError> {
    let length = name.chars().count();
    match length {
        0 => Err(TokenNameError::Empty(of)),
        _ if length > NAME_CHARACTERS_LIMIT => Err(TokenNameError::Length { of, length }),
        _ if !name.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Err(TokenNameError::Character(of))
        }
        _ => Ok(()),
    }
}

/// Checks the scopes of a token.
pub fn check_scopes(scopes: &[String]) -> Result<(), TokenNameError> {
    check_all(NameOf::Scope, &scopes.iter().cloned().collect())
}

/// Checks names and their number.
pub(super) fn check_all(of: NameOf, names: &BTreeSet<String>) -> Result<(), TokenNameError> {
    check_count(of, names.len())?;
    names.iter().try_for_each(|name| check(of, name))
}

/// Checks the grants for resources.
pub(super) fn check_resources(
    resources: &BTreeMap<String, BTreeSet<String>>,
) -> Result<(), TokenNameError> {
    check_count(NameOf::Resource, resources.len())?;
    for (resource, actions) in resources {
        check(NameOf::Resource, resource)?;
        check_all(NameOf::Action, actions)?;
    }
    Ok(())
}

fn check_count(of: NameOf, count: usize) -> Result<(), TokenNameError> {
    if count > GRANTS_LIMIT {
        return Err(TokenNameError::Many { of, count });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_visible_ascii_and_limited_in_length() {
        let of = NameOf::Principal;
        let longest = "a".repeat(NAME_CHARACTERS_LIMIT);
        let length = NAME_CHARACTERS_LIMIT + 1;
        for (name, expected) in [
            ("ci", Ok(())),
            ("ann@example.com", Ok(())),
            (&longest, Ok(())),
            ("", Err(TokenNameError::Empty(of))),
            (
                &format!("{longest}a"),
                Err(TokenNameError::Length { of, length }),
            ),
            ("an n", Err(TokenNameError::Character(of))),
            ("ann\n", Err(TokenNameError::Character(of))),
            ("ann\u{200b}", Err(TokenNameError::Character(of))),
            ("\u{430}nn", Err(TokenNameError::Character(of))),
        ] {
            assert_eq!(check(of, name), expected, "{name:?}");
        }
    }

    #[test]
    fn the_number_of_grants_is_limited() {
        let names = |count: usize| {
            (0..count)
                .map(|it| format!("n{it}"))
                .collect::<BTreeSet<_>>()
        };
        let types = |count: usize| names(count).into_iter().map(|it| (it, names(1))).collect();
        let actions = |count: usize| BTreeMap::from([("file".to_owned(), names(count))]);
        let (most, count) = (GRANTS_LIMIT, GRANTS_LIMIT + 1);
        let many = |of| Err(TokenNameError::Many { of, count });
        assert_eq!(check_all(NameOf::Scope, &names(most)), Ok(()));
        assert_eq!(check_all(NameOf::Scope, &names(count)), many(NameOf::Scope));
        assert_eq!(check_resources(&types(most)), Ok(()));
        assert_eq!(check_resources(&types(count)), many(NameOf::Resource));
        assert_eq!(check_resources(&actions(most)), Ok(()));
        assert_eq!(check_resources(&actions(count)), many(NameOf::Action));
    }
}
