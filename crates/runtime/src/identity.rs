//! Who calls, and what they may do.
//!
//! How an identity is proved is the business of whoever listens; here it is only held against what an
//! operation asks for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use panpan_contract::operation::AccessControl;

/// The scope that lets a caller see what others did: recordings and counts.
pub const WATCH_SCOPE: &str = "panpan:watch";

/// A caller who is known, or the authority an operation acts with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The name that keys and recordings are kept under.
    pub id: String,
    /// What it may do.
    pub scopes: BTreeSet<String>,
    /// The actions it may take, by type of resource.
    pub resources: BTreeMap<String, BTreeSet<String>>,
}

/// Who owns what a call leaves at a service that keeps state for each of its clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum StateOwner {
    /// A caller that is known, by the name of its identity.
    Caller(Arc<str>),
    /// A client without a token, for as long as its session lasts.
    Session(Arc<str>),
    /// All callers of whom nothing is known: they cannot be told apart.
    #[default]
    Anyone,
}

/// What an identity lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lacking {
    /// Nobody is known to call.
    Identity,
    /// A scope.
    Scope(String),
    /// One of these scopes.
    AnyScope(Vec<String>),
    /// A grant for a resource.
    Resource {
        resource: String,
        action: Option<String>,
    },
}

impl Identity {
    /// An identity that may do nothing yet.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            ..Self::default()
        }
    }

    /// Adds a scope.
    pub fn with_scope(mut self, scope: impl Into<String>) -> Self {
        self.scopes.insert(scope.into());
        self
    }

    /// Adds an action on a type of resource.
    pub fn with_resource(mut self, resource: impl Into<String>, action: impl Into<String>) -> Self {
        let actions = self.resources.entry(resource.into()).or_default();
        actions.insert(action.into());
        self
    }
}

/// What the caller lacks; `None` when nothing stands in the way.
pub(crate) fn lacking(control: &AccessControl, caller: Option<&Identity>) -> Option<Lacking> {
    if *control == AccessControl::default() {
        return None;
    }
    let Some(caller) = caller else {
        return Some(Lacking::Identity);
    };
    lacking_scope(control, caller).or_else(|| lacking_resource(control, caller))
}

fn lacking_scope(control: &AccessControl, caller: &Identity) -> Option<Lacking> {
    let has = |scope: &&String| caller.scopes.contains(*scope);
    if let Some(scope) = control.required_scopes.iter().find(|scope| !has(scope)) {
        return Some(Lacking::Scope(scope.clone()));
    }
    let any = control.required_scopes_any.as_ref()?;
    (!any.iter().any(|scope| has(&scope))).then(|| Lacking::AnyScope(any.clone()))
}

fn lacking_resource(control: &AccessControl, caller: &Identity) -> Option<Lacking> {
    let resource = control.resource_type.as_ref()?;
    let granted = caller.resources.get(resource);
    let allowed = match (&control.resource_action, granted) {
        (Some(action), Some(granted)) => granted.contains(action),
        (None, Some(granted)) => !granted.is_empty(),
        (_, None) => false,
    };
    (!allowed).then(|| Lacking::Resource {
        resource: resource.clone(),
        action: control.resource_action.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(all: &[&str], any: Option<&[&str]>, resource: Option<&str>) -> AccessControl {
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let (kind, action) = resource.map_or((None, None), |it| match it.split_once(':') {
            Some((kind, action)) => (Some(kind.to_owned()), Some(action.to_owned())),
            None => (Some(it.to_owned()), None),
        });
        AccessControl {
            required_scopes: owned(all),
            required_scopes_any: any.map(owned),
            resource_type: kind,
            resource_action: action,
        }
    }

    #[test]
    fn what_an_operation_asks_for_is_held_against_what_the_caller_has() {
        let caller = Identity::new("ann")
            .with_scope("a")
            .with_scope("b")
            .with_resource("file", "read");
        for (control, allowed) in [
            (control(&[], None, None), true),
            (control(&["a", "b"], None, None), true),
            (control(&["a", "c"], None, None), false),
            (control(&[], Some(&["c", "b"]), None), true),
            (control(&[], Some(&["c"]), None), false),
            (control(&[], Some(&[]), None), false),
            (control(&["a"], Some(&["b"]), Some("file:read")), true),
            (control(&[], None, Some("file")), true),
            (control(&[], None, Some("file:write")), false),
            (control(&[], None, Some("disk")), false),
        ] {
            assert_eq!(
                lacking(&control, Some(&caller)).is_none(),
                allowed,
                "{control:?}"
            );
            let anyone = control == AccessControl::default();
            assert_eq!(lacking(&control, None).is_none(), anyone, "{control:?}");
        }
    }
}
