//! What the contract declares about the failures of an operation, prepared for classifying responses.
//!
//! Built once per operation: the members of the input, and meaning and statements of every declared failure.

use panpan_contract::binding::{HttpBinding, Parameter};
use panpan_contract::operation::OperationSpec;
use panpan_contract::schema::{Resolver, references};
use panpan_failure::classify::{InputMembers, Statements, declared_statements};
use panpan_failure::dialect::{declares_flags, declares_flags_of};
use panpan_failure::pointer::joined;
use panpan_failure::{ErrorDefinition, Kind, StatusPattern};
use panpan_runtime::{check_once, most_specific};
use serde_json::Value;

use super::error_body::spelled_as_in;

/// The maximum length of a meaning, in characters; a longer description is truncated.
const MEANING_CHARACTERS_LIMIT: usize = 1_000;

/// The declarations of an operation that help to classify its responses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declarations {
    pub(crate) members: InputMembers,
    failures: Vec<DeclaredFailure>,
    /// The output schema, if it declares members that make an output look like a failure.
    failure_like_output: Option<Value>,
}

/// A failure that the contract declares for a code and some statuses.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredFailure {
    code: String,
    pattern: Option<StatusPattern>,
    /// The description, unless it only repeats the status.
    pub(crate) meaning: Option<String>,
    /// The statements in the description.
    pub(crate) statements: Statements,
    /// Whether the details of this failure may have a member `code` that the service did not send.
    pub(crate) accepts_code_member: bool,
}

/// The request whose response is classified: its input, and what is declared about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestContext<'a> {
    /// The members that the input can have.
    pub(crate) members: &'a InputMembers,
    /// The declared failure that the response matches.
    pub(crate) declared: Option<&'a DeclaredFailure>,
    pub(crate) input: &'a Value,
    /// The kind that a rule of the contract fixes for the response, independent of its status.
    pub(crate) kind_by_rule: Option<&'a Kind>,
    /// Whether the request only reads.
    pub(crate) reads: bool,
}

impl RequestContext<'_> {
    /// Translates a pointer of the service into a pointer into the input; `None` if the input has no such member.
    /// If no members are known, the pointer is kept.
    pub(super) fn input_pointer(&self, pointer: &str) -> Option<String> {
        let declared = self.members.located(pointer);
        let present = || {
            let mut candidates = ["", "/body"]
                .map(|prefix| format!("{prefix}{pointer}"))
                .into_iter();
            candidates.find(|it| self.input.pointer(it).is_some())
        };
        let unchecked = || self.members.is_empty().then(|| pointer.to_owned());
        let found = declared.or_else(present).or_else(unchecked)?;
        Some(spelled_as_in(self.input, found))
    }
}

impl Declarations {
    pub(crate) fn of(spec: &OperationSpec, binding: &HttpBinding) -> Self {
        let mut members = InputMembers::of_schema(&spec.input_schema);
        for Parameter {
            name, wire_name, ..
        } in &binding.parameters
        {
            members.add(wire_name, &joined("", name));
        }
        let failures = spec.error_schemas.iter();
        let failures = failures
            .map(|it| DeclaredFailure::of(it, &members))
            .collect();
        let schema = &spec.output_schema;
        Self {
            members,
            failures,
            failure_like_output: declares_flags(schema).then(|| schema.clone()),
        }
    }

    /// Whether a document that looks like a failure is a declared output.
    pub(crate) fn is_output(&self, document: &Value) -> bool {
        let schema = self.failure_like_output.as_ref();
        schema.is_some_and(|schema| is_declared_output(document, schema))
    }

    /// The failure declared for a status: exactly, by range, or as the default.
    pub(crate) fn of_status(&self, status: u16) -> Option<&DeclaredFailure> {
        most_specific(status, self.failures.iter().map(|it| (it.pattern, it)))
    }

    /// The failure declared for a code.
    pub(crate) fn of_code(&self, code: &str) -> Option<&DeclaredFailure> {
        self.failures.iter().find(|it| it.code == code)
    }
}

/// Whether a document that looks like a failure is a declared output: it matches the schema, and the schema declares
/// the members that make it look like a failure. A schema that is too expensive to check declares nothing.
pub(crate) fn is_declared_output(document: &Value, schema: &Value) -> bool {
    let matches = || check_once(schema, document).is_ok_and(|it| it.violations.is_empty());
    declares_flags_of(document, schema) && matches()
}

impl DeclaredFailure {
    fn of(definition: &ErrorDefinition, members: &InputMembers) -> Self {
        let description = definition.description.trim();
        let is_specific = is_specific(description, definition.http_status);
        let meaning = is_specific.then(|| truncated(description));
        Self {
            code: definition.code.as_str().to_owned(),
            pattern: definition.http_status,
            statements: match meaning {
                Some(_) => declared_statements(description, members),
                None => Statements::default(),
            },
            meaning,
            accepts_code_member: accepts_code_member(&definition.schema),
        }
    }
}

/// Words that add nothing to a status: those of its name, and general ones.
const GENERIC_WORDS: &str = "\
    a acceptable accepted access allowed an answer answers any api at authentication authorization \
    authorized available bad body by call cannot client code conflict content could default denied \
    dependency described describes entity error errors exception expectation failed failure for \
    forbidden found from gateway generic gone has http if implemented in input internal invalid is large \
    length limit locked many media message method misdirected much network not object occurred of or \
    other parameter parameters payload payment precondition processable proxy rate request requested \
    requests required resource response responses returned server service something status supported \
    teapot that the timed timeout to too type unauthenticated unauthorized unavailable unexpected \
    unknown unprocessable unsupported upgrade validation was went when with wrong";

/// Whether a description says more than its status.
pub(super) fn is_specific(description: &str, pattern: Option<StatusPattern>) -> bool {
    // The default description that the import writes.
    if pattern.is_some() && description.starts_with("The service answers with") {
        return false;
    }
    let words = description.split(|it: char| !it.is_alphanumeric());
    let mut words = words.filter(|it| !it.is_empty()).map(str::to_lowercase);
    words.any(|word| {
        let is_number = word.bytes().all(|it| it.is_ascii_digit() || it == b'x');
        !is_number && GENERIC_WORDS.split(' ').all(|it| it != word)
    })
}

fn truncated(description: &str) -> String {
    match description.char_indices().nth(MEANING_CHARACTERS_LIMIT) {
        None => description.to_owned(),
        Some((at, _)) => format!("{}…", description[..at].trim_end()),
    }
}

/// The maximum number of subschemas that are checked for keywords that restrict members.
const SCHEMAS_LIMIT: usize = 100;

/// Whether a schema surely accepts a member `code` that the service did not send. Keywords that could forbid it are
/// looked for in the schema and in the schemas that it refers to or combines.
fn accepts_code_member(schema: &Value) -> bool {
    const RESTRICTING: [&str; 9] = [
        "additionalProperties",
        "const",
        "dependentSchemas",
        "if",
        "maxProperties",
        "not",
        "patternProperties",
        "propertyNames",
        "unevaluatedProperties",
    ];
    let resolver = Resolver::new(schema);
    let mut open = vec![schema];
    for _ in 0..SCHEMAS_LIMIT {
        let Some(next) = open.pop() else {
            return true;
        };
        let restricts = |name: &&str| next.get(name).is_some_and(|it| *it != Value::Bool(true));
        if next.pointer("/properties/code").is_some() || RESTRICTING.iter().any(restricts) {
            return false;
        }
        if !references(next).all(|(_, reference)| resolver.find(next, reference).is_some()) {
            return false;
        }
        open.extend(resolver.in_place(next));
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_description_that_only_repeats_its_status_is_not_a_meaning() {
        for description in [
            "",
            "Not Found",
            "Not found.",
            "404 Not Found",
            "Error",
            "Default response",
            "default error response",
            "Unexpected error",
            "An unexpected error occurred",
            "Internal Server Error",
            "Bad request",
            "Unauthorized",
            "Too many requests",
            "Validation failed",
            "Resource not found",
            "The requested resource was not found.",
            "The service answers with status 404.",
            "4XX",
        ] {
            assert!(
                !is_specific(description, Some(StatusPattern::Exact(404))),
                "{description}"
            );
        }
        for description in [
            "The article was deleted or never existed.",
            "An export is already running, nothing was changed, retry in 5 seconds",
            "`limit` may not exceed 100",
            "Pet not found",
            "The role `editor` is missing; ask the owner of the workspace for it.",
        ] {
            assert!(
                is_specific(description, Some(StatusPattern::Exact(404))),
                "{description}"
            );
        }
    }

    #[test]
    fn an_output_schema_can_declare_a_failure_flag() {
        let document = json!({"success": false, "error": "exit code 1"});
        let flag = json!({"properties": {"success": {"type": "boolean"}}});
        for (schema, is_declared) in [
            (flag.clone(), true),
            (json!({"properties": {"error": {"type": "string"}}}), true),
            (json!({"anyOf": [{"required": ["a"]}, flag]}), true),
            (json!({"$ref": "#/$defs/Run", "$defs": {"Run": flag}}), true),
            (json!({"properties": {"success": {"const": true}}}), false),
            (
                json!({"properties": {"success": {}}, "required": ["name"]}),
                false,
            ),
            (json!({"properties": {"name": {}}}), false),
            (json!({"properties": {"status": {}}}), false),
            (json!({"type": "object"}), false),
            (json!({}), false),
            (json!({"$ref": "#"}), false),
        ] {
            assert_eq!(
                is_declared_output(&document, &schema),
                is_declared,
                "{schema}"
            );
            assert!(declares_flags(&schema) || !is_declared, "{schema}");
        }
    }

    #[test]
    fn a_schema_that_is_too_expensive_declares_nothing() {
        let doubled = |level: usize| {
            let next = format!("#/$defs/d{}", level + 1);
            (
                format!("d{level}"),
                json!({"allOf": [{"$ref": next}, {"$ref": next}], "unevaluatedProperties": true}),
            )
        };
        let mut definitions: serde_json::Map<_, _> = (0..40).map(doubled).collect();
        definitions.insert("d40".to_owned(), json!({}));
        let schema =
            json!({"properties": {"success": {}}, "$ref": "#/$defs/d0", "$defs": definitions});
        assert!(!is_declared_output(&json!({"success": false}), &schema));
    }

    #[test]
    fn the_most_specific_declaration_of_a_status_wins() {
        let mut spec = OperationSpec::new(
            "svc/get".parse().unwrap(),
            panpan_contract::operation::OperationType::Query,
        );
        for (code, status, description) in [
            (
                "HTTP_DEFAULT",
                json!("default"),
                "Whatever else the moon does",
            ),
            ("HTTP_4XX", json!("4XX"), "The moon is to blame"),
            ("HTTP_404", json!(404), "The moon is not there"),
            ("HTTP_409", json!(409), "Conflict"),
        ] {
            let definition =
                json!({"code": code, "description": description, "http_status": status});
            spec.error_schemas
                .push(serde_json::from_value(definition).unwrap());
        }
        let binding = json!({"method": "GET", "path": "/"});
        let binding: HttpBinding = serde_json::from_value(binding).unwrap();
        let declared = Declarations::of(&spec, &binding);
        let meaning = |status| declared.of_status(status).unwrap().meaning.as_deref();
        assert_eq!(meaning(404), Some("The moon is not there"));
        assert_eq!(meaning(409), None);
        assert_eq!(meaning(410), Some("The moon is to blame"));
        assert_eq!(meaning(500), Some("Whatever else the moon does"));
    }

    #[test]
    fn a_meaning_is_truncated_at_its_limit() {
        let meaning = |length: usize| truncated(&"é".repeat(length)).chars().count();
        assert_eq!(meaning(MEANING_CHARACTERS_LIMIT), MEANING_CHARACTERS_LIMIT);
        assert_eq!(
            meaning(MEANING_CHARACTERS_LIMIT + 1),
            MEANING_CHARACTERS_LIMIT + 1
        );
        assert!(truncated(&"é".repeat(MEANING_CHARACTERS_LIMIT + 1)).ends_with('…'));
    }

    #[test]
    fn a_code_member_is_added_only_if_the_schema_surely_accepts_it() {
        for (schema, accepts) in [
            (json!({}), true),
            (
                json!({"type": "object", "properties": {"error": {"type": "object"}}}),
                true,
            ),
            (json!({"properties": {"code": {"type": "integer"}}}), false),
            (
                json!({"$ref": "#/$defs/E", "$defs": {"E": {"additionalProperties": false}}}),
                false,
            ),
            (
                json!({"$ref": "#e", "$defs": {"E": {"$anchor": "e"}}}),
                true,
            ),
            (json!({"oneOf": [{"maxProperties": 1}]}), false),
            (json!({"$ref": "#/$defs/Other"}), false),
            (json!({"additionalProperties": true}), true),
            (
                json!({"properties": {"error": {"properties": {"code": {}}, "additionalProperties": false}}}),
                true,
            ),
            (json!({"allOf": [{"$ref": "#"}]}), false),
        ] {
            assert_eq!(accepts_code_member(&schema), accepts, "{schema}");
        }
    }
}
