//! Which names principals, scopes, resources and actions may have, and how many a token may hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The longest name.
pub const NAME_CHARACTERS_LIMIT: usize = 64;

/// The most scopes of one token, the most types of resources, and the most actions on one of them.
pub const GRANTS_LIMIT: usize = 64;

/// What a name is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameOf {
    /// Whoever calls with the token.
    Principal,
    /// A scope.
    Scope,
    /// A type of resource.
    Resource,
    /// An action on a resource.
    Action,
}

impl NameOf {
    fn plural(self) -> &'static str {
        match self {
            Self::Principal => "principals",
            Self::Scope => "scopes",
            Self::Resource => "types of resources",
            Self::Action => "actions on one type of resource",
        }
    }
}

impl fmt::Display for NameOf {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Principal => "a principal",
            Self::Scope => "a scope",
            Self::Resource => "a type of resource",
            Self::Action => "an action",
        })
    }
}

/// What is wrong with the names of a token. The name is not repeated: it may be a token in the wrong
/// place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// There is nothing in it.
    #[error("the name of {0} is empty")]
    Empty(NameOf),
    /// It is too long.
    #[error(
        "the name of {of} has {length} characters; at most {NAME_CHARACTERS_LIMIT} are allowed"
    )]
    Length {
        /// What it is the name of.
        of: NameOf,
        /// How long it is, in characters.
        length: usize,
    },
    /// It holds something that cannot be seen, or that can be mistaken for something else.
    #[error("the name of {0} may hold only visible ASCII characters, without spaces")]
    Character(NameOf),
    /// There are too many of them.
    #[error("{count} {} are named; a token may hold at most {GRANTS_LIMIT}", of.plural())]
    Many {
        /// What there are too many of.
        of: NameOf,
        /// How many there are.
        count: usize,
    },
}

/// Whether a name will do.
pub(super) fn check(of: NameOf, name: &str) -> Result<(), NameError> {
    let length = name.chars().count();
    match length {
        0 => Err(NameError::Empty(of)),
        _ if length > NAME_CHARACTERS_LIMIT => Err(NameError::Length { of, length }),
        _ if !name.bytes().all(|byte| byte.is_ascii_graphic()) => Err(NameError::Character(of)),
        _ => Ok(()),
    }
}

/// Whether a token can hold these scopes.
pub fn check_scopes(scopes: &[String]) -> Result<(), NameError> {
    check_all(NameOf::Scope, &scopes.iter().cloned().collect())
}

/// Whether some names will do, each and in number.
pub(super) fn check_all(of: NameOf, names: &BTreeSet<String>) -> Result<(), NameError> {
    check_count(of, names.len())?;
    names.iter().try_for_each(|name| check(of, name))
}

/// Whether grants for resources will do.
pub(super) fn check_resources(
    resources: &BTreeMap<String, BTreeSet<String>>,
) -> Result<(), NameError> {
    check_count(NameOf::Resource, resources.len())?;
    for (resource, actions) in resources {
        check(NameOf::Resource, resource)?;
        check_all(NameOf::Action, actions)?;
    }
    Ok(())
}

fn check_count(of: NameOf, count: usize) -> Result<(), NameError> {
    if count > GRANTS_LIMIT {
        return Err(NameError::Many { of, count });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_visible_and_not_too_long() {
        let of = NameOf::Principal;
        let longest = "a".repeat(NAME_CHARACTERS_LIMIT);
        let length = NAME_CHARACTERS_LIMIT + 1;
        for (name, expected) in [
            ("ci", Ok(())),
            ("ann@example.com", Ok(())),
            (&longest, Ok(())),
            ("", Err(NameError::Empty(of))),
            (
                &format!("{longest}a"),
                Err(NameError::Length { of, length }),
            ),
            ("an n", Err(NameError::Character(of))),
            ("ann\n", Err(NameError::Character(of))),
            ("ann\u{200b}", Err(NameError::Character(of))),
            ("\u{430}nn", Err(NameError::Character(of))),
        ] {
            assert_eq!(check(of, name), expected, "{name:?}");
        }
    }

    #[test]
    fn a_token_holds_so_many_grants_and_no_more() {
        let names = |count: usize| {
            (0..count)
                .map(|it| format!("n{it}"))
                .collect::<BTreeSet<_>>()
        };
        let types = |count: usize| names(count).into_iter().map(|it| (it, names(1))).collect();
        let actions = |count: usize| BTreeMap::from([("file".to_owned(), names(count))]);
        let (most, count) = (GRANTS_LIMIT, GRANTS_LIMIT + 1);
        let many = |of| Err(NameError::Many { of, count });
        assert_eq!(check_all(NameOf::Scope, &names(most)), Ok(()));
        assert_eq!(check_all(NameOf::Scope, &names(count)), many(NameOf::Scope));
        assert_eq!(check_resources(&types(most)), Ok(()));
        assert_eq!(check_resources(&types(count)), many(NameOf::Resource));
        assert_eq!(check_resources(&actions(most)), Ok(()));
        assert_eq!(check_resources(&actions(count)), many(NameOf::Action));
    }
}
