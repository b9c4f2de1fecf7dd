//! Checks that a schema is valid in its draft, with messages in the style of the other problems.

use std::collections::BTreeSet;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::meta::MetaValidator;
use jsonschema::{Draft, ValidationError};
use serde_json::{Value, json};

use super::rule;
use crate::contract_file::problem::Problems;
use crate::path::Path;
use crate::schema::is_within;
use panpan_failure::read::type_name;

/// The largest schema, in values, for which all errors are reported; for a larger one, only the
/// first.
const ALL_ERRORS_LIMIT: usize = 100_000;

/// Reports what is invalid in the draft of a schema. A shared definition is embedded in other
/// schemas, so it must use the default draft.
pub(super) fn check(schema: &Value, is_shared: bool, path: &Path<'_>, problems: &mut Problems<'_>) {
    let draft = Draft::default().detect(schema);
    let allowed = Some(draft).filter(|draft| !is_shared || *draft == Draft::default());
    let Some(validator) = allowed.and_then(validator) else {
        let reason = if is_shared {
            "shared definitions must use JSON Schema draft 2020-12"
        } else {
            "unknown JSON Schema draft"
        };
        let message = format!(
            "{reason}; write https://json-schema.org/draft/2020-12/schema, or leave it out"
        );
        return problems.note(&path.name("$schema"), rule::SCHEMA_DRAFT, message);
    };
    if validator.is_valid(schema) {
        return;
    }
    // One mistake can violate several parts of the meta-schema; it is reported once.
    let mut noted = BTreeSet::new();
    for error in errors(&validator, schema) {
        let pointer = error.instance_path().as_str().to_owned();
        noted.insert((pointer, message(&error)));
    }
    let top = path.pointer();
    for (pointer, message) in noted {
        let pointer = format!("{top}{pointer}");
        problems.note(&Path::At(&pointer), rule::SCHEMA_INVALID, message);
    }
}

/// The identifier keyword in the draft of a schema.
pub(super) fn identifier(schema: &Value) -> &'static str {
    Draft::default().detect(schema).id_keyword()
}

/// Whether the validator accepts an identifier.
pub(super) fn is_identifier(identifier: &str) -> bool {
    let options = jsonschema::draft202012::options();
    options.build(&json!({ "$id": identifier })).is_ok()
}

/// Whether the validator accepts a pattern.
pub(super) fn is_pattern(pattern: &str) -> bool {
    let options = jsonschema::draft202012::options();
    options.build(&json!({ "pattern": pattern })).is_ok()
}

fn validator(draft: Draft) -> Option<MetaValidator<'static>> {
    Some(match draft {
        Draft::Draft4 => jsonschema::draft4::meta::validator(),
        Draft::Draft6 => jsonschema::draft6::meta::validator(),
        Draft::Draft7 => jsonschema::draft7::meta::validator(),
        Draft::Draft201909 => jsonschema::draft201909::meta::validator(),
        Draft::Draft202012 => jsonschema::draft202012::meta::validator(),
        _ => return None,
    })
}

fn errors<'a>(validator: &'a MetaValidator<'_>, schema: &'a Value) -> Vec<ValidationError<'a>> {
    if is_within(schema, ALL_ERRORS_LIMIT) {
        validator.iter_errors(schema).collect()
    } else {
        validator.validate(schema).err().into_iter().collect()
    }
}

fn message(error: &ValidationError<'_>) -> String {
    let found = type_name(error.instance());
    let keyword = error
        .instance_path()
        .as_str()
        .rsplit('/')
        .next()
        .unwrap_or_default();
    match error.kind() {
        _ if keyword == "type" => {
            "not a JSON Schema type; write array, boolean, integer, null, number, object or string, \
             or a list of distinct types"
                .to_owned()
        }
        ValidationErrorKind::Type { kind } => format!("expected {}, found {found}", types(kind)),
        ValidationErrorKind::Minimum { limit } => {
            format!("{} is too small; write at least {limit}", error.instance())
        }
        ValidationErrorKind::ExclusiveMinimum { limit } => {
            format!("{} is too small; write more than {limit}", error.instance())
        }
        ValidationErrorKind::MinItems { .. } => "list is empty; write at least one item".to_owned(),
        ValidationErrorKind::UniqueItems => "list has a duplicate item; keep one of them".to_owned(),
        _ => format!(
            "invalid in JSON Schema: {}; fix or remove it",
            error.masked_with("this value")
        ),
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(only) => only.to_string(),
        TypeKind::Multiple(several) => {
            let several: Vec<_> = several.iter().map(|it| it.to_string()).collect();
            several.join(" or ")
        }
    }
}
