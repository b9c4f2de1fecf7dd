//! The schemas of failing responses: for failures that an operation declares, and for failures of the server.
//!
//! Every failure has two formats, chosen by the `Accept` header: the `call` dialect, with `code` as its
//! discriminator, and problem details, with `type`.
//!
//! The document must not contradict a response. Every operation may fail with every code of the catalogue, and
//! a service may send details that do not match their schema. So every status allows a failure that is not
//! listed, and `default` covers the statuses that are not listed.

use std::collections::BTreeMap;

use panpan_contract::operation::OperationSpec;
use panpan_failure::catalogue::Entry;
use panpan_failure::dialect::{Envelope, RESIDUAL};
use panpan_failure::{ErrorDefinition, StatusPattern, codes};
use serde_json::{Map, Value, json};

use super::components::Components;
use super::{ERROR_ID, header_references};

/// Features of a call that decide which failures the server itself may return.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CallFeatures {
    /// The operation requires scopes.
    pub(super) is_guarded: bool,
    /// The call may have a key.
    pub(super) takes_key: bool,
}

/// The status of FORBIDDEN for unknown callers, including callers with an invalid token; the catalogue has
/// the status for all other callers.
const UNKNOWN_CALLER_STATUS: u16 = 401;

/// The status of INVALID_REQUEST for a request from a forbidden origin or host.
const FOREIGN_STATUS: u16 = 403;

/// The key of the response for all other statuses.
const DEFAULT: &str = "default";

/// The member of the residual that says that the details match their declared schema.
const DEFINED: &str = "defined";

const ALWAYS: &[&Entry] = &[
    codes::PARSE_ERROR,
    codes::INVALID_REQUEST,
    codes::INVALID_OPERATION_TYPE,
    codes::NOT_FOUND,
    codes::INVALID_INPUT,
    codes::ERR_JSON_SIZE_EXCEEDED,
    codes::ERR_JSON_DEPTH_EXCEEDED,
    codes::ERR_RATE_LIMITED,
    codes::INTERNAL,
    codes::ERR_OVERLOADED,
    codes::ERR_CIRCUIT_OPEN,
    codes::TIMEOUT,
];
const WITH_KEY: &[&Entry] = &[
    codes::ERR_MISSING_IDEMPOTENCY_KEY,
    codes::ERR_IDEMPOTENCY_KEY_REUSED,
    codes::ERR_IDEMPOTENCY_IN_FLIGHT,
    codes::ERR_OUTCOME_UNKNOWN,
    codes::ERR_OUTCOME_TOO_LARGE,
    codes::ERR_STORE_UNAVAILABLE,
    codes::ERR_RECOVERY_EXHAUSTED,
];

/// A format of failing responses.
struct BodyFormat {
    media_type: &'static str,
    /// The component that every failure in this format matches.
    base: &'static str,
    /// The suffix of component names.
    suffix: &'static str,
    /// The member that identifies the failure.
    member: &'static str,
}

const FORMATS: [BodyFormat; 2] = [
    BodyFormat {
        media_type: "application/json",
        base: "Failure",
        suffix: "",
        member: "code",
    },
    BodyFormat {
        media_type: "application/problem+json",
        base: "Problem",
        suffix: ".problem",
        member: "type",
    },
];

impl BodyFormat {
    /// The value of the discriminator for a code.
    fn discriminator_value(&self, code: &str) -> String {
        format!("{}{code}", self.code_prefix())
    }

    fn code_prefix(&self) -> &'static str {
        match self.member {
            "type" => Envelope::default().errors_base,
            _ => "",
        }
    }

    /// The schema of the discriminator for a failure.
    fn discriminator_schema(&self, name: &Name) -> Value {
        match name {
            Name::Code(code) => json!({"const": self.discriminator_value(code)}),
            Name::Statuses(pattern) => {
                json!({"type": "string", "pattern": format!("^{}{pattern}$", self.code_prefix())})
            }
        }
    }
}

/// What identifies the failures of a definition.
enum Name {
    Code(String),
    /// Every code of an imported status, for the definition of a range or of `default`.
    Statuses(&'static str),
}

impl Name {
    fn of(definition: &ErrorDefinition) -> Self {
        match (definition.code.as_str(), definition.http_status) {
            ("HTTP_4XX", Some(StatusPattern::Range(4))) => Self::Statuses("HTTP_4[0-9][0-9]"),
            ("HTTP_5XX", Some(StatusPattern::Range(5))) => Self::Statuses("HTTP_5[0-9][0-9]"),
            ("HTTP_DEFAULT", Some(StatusPattern::Default)) => Self::Statuses("HTTP_[45][0-9][0-9]"),
            (code, _) => Self::Code(code.to_owned()),
        }
    }
}

/// References to the schemas of a failure, one per format.
type Bodies = [Value; FORMATS.len()];

/// A declared failure of an operation.
pub(super) struct Declared<'a> {
    definition: &'a ErrorDefinition,
    /// A reference to the schema of its details, unless they may be anything.
    details: Option<Value>,
}

impl<'a> Declared<'a> {
    /// The declared failures of an operation; adds the schemas of their details to the components.
    pub(super) fn all(spec: &'a OperationSpec, components: &mut Components) -> Vec<Self> {
        let definitions = spec.error_schemas.iter();
        let declared = definitions.map(|definition| {
            let schema = &definition.schema;
            let is_plain = schema.as_object().is_some_and(Map::is_empty) || *schema == true;
            let name = format!("{}.{}.details", spec.name, definition.code);
            Self {
                definition,
                details: (!is_plain).then(|| components.add_standalone(&name, schema)),
            }
        });
        declared.collect()
    }

    /// The whole definition as JSON, from which an import restores the contract.
    pub(super) fn written(&self) -> Value {
        let mut definition = self.definition.clone();
        if let Some(details) = &self.details {
            definition.schema = details.clone();
        }
        serde_json::to_value(definition).expect("names are strings")
    }
}

/// A failure in a response of one operation.
struct ListedFailure {
    code: String,
    name: Name,
    description: String,
    /// Whether its details have a schema: then the schema is part of its identity.
    has_details: bool,
    bodies: Bodies,
}

/// The failing responses, and the components that they share.
pub(super) struct Failures {
    bases: Bodies,
    /// Schemas of codes without a details schema, shared by all operations.
    plain: BTreeMap<String, Bodies>,
    responses: Map<String, Value>,
}

impl Failures {
    pub(super) fn new(components: &mut Components) -> Self {
        let [call, problem] = &FORMATS;
        Self {
            bases: [
                components.add(call.base, call_schema()),
                components.add(problem.base, problem_schema()),
            ],
            plain: BTreeMap::new(),
            responses: Map::new(),
        }
    }

    pub(super) fn into_responses(self) -> Map<String, Value> {
        self.responses
    }

    /// The failing responses of an operation, by status.
    pub(super) fn responses(
        &mut self,
        owner: &str,
        declared: &[Declared<'_>],
        features: CallFeatures,
        components: &mut Components,
    ) -> Map<String, Value> {
        let mut by_status: BTreeMap<String, Vec<ListedFailure>> = BTreeMap::new();
        for failure in declared {
            let definition = failure.definition;
            let group = by_status.entry(status(definition)).or_default();
            if group
                .iter()
                .all(|listed| listed.code != definition.code.as_str())
            {
                group.push(self.declared(owner, failure, components));
            }
        }
        let mut responses = Map::new();
        for (status, own) in own(features) {
            let name = status.to_string();
            let response = match by_status.remove(&name) {
                Some(declared) => {
                    let listed = self.joined(declared, &own, components);
                    self.response(&name, &listed)
                }
                None => self.shared(&name, &own, components),
            };
            responses.insert(name, response);
        }
        for (status, listed) in by_status {
            let written = self.response(&status, &listed);
            responses.insert(status, written);
        }
        if !responses.contains_key(DEFAULT) {
            responses.insert(DEFAULT.to_owned(), self.any_other());
        }
        responses
    }

    /// A reference to the response for undeclared failures.
    fn any_other(&mut self) -> Value {
        const NAME: &str = "Undeclared";
        if !self.responses.contains_key(NAME) {
            let content = FORMATS.iter().zip(&self.bases);
            let content = content.map(|(format, base)| {
                let media = json!({"schema": base});
                (format.media_type.to_owned(), media)
            });
            let response = json!({
                "description": "An undeclared failure; `GET /errors` lists every code.",
                "headers": header_references(&[ERROR_ID]),
                "content": content.collect::<Map<_, _>>(),
            });
            self.responses.insert(NAME.to_owned(), response);
        }
        json!({"$ref": format!("#/components/responses/{NAME}")})
    }

    /// Adds the failures of the server with the same status to the declared failures.
    fn joined(
        &mut self,
        mut listed: Vec<ListedFailure>,
        own: &[&'static Entry],
        components: &mut Components,
    ) -> Vec<ListedFailure> {
        for entry in own {
            if listed.iter().all(|it| it.code != entry.code) {
                listed.push(self.own(entry, components));
            }
        }
        listed
    }

    /// A reference to a response that many operations share.
    fn shared(
        &mut self,
        status: &str,
        own: &[&'static Entry],
        components: &mut Components,
    ) -> Value {
        let is_keyed = own.iter().any(|entry| WITH_KEY.contains(entry));
        let is_guarded = own.contains(&codes::FORBIDDEN) && own.len() > 1;
        let feature = match (is_keyed, is_guarded) {
            (true, _) => "Keyed",
            (false, true) => "Guarded",
            (false, false) => "",
        };
        let name = format!("Status{status}{feature}");
        if !self.responses.contains_key(&name) {
            let listed: Vec<_> = own
                .iter()
                .map(|entry| self.own(entry, components))
                .collect();
            let response = self.response(status, &listed);
            self.responses.insert(name.clone(), response);
        }
        json!({"$ref": format!("#/components/responses/{name}")})
    }

    fn own(&mut self, entry: &Entry, components: &mut Components) -> ListedFailure {
        ListedFailure {
            code: entry.code.to_owned(),
            name: Name::Code(entry.code.to_owned()),
            description: format!("{}.", entry.title),
            has_details: false,
            bodies: self.plain_bodies(entry.code, components),
        }
    }

    fn declared(
        &mut self,
        owner: &str,
        failure: &Declared<'_>,
        components: &mut Components,
    ) -> ListedFailure {
        let code = failure.definition.code.as_str();
        let name = Name::of(failure.definition);
        let bodies = match (&failure.details, &name) {
            (None, Name::Code(_)) => self.plain_bodies(code, components),
            (details, name) => {
                let component = format!("{owner}.{code}");
                self.bodies(&component, name, details.as_ref(), components)
            }
        };
        ListedFailure {
            code: code.to_owned(),
            name,
            description: failure.definition.description.clone(),
            has_details: failure.details.is_some(),
            bodies,
        }
    }

    fn plain_bodies(&mut self, code: &str, components: &mut Components) -> Bodies {
        if let Some(bodies) = self.plain.get(code) {
            return bodies.clone();
        }
        let name = Name::Code(code.to_owned());
        let bodies = self.bodies(code, &name, None, components);
        self.plain.insert(code.to_owned(), bodies.clone());
        bodies
    }

    fn bodies(
        &self,
        component: &str,
        name: &Name,
        details: Option<&Value>,
        components: &mut Components,
    ) -> Bodies {
        std::array::from_fn(|index| {
            let (format, base) = (&FORMATS[index], &self.bases[index]);
            let mut schema = json!({
                "allOf": [base],
                "properties": {format.member: format.discriminator_schema(name)},
                "required": [format.member],
            });
            if let Some(details) = details {
                schema["properties"]["details"] = details.clone();
                schema["properties"][RESIDUAL] = details_match();
                schema["required"] = json!([format.member, RESIDUAL]);
            }
            components.add(&format!("{component}{}", format.suffix), schema)
        })
    }

    fn response(&self, status: &str, listed: &[ListedFailure]) -> Value {
        let lines = listed
            .iter()
            .map(|it| format!("`{}`: {}", it.code, it.description));
        let content = FORMATS.iter().enumerate().map(|(index, format)| {
            let media = json!({"schema": self.choice(index, listed)});
            (format.media_type.to_owned(), media)
        });
        let headers: &[&str] = match status {
            "401" => &[ERROR_ID, "WWW-Authenticate"],
            "429" | "503" => &[ERROR_ID, "Retry-After"],
            _ => &[ERROR_ID],
        };
        json!({
            "description": lines.collect::<Vec<_>>().join("\n\n"),
            "headers": header_references(headers),
            "content": content.collect::<Map<_, _>>(),
        })
    }

    /// A choice between the listed failures and an unlisted failure.
    fn choice(&self, index: usize, listed: &[ListedFailure]) -> Value {
        let format = &FORMATS[index];
        let exact = listed.iter().filter(|it| matches!(it.name, Name::Code(_)));
        let mapping = exact.map(|it| {
            let reference = it.bodies[index]["$ref"].clone();
            (format.discriminator_value(&it.code), reference)
        });
        let mapping: Map<_, _> = mapping.collect();
        let choices = listed.iter().map(|it| it.bodies[index].clone());
        let choices = choices.chain([self.unlisted(index, listed)]);
        let mut choice = json!({"oneOf": choices.collect::<Vec<_>>()});
        if !mapping.is_empty() {
            choice["discriminator"] = json!({"propertyName": format.member, "mapping": mapping});
        }
        choice
    }

    /// The schema of a failure that is not listed.
    fn unlisted(&self, index: usize, listed: &[ListedFailure]) -> Value {
        let format = &FORMATS[index];
        let these = listed.iter().map(|it| {
            let mut one =
                json!({"properties": {format.member: format.discriminator_schema(&it.name)}});
            if it.has_details {
                one["properties"][RESIDUAL] = details_match();
                one["required"] = json!([RESIDUAL]);
            }
            one
        });
        json!({
            "description": "An undeclared failure, or a failure whose details do not match their schema.",
            "allOf": [self.bases[index]],
            "not": {"anyOf": these.collect::<Vec<_>>()},
        })
    }
}

/// The schema of a residual that marks the details as matching their schema.
fn details_match() -> Value {
    json!({"type": "object", "required": [DEFINED], "properties": {DEFINED: {"const": true}}})
}

/// The status of a declared failure, or the status pattern that it was imported from.
fn status(definition: &ErrorDefinition) -> String {
    match (definition.http_status, definition.kind()) {
        (Some(pattern), _) => pattern.to_string(),
        (None, Ok(kind)) => kind.http_status().to_string(),
        (None, Err(_)) => codes::INTERNAL.http.to_string(),
    }
}

/// The failures of the server itself, by status.
fn own(features: CallFeatures) -> BTreeMap<u16, Vec<&'static Entry>> {
    let mut by_status: BTreeMap<u16, Vec<_>> = BTreeMap::new();
    let keyed = WITH_KEY.iter().filter(|_| features.takes_key);
    for entry in ALWAYS.iter().chain(keyed) {
        by_status.entry(entry.http).or_default().push(*entry);
    }
    let forbidden = features.is_guarded.then_some(codes::FORBIDDEN.http);
    for status in [UNKNOWN_CALLER_STATUS].into_iter().chain(forbidden) {
        by_status.entry(status).or_default().push(codes::FORBIDDEN);
    }
    let foreign = by_status.entry(FOREIGN_STATUS).or_default();
    foreign.push(codes::INVALID_REQUEST);
    by_status
}

fn call_schema() -> Value {
    json!({
        "type": "object",
        "required": ["code", "message", "retryable"],
        "properties": {
            "code": {"type": "string", "description": "The code of the failure; its page is at /errors/{code}."},
            "message": {"type": "string"},
            "retryable": {
                "type": "boolean",
                "description": "Whether the identical call may succeed later.",
            },
            "details": {"type": "object"},
            RESIDUAL: {"type": "object", "description": "All other facts of the failure."},
        },
    })
}

fn problem_schema() -> Value {
    let violation = json!({
        "type": "object",
        "required": ["pointer", "detail"],
        "properties": {
            "pointer": {"type": "string"}, "detail": {"type": "string"},
            "kind": {"type": "string"}, "expected": {"type": "string"}, "actual": true,
        },
    });
    json!({
        "type": "object",
        "description": "Problem details, RFC 9457.",
        "required": ["type", "title", "status", "detail", "retryable"],
        "properties": {
            "type": {"type": "string", "format": "uri-reference"},
            "title": {"type": "string"},
            "status": {"type": "integer", "minimum": 400, "maximum": 599},
            "detail": {"type": "string"},
            "instance": {"type": "string", "format": "uri"},
            "retryable": {"type": "boolean"},
            "retry_after_ms": {"type": "integer", "minimum": 0},
            "details": {"type": "object"},
            "errors": {"type": "array", "items": violation},
            RESIDUAL: {"type": "object", "description": "All other facts of the failure."},
        },
    })
}
