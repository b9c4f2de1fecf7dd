//! The definition of a task: everything a client states about it except its place in the tree and the graph.

use std::sync::Arc;

use panpan_contract::retry::RetryPolicy;
use panpan_runtime::ports::StoreError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use super::{Priority, Provenance, TaskId};
use crate::ports::Redefined;
use crate::webhooks::Webhook;

/// The longest name of a task, in characters.
pub const NAME_CHARACTERS_LIMIT: usize = 255;

/// The values of `schemas.type`.
pub const SCHEMA_TYPES: [&str; 3] = ["local", "remote", "external"];

/// The definition of a task. Its serde form is the compact JSON that stores keep; the form of the protocol is
/// written by [`TaskView`](super::TaskView).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    name: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_id: Option<NonEmpty>,
    /// The priority.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: Priority,
    /// The inputs, in which references may stand for results of dependencies.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub inputs: Map<String, Value>,
    /// What runs. A task without is a group: it completes when its dependencies are satisfied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schemas: Option<Schemas>,
    /// The settings of the executor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Map<String, Value>>,
    /// The retry policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPolicy>,
    /// Where the task comes from.
    #[serde(default, skip_serializing_if = "is_default")]
    pub origin: Provenance,
    /// Where messages about the flow are sent; only a root has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) webhook: Option<Webhook>,
    /// The generation that has completed with other inputs or another operation than these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) changed_after: Option<u32>,
    // Nested, not flattened: a member that a later version knows must not be read as that member.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    extra: Map<String, Value>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The members of a stored definition that a summary has.
#[derive(Deserialize)]
struct Summary {
    name: Name,
    #[serde(default)]
    user_id: Option<NonEmpty>,
    #[serde(default)]
    priority: Priority,
    #[serde(default)]
    schemas: Option<SchemasSummary>,
    #[serde(default)]
    retry: Option<RetryPolicy>,
    #[serde(default)]
    origin: Provenance,
    #[serde(default)]
    webhook: Option<Webhook>,
}

#[derive(Deserialize)]
struct SchemasSummary {
    method: String,
}

/// A name that is empty or too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the name has {characters} characters: write 1 to {NAME_CHARACTERS_LIMIT}")]
pub struct InvalidName {
    characters: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Name(String);

impl TryFrom<String> for Name {
    type Error = InvalidName;

    fn try_from(name: String) -> Result<Self, InvalidName> {
        match name.chars().count() {
            1..=NAME_CHARACTERS_LIMIT => Ok(Self(name)),
            characters => Err(InvalidName { characters }),
        }
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

/// A text that is not empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct NonEmpty(String);

#[derive(Clone, Copy, Debug, Error)]
#[error("the text is empty")]
pub(super) struct Empty;

impl TryFrom<String> for NonEmpty {
    type Error = Empty;

    fn try_from(text: String) -> Result<Self, Empty> {
        (!text.is_empty()).then_some(Self(text)).ok_or(Empty)
    }
}

impl From<NonEmpty> for String {
    fn from(text: NonEmpty) -> Self {
        text.0
    }
}

impl Definition {
    /// A definition with a name and the defaults of the protocol.
    pub fn new(name: impl Into<String>) -> Result<Self, InvalidName> {
        Ok(Self {
            name: Name::try_from(name.into())?,
            user_id: None,
            priority: Priority::default(),
            inputs: Map::new(),
            schemas: None,
            params: None,
            retry: None,
            origin: Provenance::default(),
            webhook: None,
            changed_after: None,
            extra: Map::new(),
        })
    }

    /// The text that a store keeps.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a definition has only JSON values and string keys")
    }

    /// The definition in the text of a store.
    pub fn from_text(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The definition in the text of a store, where a text that cannot be read is damage.
    pub(crate) fn of_stored(text: &str) -> Result<Self, StoreError> {
        Self::from_text(text).map_err(|_| StoreError::Damaged)
    }

    /// Sets the name.
    pub fn with_name(mut self, name: impl Into<String>) -> Result<Self, InvalidName> {
        self.name = Name::try_from(name.into())?;
        Ok(self)
    }

    /// Sets the owner; an empty text means none.
    pub fn with_user_id(mut self, user_id: impl Into<String>) -> Self {
        self.user_id = NonEmpty::try_from(user_id.into()).ok();
        self
    }

    /// Sets the members that the protocol does not know. Members that it knows are dropped: they have a
    /// field of their own, or the server sets them.
    pub fn with_extra(mut self, mut extra: Map<String, Value>) -> Self {
        extra.retain(|name, _| !super::members::is_known(name));
        self.extra = extra;
        self
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name.0
    }

    /// The owner.
    pub fn user_id(&self) -> Option<&str> {
        self.user_id.as_ref().map(|it| it.0.as_str())
    }

    /// The definition as a store replaces an earlier one.
    pub(crate) fn redefined(&self) -> Redefined {
        Redefined {
            definition: self.to_text().into(),
            priority: self.priority,
            operation: self.operation(),
            user_id: self.user_id().map(str::to_owned),
        }
    }

    /// The definition in the text of a store, without inputs, and with nothing about the operation but its name. What it
    /// leaves out is skipped, not built: that can be large.
    pub(crate) fn summary_of(text: &str) -> Result<Self, serde_json::Error> {
        let summary: Summary = serde_json::from_str(text)?;
        Ok(Self {
            name: summary.name,
            user_id: summary.user_id,
            priority: summary.priority,
            inputs: Map::new(),
            schemas: summary.schemas.and_then(|it| Schemas::new(it.method)),
            params: None,
            retry: summary.retry,
            origin: summary.origin,
            webhook: summary.webhook,
            changed_after: None,
            extra: Map::new(),
        })
    }

    /// The operation that the task calls. A link and an archive call none.
    pub(crate) fn operation(&self) -> Option<Arc<str>> {
        let schemas = self.schemas.as_ref();
        let schemas = schemas.filter(|_| !self.origin.needs_completed())?;
        let method = schemas.method();
        Some(method.strip_prefix('/').unwrap_or(method).into())
    }

    /// The members that the protocol does not know.
    pub fn extra(&self) -> &Map<String, Value> {
        &self.extra
    }
}

/// The original whose result is that of the task, if this stored definition is of a link or an archive. Other
/// definitions are not parsed.
pub(crate) fn original_with_result(definition: &str) -> Option<TaskId> {
    const STARTS: [&str; 2] = ["\"origin\":{\"link\":", "\"origin\":{\"archive\":"];
    if !STARTS.iter().any(|it| definition.contains(it)) {
        return None;
    }
    let origin = Definition::from_text(definition).ok()?.origin;
    origin.original().filter(|_| origin.needs_completed())
}

/// Whether a stored definition is that of an archive. Other definitions are not parsed.
pub(crate) fn is_archive(definition: &str) -> bool {
    let parsed = || Definition::from_text(definition).ok();
    definition.contains("\"origin\":{\"archive\":")
        && parsed().is_some_and(|it| matches!(it.origin, Provenance::Archive(_)))
}

/// Whether this is the name of an operation on tasks. A task cannot call one: tasks that create, copy or execute tasks
/// could go on for ever, without the limits of a caller.
pub(crate) fn is_on_tasks(method: &str) -> bool {
    method.trim_start_matches('/').starts_with("tasks/")
}

/// The webhook in a stored definition. Definitions without one are not parsed.
pub(crate) fn stored_webhook(definition: &str) -> Option<Webhook> {
    if !definition.contains("\"webhook\":{") {
        return None;
    }
    Definition::from_text(definition).ok()?.webhook
}

/// What a task runs: an operation, named by `method`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schemas {
    method: NonEmpty,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input_schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    extra: Map<String, Value>,
}

impl Schemas {
    /// An operation; `None` if the name is empty.
    pub fn new(method: impl Into<String>) -> Option<Self> {
        Some(Self {
            method: NonEmpty::try_from(method.into()).ok()?,
            kind: None,
            input_schema: None,
            model: None,
            extra: Map::new(),
        })
    }

    /// Sets the schema of the inputs; `null` means none.
    pub fn with_input_schema(mut self, schema: Value) -> Self {
        self.input_schema = Some(schema).filter(|it| !it.is_null());
        self
    }

    /// The same with another operation, unless its name is empty.
    pub(crate) fn with_method(mut self, method: String) -> Self {
        if let Ok(method) = NonEmpty::try_from(method) {
            self.method = method;
        }
        self
    }

    /// Sets `type`, one of [`SCHEMA_TYPES`].
    pub(super) fn with_kind(mut self, kind: Option<String>) -> Self {
        self.kind = kind;
        self
    }

    pub(super) fn with_model(mut self, model: Option<String>) -> Self {
        self.model = model;
        self
    }

    pub(super) fn with_extra(mut self, extra: Map<String, Value>) -> Self {
        self.extra = extra;
        self
    }

    /// The name of the operation.
    pub fn method(&self) -> &str {
        &self.method.0
    }

    /// `type`: local, remote or external.
    pub fn kind(&self) -> Option<&str> {
        self.kind.as_deref()
    }

    /// The schema of the inputs.
    pub fn input_schema(&self) -> Option<&Value> {
        self.input_schema.as_ref()
    }

    /// The model.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The members that the protocol does not know.
    pub fn extra(&self) -> &Map<String, Value> {
        &self.extra
    }
}
