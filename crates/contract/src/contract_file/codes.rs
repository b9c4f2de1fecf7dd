//! Whether the codes operations declare are well formed, allowed, and the same everywhere.

use std::collections::{HashMap, HashSet};

use panpan_catalogue::Remedy;
use serde_json::{Map, Value, json};

use super::path::Path;
use super::problem::Problems;
use super::{rule, sentence, structure};
use crate::code::Code;
use crate::kind::{Kind, KindError};
use crate::operation::{ErrorDefinition, StatusPattern};

/// The codes declared so far, each with its facts and the place that declared it first.
#[derive(Debug, Default)]
pub(super) struct Codes {
    first: HashMap<Code, (Kind, String)>,
}

impl Codes {
    /// Judges the codes of one operation, among themselves and against those of the others.
    pub(super) fn check(
        &mut self,
        operation: &Map<String, Value>,
        path: &Path<'_>,
        problems: &mut Problems<'_>,
    ) {
        let path = path.name("error_schemas");
        let mut declared = HashSet::new();
        let definitions = operation.get("error_schemas").and_then(Value::as_array);
        for (index, definition) in definitions.into_iter().flatten().enumerate() {
            let path = path.index(index);
            let Some((definition, is_whole)) = sound(definition, &path, problems) else {
                continue;
            };
            if declared.contains(&definition.code) {
                let message = format!(
                    "{} is declared twice by this operation; keep one, or choose another code",
                    definition.code
                );
                problems.note(&path.name("code"), rule::ERROR_REPEATED, message);
                continue;
            }
            declared.insert(definition.code.clone());
            match definition.kind() {
                Ok(kind) if is_whole => self.compare(&definition, kind, &path, problems),
                Ok(_) => {}
                Err(errors) => note_objections(&errors, is_whole, &path, problems),
            }
        }
    }

    fn compare(
        &mut self,
        definition: &ErrorDefinition,
        kind: Kind,
        path: &Path<'_>,
        problems: &mut Problems<'_>,
    ) {
        let Some((first, place)) = self.first.get(&definition.code) else {
            let place = path.pointer();
            self.first.insert(definition.code.clone(), (kind, place));
            return;
        };
        let here = facts(&kind);
        let is_stated = [
            definition.category.is_some(),
            definition.retryable.is_some(),
            definition.remedy.is_some(),
        ];
        for (((name, there), (_, here)), is_stated) in facts(first).iter().zip(&here).zip(is_stated)
        {
            if here != there {
                let message = conflict(&definition.code, name, [here, there], place);
                let stated = path.name(name);
                let path = if is_stated { &stated } else { path };
                problems.note(path, rule::ERROR_CONFLICT, message);
            }
        }
    }
}

/// The facts that are the same wherever a code is declared.
fn facts(kind: &Kind) -> [(&'static str, Value); 3] {
    let remedies: Vec<_> = kind.remedies().iter().map(Remedy::word).collect();
    [
        ("category", json!(kind.category().word())),
        ("retryable", json!(kind.retryable())),
        ("remedy", json!(remedies)),
    ]
}

fn conflict(code: &Code, name: &str, [here, there]: [&Value; 2], place: &str) -> String {
    format!(
        "{code} has {name} {here} here and {there} at {place} (facts that are left out follow from \
         the status and the category); write \"{name}\": {there} here too, or choose another code"
    )
}

/// The members from which the facts of a code follow.
const FACTS: [&str; 4] = ["category", "retryable", "remedy", "http_status"];

/// The definition as far as it is sound, and whether all stated facts are; what is wrong with its
/// code or status is noted.
fn sound(
    definition: &Value,
    path: &Path<'_>,
    problems: &mut Problems<'_>,
) -> Option<(ErrorDefinition, bool)> {
    let stated = definition.as_object()?;
    let mut members = structure::part("error").sound_members(stated);
    let status = members.get("http_status").filter(|it| it.is_string());
    if status.is_some_and(|it| StatusPattern::from_value(it).is_none()) {
        let message = format!(
            "{} is not a status; write a number from 400 to 599, \"4XX\", \"5XX\" or \"default\"",
            sentence::quoted(status.and_then(Value::as_str).unwrap_or_default())
        );
        problems.note(&path.name("http_status"), rule::ERROR_HTTP_STATUS, message);
        members.remove("http_status");
    }
    let code = members.get("code")?.as_str()?;
    if let Err(error) = Code::new(code.to_owned()) {
        let example = Code::normalised(code);
        let example = example.as_ref().map_or("FILE_NOT_FOUND", Code::as_str);
        let message = format!("{error}; write, for example, {example}");
        problems.note(&path.name("code"), rule::ERROR_CODE, message);
        return None;
    }
    members.entry("description").or_insert_with(|| json!(""));
    let is_whole = FACTS
        .iter()
        .all(|fact| stated.contains_key(*fact) == members.contains_key(*fact));
    let definition = serde_json::from_value(Value::Object(members)).ok()?;
    Some((definition, is_whole))
}

/// Notes why a code is refused. What follows from facts of which some are not sound may be false,
/// and is left until they are.
fn note_objections(
    errors: &[KindError],
    is_whole: bool,
    path: &Path<'_>,
    problems: &mut Problems<'_>,
) {
    let is_derived = |error: &&KindError| matches!(error, KindError::NotRetryable { .. });
    for error in errors.iter().filter(|it| is_whole || !is_derived(it)) {
        let (rule, member) = match error {
            KindError::Protocol { .. } => (rule::ERROR_PROTOCOL_CODE, "code"),
            KindError::Contradiction { fact, .. } => (rule::ERROR_CATALOGUE_FACT, member_of(fact)),
            KindError::NotRetryable { .. } => (rule::ERROR_RETRYABLE, "retryable"),
            KindError::Status { .. } => (rule::ERROR_HTTP_STATUS, "http_status"),
            KindError::JsonRpc { .. } => (rule::ERROR_JSONRPC_CODE, "jsonrpc_code"),
        };
        problems.note(&path.name(member), rule, error.to_string());
    }
}

/// The member a fact is written in.
fn member_of(fact: &'static str) -> &'static str {
    match fact {
        "the JSON-RPC code" => "jsonrpc_code",
        member => member,
    }
}
