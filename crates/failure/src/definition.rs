//! The declaration of a failure: its code, description, details schema and facts.

use std::fmt;

use panpan_catalogue::{Category, Effect, Remedies};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use crate::Extensions;
use crate::code::Code;
use crate::failure::Failure;
use crate::kind::{Facts, Kind, KindError};

/// A failure that an operation declares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorDefinition {
    /// The code.
    pub code: Code,
    /// When it occurs.
    pub description: String,
    /// The JSON Schema of the details.
    #[serde(default = "any_schema")]
    pub schema: Value,
    /// The HTTP status of the response, or the status it was imported from.
    #[serde(default)]
    pub http_status: Option<StatusPattern>,
    /// The category, where neither the status nor the catalogue implies it.
    #[serde(
        default,
        with = "crate::word::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub category: Option<Category>,
    /// Whether the identical call can succeed later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// The kinds of next step that can help.
    #[serde(
        default,
        with = "crate::word::optional_remedies",
        skip_serializing_if = "Option::is_none"
    )]
    pub remedy: Option<Remedies>,
    /// The assumed effect.
    #[serde(
        default,
        with = "crate::word::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub effect: Option<Effect>,
    /// The number in a JSON-RPC error object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jsonrpc_code: Option<i64>,
    /// Members of the author, kept but not interpreted.
    #[serde(flatten)]
    pub extensions: Extensions,
}

impl ErrorDefinition {
    /// A declaration with details of any shape.
    pub fn new(code: Code, description: impl Into<String>) -> Self {
        Self {
            code,
            description: description.into(),
            schema: any_schema(),
            http_status: None,
            category: None,
            retryable: None,
            remedy: None,
            effect: None,
            jsonrpc_code: None,
            extensions: Extensions::default(),
        }
    }

    /// The code with its facts, or all objections to the declaration.
    pub fn kind(&self) -> Result<Kind, Vec<KindError>> {
        Kind::declared(self.code.clone(), self.facts())
    }

    /// A failure of this kind, with the declared effect.
    pub fn failure(&self) -> Result<Failure, Vec<KindError>> {
        let failure = Failure::new(self.kind()?);
        Ok(self.effect.into_iter().fold(failure, Failure::with_effect))
    }

    fn facts(&self) -> Facts {
        Facts {
            category: self.category,
            retryable: self.retryable,
            remedies: self.remedy,
            http_status: self.http_status.and_then(StatusPattern::exact),
            jsonrpc_code: self.jsonrpc_code,
        }
    }
}

fn any_schema() -> Value {
    json!({})
}

/// The HTTP statuses that a definition covers: `404`, `"4XX"` or `"default"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatusPattern {
    /// One status.
    Exact(u16),
    /// A range of a hundred: 4 for `4XX`, 5 for `5XX`.
    Range(u8),
    /// Every status that no other definition covers.
    Default,
}

impl StatusPattern {
    /// Whether the pattern covers this status.
    pub fn covers(self, status: u16) -> bool {
        match self {
            StatusPattern::Exact(exact) => exact == status,
            StatusPattern::Range(hundreds) => status / 100 == u16::from(hundreds),
            StatusPattern::Default => true,
        }
    }

    /// The status, if the pattern is a single one.
    pub fn exact(self) -> Option<u16> {
        match self {
            StatusPattern::Exact(status) => Some(status),
            StatusPattern::Range(_) | StatusPattern::Default => None,
        }
    }

    /// Parses a pattern from a JSON value.
    pub fn from_value(value: &Value) -> Option<Self> {
        if let Some(status) = value.as_u64() {
            return u16::try_from(status).ok().map(StatusPattern::Exact);
        }
        match value.as_str()? {
            "4XX" | "4xx" => Some(StatusPattern::Range(4)),
            "5XX" | "5xx" => Some(StatusPattern::Range(5)),
            "default" => Some(StatusPattern::Default),
            _ => None,
        }
    }
}

impl fmt::Display for StatusPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StatusPattern::Exact(status) => write!(formatter, "{status}"),
            StatusPattern::Range(hundreds) => write!(formatter, "{hundreds}XX"),
            StatusPattern::Default => formatter.write_str("default"),
        }
    }
}

impl Serialize for StatusPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            StatusPattern::Exact(status) => serializer.serialize_u16(*status),
            other => serializer.collect_str(other),
        }
    }
}

impl<'de> Deserialize<'de> for StatusPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        StatusPattern::from_value(&value).ok_or_else(|| {
            serde::de::Error::custom(
                "expected a status such as 404, \"4XX\", \"5XX\" or \"default\"",
            )
        })
    }
}
