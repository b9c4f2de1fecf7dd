//! Finds the values that a JSON Schema marks as sensitive. The schema is kept as a graph of nodes,
//! so that recursive references stay finite. The caller decides what happens to a marked value.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::DEPTH_LIMIT;
use super::schema::{PathStep, Place, Resolver, Same, subschemas};

/// The values that a JSON Schema marks as sensitive: `writeOnly`, `format: "password"` or
/// `x-sensitive`.
///
/// Markers are found through properties, items, combinators, conditions and all references inside
/// the schema. A value that any branch marks is marked, whichever branch applies.
#[derive(Clone, Debug, Default)]
pub struct Markers {
    nodes: Vec<Node>,
}

impl Markers {
    /// Reads the markers of a schema. Remote references are not followed.
    #[must_use]
    pub fn from_schema(schema: &Value) -> Self {
        let mut nodes = read(schema);
        if !nodes.iter().any(|node| node.sensitive) {
            nodes.clear();
        }
        Self { nodes }
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
        if active.is_empty() {
            return;
        }
        // A value that is too deep to be visited might contain anything.
        if depth > DEPTH_LIMIT || active.iter().any(|index| self.nodes[*index].sensitive) {
            callback(value);
            return;
        }
        value.each_inner(&mut |step, value| {
            let inner = self.inner(active, |node| match step {
                PathStep::Index(index) => node.items_at(index),
                PathStep::Name(name) => node.members_named(name),
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
    fn each_inner(self, callback: &mut dyn FnMut(PathStep<'_>, Self));
}

macro_rules! trees {
    ($($value:ty, $iter:ident;)+) => {
        $(impl Tree for $value {
            fn each_inner(self, callback: &mut dyn FnMut(PathStep<'_>, Self)) {
                match self {
                    Value::Array(items) => {
                        let items = items.$iter().enumerate();
                        items.for_each(|(index, item)| callback(PathStep::Index(index), item));
                    }
                    Value::Object(members) => {
                        let members = members.$iter();
                        members.for_each(|(name, member)| callback(PathStep::Name(name), member));
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

/// Reads a schema and all schemas that apply with it, each once; the first node is the schema.
fn read(schema: &Value) -> Vec<Node> {
    let resolver = Resolver::new(schema);
    let mut open = vec![schema];
    let mut numbers = HashMap::from([(Same(schema), 0)]);
    let mut nodes = Vec::new();
    while let Some(schema) = open.get(nodes.len()).copied() {
        let mut number = |schema| {
            *numbers.entry(Same(schema)).or_insert_with(|| {
                open.push(schema);
                open.len() - 1
            })
        };
        let targets = resolver.targets(schema).into_iter();
        let mut node = Node {
            sensitive: is_marked(schema),
            also: targets.map(&mut number).collect(),
            ..Node::default()
        };
        for inner in subschemas(schema) {
            let schema = inner.schema;
            match (inner.keyword, inner.place, inner.step) {
                ("properties", _, Some(PathStep::Name(name))) => {
                    node.properties.insert(name.to_owned(), number(schema));
                }
                ("patternProperties", _, Some(PathStep::Name(pattern))) => {
                    node.patterns.push((compile(pattern), number(schema)));
                }
                (_, Place::Member, _) => node.other_properties.push(number(schema)),
                (_, Place::Item, Some(_)) => node.first_items.push(number(schema)),
                (_, Place::Item, None) | ("contains", ..) => node.other_items.push(number(schema)),
                ("not", ..) => {}
                (_, Place::Same, _) => node.also.push(number(schema)),
                _ => {}
            }
        }
        nodes.push(node);
    }
    nodes
}

fn is_marked(schema: &Value) -> bool {
    let says = |keyword: &str, value: Value| schema.get(keyword) == Some(&value);
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

#[cfg(test)]
mod tests;
