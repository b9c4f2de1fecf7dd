//! Finds the values that a JSON Schema marks as sensitive. The schema is kept as a graph of nodes,
//! so that recursive references stay finite. The caller decides what happens to a marked value.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::DEPTH_LIMIT;

/// The values that a JSON Schema marks as sensitive: `writeOnly`, `format: "password"` or
/// `x-sensitive`.
///
/// Markers are found through properties, items, combinators, conditions and local references. A
/// value that any branch marks is marked, whichever branch applies.
#[derive(Clone, Debug, Default)]
pub struct Markers {
    nodes: Vec<Node>,
}

impl Markers {
    /// Reads the markers of a schema. Remote references are not followed.
    #[must_use]
    pub fn from_schema(schema: &Value) -> Self {
        let mut reader = Reader {
            root: schema,
            nodes: Vec::new(),
            references: HashMap::new(),
        };
        reader.read(schema, 0);
        let marked = reader.nodes.iter().any(|node| node.sensitive);
        Self {
            nodes: if marked { reader.nodes } else { Vec::new() },
        }
    }

    /// Whether the schema marks nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Calls back with every marked value, without the marked values inside it.
    pub(super) fn visit<V: Tree>(&self, value: V, callback: &mut dyn FnMut(V)) {
        if !self.is_empty() {
            self.walk(&self.closed([0]), value, 1, callback);
        }
    }

    fn walk<V: Tree>(
        &self,
        active: &BTreeSet<usize>,
        value: V,
        depth: usize,
        callback: &mut dyn FnMut(V),
    ) {
        if active.iter().any(|index| self.nodes[*index].sensitive) {
            callback(value);
            return;
        }
        if active.is_empty() || depth > DEPTH_LIMIT {
            return;
        }
        value.each_inner(&mut |step, value| {
            let inner = self.inner(active, |node| match step {
                Step::Item(index) => node.items_at(index),
                Step::Member(name) => node.members_named(name),
            });
            self.walk(&inner, value, depth + 1, callback);
        });
    }

    fn inner(
        &self,
        active: &BTreeSet<usize>,
        step: impl Fn(&Node) -> Vec<usize>,
    ) -> BTreeSet<usize> {
        self.closed(active.iter().flat_map(|index| step(&self.nodes[*index])))
    }

    /// The nodes and every node that applies to the same value.
    fn closed(&self, start: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        let mut closed = BTreeSet::new();
        let mut open: Vec<usize> = start.into_iter().collect();
        while let Some(index) = open.pop() {
            if closed.insert(index) {
                open.extend(&self.nodes[index].also);
            }
        }
        closed
    }
}

/// A JSON value that is visited, either to read or to change it.
pub(super) trait Tree: Sized {
    /// Calls back with every direct member or item.
    fn each_inner(self, callback: &mut dyn FnMut(Step<'_>, Self));
}

/// The step from a value to one of its members or items.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    Item(usize),
    Member(&'a str),
}

macro_rules! trees {
    ($($value:ty, $iter:ident;)+) => {
        $(impl Tree for $value {
            fn each_inner(self, callback: &mut dyn FnMut(Step<'_>, Self)) {
                match self {
                    Value::Array(items) => {
                        let items = items.$iter().enumerate();
                        items.for_each(|(index, item)| callback(Step::Item(index), item));
                    }
                    Value::Object(members) => {
                        let members = members.$iter();
                        members.for_each(|(name, member)| callback(Step::Member(name), member));
                    }
                    _ => {}
                }
            }
        })+
    };
}

trees! {
    &Value, iter;
    &mut Value, iter_mut;
}

#[derive(Clone, Debug, Default)]
struct Node {
    sensitive: bool,
    properties: BTreeMap<String, usize>,
    /// A pattern that cannot be compiled applies to every name.
    patterns: Vec<(Option<Regex>, usize)>,
    other_properties: Vec<usize>,
    first_items: Vec<usize>,
    other_items: Vec<usize>,
    also: Vec<usize>,
}

impl Node {
    fn items_at(&self, index: usize) -> Vec<usize> {
        self.first_items
            .get(index)
            .map_or_else(|| self.other_items.clone(), |index| vec![*index])
    }

    fn members_named(&self, name: &str) -> Vec<usize> {
        let fits =
            |pattern: &Option<Regex>| pattern.as_ref().is_none_or(|regex| regex.is_match(name));
        let patterned = self.patterns.iter().filter(|(pattern, _)| fits(pattern));
        let mut found: Vec<usize> = patterned.map(|(_, index)| *index).collect();
        found.extend(self.properties.get(name));
        if found.is_empty() {
            found.clone_from(&self.other_properties);
        }
        found
    }
}

struct Reader<'a> {
    root: &'a Value,
    nodes: Vec<Node>,
    references: HashMap<&'a str, usize>,
}

impl<'a> Reader<'a> {
    fn read(&mut self, schema: &'a Value, depth: usize) -> usize {
        let index = self.nodes.len();
        self.nodes.push(Node::default());
        if let Value::Object(keywords) = schema {
            let node = if depth < DEPTH_LIMIT {
                self.read_keywords(keywords, depth + 1)
            } else {
                // A schema that is too deep to read might mark anything.
                Node {
                    sensitive: true,
                    ..Node::default()
                }
            };
            self.nodes[index] = node;
        }
        index
    }

    fn read_keywords(&mut self, keywords: &'a Map<String, Value>, depth: usize) -> Node {
        let mut node = Node {
            sensitive: is_marked(keywords),
            ..Node::default()
        };
        for (keyword, inner) in keywords {
            match keyword.as_str() {
                "properties" => {
                    let members = self.read_members(inner, depth);
                    let owned = members.into_iter().map(|(name, at)| (name.to_owned(), at));
                    node.properties = owned.collect();
                }
                "patternProperties" => {
                    let members = self.read_members(inner, depth);
                    node.patterns = members
                        .into_iter()
                        .map(|(name, at)| (compile(name), at))
                        .collect();
                }
                "additionalProperties" | "unevaluatedProperties" => {
                    node.other_properties.push(self.read(inner, depth));
                }
                "prefixItems" => node.first_items = self.read_list(inner, depth),
                "items" if inner.is_array() => node.first_items = self.read_list(inner, depth),
                "items" | "additionalItems" | "unevaluatedItems" | "contains" => {
                    node.other_items.push(self.read(inner, depth));
                }
                "allOf" | "anyOf" | "oneOf" => node.also.extend(self.read_list(inner, depth)),
                "if" | "then" | "else" => node.also.push(self.read(inner, depth)),
                "dependentSchemas" => {
                    let members = self.read_members(inner, depth);
                    node.also.extend(members.into_iter().map(|(_, at)| at));
                }
                "$ref" | "$dynamicRef" => node.also.extend(self.read_reference(inner, depth)),
                _ => {}
            }
        }
        node
    }

    fn read_list(&mut self, list: &'a Value, depth: usize) -> Vec<usize> {
        let schemas = list.as_array().map(Vec::as_slice).unwrap_or_default();
        schemas
            .iter()
            .map(|schema| self.read(schema, depth))
            .collect()
    }

    fn read_members(&mut self, members: &'a Value, depth: usize) -> Vec<(&'a str, usize)> {
        let members = members.as_object().into_iter().flatten();
        members
            .map(|(name, schema)| (name.as_str(), self.read(schema, depth)))
            .collect()
    }

    /// Each target is read once, so references may form cycles.
    fn read_reference(&mut self, reference: &'a Value, depth: usize) -> Option<usize> {
        let pointer = reference.as_str()?.strip_prefix('#')?;
        if let Some(index) = self.references.get(pointer) {
            return Some(*index);
        }
        let target = self.root.pointer(&percent_decoded(pointer))?;
        self.references.insert(pointer, self.nodes.len());
        Some(self.read(target, depth))
    }
}

fn is_marked(keywords: &Map<String, Value>) -> bool {
    let says = |keyword: &str, value: Value| keywords.get(keyword) == Some(&value);
    says("writeOnly", Value::Bool(true))
        || says("x-sensitive", Value::Bool(true))
        || says("format", Value::from("password"))
}

fn compile(pattern: &str) -> Option<Regex> {
    const SIZE_LIMIT_BYTES: usize = 1 << 18;
    RegexBuilder::new(pattern)
        .size_limit(SIZE_LIMIT_BYTES)
        .build()
        .ok()
}

fn percent_decoded(pointer: &str) -> String {
    let bytes = pointer.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let pair = pointer.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let byte = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        decoded.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests;
