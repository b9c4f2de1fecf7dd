//! Finding the operations of a document: every method of every path, also behind references.

use serde_json::{Map, Value};

use super::options::Candidate;
use super::reader::Reader;
use crate::place::Place;
use crate::reference::Found;

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

/// The members of a path that say something about all of its operations.
const SHARED: [&str; 6] = [
    "$ref",
    "additionalOperations",
    "description",
    "parameters",
    "servers",
    "summary",
];

/// What a member of a path counts.
const PATH_MEMBER_WEIGHT: usize = 100;

/// An operation where it was found.
#[derive(Clone, Debug)]
pub(super) struct Described<'a> {
    /// The method, in capitals.
    pub(super) method: String,
    /// The path, beginning with a slash.
    pub(super) path: String,
    pub(super) operation: &'a Value,
    /// Where the operation stands.
    pub(super) pointer: String,
    pub(super) path_item: &'a Value,
    pub(super) path_parameters: Option<&'a Value>,
    /// Where the path stands.
    pub(super) path_pointer: String,
}

impl<'a> Described<'a> {
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

    /// What filters look at.
    pub(super) fn candidate(&self) -> Candidate<'_> {
        Candidate {
            tags: self.tags(),
            path: &self.path,
            method: &self.method,
            id: self.id(),
        }
    }
}

/// Every operation of the document, in the order of paths and of methods.
pub(super) fn described<'a>(
    reader: &mut Reader<'a>,
    paths: Option<&'a Map<String, Value>>,
) -> Vec<Described<'a>> {
    let top = Place::at("/paths");
    let mut all = Vec::new();
    let paths = paths.into_iter().flatten();
    for (path, written) in paths.filter(|(path, _)| !path.starts_with("x-")) {
        let place = top.name(path);
        let otherwise = "the operations of this path are left out";
        if reader.is_too_large() {
            break;
        }
        if let Some(found) = reader.follow(written, &place, otherwise) {
            read(reader, path, written, &found, &place, &mut all);
        }
    }
    all
}

fn read<'a>(
    reader: &mut Reader<'a>,
    path: &str,
    written: &'a Value,
    found: &Found<'a>,
    place: &Place<'_>,
    all: &mut Vec<Described<'a>>,
) {
    let Some(item) = found.value.as_object() else {
        reader
            .warnings
            .note(place, "is no object; the path is left out");
        return;
    };
    let path = legal_path(reader, path, place);
    if !std::ptr::eq(written, found.value) {
        note_beside_reference(reader, written, place);
    }
    let place = found.place(place);
    // Many paths can refer to one item.
    reader.spend(PATH_MEMBER_WEIGHT * item.len());
    note_unknown(reader, item, &place);
    let extra = item.get("additionalOperations").and_then(Value::as_object);
    reader.spend(PATH_MEMBER_WEIGHT * extra.map_or(0, Map::len));
    let fixed = METHODS.iter().filter_map(|(member, method)| {
        let pointer = place.name(member).pointer();
        Some(((*method).to_owned(), item.get(*member)?, pointer))
    });
    let extra = extra.into_iter().flatten().map(|(method, operation)| {
        let pointer = place.name("additionalOperations").name(method).pointer();
        (method.clone(), operation, pointer)
    });
    for (method, operation, pointer) in fixed.chain(extra) {
        if !operation.is_object() {
            let message = "is no operation; it is left out";
            reader.warnings.note(&Place::at(&pointer), message);
            continue;
        }
        all.push(Described {
            method,
            path: path.clone(),
            operation,
            pointer,
            path_item: found.value,
            path_parameters: item.get("parameters"),
            path_pointer: place.pointer(),
        });
    }
}

fn legal_path(reader: &mut Reader<'_>, path: &str, place: &Place<'_>) -> String {
    if path.starts_with('/') {
        return path.to_owned();
    }
    reader
        .warnings
        .note(place, "does not begin with a slash; one is put before it");
    format!("/{path}")
}

fn note_beside_reference(reader: &mut Reader<'_>, written: &Value, place: &Place<'_>) {
    let members = written.as_object().into_iter().flat_map(Map::keys);
    for member in members.filter(|it| *it != "$ref") {
        let message = "stands beside a $ref, which counts alone";
        reader.warnings.note(&place.name(member), message);
    }
}

fn note_unknown(reader: &mut Reader<'_>, item: &Map<String, Value>, place: &Place<'_>) {
    for member in item.keys() {
        let is_method = METHODS.iter().any(|(name, _)| name == member);
        if !is_method && !SHARED.contains(&member.as_str()) && !member.starts_with("x-") {
            let message = "is no method that is known; it is left out";
            reader.warnings.note(&place.name(member), message);
        }
    }
}
