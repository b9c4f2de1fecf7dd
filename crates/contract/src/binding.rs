//! How an operation is carried out by a service that speaks HTTP: which request its input becomes, and
//! what in an answer is a failure.
//!
//! Written by whoever imports a description of the service, kept with the operation in its contract, read
//! by whoever sends the request. Nothing here says where the service is or who may ask it.

use std::collections::BTreeMap;

use panpan_catalogue::Effect;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::operation::OperationSpec;
use panpan_failure::{Code, StatusPattern};

/// The member of an operation's contract that holds its binding.
pub const HTTP_BINDING: &str = "x-panpan-http";

/// Headers that belong to a connection, in small letters: whoever connects writes them.
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

/// The request an operation becomes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpBinding {
    /// The method, in capitals.
    pub method: String,
    /// The path below the address of the service, with parameters in braces.
    pub path: String,
    /// Addresses the description gives for this operation, variables filled in; they may be relative.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// The members of the input that stand outside the body.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
    /// What of the input is the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<RequestBody>,
    /// Alternatives: every scheme of one of them has to be satisfied. Nothing is needed where there are
    /// none, or where one is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub security: Vec<Vec<SecurityScheme>>,
    /// Media types of answers, in the order of the description.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepts: Vec<String>,
    /// The header in which the service takes an idempotency key, if it honours one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_header: Option<String>,
    /// The header in which the service is told how long it is waited for, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_header: Option<String>,
    /// What becomes of successful answers that are failures by their bodies.
    #[serde(default, skip_serializing_if = "SuccessBodies::is_default")]
    pub success_bodies: SuccessBodies,
    /// What an answer means beyond its status; the first rule that fits holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<AnswerRule>,
}

/// What becomes of a successful answer whose body is exactly a failure, such as
/// `{"success": false, "error": "…"}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuccessBodies {
    /// It is that failure.
    #[default]
    Read,
    /// It is delivered as the output it was sent as.
    AsSent,
}

impl SuccessBodies {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A member of the input that stands in the path, the query, a header or a cookie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The member of the input.
    pub name: String,
    /// The name it is sent under.
    pub wire_name: String,
    /// Where it stands.
    pub place: Place,
    /// How a list or an object is written.
    pub style: Style,
    /// Whether the parts of a list or an object are written one by one.
    pub explode: bool,
    /// Whether reserved characters are sent as they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_reserved: bool,
    /// The media type it is written in instead of a style.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In the path.
    Path,
    /// In the query.
    Query,
    /// As the whole query, in the media type it has.
    Querystring,
    /// In a header.
    Header,
    /// In a cookie.
    Cookie,
}

/// How a list or an object is written as a parameter, as OpenAPI names the ways.
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
    /// The member of the input that is the body; without one, the whole input is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The media type it is sent as.
    pub media_type: String,
    /// How it is written.
    pub form: BodyForm,
    /// How its members are written in a form, where it is not the usual way.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub encoding: BTreeMap<String, PartEncoding>,
}

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyForm {
    /// As JSON.
    Json,
    /// As `application/x-www-form-urlencoded`.
    Form,
    /// As `multipart/form-data`; members that are bytes come as base64.
    Multipart,
    /// As it is, from a string.
    Text,
    /// As bytes, which come as base64.
    Bytes,
}

/// How one member of a form is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartEncoding {
    /// The media type of the part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// How a list or an object is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<Style>,
    /// Whether its parts are written one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explode: Option<bool>,
    /// Whether the member is bytes, which come as base64.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bytes: bool,
    /// Whether reserved characters are sent as they are, in a form that is no multipart.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_reserved: bool,
    /// Headers of the part besides those that follow from its content.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// A way to prove who asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecurityScheme {
    /// What the description calls it; credentials are configured under this name.
    pub name: String,
    /// How the proof is sent.
    #[serde(flatten)]
    pub proof: Proof,
    /// The scopes that are needed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
}

/// How a proof is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Proof {
    /// A key in a header, the query or a cookie.
    ApiKey {
        /// Where.
        place: Place,
        /// Under which name.
        key: String,
    },
    /// A bearer token, also one that OAuth or OpenID Connect gave.
    Bearer,
    /// A user and a password.
    Basic,
    /// Something else, by its name in the description.
    Other {
        /// What it is.
        scheme: String,
    },
}

/// What an answer means that fits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerRule {
    /// Which answers it is about.
    #[serde(rename = "when")]
    pub fits: AnswerPattern,
    /// The code of the failure.
    pub code: Code,
    /// What is known about side effects.
    #[serde(
        default,
        with = "panpan_failure::word::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub effect: Option<Effect>,
    /// Where in the body the message for people stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_pointer: Option<String>,
    /// Where in the body the delay stands, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_pointer: Option<String>,
}

/// Which answers a rule is about: those that fit in every way it names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerPattern {
    /// The status; any where there is none, also that of a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusPattern>,
    /// A header that has to be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderPattern>,
    /// A member of the body that has to be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyPattern>,
}

/// A header, and perhaps what stands in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderPattern {
    /// Its name, in any case.
    pub name: String,
    /// The value, exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals: Option<String>,
    /// A part of the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
}

/// A place in the body, and perhaps what stands there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodyPattern {
    /// The place, as an RFC 6901 pointer.
    pub pointer: String,
    /// The value, exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals: Option<Value>,
    /// A part of a text that stands there, whatever its case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
}

impl HttpBinding {
    /// The binding an operation carries, if it does, or why it cannot be read.
    pub fn of(spec: &OperationSpec) -> Option<Result<Self, serde_json::Error>> {
        spec.extensions.get(HTTP_BINDING).map(Self::deserialize)
    }

    /// Puts the binding into an operation's contract.
    pub fn bind(&self, spec: &mut OperationSpec) {
        let written = serde_json::to_value(self).expect("names are strings");
        let inserted = spec.extensions.insert(HTTP_BINDING, written);
        inserted.expect("the name is an extension's");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::operation::OperationType;

    #[test]
    fn a_binding_travels_with_its_operation() {
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
