//! Reads lists of errors: arrays of texts or objects, and maps of texts by field, nested in each other.
//!
//! An entry about a member of the input is a violation; a sentence about anything else is a reason.

use panpan_failure::pointer::joined;
use panpan_failure::{Violation, ViolationKind};
use serde_json::{Map, Value};

use super::ERRORS_LIMIT;
use super::expected::{expected, with_expectation};
use super::member_path::{pointer_of_list, pointer_of_name};
use super::texts::{has_words, localised_text, text};

/// Members for lists of errors.
const LISTS: &str = "\
    errors violations issues invalid_params invalid-params invalidParams field_errors fieldErrors \
    fieldViolations field_violations validation_errors validationErrors ValidationErrors Elements Error \
    errorCauses causes error_chain errordetails errorDetails error_details o:errorDetails erros errores \
    error errorMessages error_messages messages";
/// Members that are lists of errors only if they have the shape of one.
const POSSIBLE_LISTS: &str = "message detail details validation fields params";
/// The possible lists that are arrays of names or values, and errors only as maps.
const ONLY_MAPS: [&str; 2] = ["fields", "params"];
/// Members for the reason of an entry, most specific first.
const REASONS: &str = "\
    detail Detail message Message msg reason description defaultMessage errorMessage error_message \
    ErrorMessage errorSummary mensagem mensaje title issue keyword code type";
/// The reasons that are texts, not codes.
const TEXTS: &str = "\
    detail Detail message Message msg description defaultMessage errorMessage error_message errorSummary \
    ErrorMessage mensagem mensaje reason title";
/// Members that tell an error from a map of errors by field.
const COMPANIONS: &str = "\
    code error errorCode error_code field id keys kind keyword loc param path property reason rule severity source \
    status type";
/// Members for the name of the member that an entry is about, most specific first.
const NAMES: &str = "\
    pointer instancePath field fieldName field_name parameter param propertyName property propertyref \
    attribute target o:errorPath campo name path";
/// The names that mean a member of the input also outside of a list.
const OWN_NAMES: &str = "field fieldName field_name parameter param attribute";
/// Members for lists of names.
const LISTS_OF_NAMES: &str = "fields keys";
/// Members for the rejected value.
const ACTUAL: &str = "\
    actual input rejected_value rejectedValue attemptedValue value";
/// Codes of entries about a member that is missing, in lower case.
const MISSING: [&str; 7] = [
    "missing",
    "missing_field",
    "missing_required_parameter",
    "parameter_missing",
    "required",
    "required_field_missing",
    "value_error.missing",
];
/// The key of the errors about an object itself, not about a member of it.
const OWN_ERRORS: &str = "_errors";
/// The type of entries with traces, at the end of its name.
const DEBUG_INFO: &str = "DebugInfo";

/// The maximum nesting of lists that is read.
const DEPTH_LIMIT: usize = 8;
/// The maximum number of entries that are read, at all depths together.
const VISITS_LIMIT: usize = 1_000;

/// What lists of errors say.
#[derive(Debug)]
pub(super) struct Findings {
    pub(super) violations: Vec<Violation>,
    /// Sentences that are about no member.
    pub(super) reasons: Vec<String>,
    /// Single words that are about no member.
    pub(super) words: Vec<String>,
    visits_left: usize,
}

impl Default for Findings {
    fn default() -> Self {
        Self {
            violations: Vec::new(),
            reasons: Vec::new(),
            words: Vec::new(),
            visits_left: VISITS_LIMIT,
        }
    }
}

impl Findings {
    /// Reads the lists that are members of an object.
    pub(super) fn read_members(&mut self, location: &Value) {
        self.read_members_at(location, 0);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.violations.is_empty() && self.reasons.is_empty() && self.words.is_empty()
    }

    /// Reads an array of errors.
    pub(super) fn read_array(&mut self, items: &[Value]) {
        self.read_items(items, "", 0);
    }

    /// Reads a document that is a map of errors by field.
    pub(super) fn read_map(&mut self, fields: &Map<String, Value>) {
        self.read_fields(fields, "", 0);
    }

    /// Reads an object that names the member which it is about.
    pub(super) fn read_single(&mut self, error: &Value, message: Option<&str>) {
        let (Some(pointer), Some(message)) = (first_name(error, OWN_NAMES), message) else {
            return;
        };
        self.add_violation(error, pointer, message.to_owned());
    }

    fn read_members_at(&mut self, location: &Value, depth: usize) {
        for name in LISTS.split(' ') {
            match location.get(name) {
                Some(Value::Array(items)) => self.read_items(items, "", depth),
                Some(error @ Value::Object(fields)) if name != "error" && name != "Error" => {
                    match is_entry(error) {
                        true => self.read_item(error, "", depth),
                        false => self.read_fields(fields, "", depth),
                    }
                }
                _ => {}
            }
        }
        for name in POSSIBLE_LISTS.split(' ') {
            match location.get(name) {
                Some(Value::Array(items)) if !ONLY_MAPS.contains(&name) => {
                    self.read_items(items, "", depth);
                }
                Some(Value::Object(fields)) if is_map_of_sentences(fields) => {
                    self.read_fields(fields, "", depth);
                }
                Some(Value::Object(fields)) if name == "message" && is_errors_by_field(fields) => {
                    self.read_fields(fields, "", depth);
                }
                _ => {}
            }
        }
    }

    fn read_items(&mut self, items: &[Value], at: &str, depth: usize) {
        for (index, item) in items.iter().take(ERRORS_LIMIT).enumerate() {
            match at {
                // The position in a list of errors is not a position in the input.
                "" => self.read_item(item, "", depth),
                _ if item.is_string() || is_error(item) => self.read_item(item, at, depth),
                _ => self.read_item(item, &joined(at, &index.to_string()), depth),
            }
        }
    }

    fn read_fields(&mut self, fields: &Map<String, Value>, at: &str, depth: usize) {
        for (name, value) in fields.iter().take(ERRORS_LIMIT) {
            let name = match name.as_str() {
                OWN_ERRORS => String::new(),
                name => pointer_of_name(name).unwrap_or_else(|| joined("", name)),
            };
            let at = format!("{at}{name}");
            match value {
                Value::Array(items) if items.iter().all(Value::is_string) => {
                    let texts: Vec<String> =
                        items.iter().take(ERRORS_LIMIT).filter_map(text).collect();
                    self.read_item(&texts.join("; ").into(), &at, depth + 1);
                }
                Value::Array(items) => self.read_items(items, &at, depth + 1),
                // Deeper inside, single words are data.
                Value::String(text) if depth > 0 && !has_words(text) => {}
                other => self.read_item(other, &at, depth + 1),
            }
        }
    }

    /// Reads one error; `at` is the member under whose name it is listed.
    fn read_item(&mut self, item: &Value, at: &str, depth: usize) {
        if depth > DEPTH_LIMIT || self.visits_left == 0 {
            return;
        }
        self.visits_left -= 1;
        match item {
            Value::String(_) => {
                if let Some(text) = text(item) {
                    self.add(item, vec![at.to_owned()], text);
                }
            }
            Value::Array(items) => self.read_items(items, at, depth + 1),
            Value::Object(members) => self.read_object(item, members, at, depth),
            _ => {}
        }
    }

    fn read_object(&mut self, item: &Value, members: &Map<String, Value>, at: &str, depth: usize) {
        if is_debug_info(item) {
            return;
        }
        match reason(item).filter(|_| at.is_empty() || is_error(item)) {
            Some(reason) => {
                let pointers = pointers(item);
                match pointers.is_empty() {
                    true => self.add(item, vec![at.to_owned()], reason),
                    false => self.add(item, pointers, reason),
                }
                self.read_members_at(item, depth + 1);
            }
            None if at.is_empty() => {
                self.read_members_at(item, depth + 1);
                if is_errors_by_field(members) {
                    self.read_fields(members, at, depth);
                }
            }
            None => self.read_fields(members, at, depth),
        }
    }

    fn add(&mut self, entry: &Value, pointers: Vec<String>, reason: String) {
        // Some services put data into texts.
        if reason.starts_with(['{', '[', '<']) {
            return;
        }
        for pointer in pointers {
            match pointer.as_str() {
                "" if has_words(&reason) => push_new(&mut self.reasons, &reason),
                "" if entry.is_string() => push_new(&mut self.words, &reason),
                "" => {}
                _ => self.add_violation(entry, pointer, reason.clone()),
            }
        }
    }

    fn add_violation(&mut self, entry: &Value, pointer: String, reason: String) {
        let mut known = self.violations.iter();
        let is_known = known.any(|it| it.pointer == pointer && it.reason == reason);
        if self.violations.len() < ERRORS_LIMIT && !is_known {
            self.violations.push(violation(entry, pointer, reason));
        }
    }
}

/// Whether a whole document is a map of errors: every member is a list of texts, or of such maps.
pub(super) fn is_errors_by_field(members: &Map<String, Value>) -> bool {
    fn is_list(value: &Value, depth: usize) -> bool {
        match value {
            _ if depth > DEPTH_LIMIT => false,
            Value::Array(items) if items.iter().all(Value::is_string) => {
                // Deeper inside, lists of words are data.
                let is_reason = |it: &Value| depth == 0 || it.as_str().is_some_and(has_words);
                !items.is_empty() && items.iter().all(is_reason)
            }
            Value::Array(items) => items.iter().all(|it| is_map(it, depth + 1)),
            Value::Object(_) => is_map(value, depth + 1) && value != &Value::Object(Map::new()),
            _ => false,
        }
    }
    fn is_map(value: &Value, depth: usize) -> bool {
        let members = value.as_object();
        members.is_some_and(|it| it.values().all(|it| is_list(it, depth)))
    }
    !members.is_empty() && members.values().all(|it| is_list(it, 0))
}

/// Whether every member has a sentence: as a text, in a list, or in the reason of an entry.
fn is_map_of_sentences(members: &Map<String, Value>) -> bool {
    let is_sentence = |value: &Value| match value {
        Value::String(text) => has_words(text),
        Value::Object(_) => is_entry(value),
        _ => false,
    };
    let has_sentences = |value: &Value| match value {
        Value::Array(items) => !items.is_empty() && items.iter().all(is_sentence),
        other => is_sentence(other),
    };
    !members.is_empty() && members.values().all(has_sentences)
}

/// Whether an entry has texts for the people who run the service.
pub(super) fn is_debug_info(entry: &Value) -> bool {
    let kind = entry["@type"].as_str();
    kind.is_some_and(|it| it.ends_with(DEBUG_INFO))
}

/// Whether an object is an error, not a map of errors: it has a sentence and a member that only errors have.
fn is_entry(value: &Value) -> bool {
    let has_companion = || COMPANIONS.split(' ').any(|it| value.get(it).is_some());
    has_sentence(value) && has_companion()
}

/// Whether an object in the place of an error is one.
fn is_error(value: &Value) -> bool {
    is_entry(value) || (has_sentence(value) && value.as_object().is_some_and(|it| it.len() == 1))
}

fn has_sentence(value: &Value) -> bool {
    let mut texts = TEXTS.split(' ').filter_map(|it| value[it].as_str());
    texts.any(has_words)
}

/// The reason of an entry: the first sentence, or else the first word.
fn reason(entry: &Value) -> Option<String> {
    let texts = || {
        REASONS
            .split(' ')
            .filter_map(|it| localised_text(&entry[it]))
    };
    texts().find(|it| has_words(it)).or_else(|| texts().next())
}

fn violation(entry: &Value, pointer: String, reason: String) -> Violation {
    let mut violation = Violation::value(pointer, reason);
    let mut kinds = ["type", "code", "keyword"].into_iter().map(|it| &entry[it]);
    let is_missing = |it: &Value| {
        let word = it.as_str().map(str::to_ascii_lowercase);
        word.is_some_and(|it| MISSING.contains(&it.as_str()))
    };
    if kinds.any(is_missing) {
        violation.kind = ViolationKind::Missing;
    }
    violation.expected = expected(entry);
    let actual = ACTUAL.split(' ').find_map(|name| entry.get(name));
    violation.actual = actual
        .filter(|it| !it.is_object() && !it.is_array())
        .cloned();
    with_expectation(violation)
}

/// The pointers to the members that an entry is about.
fn pointers(entry: &Value) -> Vec<String> {
    if let Some(steps) = entry["loc"].as_array().or(step_list(entry)) {
        return Vec::from_iter(pointer_of_list(steps));
    }
    if let Some(name) = entry["params"]["missingProperty"].as_str() {
        let at = entry["instancePath"].as_str().unwrap_or_default();
        return vec![joined(at, name)];
    }
    let named = first_name(&entry["source"], NAMES).or_else(|| first_name(entry, NAMES));
    if let Some(pointer) = named {
        return vec![pointer];
    }
    let lists = LISTS_OF_NAMES.split(' ').map(|it| entry[it].as_array());
    let names = lists.flatten().flatten().take(ERRORS_LIMIT);
    let names = names.filter_map(Value::as_str);
    names.filter_map(pointer_of_name).collect()
}

/// The path as a list. In GraphQL it leads to a member of the response.
fn step_list(entry: &Value) -> Option<&Vec<Value>> {
    let is_response = entry.get("locations").or(entry.get("extensions")).is_some();
    entry["path"].as_array().filter(|_| !is_response)
}

fn first_name(entry: &Value, names: &str) -> Option<String> {
    let mut names = names.split(' ').filter_map(|it| entry[it].as_str());
    names.find_map(pointer_of_name)
}

fn push_new(texts: &mut Vec<String>, text: &str) {
    if texts.len() < ERRORS_LIMIT && !texts.iter().any(|it| it == text) {
        texts.push(text.to_owned());
    }
}
