//! What a failing answer looks like, for failures an operation declares and for those the server
//! itself gives.
//!
//! Every failure is told in two shapes, by what the caller accepts: the `call` dialect, told apart
//! by `code`, and problem details, told apart by `type`.
//!
//! The document may not contradict an answer. So beside the failures that are listed, every status has room
//! for another: every operation may give every code of the catalogue, and a service behind one may give
//! details that do not fit. Statuses that are not listed are those of `default`.

use std::collections::BTreeMap;

use panpan_contract::operation::OperationSpec;
use panpan_failure::catalogue::Entry;
use panpan_failure::dialect::{Envelope, RESIDUAL};
use panpan_failure::{ErrorDefinition, StatusPattern, codes};
use serde_json::{Map, Value, json};

use super::components::Components;
use super::{ERROR_ID, header_references};

/// What decides which failures the server itself may answer with.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Circumstances {
    /// Something is asked of the caller.
    pub(super) is_guarded: bool,
    /// A call may carry a key.
    pub(super) takes_key: bool,
}

/// The status of FORBIDDEN for callers nobody knows, also those with a token that is not valid,
/// whatever they ask for; the catalogue has the status for all others.
const UNKNOWN_CALLER_STATUS: u16 = 401;

/// The status of INVALID_REQUEST for what comes from a page, or under a name, that may not call.
const FOREIGN_STATUS: u16 = 403;

/// The key of an answer with any other status.
const DEFAULT: &str = "default";

/// The member of the residual that says that details fit their declaration.
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

/// A shape failures are written in.
struct Shape {
    media_type: &'static str,
    /// The component that every failure of this shape fits.
    base: &'static str,
    /// What the names of the components end with.
    suffix: &'static str,
    /// The member that tells failures apart.
    member: &'static str,
}

const SHAPES: [Shape; 2] = [
    Shape {
        media_type: "application/json",
        base: "Failure",
        suffix: "",
        member: "code",
    },
    Shape {
        media_type: "application/problem+json",
        base: "Problem",
        suffix: ".problem",
        member: "type",
    },
];

impl Shape {
    /// What stands in the member that tells failures apart.
    fn mark(&self, code: &str) -> String {
        format!("{}{code}", self.before_code())
    }

    fn before_code(&self) -> &'static str {
        match self.member {
            "type" => Envelope::default().errors_base,
            _ => "",
        }
    }

    /// The schema of the member that tells failures apart, for a failure of this name.
    fn marked(&self, name: &Name) -> Value {
        match name {
            Name::Code(code) => json!({"const": self.mark(code)}),
            Name::Statuses(pattern) => {
                json!({"type": "string", "pattern": format!("^{}{pattern}$", self.before_code())})
            }
        }
    }
}

/// By what the failures of a definition are known.
enum Name {
    Code(String),
    /// Every code of an imported status, where the definition is that of a range or of all others.
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

/// References to what a failure looks like in each shape.
type Bodies = [Value; SHAPES.len()];

/// A failure an operation declares.
pub(super) struct Declared<'a> {
    definition: &'a ErrorDefinition,
    /// Where its details are described, unless they may be anything.
    details: Option<Value>,
}

impl<'a> Declared<'a> {
    /// The failures of an operation, with their details among the components.
    pub(super) fn all(spec: &'a OperationSpec, components: &mut Components) -> Vec<Self> {
        let definitions = spec.error_schemas.iter();
        let declared = definitions.map(|definition| {
            let schema = &definition.schema;
            let is_plain = schema.as_object().is_some_and(Map::is_empty) || *schema == true;
            let name = format!("{}.{}.details", spec.name, definition.code);
            Self {
                definition,
                details: (!is_plain).then(|| components.adopt(&name, schema)),
            }
        });
        declared.collect()
    }

    /// The whole declaration, for whoever reads the document to get the contract back.
    pub(super) fn written(&self) -> Value {
        let mut definition = self.definition.clone();
        if let Some(details) = &self.details {
            definition.schema = details.clone();
        }
        serde_json::to_value(definition).expect("names are strings")
    }
}

/// A failure among the answers of one operation.
struct Told {
    code: String,
    name: Name,
    description: String,
    /// Whether its details are described: then it is told apart by their fitting too.
    has_details: bool,
    bodies: Bodies,
}

/// The failing answers, those that are shared and what they are made of.
pub(super) struct Failures {
    bases: Bodies,
    /// Bodies of codes whose details may be anything, which are the same wherever they are given.
    plain: BTreeMap<String, Bodies>,
    responses: Map<String, Value>,
}

impl Failures {
    pub(super) fn new(components: &mut Components) -> Self {
        let [call, problem] = &SHAPES;
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

    /// The failing answers of an operation, by status.
    pub(super) fn responses(
        &mut self,
        owner: &str,
        declared: &[Declared<'_>],
        circumstances: Circumstances,
        components: &mut Components,
    ) -> Map<String, Value> {
        let mut by_status: BTreeMap<String, Vec<Told>> = BTreeMap::new();
        for failure in declared {
            let definition = failure.definition;
            let group = by_status.entry(status(definition)).or_default();
            if group
                .iter()
                .all(|told| told.code != definition.code.as_str())
            {
                group.push(self.declared(owner, failure, components));
            }
        }
        let mut responses = Map::new();
        for (status, own) in own(circumstances) {
            let name = status.to_string();
            let response = match by_status.remove(&name) {
                Some(declared) => {
                    let told = self.joined(declared, &own, components);
                    self.response(&name, &told)
                }
                None => self.shared(&name, &own, components),
            };
            responses.insert(name, response);
        }
        for (status, told) in by_status {
            let written = self.response(&status, &told);
            responses.insert(status, written);
        }
        if !responses.contains_key(DEFAULT) {
            responses.insert(DEFAULT.to_owned(), self.any_other());
        }
        responses
    }

    /// A reference to an answer with a failure of which only the shape is known.
    fn any_other(&mut self) -> Value {
        const NAME: &str = "Undeclared";
        if !self.responses.contains_key(NAME) {
            let content = SHAPES.iter().zip(&self.bases);
            let content = content.map(|(shape, base)| {
                let media = json!({"schema": base});
                (shape.media_type.to_owned(), media)
            });
            let response = json!({
                "description": "A failure that is not declared; `GET /errors` has every code.",
                "headers": header_references(&[ERROR_ID]),
                "content": content.collect::<Map<_, _>>(),
            });
            self.responses.insert(NAME.to_owned(), response);
        }
        json!({"$ref": format!("#/components/responses/{NAME}")})
    }

    /// Declared failures with those of the server that have the same status.
    fn joined(
        &mut self,
        mut told: Vec<Told>,
        own: &[&'static Entry],
        components: &mut Components,
    ) -> Vec<Told> {
        for entry in own {
            if told.iter().all(|it| it.code != entry.code) {
                told.push(self.own(entry, components));
            }
        }
        told
    }

    /// A reference to an answer that many operations give.
    fn shared(
        &mut self,
        status: &str,
        own: &[&'static Entry],
        components: &mut Components,
    ) -> Value {
        let is_keyed = own.iter().any(|entry| WITH_KEY.contains(entry));
        let is_guarded = own.contains(&codes::FORBIDDEN) && own.len() > 1;
        let circumstance = match (is_keyed, is_guarded) {
            (true, _) => "Keyed",
            (false, true) => "Guarded",
            (false, false) => "",
        };
        let name = format!("Status{status}{circumstance}");
        if !self.responses.contains_key(&name) {
            let told: Vec<_> = own
                .iter()
                .map(|entry| self.own(entry, components))
                .collect();
            let response = self.response(status, &told);
            self.responses.insert(name.clone(), response);
        }
        json!({"$ref": format!("#/components/responses/{name}")})
    }

    fn own(&mut self, entry: &Entry, components: &mut Components) -> Told {
        Told {
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
    ) -> Told {
        let code = failure.definition.code.as_str();
        let name = Name::of(failure.definition);
        let bodies = match (&failure.details, &name) {
            (None, Name::Code(_)) => self.plain_bodies(code, components),
            (details, name) => {
                let component = format!("{owner}.{code}");
                self.bodies(&component, name, details.as_ref(), components)
            }
        };
        Told {
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
            let (shape, base) = (&SHAPES[index], &self.bases[index]);
            let mut schema = json!({
                "allOf": [base],
                "properties": {shape.member: shape.marked(name)},
                "required": [shape.member],
            });
            if let Some(details) = details {
                schema["properties"]["details"] = details.clone();
                schema["properties"][RESIDUAL] = fitting();
                schema["required"] = json!([shape.member, RESIDUAL]);
            }
            components.add(&format!("{component}{}", shape.suffix), schema)
        })
    }

    fn response(&self, status: &str, told: &[Told]) -> Value {
        let lines = told
            .iter()
            .map(|it| format!("`{}`: {}", it.code, it.description));
        let content = SHAPES.iter().enumerate().map(|(index, shape)| {
            let media = json!({"schema": self.choice(index, told)});
            (shape.media_type.to_owned(), media)
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

    /// One of several failures, told apart by their mark, or one that is not among them.
    fn choice(&self, index: usize, told: &[Told]) -> Value {
        let shape = &SHAPES[index];
        let exact = told.iter().filter(|it| matches!(it.name, Name::Code(_)));
        let mapping = exact.map(|it| {
            let reference = it.bodies[index]["$ref"].clone();
            (shape.mark(&it.code), reference)
        });
        let mapping: Map<_, _> = mapping.collect();
        let listed = told.iter().map(|it| it.bodies[index].clone());
        let listed = listed.chain([self.unlisted(index, told)]);
        let mut choice = json!({"oneOf": listed.collect::<Vec<_>>()});
        if !mapping.is_empty() {
            choice["discriminator"] = json!({"propertyName": shape.member, "mapping": mapping});
        }
        choice
    }

    /// A failure that is none of these.
    fn unlisted(&self, index: usize, told: &[Told]) -> Value {
        let shape = &SHAPES[index];
        let these = told.iter().map(|it| {
            let mut one = json!({"properties": {shape.member: shape.marked(&it.name)}});
            if it.has_details {
                one["properties"][RESIDUAL] = fitting();
                one["required"] = json!([RESIDUAL]);
            }
            one
        });
        json!({
            "description": "A failure that is not declared, or whose details do not fit.",
            "allOf": [self.bases[index]],
            "not": {"anyOf": these.collect::<Vec<_>>()},
        })
    }
}

/// The residual of a failure whose details fit their declaration.
fn fitting() -> Value {
    json!({"type": "object", "required": [DEFINED], "properties": {DEFINED: {"const": true}}})
}

/// The status a declared failure is answered with, or the statuses it was imported from.
fn status(definition: &ErrorDefinition) -> String {
    match (definition.http_status, definition.kind()) {
        (Some(pattern), _) => pattern.to_string(),
        (None, Ok(kind)) => kind.http_status().to_string(),
        (None, Err(_)) => codes::INTERNAL.http.to_string(),
    }
}

/// What the server itself may answer, by status.
fn own(circumstances: Circumstances) -> BTreeMap<u16, Vec<&'static Entry>> {
    let mut by_status: BTreeMap<u16, Vec<_>> = BTreeMap::new();
    let keyed = WITH_KEY.iter().filter(|_| circumstances.takes_key);
    for entry in ALWAYS.iter().chain(keyed) {
        by_status.entry(entry.http).or_default().push(*entry);
    }
    let forbidden = circumstances.is_guarded.then_some(codes::FORBIDDEN.http);
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
            "code": {"type": "string", "description": "What failed; its page is at /errors/{code}."},
            "message": {"type": "string"},
            "retryable": {
                "type": "boolean",
                "description": "Whether the identical call may succeed later.",
            },
            "details": {"type": "object"},
            RESIDUAL: {"type": "object", "description": "Everything else that is known."},
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
            RESIDUAL: {"type": "object", "description": "Everything else that is known."},
        },
    })
}
