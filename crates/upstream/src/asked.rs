//! What is known about a question before its answer is read: the members its input can have, and what
//! the contract declares about every way to fail.
//!
//! Made once for an operation. What becomes of it when an answer fails is in `classify`.

use panpan_contract::binding::{HttpBinding, Parameter};
use panpan_contract::operation::OperationSpec;
use panpan_failure::classify::{InputMembers, Statements, declared_statements};
use panpan_failure::dialect::{declares_flags, declares_flags_of};
use panpan_failure::pointer::joined;
use panpan_failure::{ErrorDefinition, Kind, StatusPattern};
use panpan_runtime::check_once;
use serde_json::Value;

/// The longest meaning, in characters; a longer description is cut.
const MEANING_CHARACTERS_LIMIT: usize = 1_000;

/// What an operation declares that helps to read its failures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declarations {
    pub(crate) members: InputMembers,
    failures: Vec<Declared>,
    /// The schema of outputs, where they may look like failures.
    flagged: Option<Value>,
}

/// What is declared about answers of some statuses.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    code: String,
    pattern: Option<StatusPattern>,
    /// The description, unless it says no more than the status.
    pub(crate) meaning: Option<String>,
    /// What the description states for certain.
    pub(crate) statements: Statements,
    /// Whether details of this failure may have a member more than the service sent.
    pub(crate) takes_more: bool,
}

/// One question: what is declared about it, and its input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) members: &'a InputMembers,
    pub(crate) declared: Option<&'a Declared>,
    pub(crate) input: &'a Value,
    /// The kind a rule of the contract makes of the answer, whatever its status.
    pub(crate) ruled: Option<&'a Kind>,
}

impl Asked<'_> {
    /// Where in the input a pointer of the service leads; nowhere, if there is no such argument. Where no
    /// argument is known, it is taken as it is.
    pub(crate) fn located(&self, pointer: &str) -> Option<String> {
        let known = self.members.located(pointer);
        let sent = || {
            let mut places = ["", "/body"]
                .map(|part| format!("{part}{pointer}"))
                .into_iter();
            places.find(|it| self.input.pointer(it).is_some())
        };
        let any = || self.members.is_empty().then(|| pointer.to_owned());
        known.or_else(sent).or_else(any)
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
        let failures = failures.map(|it| Declared::of(it, &members)).collect();
        let schema = &spec.output_schema;
        Self {
            members,
            failures,
            flagged: declares_flags(schema).then(|| schema.clone()),
        }
    }

    /// Whether what looks like a failure is an output as it is declared.
    pub(crate) fn is_output(&self, document: &Value) -> bool {
        let flagged = self.flagged.as_ref();
        flagged.is_some_and(|schema| is_declared_output(document, schema))
    }

    /// What is declared about a status: exactly, in a range, or for all others.
    pub(crate) fn of_status(&self, status: u16) -> Option<&Declared> {
        let covering = self.failures.iter().filter_map(|it| {
            let pattern = it.pattern.filter(|pattern| pattern.covers(status))?;
            Some((pattern, it))
        });
        let nearest = covering.min_by_key(|(pattern, _)| match pattern {
            StatusPattern::Exact(_) => 0,
            StatusPattern::Range(_) => 1,
            StatusPattern::Default => 2,
        });
        nearest.map(|(_, it)| it)
    }

    /// What is declared about a code.
    pub(crate) fn of_code(&self, code: &str) -> Option<&Declared> {
        self.failures.iter().find(|it| it.code == code)
    }
}

/// Whether a document that could be a failure is an output as it was declared: it fits the schema, and the
/// schema knows what makes it look like a failure. A schema that makes too much work declares nothing.
pub(crate) fn is_declared_output(document: &Value, schema: &Value) -> bool {
    let fits = || check_once(schema, document).is_ok_and(|it| it.violations.is_empty());
    declares_flags_of(document, schema) && fits()
}

impl Declared {
    fn of(definition: &ErrorDefinition, members: &InputMembers) -> Self {
        let description = definition.description.trim();
        let meaning = is_telling(description, definition.http_status).then(|| cut(description));
        Self {
            code: definition.code.as_str().to_owned(),
            pattern: definition.http_status,
            statements: match meaning {
                Some(_) => declared_statements(description, members),
                None => Statements::default(),
            },
            meaning,
            takes_more: takes_more(&definition.schema),
        }
    }
}

/// Words that say nothing beyond the status, beside those of its own name.
const EMPTY_WORDS: [&str; 68] = [
    "a",
    "an",
    "answer",
    "answers",
    "any",
    "api",
    "at",
    "authorized",
    "bad",
    "body",
    "by",
    "call",
    "cannot",
    "client",
    "code",
    "could",
    "default",
    "describes",
    "described",
    "entity",
    "error",
    "errors",
    "exception",
    "failed",
    "failure",
    "for",
    "found",
    "from",
    "generic",
    "has",
    "http",
    "if",
    "in",
    "input",
    "internal",
    "invalid",
    "is",
    "message",
    "not",
    "object",
    "occurred",
    "of",
    "or",
    "other",
    "parameter",
    "parameters",
    "payload",
    "request",
    "requested",
    "resource",
    "response",
    "responses",
    "returned",
    "server",
    "service",
    "something",
    "status",
    "that",
    "the",
    "to",
    "unexpected",
    "unknown",
    "validation",
    "was",
    "went",
    "when",
    "with",
    "wrong",
];

/// The names of statuses, whose words a description may repeat without saying anything.
const STATUS_WORDS: [&str; 47] = [
    "accepted",
    "acceptable",
    "allowed",
    "authentication",
    "authorization",
    "available",
    "conflict",
    "content",
    "denied",
    "access",
    "dependency",
    "entity",
    "expectation",
    "failed",
    "forbidden",
    "gateway",
    "gone",
    "implemented",
    "large",
    "length",
    "limit",
    "locked",
    "many",
    "media",
    "method",
    "misdirected",
    "much",
    "network",
    "payment",
    "precondition",
    "processable",
    "proxy",
    "rate",
    "required",
    "requests",
    "supported",
    "teapot",
    "timeout",
    "timed",
    "too",
    "type",
    "unauthenticated",
    "unauthorized",
    "unavailable",
    "unprocessable",
    "unsupported",
    "upgrade",
];

/// Whether a description says more than that a request failed with its status.
fn is_telling(description: &str, pattern: Option<StatusPattern>) -> bool {
    // What the import writes where a document says nothing.
    if pattern.is_some() && description.starts_with("The service answers with") {
        return false;
    }
    let words = description.split(|it: char| !it.is_alphanumeric());
    let mut words = words.filter(|it| !it.is_empty()).map(str::to_lowercase);
    words.any(|word| {
        let is_number = word.bytes().all(|it| it.is_ascii_digit() || it == b'x');
        let word = word.as_str();
        !is_number && !EMPTY_WORDS.contains(&word) && !STATUS_WORDS.contains(&word)
    })
}

fn cut(description: &str) -> String {
    match description.char_indices().nth(MEANING_CHARACTERS_LIMIT) {
        None => description.to_owned(),
        Some((at, _)) => format!("{}…", description[..at].trim_end()),
    }
}

/// How many schemas are looked at to learn whether details may have a member more.
const SCHEMAS_LIMIT: usize = 100;

/// Whether a schema lets details have a member `code` that the service did not send. Judged by the words
/// that forbid it in the schema itself and those it is joined from: where one might, nothing is added.
fn takes_more(schema: &Value) -> bool {
    const FORBIDS: [&str; 9] = [
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
    let mut open = vec![schema];
    for _ in 0..SCHEMAS_LIMIT {
        let Some(next) = open.pop() else {
            return true;
        };
        let forbids = |name: &&str| next.get(name).is_some_and(|it| *it != Value::Bool(true));
        if next.pointer("/properties/code").is_some() || FORBIDS.iter().any(forbids) {
            return false;
        }
        let referred = next.get("$ref").and_then(Value::as_str);
        match referred.map(|it| it.strip_prefix('#').and_then(|it| schema.pointer(it))) {
            None => {}
            Some(Some(found)) => open.push(found),
            Some(None) => return false,
        }
        for joins in ["allOf", "anyOf", "oneOf"] {
            open.extend(
                next.get(joins)
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten(),
            );
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_description_that_only_names_its_status_has_no_meaning() {
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
                !is_telling(description, Some(StatusPattern::Exact(404))),
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
                is_telling(description, Some(StatusPattern::Exact(404))),
                "{description}"
            );
        }
    }

    #[test]
    fn an_output_that_is_declared_with_its_flag_is_an_output() {
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
    fn a_schema_that_makes_too_much_work_declares_nothing() {
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
    fn the_nearest_declaration_of_a_status_counts() {
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
    fn a_meaning_is_cut_at_its_limit() {
        let meaning = |length: usize| cut(&"é".repeat(length)).chars().count();
        assert_eq!(meaning(MEANING_CHARACTERS_LIMIT), MEANING_CHARACTERS_LIMIT);
        assert_eq!(
            meaning(MEANING_CHARACTERS_LIMIT + 1),
            MEANING_CHARACTERS_LIMIT + 1
        );
        assert!(cut(&"é".repeat(MEANING_CHARACTERS_LIMIT + 1)).ends_with('…'));
    }

    #[test]
    fn nothing_is_added_to_details_that_might_not_take_it() {
        for (schema, takes) in [
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
            (json!({"oneOf": [{"maxProperties": 1}]}), false),
            (json!({"$ref": "#/$defs/Other"}), false),
            (json!({"additionalProperties": true}), true),
            (
                json!({"properties": {"error": {"properties": {"code": {}}, "additionalProperties": false}}}),
                true,
            ),
            (json!({"allOf": [{"$ref": "#"}]}), false),
        ] {
            assert_eq!(takes_more(&schema), takes, "{schema}");
        }
    }
}
