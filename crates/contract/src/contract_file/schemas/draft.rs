//! Whether a schema is valid in its draft, told in the words of the file's other problems.

use std::collections::BTreeSet;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::meta::MetaValidator;
use jsonschema::{Draft, ValidationError};
use serde_json::{Value, json};

use super::rule;
use crate::contract_file::path::Path;
use crate::contract_file::problem::Problems;
use panpan_failure::read::type_name;

/// The largest schema of which all mistakes are told, in values; of a larger one, the first.
const ALL_MISTAKES_LIMIT: usize = 100_000;

/// Notes what is not valid in a schema's draft. A shared definition, which is put into schemas that
/// name none, is of the default one.
pub(super) fn check(schema: &Value, is_shared: bool, path: &Path<'_>, problems: &mut Problems<'_>) {
    let draft = Draft::default().detect(schema);
    let allowed = Some(draft).filter(|draft| !is_shared || *draft == Draft::default());
    let Some(validator) = allowed.and_then(validator) else {
        let reason = if is_shared {
            "names another draft of JSON Schema than shared definitions are of"
        } else {
            "names a draft of JSON Schema that is not known"
        };
        let message = format!(
            "{reason}; write https://json-schema.org/draft/2020-12/schema, or leave it out"
        );
        return problems.note(&path.name("$schema"), rule::SCHEMA_DRAFT, message);
    };
    if validator.is_valid(schema) {
        return;
    }
    // One mistake can break several parts of a draft's own schema; it is told once.
    let mut told = BTreeSet::new();
    for error in mistakes(&validator, schema) {
        let place = error.instance_path().as_str().to_owned();
        told.insert((place, sentence(&error)));
    }
    let top = path.pointer();
    for (place, message) in told {
        let pointer = format!("{top}{place}");
        problems.note(&Path::at(&pointer), rule::SCHEMA_INVALID, message);
    }
}

/// The keyword by which a schema says what it is called, in its draft.
pub(super) fn identifier(schema: &Value) -> &'static str {
    Draft::default().detect(schema).id_keyword()
}

/// Whether the validator that schemas are used with can use an identifier.
pub(super) fn is_identifier(identifier: &str) -> bool {
    let options = jsonschema::draft202012::options();
    options.build(&json!({ "$id": identifier })).is_ok()
}

/// Whether the validator that schemas are used with can use a pattern.
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

fn mistakes<'a>(validator: &'a MetaValidator<'_>, schema: &'a Value) -> Vec<ValidationError<'a>> {
    if is_small(schema) {
        validator.iter_errors(schema).collect()
    } else {
        validator.validate(schema).err().into_iter().collect()
    }
}

fn is_small(schema: &Value) -> bool {
    let mut open = vec![schema];
    let mut seen = 0;
    while let Some(value) = open.pop() {
        seen += 1;
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
        if seen + open.len() > ALL_MISTAKES_LIMIT {
            return false;
        }
    }
    true
}

fn sentence(error: &ValidationError<'_>) -> String {
    let found = type_name(error.instance());
    let keyword = error
        .instance_path()
        .as_str()
        .rsplit('/')
        .next()
        .unwrap_or_default();
    match error.kind() {
        _ if keyword == "type" => {
            "is not a type; write array, boolean, integer, null, number, object or string, or a \
             list of some of them, each once"
                .to_owned()
        }
        ValidationErrorKind::Type { kind } => format!("found {found}; write {}", types(kind)),
        ValidationErrorKind::Minimum { limit } => {
            format!("is {}; write at least {limit}", error.instance())
        }
        ValidationErrorKind::ExclusiveMinimum { limit } => {
            format!("is {}; write more than {limit}", error.instance())
        }
        ValidationErrorKind::MinItems { .. } => "is empty; write at least one item".to_owned(),
        ValidationErrorKind::UniqueItems => "holds an item twice; keep one of them".to_owned(),
        _ => format!(
            "{} in JSON Schema; {}",
            error.masked_with("this"),
            "mend or remove it"
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
