//! Checks the JSON Schemas of a file: valid in their draft, with references that stay in the file,
//! resolve and terminate.
//!
//! `#/$defs/Name` refers to the definition in the schema itself, otherwise to that of the file. To
//! keep this unambiguous, a local definition must not differ from a shared one with the same name.

mod cycles;
mod details;
mod draft;
mod references;

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::problem::Problems;
use super::semantics::operations;
use super::{messages, rule};
use crate::path::Path;
use crate::schema::{Place, each, is_schema, references, subschemas, subschemas_at};
use cycles::Graph;
pub use details::excludes_objects;
use references::Root;
pub(super) use references::self_contained;

/// The longest regular expression in a schema, in bytes.
pub const PATTERN_BYTES_LIMIT: usize = 4_096;

/// Whether a schema may contain this regular expression.
pub fn is_usable_pattern(pattern: &str) -> bool {
    pattern.len() <= PATTERN_BYTES_LIMIT && draft::is_pattern(pattern)
}

/// The most definitions that are searched for a similar name, and the most searches.
const SUGGESTIONS_LIMIT: usize = 1_000;

/// Reports every problem of the schemas in the document.
pub(super) fn check(document: &Value, problems: &mut Problems<'_>) {
    let none = Map::new();
    let shared = document["$defs"].as_object().unwrap_or(&none);
    let mut checker = Checker {
        shared,
        graph: Graph::default(),
        patterns: HashMap::new(),
        suggestions: 0,
        problems,
    };
    let roots = roots(document, shared);
    // A reference may point ahead, so all schemas are registered before the first is checked.
    for (root, _) in &roots {
        each(root.schema, |schema| checker.graph.add(schema));
    }
    for (root, pointer) in &roots {
        checker.check_root(root, pointer);
    }
    let Checker {
        graph, problems, ..
    } = checker;
    let roots = roots
        .iter()
        .map(|(root, pointer)| (root.schema, pointer.as_str()));
    graph.check(roots, problems);
}

/// Every schema of the file, with its pointer.
fn roots<'a>(document: &'a Value, shared: &'a Map<String, Value>) -> Vec<(Root<'a>, String)> {
    let mut roots = Vec::new();
    for (name, schema) in shared.iter().filter(|(_, schema)| is_schema(schema)) {
        let pointer = Path::At("/$defs").name(name).pointer();
        roots.push((Root::shared(schema, shared), pointer));
    }
    for (index, operation) in operations(document) {
        for member in ["input_schema", "output_schema"] {
            let schema = operation.get(member).filter(|it| is_schema(it));
            roots.extend(schema.map(|schema| {
                let pointer = format!("/operations/{index}/{member}");
                (Root::embedded(schema, shared), pointer)
            }));
        }
        let errors = operation.get("error_schemas").and_then(Value::as_array);
        for (number, error) in errors.into_iter().flatten().enumerate() {
            let schema = error.get("schema").filter(|it| is_schema(it));
            roots.extend(schema.map(|schema| {
                let pointer = format!("/operations/{index}/error_schemas/{number}/schema");
                (Root::for_details(schema, shared), pointer)
            }));
        }
    }
    roots
}

/// Visits a schema and every schema inside it, with their paths. Recursion is bounded by the nesting
/// limit of the document.
fn visit_at<'a>(schema: &'a Value, path: &Path<'_>, visit: &mut dyn FnMut(&'a Value, &Path<'_>)) {
    visit(schema, path);
    for inner in subschemas(schema) {
        let keyword = path.name(inner.keyword);
        let path = match inner.step {
            Some(step) => Path::Down(&keyword, step),
            None => keyword,
        };
        visit_at(inner.schema, &path, visit);
    }
}

struct Checker<'a, 'p, 'l> {
    shared: &'a Map<String, Value>,
    graph: Graph<'a>,
    /// The patterns that were already checked, and whether they are usable.
    patterns: HashMap<&'a str, bool>,
    /// The number of searches for a similar name.
    suggestions: usize,
    problems: &'p mut Problems<'l>,
}

impl<'a> Checker<'a, '_, '_> {
    fn check_root(&mut self, root: &Root<'a>, pointer: &str) {
        let path = Path::At(pointer);
        if root.is_shared() {
            self.check_definition_name(&path);
        } else {
            self.check_shadows(root, &path);
        }
        draft::check(root.schema, root.is_shared(), &path, self.problems);
        if root.is_details {
            details::check(root, &path, self.problems);
        }
        visit_at(root.schema, &path, &mut |schema, path| {
            self.check(schema, root, path);
        });
    }

    fn check_definition_name(&mut self, path: &Path<'_>) {
        let pointer = path.pointer();
        let name = pointer.strip_prefix("/$defs/").unwrap_or_default();
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_word) {
            let message = "invalid definition name; use only letters, digits, _, - and . so that \
                           #/$defs/Name can refer to it";
            self.problems.note(path, rule::SCHEMA_NAME, message);
        }
    }

    fn check_shadows(&mut self, root: &Root<'a>, path: &Path<'_>) {
        let own = root.schema.get("$defs").and_then(Value::as_object);
        for (name, schema) in own.into_iter().flatten() {
            if self.shared.get(name).is_some_and(|shared| shared != schema) {
                let message = format!(
                    "definition {} differs from the shared definition with the same name; rename one of them",
                    messages::quoted(name)
                );
                let path = path.name("$defs");
                self.problems
                    .note(&path.name(name), rule::SCHEMA_SHADOWED, message);
            }
        }
    }

    fn check(&mut self, schema: &'a Value, root: &Root<'a>, path: &Path<'_>) {
        for (keyword, reference) in references(schema) {
            self.check_reference(schema, reference, root, &path.name(keyword));
        }
        self.check_identity(schema, root, path);
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
            self.check_pattern(pattern, &path.name("pattern"));
        }
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        for pattern in patterns.into_iter().flat_map(Map::keys) {
            let path = path.name("patternProperties");
            self.check_pattern(pattern, &path.name(pattern));
        }
        for inner in subschemas_at(schema, |place| place == Place::Same) {
            self.graph.connect(schema, inner.schema);
        }
    }

    fn check_reference(
        &mut self,
        schema: &'a Value,
        reference: &'a str,
        root: &Root<'a>,
        path: &Path<'_>,
    ) {
        if !reference.starts_with('#') {
            let message = "the reference leaves the file, and panpan fetches no schemas; copy the \
                           schema to $defs and write #/$defs/Name";
            return self.problems.note(path, rule::SCHEMA_REMOTE, message);
        }
        let message = match root.find(reference) {
            Some(target) if self.graph.knows(target) => {
                return self.graph.connect(schema, target);
            }
            Some(_) => format!(
                "{} does not point to a schema; move the schema to $defs and write #/$defs/Name",
                messages::quoted(reference)
            ),
            None => format!(
                "{} does not exist; point into this schema, or to a shared definition: {}",
                messages::quoted(reference),
                self.suggestion(reference)
            ),
        };
        self.problems.note(path, rule::SCHEMA_REFERENCE, message);
    }

    fn suggestion(&mut self, reference: &str) -> String {
        self.suggestions += 1;
        let name = reference.rsplit('/').next().unwrap_or_default();
        let is_affordable = self.suggestions.max(self.shared.len()) <= SUGGESTIONS_LIMIT;
        let known = self.shared.keys().filter(|_| is_affordable);
        match messages::similar(name, known.map(String::as_str)) {
            Some(similar) => format!("did you mean #/$defs/{similar}?"),
            None => "#/$defs/Name".to_owned(),
        }
    }

    /// Checks the keywords that set the identity and the draft of a schema. The schema of an
    /// operation may have them at its top; elsewhere they would change the meaning of the schema
    /// when it is embedded.
    fn check_identity(&mut self, schema: &Value, root: &Root<'a>, path: &Path<'_>) {
        let identifier = draft::identifier(root.schema);
        let stated = |keyword: &str| schema.get(keyword).and_then(Value::as_str);
        let is_top = std::ptr::eq(schema, root.schema);
        if is_top && !root.is_shared() {
            if stated(identifier).is_some_and(|it| !draft::is_identifier(it)) {
                let message = "not a URI; write one such as urn:example:input, or leave it out";
                let path = path.name(identifier);
                self.problems.note(&path, rule::SCHEMA_IDENTITY, message);
            }
            return;
        }
        let draft = ["$schema"].into_iter().filter(|_| !is_top);
        let anchors = ["$anchor", "$dynamicAnchor"].into_iter();
        let anchors = anchors.filter(|_| root.is_shared());
        for keyword in draft.chain(anchors).chain([identifier]) {
            if stated(keyword).is_some() {
                let message = format!(
                    "{keyword} is not allowed here, because it changes the meaning of an embedded \
                     schema; remove it, and refer to a definition as #/$defs/Name"
                );
                let path = path.name(keyword);
                self.problems.note(&path, rule::SCHEMA_IDENTITY, message);
            }
        }
    }

    fn check_pattern(&mut self, pattern: &'a str, path: &Path<'_>) {
        let bytes = pattern.len();
        let message = if bytes > PATTERN_BYTES_LIMIT {
            format!("the pattern has {bytes} bytes, the limit is {PATTERN_BYTES_LIMIT}; shorten it")
        } else if *self
            .patterns
            .entry(pattern)
            .or_insert_with(|| draft::is_pattern(pattern))
        {
            return;
        } else {
            format!(
                "{} is not a usable regular expression; balance its brackets, escape literal \
                 ones, and reduce large repetitions",
                messages::quoted(pattern)
            )
        };
        self.problems.note(path, rule::SCHEMA_PATTERN, message);
    }
}
