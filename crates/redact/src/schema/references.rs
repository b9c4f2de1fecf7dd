//! Resolves references: to pointers, to anchors, and to schemas with an identifier of their own.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;
use url::Url;

use super::cycles::Same;
use super::keywords::{PathStep, Place, Subschema, each, subschemas, subschemas_at};

/// The keywords that refer to another schema.
pub const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The references of a schema, with their keywords.
pub fn references(schema: &Value) -> impl Iterator<Item = (&'static str, &str)> {
    let stated = |keyword: &'static str| Some((keyword, schema.get(keyword)?.as_str()?));
    REFERENCES.into_iter().filter_map(stated)
}

/// The names in the references to `#/$defs/Name`, of a schema and of every schema inside it.
pub fn definition_names(schema: &Value) -> Vec<String> {
    let mut names = Vec::new();
    each(schema, |schema| {
        names.extend(references(schema).filter_map(|(_, reference)| {
            let pointer = decoded(reference.strip_prefix('#')?)?;
            let name = pointer.strip_prefix("/$defs/")?.split('/').next()?;
            Some(name.replace("~1", "/").replace("~0", "~"))
        }));
    });
    names
}

/// The percent-decoded fragment of a URI.
pub fn decoded(fragment: &str) -> Option<Cow<'_, str>> {
    let bytes = percent_encoding::percent_decode_str(fragment);
    bytes.decode_utf8().ok()
}

/// The base of a schema that has no identifier.
const NO_URI: &str = "json-schema:///";

/// Finds the targets of references in a schema.
#[derive(Debug)]
pub struct Resolver<'a> {
    /// The first is the whole document.
    resources: Vec<Location<'a>>,
    uris: Vec<Url>,
    by_uri: HashMap<Url, usize>,
    /// The resources of all schemas that are not in the first.
    bases: HashMap<Same<'a>, usize>,
    anchors: HashMap<&'a str, Vec<Anchor<'a>>>,
    /// The keyword of identifiers.
    identifier: &'static str,
}

#[derive(Clone, Debug)]
struct Location<'a> {
    schema: &'a Value,
    pointer: String,
}

#[derive(Debug)]
struct Anchor<'a> {
    resource: usize,
    /// Whether references from other resources can lead to it.
    is_dynamic: bool,
    location: Location<'a>,
}

impl<'a> Resolver<'a> {
    /// The resolver of a schema.
    pub fn new(schema: &'a Value) -> Self {
        Self::over(schema, vec![(String::new(), schema)])
    }

    /// The resolver of a document that contains schemas at these pointers.
    pub fn over(document: &'a Value, schemas: Vec<(String, &'a Value)>) -> Self {
        let draft = document.get("$schema").and_then(Value::as_str);
        let is_draft4 = draft.is_some_and(|it| it.contains("/draft-04/"));
        let mut resolver = Self {
            resources: vec![Location {
                schema: document,
                pointer: String::new(),
            }],
            uris: vec![Url::parse(NO_URI).expect("the URI is well formed")],
            by_uri: HashMap::new(),
            bases: HashMap::new(),
            anchors: HashMap::new(),
            identifier: if is_draft4 { "id" } else { "$id" },
        };
        resolver.read(&schemas);
        resolver
    }

    fn read(&mut self, schemas: &[(String, &'a Value)]) {
        // Pointers are needed seldom, so the steps are kept instead: the number of the schema
        // around, and the way from there.
        let mut steps: Vec<(usize, Option<Subschema<'a>>)> = Vec::new();
        let mut open = Vec::new();
        for (number, (_, schema)) in schemas.iter().enumerate() {
            steps.push((number, None));
            open.push((*schema, 0, number));
        }
        while let Some((schema, mut resource, at)) = open.pop() {
            if self.has_identity(schema) {
                let pointer = pointer(schemas, &steps, at);
                resource = self.identify(Location { schema, pointer }, resource);
            }
            if resource > 0 {
                self.bases.insert(Same(schema), resource);
            }
            for inner in subschemas(schema) {
                open.push((inner.schema, resource, steps.len()));
                steps.push((at, Some(inner)));
            }
        }
    }

    fn has_identity(&self, schema: &Value) -> bool {
        let keywords = [
            self.identifier,
            "$anchor",
            "$dynamicAnchor",
            "$recursiveAnchor",
        ];
        keywords.iter().any(|it| schema.get(it).is_some())
    }

    /// Registers the identifier and the anchors of a schema; returns the resource that it is in.
    fn identify(&mut self, location: Location<'a>, mut resource: usize) -> usize {
        let schema = location.schema;
        let text = |keyword: &str| schema.get(keyword).and_then(Value::as_str);
        let identifier = text(self.identifier).unwrap_or_default();
        let (uri, fragment) = identifier.split_once('#').unwrap_or((identifier, ""));
        if let Some(uri) = self.uris[resource]
            .join(uri)
            .ok()
            .filter(|_| !uri.is_empty())
        {
            if std::ptr::eq(schema, self.resources[0].schema) {
                self.uris[0] = uri.clone();
            } else {
                resource = self.resources.len();
                self.resources.push(location.clone());
                self.uris.push(uri.clone());
            }
            self.by_uri.insert(uri, resource);
        }
        let is_recursive = schema.get("$recursiveAnchor") == Some(&Value::Bool(true));
        // Before 2019-09, an identifier with a fragment was an anchor.
        let anchors = [
            (Some(fragment).filter(|it| !it.is_empty()), false),
            (text("$anchor"), false),
            (text("$dynamicAnchor"), true),
            (Some("").filter(|_| is_recursive), true),
        ];
        for (name, is_dynamic) in anchors {
            let location = location.clone();
            let anchor = Anchor {
                resource,
                is_dynamic,
                location,
            };
            if let Some(name) = name {
                self.anchors.entry(name).or_default().push(anchor);
            }
        }
        resource
    }

    /// The target of a reference in a schema, and its pointer from the top of the document.
    pub fn find<'s>(
        &'s self,
        schema: &Value,
        reference: &'s str,
    ) -> Option<(&'a Value, Cow<'s, str>)> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let mut number = self.bases.get(&Same(schema)).copied().unwrap_or_default();
        if !uri.is_empty() {
            let uri = self.uris[number].join(uri).ok()?;
            number = *self.by_uri.get(&uri)?;
        }
        let fragment = decoded(fragment)?;
        if !fragment.is_empty() && !fragment.starts_with('/') {
            let mut anchors = self.anchors.get(&*fragment)?.iter();
            let found = &anchors.find(|it| it.resource == number)?.location;
            return Some((found.schema, found.pointer.as_str().into()));
        }
        let resource = &self.resources[number];
        let found = resource.schema.pointer(&fragment)?;
        Some(match resource.pointer.as_str() {
            "" => (found, fragment),
            pointer => (found, format!("{pointer}{fragment}").into()),
        })
    }

    /// A schema with an anchor of this name, wherever it is, and its pointer.
    pub fn anchored(&self, name: &str) -> Option<(&'a Value, &str)> {
        let found = &self.anchors.get(name)?.first()?.location;
        Some((found.schema, &found.pointer))
    }

    /// Every schema that the references of a schema can lead to.
    pub fn targets(&self, schema: &Value) -> Vec<&'a Value> {
        let mut targets = Vec::new();
        for (keyword, reference) in references(schema) {
            let found = self.find(schema, reference);
            targets.extend(found.map(|(schema, _)| schema));
            let name = reference.rsplit('#').next().filter(|_| keyword != "$ref");
            let anchors = name.and_then(|name| self.anchors.get(name));
            let anchors = anchors.into_iter().flatten().filter(|it| it.is_dynamic);
            targets.extend(anchors.map(|it| it.location.schema));
        }
        targets
    }

    /// The schemas that a schema applies to the same value.
    pub fn in_place(&self, schema: &'a Value) -> Vec<&'a Value> {
        let mut applied = self.targets(schema);
        let inner = subschemas_at(schema, |place| place == Place::Same);
        applied.extend(inner.map(|inner| inner.schema));
        applied
    }

    /// The schemas directly inside a schema, and the targets of its references.
    pub fn next(&self, schema: &'a Value) -> Vec<Same<'a>> {
        let inner = subschemas(schema).map(|inner| inner.schema);
        inner.chain(self.targets(schema)).map(Same).collect()
    }
}

fn pointer(
    schemas: &[(String, &Value)],
    steps: &[(usize, Option<Subschema<'_>>)],
    mut at: usize,
) -> String {
    let mut path = Vec::new();
    while let (above, Some(inner)) = steps[at] {
        path.push(inner);
        at = above;
    }
    let mut pointer = schemas[at].0.clone();
    for inner in path.into_iter().rev() {
        pointer.extend(["/", inner.keyword]);
        match inner.step {
            Some(PathStep::Name(name)) => {
                pointer.extend(["/", &name.replace('~', "~0").replace('/', "~1")]);
            }
            Some(PathStep::Index(index)) => pointer.extend(["/", &index.to_string()]),
            None => {}
        }
    }
    pointer
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_lead_to_pointers_anchors_and_identifiers() {
        let schema = json!({
            "$id": "https://example.com/a/top.json",
            "$anchor": "top",
            "items": {"$id": "/b/item.json", "not": {"$anchor": "x"}, "$defs": {"d": {}}},
            "$defs": {
                "a/b é": {"$anchor": "x", "$dynamicAnchor": "y"},
                "urn": {"$id": "urn:example:u", "if": {"$id": "urn:example:i"}},
            },
        });
        let resolver = Resolver::new(&schema);
        let item = &schema["items"];
        for (from, reference, expected) in [
            (&schema, "#", Some("")),
            (&schema, "#/$defs/a~1b%20%C3%A9", Some("/$defs/a~1b é")),
            (&schema, "#top", Some("")),
            (&schema, "top.json#x", Some("/$defs/a~1b é")),
            (&schema, "#y", Some("/$defs/a~1b é")),
            (&schema, "../b/item.json", Some("/items")),
            (&schema, "/b/item.json#x", Some("/items/not")),
            (&schema, "urn:example:u#/if", Some("/$defs/urn/if")),
            (&schema, "urn:example:i", Some("/$defs/urn/if")),
            (item, "#", Some("/items")),
            (item, "#x", Some("/items/not")),
            (&item["not"], "#/$defs/d", Some("/items/$defs/d")),
            (item, "../a/top.json#x", Some("/$defs/a~1b é")),
            (item, "#top", None),
            (&schema, "#/$defs/none", None),
            (&schema, "#z", None),
            (&schema, "#/%ff", None),
            (&schema, "other.json", None),
            (&schema, "http://[", None),
        ] {
            let found = resolver.find(from, reference);
            let pointer = found.as_ref().map(|(_, pointer)| &**pointer);
            assert_eq!(pointer, expected, "{reference}");
            let target = expected.and_then(|pointer| schema.pointer(pointer));
            assert_eq!(found.map(|(it, _)| it), target, "{reference}");
        }
    }

    #[test]
    fn identifiers_and_anchors_of_older_drafts_are_known() {
        let schema = json!({
            "$schema": "http://json-schema.org/draft-04/schema#",
            "definitions": {"a": {"id": "#x"}, "b": {"id": "http://example.com/b#"}},
        });
        let resolver = Resolver::new(&schema);
        for (reference, expected) in [
            ("#x", "/definitions/a"),
            ("http://example.com/b", "/definitions/b"),
        ] {
            assert_eq!(resolver.find(&schema, reference).unwrap().1, expected);
        }
    }

    #[test]
    fn a_dynamic_reference_can_lead_to_every_anchor_of_its_name() {
        let schema = json!({
            "$dynamicRef": "#a", "$recursiveAnchor": true,
            "$defs": {
                "own": {"$dynamicAnchor": "a"},
                "other": {"$id": "urn:other", "$dynamicAnchor": "a", "$recursiveRef": "#"},
            },
        });
        let resolver = Resolver::new(&schema);
        let has = |from: &Value, to: &Value| {
            let targets = resolver.targets(from);
            targets.iter().any(|target| std::ptr::eq(*target, to))
        };
        let definitions = &schema["$defs"];
        assert!(has(&schema, &definitions["own"]));
        assert!(has(&schema, &definitions["other"]));
        assert!(has(&definitions["other"], &definitions["other"]));
        assert!(has(&definitions["other"], &schema));
        assert_eq!(
            definition_names(&json!({"not": {"$ref": "#/$defs/a~1b%20/x"}})),
            ["a/b "]
        );
    }
}
