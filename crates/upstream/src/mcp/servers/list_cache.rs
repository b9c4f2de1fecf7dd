//! Which server listed which item. Permissions are checked by the caller of this module.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use panpan_mcp::library::{List, Offer};
use panpan_runtime::StateOwner;

/// The number of owners of state whose lists are cached. At the limit the cache is cleared; lists
/// are fetched again.
const OWNERS_LIMIT: usize = 256;

/// The cached lists of several servers.
#[derive(Clone, Debug)]
pub(super) struct ListCache {
    /// The features of all of them.
    pub(super) offer: Offer,
    servers: usize,
    /// The lists of each server, by owner: sessions may have different items.
    lists: HashMap<StateOwner, Vec<ServerLists>>,
}

/// The URIs, URI templates or names that one server listed last; those of prompts with the
/// namespace.
type ServerLists = BTreeMap<List, BTreeSet<String>>;

impl ListCache {
    /// An empty cache for a number of servers.
    pub(super) fn new(servers: usize) -> Self {
        Self {
            offer: Offer::default(),
            servers,
            lists: HashMap::new(),
        }
    }

    /// Remembers a list of a server for an owner of state.
    pub(super) fn set(
        &mut self,
        owner: &StateOwner,
        server: usize,
        list: List,
        items: BTreeSet<String>,
    ) {
        self.lists_for(owner)[server].insert(list, items);
    }

    fn lists_for(&mut self, owner: &StateOwner) -> &mut Vec<ServerLists> {
        if self.lists.len() >= OWNERS_LIMIT && !self.lists.contains_key(owner) {
            self.lists.clear();
        }
        let lists = self.lists.entry(owner.clone());
        lists.or_insert_with(|| vec![ServerLists::default(); self.servers])
    }

    /// The first admitting server that listed an item; for a URI otherwise the one with the longest
    /// template prefix that matches.
    pub(super) fn server_of(
        &mut self,
        list: List,
        name: &str,
        owner: &StateOwner,
        admits: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let lists = self.lists_for(owner).iter().enumerate();
        let admitting = lists.filter(|(position, _)| admits(*position));
        let mut longest: Option<(usize, usize)> = None;
        for (position, listed) in admitting {
            if listed.get(&list).is_some_and(|it| it.contains(name)) {
                return Some(position);
            }
            let templates = listed.get(&List::Templates);
            let templates = templates.filter(|_| list == List::Resources);
            let prefixes = templates.into_iter().flatten();
            let prefixes = prefixes.map(|it| it.split('{').next().unwrap_or_default());
            let matching = prefixes.filter(|it| !it.is_empty() && name.starts_with(it));
            let length = matching.map(str::len).max();
            if let Some(length) = length.filter(|it| longest.is_none_or(|(most, _)| *it > most)) {
                longest = Some((length, position));
            }
        }
        longest.map(|(_, position)| position)
    }

    /// The only admitting server that listed resources or templates with the scheme of a URI.
    pub(super) fn server_with_scheme(
        &mut self,
        uri: &str,
        owner: &StateOwner,
        admits: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let (scheme, _) = uri.split_once("://")?;
        let is_like = |listed: &String| {
            let listed = listed.split_once("://").map(|(scheme, _)| scheme);
            listed.is_some_and(|it| it.eq_ignore_ascii_case(scheme))
        };
        let lists = self.lists_for(owner).iter().enumerate();
        let mut fitting = lists.filter(|(position, listed)| {
            let uris = [List::Resources, List::Templates].into_iter();
            let mut uris = uris.filter_map(|it| listed.get(&it)).flatten();
            admits(*position) && uris.any(is_like)
        });
        let (position, _) = fitting.next()?;
        fitting.next().is_none().then_some(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(resources: &[&str], templates: &[&str]) -> ServerLists {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        ServerLists::from([
            (List::Resources, owned(resources)),
            (List::Templates, owned(templates)),
        ])
    }

    #[test]
    fn a_uri_belongs_to_the_admitting_server_that_listed_it_or_has_the_longest_prefix() {
        let mut cache = ListCache::new(3);
        let lists = [
            listed(&["demo://a"], &["demo://b/{id}", "{any}"]),
            listed(&["demo://b/x", "demo://a"], &["demo://b/{name}"]),
            listed(&[], &["demo://{any}"]),
        ];
        *cache.lists_for(&StateOwner::Anyone) = lists.to_vec();
        let ann = StateOwner::Caller("ann".into());
        assert_eq!(
            cache.server_of(List::Resources, "demo://a", &ann, |_| true),
            None
        );
        for (uri, admitting, expected) in [
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
            let admits = |position: usize| admitting.contains(&position);
            let found = cache.server_of(List::Resources, uri, &StateOwner::Anyone, admits);
            assert_eq!(found, expected, "{uri} {admitting:?}");
        }
    }

    #[test]
    fn an_unlisted_uri_belongs_to_the_only_server_with_its_scheme() {
        let mut cache = ListCache::new(3);
        let lists = [
            listed(&["report://1"], &["demo://b/{id}"]),
            listed(&["demo://a"], &["{any}"]),
            listed(&[], &["File:///{path}"]),
        ];
        *cache.lists_for(&StateOwner::Anyone) = lists.to_vec();
        for (uri, admitting, expected) in [
            ("report://77", &[0, 1, 2][..], Some(0)),
            ("report://77", &[1, 2], None),
            ("demo://z", &[0, 1, 2], None),
            ("demo://z", &[1, 2], Some(1)),
            ("file:///etc/hosts", &[0, 1, 2], Some(2)),
            ("reports://77", &[0, 1, 2], None),
            ("report", &[0, 1, 2], None),
        ] {
            let admits = |position: usize| admitting.contains(&position);
            let found = cache.server_with_scheme(uri, &StateOwner::Anyone, admits);
            assert_eq!(found, expected, "{uri} {admitting:?}");
        }
    }

    #[test]
    fn the_number_of_cached_owners_is_limited() {
        let mut cache = ListCache::new(1);
        for owner in 0..=OWNERS_LIMIT {
            let owner = StateOwner::Caller(owner.to_string().into());
            cache.lists_for(&owner);
            assert!(cache.lists.len() <= OWNERS_LIMIT);
        }
        assert_eq!(cache.lists.len(), 1);
    }
}
