//! Finds the violations of a value with bounded work.
//!
//! The library checks validity in bounded time. To list violations, however, it follows every alternative and
//! every recursive reference, which is not bounded. This search checks each part of the schema against each
//! part of the value once, reports of alternatives only that none matches, and ends after a number of steps.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ptr::from_ref;

use jsonschema::Registry;
use panpan_contract::schema::Resolver;
use panpan_failure::Violation;
use panpan_failure::pointer::steps as pointer_steps;
use serde_json::{Map, Value};

use super::parts::{FRAGMENT, Parts, ROOT, assertions, compiled_part, is_old, registered};
use super::places::{Step, TOP, ValuePlaces};
use super::violations::{NOTHING_ALLOWED, violations_of};
use super::{Checked, POINTERS_BYTES_LIMIT, VIOLATIONS_LIMIT, options};

/// The maximum number of parts of a value that are checked against parts of a schema.
pub const SEARCH_STEPS_LIMIT: usize = 50_000;

/// The reason if the search finds no violation of an invalid value.
const UNKNOWN_LOCATION: &str = "does not match its schema; the location is unknown";

/// A part of the value, to be checked against a part of the schema.
#[derive(Clone, Copy)]
struct Pair<'a> {
    schema: &'a Value,
    schema_place: usize,
    value: &'a Value,
    place: usize,
}

/// The violations of an invalid value.
pub(super) fn search(schema: &Value, value: &Value, parts: &mut Parts) -> Checked {
    let mut search = Search {
        root: schema,
        resolver: Resolver::new(schema),
        registry: OnceCell::new(),
        is_old: is_old(schema),
        parts: parts.with_room(),
        targets: HashMap::new(),
        places: ValuePlaces::default(),
        seen: HashSet::new(),
        open: VecDeque::new(),
        violations: Vec::new(),
        pointers_bytes: 0,
        is_partial: false,
    };
    search.open.push_back(Pair {
        schema,
        schema_place: TOP,
        value,
        place: TOP,
    });
    let is_whole = search.run() && !search.is_partial;
    let mut violations = search.violations;
    let is_found = !violations.is_empty();
    if !is_found {
        violations.push(Violation::value("", UNKNOWN_LOCATION));
    }
    let more = !is_whole || !is_found || violations.len() > VIOLATIONS_LIMIT;
    violations.truncate(VIOLATIONS_LIMIT);
    Checked { violations, more }
}

struct Search<'a, 'p> {
    root: &'a Value,
    resolver: Resolver<'a>,
    /// The registry for compiling parts; `None` if the schema has unresolvable references.
    registry: OnceCell<Option<Registry<'a>>>,
    /// Whether the schema is of a draft that ignores the siblings of a reference.
    is_old: bool,
    parts: &'p mut Parts,
    /// The targets of the references that were followed, by the schema that refers to them.
    targets: HashMap<*const Value, Option<(&'a Value, usize)>>,
    places: ValuePlaces<'a>,
    seen: HashSet<(*const Value, *const Value)>,
    open: VecDeque<Pair<'a>>,
    violations: Vec<Violation>,
    /// The bytes of the pointers of the violations.
    pointers_bytes: usize,
    /// Whether a violation or an alternative was left out.
    is_partial: bool,
}

impl<'a> Search<'a, '_> {
    /// Returns whether the search is complete.
    fn run(&mut self) -> bool {
        let mut steps = 0;
        while let Some(pair) = self.open.pop_front() {
            steps += 1;
            let is_enough = self.violations.len() > VIOLATIONS_LIMIT
                || self.pointers_bytes > POINTERS_BYTES_LIMIT;
            if is_enough || steps > SEARCH_STEPS_LIMIT {
                return false;
            }
            let identity = (from_ref(pair.schema), from_ref(pair.value));
            if self.seen.insert(identity) {
                self.check(&pair);
            }
        }
        true
    }

    fn check(&mut self, pair: &Pair<'a>) {
        let keywords = match pair.schema {
            Value::Object(keywords) => keywords,
            Value::Bool(false) => {
                let violation = Violation::value("", NOTHING_ALLOWED);
                return self.add(vec![violation], pair);
            }
            _ => return,
        };
        if let Some(Value::String(reference)) = keywords.get("$ref") {
            if let Some((schema, schema_place)) = self.target(pair.schema, reference) {
                self.enqueue(Pair {
                    schema,
                    schema_place,
                    ..*pair
                });
            }
            if self.is_old {
                return;
            }
        }
        self.check_assertions(keywords, pair);
        self.check_alternatives(keywords, pair);
        match pair.value {
            Value::Object(members) => self.check_members(keywords, members, pair),
            Value::Array(items) => self.check_items(keywords, items, pair),
            _ => {}
        }
    }

    /// The target of the reference of a schema, and its place.
    fn target(&mut self, schema: &'a Value, reference: &str) -> Option<(&'a Value, usize)> {
        if let Some(known) = self.targets.get(&from_ref(schema)) {
            return *known;
        }
        let found = self.resolver.find(schema, reference);
        let places = &mut self.parts.places;
        let target = found.map(|(target, pointer)| {
            let inside = |around, step: Cow<'_, str>| places.inside(around, &step);
            (target, pointer_steps(&pointer).fold(TOP, inside))
        });
        self.targets.insert(from_ref(schema), target);
        target
    }

    /// Checks a pair later, unless the search would end before it.
    fn enqueue(&mut self, pair: Pair<'a>) {
        if self.open.len() <= SEARCH_STEPS_LIMIT {
            self.open.push_back(pair);
        }
    }

    /// Adds violations whose pointers begin at the value of a pair.
    fn add(&mut self, found: Vec<Violation>, pair: &Pair<'a>) {
        if found.is_empty() {
            return;
        }
        let within = self.places.pointer(pair.place);
        for violation in found {
            if self.pointers_bytes > POINTERS_BYTES_LIMIT {
                self.is_partial = true;
                return;
            }
            let pointer = format!("{within}{}", violation.pointer);
            self.pointers_bytes += pointer.len();
            self.violations.push(Violation {
                pointer,
                ..violation
            });
        }
    }

    fn check_assertions(&mut self, keywords: &'a Map<String, Value>, pair: &Pair<'a>) {
        let compiled = compiled_part(&mut self.parts.assertions, pair.schema_place, || {
            options().build(&assertions(keywords)).ok()
        });
        if let Some(validator) = compiled {
            let errors = validator.iter_errors(pair.value);
            let found = errors.flat_map(|error| violations_of(&error));
            let found = found.take(VIOLATIONS_LIMIT + 1).collect();
            self.add(found, pair);
        }
    }

    fn check_alternatives(&mut self, keywords: &'a Map<String, Value>, pair: &Pair<'a>) {
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(alternatives)) = keywords.get(keyword) {
                let matching = self.matching(alternatives.len(), keyword, pair);
                let expected = match (keyword, matching) {
                    (_, Some(0)) => {
                        format!("one of the {} forms the schema lists", alternatives.len())
                    }
                    ("oneOf", Some(2..)) => "exactly one of the forms the schema lists".to_owned(),
                    _ => continue,
                };
                self.report(keyword, pair, Some(expected));
            }
        }
        if let Some(Value::Array(parts)) = keywords.get("allOf") {
            for (index, part) in parts.iter().enumerate() {
                self.follow(part, &["allOf", &index.to_string()], pair);
            }
        }
        if keywords.contains_key("not") && self.is_valid(&["not"], pair) == Some(true) {
            self.report("not", pair, None);
        }
        let branch = match keywords
            .get("if")
            .and_then(|_| self.is_valid(&["if"], pair))
        {
            Some(true) => "then",
            Some(false) => "else",
            None => return,
        };
        if let Some(part) = keywords.get(branch) {
            self.follow(part, &[branch], pair);
        }
    }

    fn check_members(
        &mut self,
        keywords: &'a Map<String, Value>,
        members: &'a Map<String, Value>,
        pair: &Pair<'a>,
    ) {
        let map = |name: &str| keywords.get(name).and_then(Value::as_object);
        let (properties, patterns) = (map("properties"), map("patternProperties"));
        let further = keywords.get("additionalProperties");
        for (name, value) in members {
            let mut is_known = false;
            if let Some(part) = properties.and_then(|it| it.get(name)) {
                is_known = true;
                self.descend(part, &["properties", name], value, Step::Member(name), pair);
            }
            for (pattern, part) in patterns.into_iter().flatten() {
                if self.parts.matches(pattern, name) {
                    is_known = true;
                    self.descend(
                        part,
                        &["patternProperties", pattern],
                        value,
                        Step::Member(name),
                        pair,
                    );
                }
            }
            // `additionalProperties: false` is checked with the assertions.
            if let Some(part @ Value::Object(_)) = further.filter(|_| !is_known) {
                self.descend(
                    part,
                    &["additionalProperties"],
                    value,
                    Step::Member(name),
                    pair,
                );
            }
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            for (name, part) in map(keyword).into_iter().flatten() {
                if members.contains_key(name) && !part.is_array() {
                    self.follow(part, &[keyword, name], pair);
                }
            }
        }
    }

    fn check_items(
        &mut self,
        keywords: &'a Map<String, Value>,
        items: &'a [Value],
        pair: &Pair<'a>,
    ) {
        let listed = |name: &str| keywords.get(name).and_then(Value::as_array);
        let (lists, rest) = match (listed("prefixItems"), listed("items")) {
            (Some(first), _) => (Some(("prefixItems", first)), "items"),
            (None, Some(first)) => (Some(("items", first)), "additionalItems"),
            (None, None) => (None, "items"),
        };
        for (index, value) in items.iter().enumerate() {
            // The search would end before it checks more.
            if self.open.len() > SEARCH_STEPS_LIMIT {
                return;
            }
            let first = lists.and_then(|(keyword, parts)| Some((keyword, parts.get(index)?)));
            match (first, keywords.get(rest)) {
                (Some((keyword, part)), _) => {
                    let steps = [keyword, &index.to_string()];
                    self.descend(part, &steps, value, Step::Item(index), pair);
                }
                (None, Some(part)) => {
                    self.descend(part, &[rest], value, Step::Item(index), pair);
                }
                (None, None) => return,
            }
        }
    }

    /// Checks the same value against another part of the schema.
    fn follow(&mut self, schema: &'a Value, steps: &[&str], pair: &Pair<'a>) {
        let schema_place = self.schema_place(steps, pair);
        self.enqueue(Pair {
            schema,
            schema_place,
            ..*pair
        });
    }

    /// Checks a nested value against a part of the schema.
    fn descend(
        &mut self,
        schema: &'a Value,
        steps: &[&str],
        value: &'a Value,
        step: Step<'a>,
        pair: &Pair<'a>,
    ) {
        if self.open.len() <= SEARCH_STEPS_LIMIT {
            let schema_place = self.schema_place(steps, pair);
            let place = self.places.inside(pair.place, step);
            self.open.push_back(Pair {
                schema,
                schema_place,
                value,
                place,
            });
        }
    }

    fn schema_place(&mut self, steps: &[&str], pair: &Pair<'a>) -> usize {
        let places = &mut self.parts.places;
        let inside = |around, step: &&str| places.inside(around, step);
        steps.iter().fold(pair.schema_place, inside)
    }

    /// How many of the alternatives match; 2 means two or more.
    fn matching(&mut self, alternatives: usize, keyword: &str, pair: &Pair<'a>) -> Option<usize> {
        let mut matching = 0;
        for index in 0..alternatives {
            matching += usize::from(self.is_valid(&[keyword, &index.to_string()], pair)?);
            if matching > 1 {
                break;
            }
        }
        Some(matching)
    }

    /// Whether the value matches a part of the schema; `None` if the part cannot be compiled alone.
    fn is_valid(&mut self, steps: &[&str], pair: &Pair<'a>) -> Option<bool> {
        let place = self.schema_place(steps, pair);
        if !self.parts.whole.contains_key(&place) && !self.may_compile(steps, pair.schema) {
            self.is_partial = true;
            return None;
        }
        let registry = &self.registry;
        let Parts { whole, places, .. } = &mut *self.parts;
        let compiled = compiled_part(whole, place, || {
            let registry = registry.get_or_init(|| registered(self.root)).as_ref()?;
            let pointer = places.pointer(place);
            let fragment = percent_encoding::utf8_percent_encode(&pointer, FRAGMENT);
            let schema = serde_json::json!({"$ref": format!("{ROOT}#{fragment}")});
            options().with_registry(registry).build(&schema).ok()
        });
        compiled.map(|it| it.is_valid(pair.value))
    }

    /// Whether a part of a schema fits what a search may compile; then counts it.
    fn may_compile(&mut self, steps: &[&str], schema: &'a Value) -> bool {
        let inside = |schema: &'a Value, step: &&str| match schema {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            other => other.get(step),
        };
        let Some(part) = steps.iter().try_fold(schema, inside) else {
            return false;
        };
        self.parts.add_compiled(part, &self.resolver)
    }

    fn report(&mut self, keyword: &str, pair: &Pair<'a>, expected: Option<String>) {
        let reason = format!("violates the schema's {keyword}");
        let expected =
            expected.unwrap_or_else(|| format!("a value that matches the schema's {keyword}"));
        let violation = Violation {
            actual: super::shown(pair.value),
            ..Violation::value("", reason).expected(expected)
        };
        self.add(vec![violation], pair);
    }
}
