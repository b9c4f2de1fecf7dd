//! Checks the codes that operations declare: well formed, allowed, and consistent across
//! operations.

use std::collections::{HashMap, HashSet};

use panpan_catalogue::{Category, Facts, FixedFact, Objection, Remedy};
use serde_json::{Map, Value, json};

use super::problem::Problems;
use super::{messages, rule, structure};
use crate::path::Path;
use panpan_failure::{Code, Kind, NumberOwners, StatusPattern, objection_message};

/// The codes declared so far, each with its facts and the location of its first declaration.
#[derive(Debug, Default)]
pub(super) struct Codes {
    first: HashMap<Code, (Kind, String)>,
    /// The JSON-RPC codes of declared codes, and their owners.
    owners: NumberOwners,
}

impl Codes {
    /// Checks the codes of one operation, among themselves and against other operations.
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
            let Some(members) = definition.as_object() else {
                continue;
            };
            let read = ReadFacts::of(members, &path, problems);
            let Some(code) = well_formed(members, &path, problems) else {
                read.judge("", "this error", &path, problems);
                continue;
            };
            let is_allowed = read.judge(code.as_str(), code.as_str(), &path, problems);
            if !declared.insert(code.clone()) {
                let message = format!(
                    "duplicate code {code} in this operation; remove one, or choose another code"
                );
                problems.note(&path.name("code"), rule::ERROR_REPEATED, message);
            } else if is_allowed && read.is_complete {
                let kind = Kind::resolve(code, read.facts);
                self.check_owner(&kind, &path, problems);
                self.compare(kind, read.facts, &path, problems);
            }
        }
    }

    /// A JSON-RPC code of its own can belong to one code only.
    fn check_owner(&mut self, kind: &Kind, path: &Path<'_>, problems: &mut Problems<'_>) {
        let number = kind.jsonrpc_code();
        if let Some(owner) = self.owners.other_owner(kind) {
            let message = format!(
                "JSON-RPC code {number} already belongs to {owner}; write another number, or leave \
                 it out"
            );
            let path = path.name(FixedFact::JsonRpc.member());
            problems.note(&path, rule::ERROR_JSONRPC_SHARED, message);
        }
    }

    fn compare(&mut self, kind: Kind, stated: Facts, path: &Path<'_>, problems: &mut Problems<'_>) {
        let Some((first, place)) = self.first.get(kind.code()) else {
            let place = path.pointer();
            self.first.insert(kind.code().clone(), (kind, place));
            return;
        };
        for (fact, here, there) in kind.disagreements(first) {
            let message = format!(
                "{} has {} {here} here but {there} at {place}; write \"{}\": {} here too, or choose \
                 another code (facts that are left out follow from the status and the category)",
                kind.code(),
                fact.word(),
                fact.member(),
                in_json(fact, first)
            );
            let member = path.name(fact.member());
            let is_stated = stated.text_of(fact).is_some();
            let path = if is_stated { &member } else { path };
            problems.note(path, rule::ERROR_CONFLICT, message);
        }
    }
}

/// A fact as JSON.
fn in_json(fact: FixedFact, kind: &Kind) -> Value {
    match fact {
        FixedFact::Category => json!(kind.category().word()),
        FixedFact::Retryable => json!(kind.retryable()),
        FixedFact::Remedy => kind.remedies().iter().map(Remedy::word).collect(),
        FixedFact::JsonRpc => json!(kind.jsonrpc_code()),
    }
}

/// The code, if it is well formed; otherwise the problem is reported.
fn well_formed(
    members: &Map<String, Value>,
    path: &Path<'_>,
    problems: &mut Problems<'_>,
) -> Option<Code> {
    let code = members.get("code")?.as_str()?;
    match Code::new(code.to_owned()) {
        Ok(code) => Some(code),
        Err(error) => {
            let example = Code::normalised(code);
            let example = example.as_ref().map_or("FILE_NOT_FOUND", Code::as_str);
            let message = format!("{error}; write, for example, {example}");
            problems.note(&path.name("code"), rule::ERROR_CODE, message);
            None
        }
    }
}

/// The members that determine whether a code is retryable and which remedies it allows.
const RETRYABILITY_MEMBERS: [&str; 4] = ["category", "retryable", "remedy", "http_status"];

/// The stated facts of a code, as far as they are valid.
#[derive(Debug)]
struct ReadFacts {
    facts: Facts,
    /// Whether every member that determines retryability is valid.
    is_retryability_valid: bool,
    /// Whether every fact is valid.
    is_complete: bool,
}

impl ReadFacts {
    /// Reads the facts. A malformed status is reported here; other members were checked before.
    fn of(stated: &Map<String, Value>, path: &Path<'_>, problems: &mut Problems<'_>) -> Self {
        let mut members = structure::part("error").valid_members(stated);
        let status = members.get("http_status").filter(|it| it.is_string());
        if status.is_some_and(|it| StatusPattern::from_value(it).is_none()) {
            let message = format!(
                "{} is not an HTTP status; write a number from 400 to 599, \"4XX\", \"5XX\" or \
                 \"default\"",
                messages::quoted(status.and_then(Value::as_str).unwrap_or_default())
            );
            problems.note(&path.name("http_status"), rule::ERROR_HTTP_STATUS, message);
            members.remove("http_status");
        }
        let is_valid = |name: &str| stated.contains_key(name) == members.contains_key(name);
        let is_retryability_valid = RETRYABILITY_MEMBERS.into_iter().all(is_valid);
        Self {
            facts: facts(&members),
            is_retryability_valid,
            is_complete: is_retryability_valid && is_valid(FixedFact::JsonRpc.member()),
        }
    }

    /// Reports the objections to the facts of the code, and returns whether there are none.
    /// Objections that follow from invalid members may be wrong, so they are not reported.
    fn judge(
        &self,
        code: &str,
        subject: &str,
        path: &Path<'_>,
        problems: &mut Problems<'_>,
    ) -> bool {
        let objections = self.facts.objections(code);
        for objection in &objections {
            let (rule, member, is_derived) = place(objection);
            if self.is_retryability_valid || !is_derived {
                let message = objection_message(subject, objection);
                problems.note(&path.name(member), rule, message);
            }
        }
        objections.is_empty()
    }
}

/// The facts in valid members.
fn facts(members: &Map<String, Value>) -> Facts {
    let word = |name: &str| members.get(name).and_then(Value::as_str);
    let remedies = members.get("remedy").and_then(Value::as_array);
    let status = members
        .get("http_status")
        .and_then(StatusPattern::from_value);
    Facts {
        category: word("category").and_then(Category::from_word),
        retryable: members.get("retryable").and_then(Value::as_bool),
        remedies: remedies.map(|words| {
            let words = words.iter().filter_map(Value::as_str);
            words.filter_map(Remedy::from_word).collect()
        }),
        http_status: status.and_then(StatusPattern::exact),
        jsonrpc_code: members.get("jsonrpc_code").and_then(Value::as_i64),
    }
}

/// The rule that an objection is about, the member where it is reported, and whether it follows from
/// several facts.
fn place(objection: &Objection) -> (&'static str, &'static str, bool) {
    match objection {
        Objection::Protocol => (rule::ERROR_PROTOCOL_CODE, "code", false),
        Objection::Contradiction { fact, .. } => (rule::ERROR_CATALOGUE_FACT, fact.member(), false),
        Objection::NotRetryable(_) => (rule::ERROR_RETRYABLE, "retryable", true),
        Objection::VainWait | Objection::MissingWait => (rule::ERROR_REMEDY, "remedy", true),
        Objection::Status(_) => (rule::ERROR_HTTP_STATUS, "http_status", false),
        Objection::FamilyStatus { .. } => (rule::ERROR_CATALOGUE_FACT, "http_status", false),
        Objection::JsonRpc(_) | Objection::TakenNumber { .. } => {
            (rule::ERROR_JSONRPC_CODE, "jsonrpc_code", false)
        }
    }
}
