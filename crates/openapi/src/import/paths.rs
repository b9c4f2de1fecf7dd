//! Finds the operations of a document: every method of every path, also behind references.

use panpan_contract::path::Path;
use serde_json::{Map, Value};

use super::options::Candidate;
use super::reader::Reader;
use crate::reference::Resolved;

/// The members of a path that are operations, and their methods.
const METHODS: [(&str, &str); 9] = [
    ("get", "GET"),
    ("put", "PUT"),
    ("post", "POST"),
    ("delete", "DELETE"),
    ("options", "OPTIONS"),
    ("head", "HEAD"),
    ("patch", "PATCH"),
    ("trace", "TRACE"),
    ("query", "QUERY"),
];

/// The members of a path that apply to all its operations.
const SHARED: [&str; 6] = [
    "$ref",
    "additionalOperations",
    "description",
    "parameters",
    "servers",
    "summary",
];

/// The size of a member of a path.
const PATH_MEMBER_WEIGHT: usize = 100;

/// An operation of the document.
#[derive(Clone, Debug)]
pub(super) struct DocumentOperation<'a> {
    /// The method, in upper case.
    pub(super) method: String,
    /// The path, starting with a slash.
    pub(super) path: String,
    pub(super) operation: &'a Value,
    /// The pointer of the operation.
    pub(super) pointer: String,
    pub(super) path_item: &'a Value,
    pub(super) path_parameters: Option<&'a Value>,
    /// The pointer of the path.
    pub(super) path_pointer: String,
}

impl<'a> DocumentOperation<'a> {
    pub(super) fn id(&self) -> Option<&'a str> {
        self.operation.get("operationId").and_then(Value::as_str)
    }

    pub(super) fn tags(&self) -> Vec<&'a str> {
        let tags = self.operation.get("tags").and_then(Value::as_array);
        tags.into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    /// The properties that filters compare.
    pub(super) fn candidate(&self) -> Candidate<'_> {
        Candidate {
            tags: self.tags(),
            path: &self.path,
            method: &self.method,
            id: self.id(),
        }
    }
}

/// Every operation of the document, in the order of paths and methods.
pub(super) fn operations<'a>(
    reader: &mut Reader<'a>,
    paths: Option<&'a Map<String, Value>>,
) -> Vec<DocumentOperation<'a>> {
    let top = Path::At("/paths");
    let mut all = Vec::new();
    let paths = paths.into_iter().flatten();
    for (path, written) in paths.filter(|(path, _)| !path.starts_with("x-")) {
        let location = top.name(path);
        let consequence = "the operations of this path are not imported";
        if reader.is_too_large() {
            break;
        }
        if let Some(found) = reader.resolve(written, &location, consequence) {
            read(reader, path, written, &found, &location, &mut all);
        }
    }
    all
}

fn read<'a>(
    reader: &mut Reader<'a>,
    path: &str,
    written: &'a Value,
    found: &Resolved<'a>,
    location: &Path<'_>,
    all: &mut Vec<DocumentOperation<'a>>,
) {
    let Some(item) = found.value.as_object() else {
        reader.warnings.note(
            location,
            "not a path item: write an object; the path is not imported",
        );
        return;
    };
    let path = with_slash(reader, path, location);
    if !std::ptr::eq(written, found.value) {
        note_next_to_reference(reader, written, location);
    }
    let location = found.location(location);
    // Many paths can refer to one item.
    reader.spend(PATH_MEMBER_WEIGHT * item.len());
    note_unknown(reader, item, &location);
    let extra = item.get("additionalOperations").and_then(Value::as_object);
    reader.spend(PATH_MEMBER_WEIGHT * extra.map_or(0, Map::len));
    let fixed = METHODS.iter().filter_map(|(member, method)| {
        let pointer = location.name(member).pointer();
        Some(((*method).to_owned(), item.get(*member)?, pointer))
    });
    let extra = extra.into_iter().flatten().map(|(method, operation)| {
        let pointer = location.name("additionalOperations").name(method).pointer();
        (method.clone(), operation, pointer)
    });
    for (method, operation, pointer) in fixed.chain(extra) {
        if !operation.is_object() {
            let message = "not an operation: write an object; it is not imported";
            reader.warnings.note(&Path::At(&pointer), message);
            continue;
        }
        all.push(DocumentOperation {
            method,
            path: path.clone(),
            operation,
            pointer,
            path_item: found.value,
            path_parameters: item.get("parameters"),
            path_pointer: location.pointer(),
        });
    }
}

fn with_slash(reader: &mut Reader<'_>, path: &str, location: &Path<'_>) -> String {
    if path.starts_with('/') {
        return path.to_owned();
    }
    reader.warnings.note(
        location,
        "path without a leading slash: add one; a slash is assumed",
    );
    format!("/{path}")
}

fn note_next_to_reference(reader: &mut Reader<'_>, written: &Value, location: &Path<'_>) {
    let members = written.as_object().into_iter().flat_map(Map::keys);
    for member in members.filter(|it| *it != "$ref") {
        let message = "member next to $ref: move it to the target; it is ignored";
        reader.warnings.note(&location.name(member), message);
    }
}

fn note_unknown(reader: &mut Reader<'_>, item: &Map<String, Value>, location: &Path<'_>) {
    for member in item.keys() {
        let is_method = METHODS.iter().any(|(name, _)| name == member);
        if !is_method && !SHARED.contains(&member.as_str()) && !member.starts_with("x-") {
            let message = "unknown method or member of a path: remove it or prefix it with \"x-\"; it is ignored";
            reader.warnings.note(&location.name(member), message);
        }
    }
}
