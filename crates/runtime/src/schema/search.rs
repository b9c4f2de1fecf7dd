//! Where a value breaks a schema, found with bounded work.
//!
//! The library tells whether a value fits in time that the schema and the value bound. To list all that is
//! wrong it follows every alternative, and every way a schema refers to itself, which has no such bound.
//! So what is wrong is searched for here: each part of the schema is held against each part of the value
//! once, of alternatives it is told that none fits, and the search ends after so many steps.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet, VecDeque};

use jsonschema::{Registry, Validator};
use panpan_failure::Violation;
use panpan_failure::pointer::joined;
use serde_json::{Map, Value};

use super::shape::{local_pointer, target};
use super::words::{NOTHING_ALLOWED, violations_within};
use super::{Checked, VIOLATIONS_LIMIT, options};

/// How many parts of a value are held against parts of a schema to tell what is wrong.
pub const SEARCH_STEPS_LIMIT: usize = 50_000;

/// The name the schema goes by while parts of it are compiled.
const ROOT: &str = "json-schema:///searched";

/// What is told where nothing else can be.
const SOMEWHERE: &str = "does not fit its schema, and where cannot be told";

/// Keywords that are held against a value without looking at other schemas.
const ASSERTIONS: [&str; 20] = [
    "$schema",
    "type",
    "enum",
    "const",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "format",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxProperties",
    "minProperties",
    "required",
    "dependentRequired",
];

/// How many compiled parts of a schema are kept for the next value that does not fit.
const PARTS_LIMIT: usize = 4096;

/// Parts of one schema, compiled when they are first asked for; `None` where one cannot be.
#[derive(Default)]
pub(super) struct Parts {
    /// Whole parts, by their pointers.
    whole: HashMap<String, Option<Validator>>,
    /// What parts assert by themselves, by their pointers.
    assertions: HashMap<String, Option<Validator>>,
    /// Patterns of names.
    patterns: HashMap<String, Option<Validator>>,
}

impl Parts {
    /// With room for those of another search.
    fn with_room(&mut self) -> &mut Self {
        for parts in [&mut self.whole, &mut self.assertions, &mut self.patterns] {
            if parts.len() > PARTS_LIMIT {
                parts.clear();
            }
        }
        self
    }
}

/// A part of the value that is held against a part of the schema.
struct Place<'a> {
    schema: &'a Value,
    /// Where that part of the schema is.
    schema_pointer: String,
    value: &'a Value,
    pointer: String,
}

/// What is wrong with a value that does not fit.
pub(super) fn search(schema: &Value, value: &Value, parts: &mut Parts) -> Checked {
    let mut search = Search {
        root: schema,
        registry: OnceCell::new(),
        is_old: is_old(schema),
        parts: parts.with_room(),
        seen: HashSet::new(),
        open: VecDeque::new(),
        violations: Vec::new(),
    };
    search.open.push_back(Place {
        schema,
        schema_pointer: String::new(),
        value,
        pointer: String::new(),
    });
    let is_whole = search.run();
    let mut violations = search.violations;
    let is_found = !violations.is_empty();
    if !is_found {
        violations.push(Violation::value("", SOMEWHERE));
    }
    let more = !is_whole || !is_found || violations.len() > VIOLATIONS_LIMIT;
    violations.truncate(VIOLATIONS_LIMIT);
    Checked { violations, more }
}

struct Search<'a, 'p> {
    root: &'a Value,
    /// The schema as parts of it are compiled from it; `None` where it refers to what is not there.
    registry: OnceCell<Option<Registry<'a>>>,
    /// Whether the schema is of a draft in which nothing counts beside a reference.
    is_old: bool,
    parts: &'p mut Parts,
    seen: HashSet<(*const Value, *const Value)>,
    open: VecDeque<Place<'a>>,
    violations: Vec<Violation>,
}

impl<'a> Search<'a, '_> {
    /// Tells whether all was looked at.
    fn run(&mut self) -> bool {
        let mut steps = 0;
        while let Some(place) = self.open.pop_front() {
            steps += 1;
            if self.violations.len() > VIOLATIONS_LIMIT || steps > SEARCH_STEPS_LIMIT {
                return false;
            }
            let pair = (
                std::ptr::from_ref(place.schema),
                std::ptr::from_ref(place.value),
            );
            if self.seen.insert(pair) {
                self.look(&place);
            }
        }
        true
    }

    fn look(&mut self, place: &Place<'a>) {
        let keywords = match place.schema {
            Value::Object(keywords) => keywords,
            Value::Bool(false) => {
                let violation = Violation::value(&place.pointer, NOTHING_ALLOWED);
                return self.violations.push(violation);
            }
            _ => return,
        };
        if let Some(reference) = keywords.get("$ref") {
            if let (Some(pointer), Some(schema)) =
                (local_pointer(reference), target(reference, self.root))
            {
                self.open.push_back(Place {
                    schema,
                    schema_pointer: pointer,
                    value: place.value,
                    pointer: place.pointer.clone(),
                });
            }
            if self.is_old {
                return;
            }
        }
        self.look_at_assertions(keywords, place);
        self.look_at_alternatives(keywords, place);
        match place.value {
            Value::Object(members) => self.look_into_members(keywords, members, place),
            Value::Array(items) => self.look_into_items(keywords, items, place),
            _ => {}
        }
    }

    fn look_at_assertions(&mut self, keywords: &'a Map<String, Value>, place: &Place<'a>) {
        let compiled = kept(&mut self.parts.assertions, &place.schema_pointer, || {
            options().build(&assertions(keywords)).ok()
        });
        if let Some(validator) = compiled {
            let errors = validator.iter_errors(place.value);
            let found = errors.flat_map(|error| violations_within(&place.pointer, &error));
            self.violations.extend(found.take(VIOLATIONS_LIMIT + 1));
        }
    }

    fn look_at_alternatives(&mut self, keywords: &'a Map<String, Value>, place: &Place<'a>) {
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(forms)) = keywords.get(keyword) {
                let fitting = self.fitting(forms.len(), keyword, place);
                let expected = match (keyword, fitting) {
                    (_, Some(0)) => format!("one of the {} forms the schema lists", forms.len()),
                    ("oneOf", Some(2..)) => "exactly one of the forms the schema lists".to_owned(),
                    _ => continue,
                };
                self.tell(keyword, place, Some(expected));
            }
        }
        if let Some(Value::Array(parts)) = keywords.get("allOf") {
            for (index, part) in parts.iter().enumerate() {
                self.follow(part, &["allOf", &index.to_string()], place);
            }
        }
        if keywords.contains_key("not") && self.fits(&["not"], place) == Some(true) {
            self.tell("not", place, None);
        }
        let branch = match keywords.get("if").and_then(|_| self.fits(&["if"], place)) {
            Some(true) => "then",
            Some(false) => "else",
            None => return,
        };
        if let Some(part) = keywords.get(branch) {
            self.follow(part, &[branch], place);
        }
    }

    fn look_into_members(
        &mut self,
        keywords: &'a Map<String, Value>,
        members: &'a Map<String, Value>,
        place: &Place<'a>,
    ) {
        let map = |name: &str| keywords.get(name).and_then(Value::as_object);
        let (properties, patterns) = (map("properties"), map("patternProperties"));
        let further = keywords.get("additionalProperties");
        for (name, value) in members {
            let mut is_known = false;
            if let Some(part) = properties.and_then(|it| it.get(name)) {
                is_known = true;
                self.descend(part, &["properties", name], value, name, place);
            }
            for (pattern, part) in patterns.into_iter().flatten() {
                if self.matches(pattern, name) {
                    is_known = true;
                    self.descend(part, &["patternProperties", pattern], value, name, place);
                }
            }
            // That none are allowed is told with the assertions.
            if let Some(part @ Value::Object(_)) = further.filter(|_| !is_known) {
                self.descend(part, &["additionalProperties"], value, name, place);
            }
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            for (name, part) in map(keyword).into_iter().flatten() {
                if members.contains_key(name) && !part.is_array() {
                    self.follow(part, &[keyword, name], place);
                }
            }
        }
    }

    fn look_into_items(
        &mut self,
        keywords: &'a Map<String, Value>,
        items: &'a [Value],
        place: &Place<'a>,
    ) {
        let listed = |name: &str| keywords.get(name).and_then(Value::as_array);
        let (lists, rest) = match (listed("prefixItems"), listed("items")) {
            (Some(first), _) => (Some(("prefixItems", first)), "items"),
            (None, Some(first)) => (Some(("items", first)), "additionalItems"),
            (None, None) => (None, "items"),
        };
        for (index, value) in items.iter().enumerate() {
            // More than are looked at need not be remembered.
            if self.open.len() > SEARCH_STEPS_LIMIT {
                return;
            }
            let name = index.to_string();
            let first = lists.and_then(|(keyword, parts)| Some((keyword, parts.get(index)?)));
            match (first, keywords.get(rest)) {
                (Some((keyword, part)), _) => {
                    self.descend(part, &[keyword, &name], value, &name, place);
                }
                (None, Some(part)) => self.descend(part, &[rest], value, &name, place),
                (None, None) => return,
            }
        }
    }

    /// Holds the same value against another part of the schema.
    fn follow(&mut self, schema: &'a Value, steps: &[&str], place: &Place<'a>) {
        self.open.push_back(Place {
            schema,
            schema_pointer: further(&place.schema_pointer, steps),
            value: place.value,
            pointer: place.pointer.clone(),
        });
    }

    /// Holds a value within against a part of the schema.
    fn descend(
        &mut self,
        schema: &'a Value,
        steps: &[&str],
        value: &'a Value,
        name: &str,
        place: &Place<'a>,
    ) {
        if self.open.len() <= SEARCH_STEPS_LIMIT {
            self.open.push_back(Place {
                schema,
                schema_pointer: further(&place.schema_pointer, steps),
                value,
                pointer: joined(&place.pointer, name),
            });
        }
    }

    /// How many of the forms fit, as far as that matters.
    fn fitting(&mut self, forms: usize, keyword: &str, place: &Place<'a>) -> Option<usize> {
        let mut fitting = 0;
        for index in 0..forms {
            fitting += usize::from(self.fits(&[keyword, &index.to_string()], place)?);
            if fitting > 1 {
                break;
            }
        }
        Some(fitting)
    }

    /// Whether the value fits a part of the schema; `None` where that part cannot be compiled alone.
    fn fits(&mut self, steps: &[&str], place: &Place<'a>) -> Option<bool> {
        let registry = &self.registry;
        let pointer = further(&place.schema_pointer, steps);
        let compiled = kept(&mut self.parts.whole, &pointer, || {
            let registry = registry.get_or_init(|| registered(self.root)).as_ref()?;
            let fragment = percent_encoding::utf8_percent_encode(&pointer, FRAGMENT);
            let schema = serde_json::json!({"$ref": format!("{ROOT}#{fragment}")});
            options().with_registry(registry).build(&schema).ok()
        });
        compiled.map(|it| it.is_valid(place.value))
    }

    fn matches(&mut self, pattern: &str, name: &str) -> bool {
        let compiled = kept(&mut self.parts.patterns, pattern, || {
            let schema = serde_json::json!({"pattern": pattern});
            options().build(&schema).ok()
        });
        compiled.is_some_and(|it| it.is_valid(&Value::from(name)))
    }

    fn tell(&mut self, keyword: &str, place: &Place<'a>, expected: Option<String>) {
        let reason = format!("breaks the schema's {keyword}");
        let violation = Violation::value(&place.pointer, reason);
        let expected = expected.unwrap_or_else(|| format!("what the schema's {keyword} asks for"));
        self.violations.push(Violation {
            actual: super::shown(place.value),
            ..violation.expected(expected)
        });
    }
}

/// A compiled part, made if it is not there.
fn kept<'p>(
    parts: &'p mut HashMap<String, Option<Validator>>,
    name: &str,
    compile: impl FnOnce() -> Option<Validator>,
) -> Option<&'p Validator> {
    if !parts.contains_key(name) {
        parts.insert(name.to_owned(), compile());
    }
    parts.get(name)?.as_ref()
}

fn registered(schema: &Value) -> Option<Registry<'_>> {
    let registry = Registry::new().add(ROOT, schema);
    registry.and_then(|registry| registry.prepare()).ok()
}

/// What may not stand in the fragment of a reference.
const FRAGMENT: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'~')
    .remove(b'$')
    .remove(b'_')
    .remove(b'-')
    .remove(b'.');

fn further(pointer: &str, steps: &[&str]) -> String {
    let join = |pointer: String, step: &&str| joined(&pointer, step);
    steps.iter().fold(pointer.to_owned(), join)
}

/// What a schema asserts without looking at others: which members there may be, not what is in them.
fn assertions(keywords: &Map<String, Value>) -> Value {
    let mut kept = Map::new();
    for name in ASSERTIONS {
        if let Some(value) = keywords.get(name) {
            kept.insert(name.to_owned(), value.clone());
        }
    }
    if keywords.get("additionalProperties") == Some(&Value::Bool(false)) {
        kept.insert("additionalProperties".to_owned(), Value::Bool(false));
        for name in ["properties", "patternProperties"] {
            if let Some(Value::Object(parts)) = keywords.get(name) {
                let names = parts.keys().map(|name| (name.clone(), Value::Bool(true)));
                kept.insert(name.to_owned(), Value::Object(names.collect()));
            }
        }
    }
    Value::Object(kept)
}

/// Whether a schema is of a draft before 2019-09.
fn is_old(schema: &Value) -> bool {
    let draft = schema.get("$schema").and_then(Value::as_str);
    draft.is_some_and(|it| it.contains("/draft-0"))
}
