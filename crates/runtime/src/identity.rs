//! The identity of a caller, checked against the access control of an operation.
//!
//! The surfaces authenticate callers; nothing here does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use panpan_contract::operation::AccessControl;

/// The scope that gives access to recordings and counts of all callers.
pub const WATCH_SCOPE: &str = "panpan:watch";

/// An authenticated caller, or the authority of an operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The name under which keys and recordings are stored.
    pub id: String,
    /// The scopes that it has.
    pub scopes: BTreeSet<String>,
    /// The actions that it may take, by type of resource.
    pub resources: BTreeMap<String, BTreeSet<String>>,
}

/// The owner of the state that calls leave at a stateful service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum StateOwner {
    /// An authenticated caller, by the name of its identity.
    Caller(Arc<str>),
    /// The session of a client without a token.
    Session(Arc<str>),
    /// All callers without a token and without a session, who share their state.
    #[default]
    Anyone,
}

/// The access that a caller lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MissingAccess {
    /// The call has no identity.
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
    /// An identity without scopes and grants.
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

/// The access that the caller lacks; `None` if it may call the operation.
pub(crate) fn missing_access(
    control: &AccessControl,
    caller: Option<&Identity>,
) -> Option<MissingAccess> {
    if *control == AccessControl::default() {
        return None;
    }
    let Some(caller) = caller else {
        return Some(MissingAccess::Identity);
    };
    missing_scope(control, caller).or_else(|| missing_resource(control, caller))
}

fn missing_scope(control: &AccessControl, caller: &Identity) -> Option<MissingAccess> {
    let has = |scope: &&String| caller.scopes.contains(*scope);
    if let Some(scope) = control.required_scopes.iter().find(|scope| !has(scope)) {
        return Some(MissingAccess::Scope(scope.clone()));
    }
    let any = control.required_scopes_any.as_ref()?;
    (!any.iter().any(|scope| has(&scope))).then(|| MissingAccess::AnyScope(any.clone()))
}

fn missing_resource(control: &AccessControl, caller: &Identity) -> Option<MissingAccess> {
    let resource = control.resource_type.as_ref()?;
    let granted = caller.resources.get(resource);
    let allowed = match (&control.resource_action, granted) {
        (Some(action), Some(granted)) => granted.contains(action),
        (None, Some(granted)) => !granted.is_empty(),
        (_, None) => false,
    };
    (!allowed).then(|| MissingAccess::Resource {
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
    fn access_requires_the_scopes_and_grants_of_the_operation() {
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
                missing_access(&control, Some(&caller)).is_none(),
                allowed,
                "{control:?}"
            );
            let anyone = control == AccessControl::default();
            assert_eq!(
                missing_access(&control, None).is_none(),
                anyone,
                "{control:?}"
            );
        }
    }
}
