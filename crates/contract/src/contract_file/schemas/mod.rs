//! Whether the JSON Schemas in a file are sound: valid in their draft, with references that stay in
//! the file, find a schema and come to an end.
//!
//! A reference `#/$defs/Name` means the schema's own definition, else the file's. So that it can
//! mean nothing else, a schema's own definition may not differ from a shared one of its name.

mod details;
mod draft;
mod endless;
mod keywords;
mod references;

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::meaning::operations;
use super::path::Path;
use super::problem::Problems;
use super::{rule, sentence};
use endless::Graph;
pub use keywords::each_mut;
use keywords::{each, subschemas};
use references::Root;
pub(super) use references::self_contained;

/// The longest regular expression in a schema, in bytes.
pub const PATTERN_BYTES_LIMIT: usize = 4_096;

/// Whether a schema may hold this regular expression.
pub fn is_usable_pattern(pattern: &str) -> bool {
    pattern.len() <= PATTERN_BYTES_LIMIT && draft::is_pattern(pattern)
}

/// The most definitions a similar name is looked for among, and the most times that is done.
const SUGGESTIONS_LIMIT: usize = 1_000;

/// The keywords that refer to another schema.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Notes everything in the schemas of the document that is not sound.
pub(super) fn check(document: &Value, problems: &mut Problems<'_>) {
    let none = Map::new();
    let shared = document["$defs"].as_object().unwrap_or(&none);
    let mut walk = Walk {
        shared,
        graph: Graph::default(),
        patterns: HashMap::new(),
        suggested: 0,
        problems,
    };
    let roots = roots(document, shared);
    // A reference may point ahead, so every schema is known before the first one is judged.
    for (root, _) in &roots {
        each(root.schema, |schema| walk.graph.add(schema));
    }
    for (root, pointer) in &roots {
        walk.check_root(root, pointer);
    }
    let Walk {
        graph, problems, ..
    } = walk;
    let roots = roots
        .iter()
        .map(|(root, pointer)| (root.schema, pointer.as_str()));
    graph.check(roots, problems);
}

/// Every schema of the file, with its place.
fn roots<'a>(document: &'a Value, shared: &'a Map<String, Value>) -> Vec<(Root<'a>, String)> {
    let mut roots = Vec::new();
    for (name, schema) in shared.iter().filter(|(_, schema)| is_schema(schema)) {
        let pointer = Path::at("/$defs").name(name).pointer();
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
                (Root::of_details(schema, shared), pointer)
            }));
        }
    }
    roots
}

/// Whether a value can be a schema at all.
fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

struct Walk<'a, 'p, 'l> {
    shared: &'a Map<String, Value>,
    graph: Graph<'a>,
    /// The patterns already judged, with whether they can be used.
    patterns: HashMap<&'a str, bool>,
    /// How often a similar name was looked for.
    suggested: usize,
    problems: &'p mut Problems<'l>,
}

impl<'a> Walk<'a, '_, '_> {
    fn check_root(&mut self, root: &Root<'a>, pointer: &str) {
        let path = Path::at(pointer);
        if root.is_shared {
            self.check_definition_name(&path);
        } else {
            self.check_shadows(root, &path);
        }
        draft::check(root.schema, root.is_shared, &path, self.problems);
        if root.is_of_details {
            details::check(root, &path, self.problems);
        }
        self.visit(root.schema, root, &path);
    }

    fn check_definition_name(&mut self, path: &Path<'_>) {
        let pointer = path.pointer();
        let name = pointer.strip_prefix("/$defs/").unwrap_or_default();
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_word) {
            let message = "write a name of letters, digits, _, - and . that can be referred to as \
                           #/$defs/Name";
            self.problems.note(path, rule::SCHEMA_NAME, message);
        }
    }

    fn check_shadows(&mut self, root: &Root<'a>, path: &Path<'_>) {
        let own = root.schema.get("$defs").and_then(Value::as_object);
        for (name, schema) in own.into_iter().flatten() {
            if self.shared.get(name).is_some_and(|shared| shared != schema) {
                let message = format!(
                    "{} differs from the shared definition of that name; rename one of the two",
                    sentence::quoted(name)
                );
                let path = path.name("$defs");
                self.problems
                    .note(&path.name(name), rule::SCHEMA_SHADOWED, message);
            }
        }
    }

    /// Judges a schema and all schemas in it. The depth is that of the document, which is limited.
    fn visit(&mut self, schema: &'a Value, root: &Root<'a>, path: &Path<'_>) {
        for keyword in REFERENCES {
            if let Some(reference) = schema.get(keyword).and_then(Value::as_str) {
                self.check_reference(schema, reference, root, &path.name(keyword));
            }
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
        for inner in subschemas(schema) {
            if inner.is_in_place {
                self.graph.connect(schema, inner.schema);
            }
            let keyword = path.name(inner.keyword);
            match inner.step {
                Some(step) => self.visit(inner.schema, root, &keyword.down(step)),
                None => self.visit(inner.schema, root, &keyword),
            }
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
            let message = "points out of the file, and nothing is fetched; copy that schema to \
                           $defs and write #/$defs/Name";
            return self.problems.note(path, rule::SCHEMA_REMOTE, message);
        }
        let message = match root.find(reference) {
            Some(target) if self.graph.knows(target) => {
                return self.graph.connect(schema, target);
            }
            Some(_) => format!(
                "{} is not a place where a schema stands; move the schema to $defs",
                sentence::quoted(reference)
            ),
            None => format!(
                "{} leads nowhere; point into this schema, or to a shared definition: {}",
                sentence::quoted(reference),
                self.definitions_like(reference)
            ),
        };
        self.problems.note(path, rule::SCHEMA_REFERENCE, message);
    }

    fn definitions_like(&mut self, reference: &str) -> String {
        self.suggested += 1;
        let name = reference.rsplit('/').next().unwrap_or_default();
        let is_bearable = self.suggested.max(self.shared.len()) <= SUGGESTIONS_LIMIT;
        let known = self.shared.keys().filter(|_| is_bearable);
        match sentence::similar(name, known.map(String::as_str)) {
            Some(similar) => format!("did you mean #/$defs/{similar}?"),
            None => "#/$defs/Name".to_owned(),
        }
    }

    /// Judges the keywords that say what a schema is called and of which draft it is. An operation's
    /// own schema may say both at its top; anywhere else they would change what the schema means
    /// once it is put elsewhere.
    fn check_identity(&mut self, schema: &Value, root: &Root<'a>, path: &Path<'_>) {
        let identifier = draft::identifier(root.schema);
        let stated = |keyword: &str| schema.get(keyword).and_then(Value::as_str);
        let is_top = std::ptr::eq(schema, root.schema);
        if is_top && !root.is_shared {
            if stated(identifier).is_some_and(|it| !draft::is_identifier(it)) {
                let message = "is not a URI; write one such as urn:example:input, or leave it out";
                let path = path.name(identifier);
                self.problems.note(&path, rule::SCHEMA_IDENTITY, message);
            }
            return;
        }
        let draft = ["$schema"].into_iter().filter(|_| !is_top);
        let anchors = ["$anchor", "$dynamicAnchor"].into_iter();
        let anchors = anchors.filter(|_| root.is_shared);
        for keyword in draft.chain(anchors).chain([identifier]) {
            if stated(keyword).is_some() {
                let message = format!(
                    "{keyword} would change what the schema means once it is put elsewhere; remove \
                     it, and refer to a definition as #/$defs/Name"
                );
                let path = path.name(keyword);
                self.problems.note(&path, rule::SCHEMA_IDENTITY, message);
            }
        }
    }

    fn check_pattern(&mut self, pattern: &'a str, path: &Path<'_>) {
        let bytes = pattern.len();
        let message = if bytes > PATTERN_BYTES_LIMIT {
            format!("the pattern has {bytes} bytes; write one of at most {PATTERN_BYTES_LIMIT}")
        } else if *self
            .patterns
            .entry(pattern)
            .or_insert_with(|| draft::is_pattern(pattern))
        {
            return;
        } else {
            format!(
                "{} is not a regular expression that can be used here; look for unbalanced \
                 brackets, escape literal ones, and repeat less if it is very large",
                sentence::quoted(pattern)
            )
        };
        self.problems.note(path, rule::SCHEMA_PATTERN, message);
    }
}
