//! How an operation maps to HTTP: the request that its input becomes, and the responses that are
//! failures.
//!
//! An importer writes the binding, the contract of the operation stores it, and the HTTP client
//! reads it. The address and the credentials of the service are configured elsewhere.

use std::collections::BTreeMap;

use panpan_catalogue::Effect;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::operation::OperationSpec;
use panpan_failure::{Code, StatusPattern};

/// The member of an operation that contains its binding.
pub const HTTP_BINDING: &str = "x-panpan-http";

/// Lower-case names of headers that belong to the connection: the HTTP client sets them.
pub const CONNECTION_HEADERS: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The HTTP request of an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpBinding {
    /// The method, in upper case.
    pub method: String,
    /// The path below the URL of the service, with parameters in braces.
    pub path: String,
    /// The server URLs of this operation, with variables filled in; they may be relative.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// The members of the input that are sent outside the body.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
    /// The part of the input that is the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<RequestBody>,
    /// Alternatives: all schemes of one alternative are required. No credentials are needed if
    /// there are no alternatives or one is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub security: Vec<Vec<SecurityScheme>>,
    /// Media types of responses, in the order of the description.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepts: Vec<String>,
    /// The header for the idempotency key, if the service honours one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_header: Option<String>,
    /// The header that tells the service how long the client waits, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_header: Option<String>,
    /// How failures in the bodies of successful responses are handled.
    #[serde(default, skip_serializing_if = "SuccessBodies::is_default")]
    pub success_bodies: SuccessBodies,
    /// Rules for responses beyond their status; the first match applies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<ResponseRule>,
}

/// How a successful response is handled whose body is exactly a failure, such as
/// `{"success": false, "error": "…"}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuccessBodies {
    /// As a failure.
    #[default]
    Read,
    /// As the output.
    AsSent,
}

impl SuccessBodies {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A member of the input that is sent in the path, the query, a header or a cookie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The member of the input.
    pub name: String,
    /// The name in the request.
    pub wire_name: String,
    /// Its location in the request.
    pub place: ParameterLocation,
    /// The serialisation of a list or an object.
    pub style: Style,
    /// Whether the items of a list or an object are written separately.
    pub explode: bool,
    /// Whether reserved characters are sent unescaped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_reserved: bool,
    /// The media type that replaces the style.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// The location of a parameter in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterLocation {
    /// In the path.
    Path,
    /// In the query.
    Query,
    /// As the whole query string, in its media type.
    Querystring,
    /// In a header.
    Header,
    /// In a cookie.
    Cookie,
}

/// The serialisation of a list or an object, as in OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names are those of the specification")]
pub enum Style {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestBody {
    /// The member of the input that is the body; without it, the whole input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The media type of the body.
    pub media_type: String,
    /// How the body is encoded.
    pub form: BodyForm,
    /// The encoding of form members that differ from the default.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub encoding: BTreeMap<String, PartEncoding>,
}

/// How a body is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyForm {
    /// As JSON.
    Json,
    /// As `application/x-www-form-urlencoded`.
    Form,
    /// As `multipart/form-data`; binary members are base64 in the input.
    Multipart,
    /// As text, from a string.
    Text,
    /// As bytes, which are base64 in the input.
    Bytes,
}

/// How one member of a form is encoded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartEncoding {
    /// The media type of the part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The serialisation of a list or an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<Style>,
    /// Whether its items are written separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explode: Option<bool>,
    /// Whether the member is binary, which is base64 in the input.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bytes: bool,
    /// Whether reserved characters are sent unescaped, in a URL-encoded form.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_reserved: bool,
    /// Headers of the part besides those that follow from its content.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// A security scheme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecurityScheme {
    /// The name in the description; credentials are configured under this name.
    pub name: String,
    /// How the credential is sent.
    #[serde(flatten)]
    pub kind: SchemeKind,
    /// The required scopes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
}

/// How a credential is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SchemeKind {
    /// A key in a header, the query or a cookie.
    ApiKey {
        /// The location of the key.
        place: ParameterLocation,
        /// The name of the key.
        key: String,
    },
    /// A bearer token, including tokens of OAuth and OpenID Connect.
    Bearer,
    /// A user name and a password.
    Basic,
    /// Another scheme, by its name in the description.
    Other {
        /// The name of the scheme.
        scheme: String,
    },
}

/// A rule that turns matching responses into a failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResponseRule {
    /// The responses that the rule matches.
    #[serde(rename = "when")]
    pub fits: ResponsePattern,
    /// The code of the failure.
    pub code: Code,
    /// The effect of the call.
    #[serde(
        default,
        with = "panpan_failure::word::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub effect: Option<Effect>,
    /// A JSON Pointer to the message in the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_pointer: Option<String>,
    /// A JSON Pointer to the delay in the body, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_pointer: Option<String>,
}

/// A pattern for responses; all stated conditions must match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResponsePattern {
    /// The status; without it, any status, including success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusPattern>,
    /// A header that must be present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderPattern>,
    /// A value in the body that must be present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyPattern>,
}

/// A header, optionally with its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderPattern {
    /// The name, in any case.
    pub name: String,
    /// The value, exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals: Option<String>,
    /// A part of the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
}

/// A location in the body, optionally with its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodyPattern {
    /// The location, as an RFC 6901 pointer.
    pub pointer: String,
    /// The value, exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals: Option<Value>,
    /// A substring of a text at this location, ignoring case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
}

impl HttpBinding {
    /// The binding of an operation, or an error if it is malformed.
    pub fn of(spec: &OperationSpec) -> Option<Result<Self, serde_json::Error>> {
        spec.extensions.get(HTTP_BINDING).map(Self::deserialize)
    }

    /// Stores the binding in an operation.
    pub fn bind(&self, spec: &mut OperationSpec) {
        let written = serde_json::to_value(self).expect("names are strings");
        let inserted = spec.extensions.insert(HTTP_BINDING, written);
        inserted.expect("the name starts with x-");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::operation::OperationType;

    #[test]
    fn a_binding_is_stored_with_its_operation() {
        let written = json!({
            "method": "POST",
            "path": "/pets/{id}",
            "servers": ["https://pets.example.com/v1"],
            "parameters": [{"name": "id", "wire_name": "id", "place": "path", "style": "simple", "explode": false}],
            "body": {"name": "body", "media_type": "application/json", "form": "json"},
            "security": [[{"name": "key", "kind": "api_key", "place": "header", "key": "X-Key"}], []],
            "accepts": ["application/json"],
            "idempotency_header": "Idempotency-Key",
            "timeout_header": "Patience-Ms",
            "success_bodies": "as_sent",
            "rules": [{"when": {"status": 200, "body": {"pointer": "/ok", "equals": false}}, "code": "PET_REFUSED", "effect": "none"}],
        });
        let binding = HttpBinding::deserialize(&written).unwrap();
        let mut spec = OperationSpec::new("pets/update".parse().unwrap(), OperationType::Mutation);
        assert!(HttpBinding::of(&spec).is_none());
        binding.bind(&mut spec);
        let spec = OperationSpec::deserialize(serde_json::to_value(&spec).unwrap()).unwrap();
        assert_eq!(HttpBinding::of(&spec).unwrap().unwrap(), binding);
        assert_eq!(serde_json::to_value(&binding).unwrap(), written);
    }
}
