//! Whose is what, as far as it was listed. Who may see it is told by whoever asks.

use std::collections::{BTreeSet, HashMap};

use panpan_runtime::StateOwner;

use super::McpOffer;

/// For how many owners of state it is known what they listed. What is forgotten is listed again.
const OWNERS_LIMIT: usize = 256;

/// What is known of several servers.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// What any of them offers.
    pub(super) offer: McpOffer,
    servers: usize,
    /// What each of them has, for whom: sessions need not have the same.
    lists: HashMap<StateOwner, Vec<Listed>>,
}

/// What one server listed last.
#[derive(Clone, Debug, Default)]
pub(super) struct Listed {
    /// URIs.
    pub(super) resources: BTreeSet<String>,
    /// Templates of URIs.
    pub(super) templates: BTreeSet<String>,
    /// Names, with the namespace.
    pub(super) prompts: BTreeSet<String>,
}

impl Known {
    /// Nothing about so many servers.
    pub(super) fn of(servers: usize) -> Self {
        Self {
            offer: McpOffer::default(),
            servers,
            lists: HashMap::new(),
        }
    }

    /// What each of them has for an owner of state.
    pub(super) fn lists_for(&mut self, owner: &StateOwner) -> &mut Vec<Listed> {
        if self.lists.len() >= OWNERS_LIMIT && !self.lists.contains_key(owner) {
            self.lists.clear();
        }
        let lists = self.lists.entry(owner.clone());
        lists.or_insert_with(|| vec![Listed::default(); self.servers])
    }

    /// Which of the admitting servers listed a URI, or whose template it begins like, the longest
    /// beginning first.
    pub(super) fn server_of(
        &mut self,
        uri: &str,
        owner: &StateOwner,
        admits: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let lists = self.lists_for(owner).iter().enumerate();
        let admitting = lists.filter(|(place, _)| admits(*place));
        let mut longest: Option<(usize, usize)> = None;
        for (place, listed) in admitting {
            if listed.resources.contains(uri) {
                return Some(place);
            }
            let beginnings = listed.templates.iter();
            let beginnings = beginnings.map(|it| it.split('{').next().unwrap_or_default());
            let fitting = beginnings.filter(|it| !it.is_empty() && uri.starts_with(it));
            let length = fitting.map(str::len).max();
            if let Some(length) = length.filter(|it| longest.is_none_or(|(most, _)| *it > most)) {
                longest = Some((length, place));
            }
        }
        longest.map(|(_, place)| place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(resources: &[&str], templates: &[&str]) -> Listed {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Listed {
            resources: owned(resources),
            templates: owned(templates),
            ..Listed::default()
        }
    }

    #[test]
    fn a_uri_belongs_to_whoever_listed_it_or_begins_it_longest_among_those_that_admit() {
        let mut known = Known::of(3);
        let lists = [
            listed(&["demo://a"], &["demo://b/{id}", "{any}"]),
            listed(&["demo://b/x", "demo://a"], &["demo://b/{name}"]),
            listed(&[], &["demo://{any}"]),
        ];
        *known.lists_for(&StateOwner::Anyone) = lists.to_vec();
        let ann = StateOwner::Caller("ann".into());
        assert_eq!(known.server_of("demo://a", &ann, |_| true), None);
        for (uri, admitting, owner) in [
            ("demo://a", &[0, 1, 2][..], Some(0)),
            ("demo://a", &[1, 2], Some(1)),
            ("demo://a", &[2], Some(2)),
            ("demo://a", &[], None),
            ("demo://b/x", &[0, 1, 2], Some(1)),
            ("demo://b/y", &[0, 1, 2], Some(0)),
            ("demo://b/y", &[1, 2], Some(1)),
            ("demo://c", &[0, 1, 2], Some(2)),
            ("file:///etc/passwd", &[0, 1, 2], None),
            ("", &[0, 1, 2], None),
        ] {
            let admits = |place: usize| admitting.contains(&place);
            let found = known.server_of(uri, &StateOwner::Anyone, admits);
            assert_eq!(found, owner, "{uri} {admitting:?}");
        }
    }

    #[test]
    fn so_many_owners_are_known() {
        let mut known = Known::of(1);
        for owner in 0..=OWNERS_LIMIT {
            let owner = StateOwner::Caller(owner.to_string().into());
            known.lists_for(&owner);
            assert!(known.lists.len() <= OWNERS_LIMIT);
        }
        assert_eq!(known.lists.len(), 1);
    }
}
