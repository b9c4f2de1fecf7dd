//! `json/transform` at work: its parameters, and which operation does what. Its contract is elsewhere.

use std::collections::HashSet;
use std::panic::resume_unwind;
use std::sync::Arc;

use panpan_contract::{canonical_json, digest, hex};
use panpan_failure::Failure;
use panpan_failure::read::type_name;
use panpan_runtime::{Context, untyped};
use serde_json::{Value, json};

use super::compare::{Condition, Field, OPERATORS, sorted};
use super::document::{BYTES_LIMIT, DEPTH_LIMIT, Document, ITEMS_LIMIT, bytes_within};
use super::path::Path;
use super::problem::Problem;
use super::schema::check;
use super::shape::{Members, flattened, merged};

/// What an operation does with a document.
type Run = fn(&Given<'_>, &Document<'_>) -> Result<Done, Problem>;

/// The operations.
const OPERATIONS: [(&str, Run); 9] = [
    ("extract", extract),
    ("map", map),
    ("filter", filter),
    ("pick", pick),
    ("omit", omit),
    ("merge", merge),
    ("flatten", flatten),
    ("sort", sort),
    ("validate", validate),
];

/// The names of the operations.
pub(super) fn names() -> [&'static str; OPERATIONS.len()] {
    OPERATIONS.map(|(name, _)| name)
}

/// Works beside the threads that serve calls: a large document takes a while.
pub(super) async fn run(_: Context, input: Arc<Value>) -> Result<Value, Failure> {
    let work = tokio::task::spawn_blocking(move || transform(&input));
    match work.await {
        Ok(done) => done.map_err(Failure::from),
        Err(stopped) => match stopped.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(stopped) => Err(untyped(&stopped)),
        },
    }
}

/// The input has been held against its schema.
fn transform(input: &Value) -> Result<Value, Problem> {
    let name = input["operation"].as_str().unwrap_or_default();
    let (operation, run) = OPERATIONS
        .into_iter()
        .find(|(known, _)| *known == name)
        .expect("the schema lists the operations");
    let document = Document::read(&input["data"], "data")?;
    let done = run(&Given { input, operation }, &document)?;
    let output_size = canonical_json(&done.result).len();
    if output_size > BYTES_LIMIT {
        return Err(Problem::ResultTooLarge);
    }
    let mut output = json!({
        "result_hash": hex(&digest(&done.result)),
        "operation": operation,
        "input_size": document.bytes,
        "output_size": output_size,
    });
    if let Some((form, matches)) = done.selected {
        output["form"] = form.into();
        output["matches"] = matches.into();
    }
    output["result"] = done.result;
    Ok(output)
}

/// What came out.
struct Done {
    result: Value,
    /// For a path: in which form, and how much it selected.
    selected: Option<(&'static str, usize)>,
}

impl From<Value> for Done {
    fn from(result: Value) -> Self {
        Self {
            result,
            selected: None,
        }
    }
}

/// The parameters of an operation.
struct Given<'a> {
    input: &'a Value,
    operation: &'static str,
}

impl<'a> Given<'a> {
    fn path(&self) -> Result<Path, Problem> {
        let operation = self.operation;
        let path = self.input.get("path").and_then(Value::as_str);
        Path::read(path.ok_or(Problem::PathMissing { operation })?, "/path")
    }

    /// A parameter the operation cannot do without.
    fn needed(&self, parameter: &'static str, example: Value) -> Result<&'a Value, Problem> {
        self.input.get(parameter).ok_or(Problem::Missing {
            operation: self.operation,
            parameter,
            example,
        })
    }

    fn items<'d>(&self, document: &'d Document<'_>) -> Result<&'d [Value], Problem> {
        let items = document.value.as_array().map(Vec::as_slice);
        items.ok_or_else(|| self.wrong_data(document, "a list"))
    }

    fn keys(&self) -> Result<HashSet<&'a str>, Problem> {
        let example = || json!(["id", "name"]);
        let keys = self.needed("keys", example())?.as_array();
        let keys: HashSet<&str> = keys
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if keys.is_empty() {
            return Err(Problem::Missing {
                operation: self.operation,
                parameter: "keys",
                example: example(),
            });
        }
        Ok(keys)
    }

    fn condition(&self) -> Result<Condition<'a>, Problem> {
        let example = json!({"field": "status", "operator": "eq", "value": "open"});
        let condition = self.needed("condition", example)?;
        let text = |name: &str| condition.get(name).and_then(Value::as_str);
        let field = Field::read(
            text("field").unwrap_or_default(),
            "/condition/field",
            self.operation,
        )?;
        let named = OPERATORS
            .iter()
            .find(|(word, _)| Some(*word) == text("operator"));
        Ok(Condition {
            field,
            operator: named.unwrap_or(&OPERATORS[0]).1,
            value: condition.get("value").unwrap_or(&Value::Null),
        })
    }

    fn wrong_data(&self, document: &Document<'_>, expected: &'static str) -> Problem {
        Problem::WrongType {
            operation: self.operation,
            pointer: "/data".to_owned(),
            expected,
            found: type_name(&document.value),
        }
    }
}

fn extract(given: &Given<'_>, document: &Document<'_>) -> Result<Done, Problem> {
    let path = given.path()?;
    path.affordable(document)?;
    let mut room = Room::default();
    let done = path.select([&*document.value], |found| {
        let (form, result) = match found.first() {
            _ if !path.is_singular() => ("list", room.listed(&found)?),
            Some(value) => ("value", room.copied(value)?),
            None => return Err(path.not_found(&document.value)),
        };
        let selected = Some((form, found.len()));
        Ok(Done { result, selected })
    })?;
    Ok(done.into_iter().next().expect("one part gives one result"))
}

fn map(given: &Given<'_>, document: &Document<'_>) -> Result<Done, Problem> {
    let path = given.path()?;
    let items = given.items(document)?;
    path.affordable(document)?;
    let mut room = Room::default();
    let mapped = path.select(items, |found| match found.first() {
        _ if !path.is_singular() => room.listed(&found),
        Some(value) => room.copied(value),
        None => Ok(Value::Null),
    })?;
    Ok(Value::from(mapped).into())
}

fn filter(given: &Given<'_>, document: &Document<'_>) -> Result<Done, Problem> {
    let condition = given.condition()?;
    let items = given.items(document)?.iter().enumerate();
    let met = items.filter_map(|(index, item)| match condition.is_met(index, item) {
        Ok(met) => met.then(|| Ok(item.clone())),
        Err(problem) => Some(Err(problem)),
    });
    Ok(met.collect::<Result<Value, Problem>>()?.into())
}

fn pick(given: &Given<'_>, document: &Document<'_>) -> Result<Done, Problem> {
    let picked = Members::Kept.of(&document.value, &given.keys()?, given.operation);
    picked.map(Done::from)
}

fn omit(given: &Given<'_>, document: &Document<'_>) -> Result<Done, Problem> {
    let kept = Members::LeftOut.of(&document.value, &given.keys()?, given.operation);
    kept.map(Done::from)
}

fn merge(given: &Given<'_>, document: &Document<'_>) -> Result<Done, Problem> {
    let added = given.needed("merge_with", json!({"status": "open"}))?;
    let added = Document::read(added, "merge_with")?;
    match (&*document.value, &*added.value) {
        (Value::Object(first), Value::Object(second)) => Ok(merged(first, second).into()),
        _ => Err(given.wrong_data(document, "an object")),
    }
}

fn flatten(given: &Given<'_>, document: &Document<'_>) -> Result<Done, Problem> {
    let depth = given
        .input
        .get("depth")
        .and_then(Value::as_u64)
        .unwrap_or(1);
    let levels = usize::try_from(depth).unwrap_or(DEPTH_LIMIT);
    let items = flattened(given.items(document)?, levels)?;
    Ok(Value::from(items).into())
}

fn sort(given: &Given<'_>, document: &Document<'_>) -> Result<Done, Problem> {
    let field = match given.input.get("sort_key").and_then(Value::as_str) {
        Some(key) => Field::read(key, "/sort_key", given.operation)?,
        None => Field::Whole,
    };
    let descending = given.input.get("sort_order") == Some(&Value::from("desc"));
    let items = sorted(given.items(document)?, &field, descending)?;
    Ok(Value::from(items).into())
}

fn validate(given: &Given<'_>, document: &Document<'_>) -> Result<Done, Problem> {
    let schema = given.needed("schema", json!({"type": "object", "required": ["id"]}))?;
    check(document, schema)?;
    Ok(document.value.clone().into_owned().into())
}

/// How much a result may still grow. A path can select the same part of the data many times.
struct Room {
    bytes: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { bytes: BYTES_LIMIT }
    }
}

impl Room {
    fn copied(&mut self, value: &Value) -> Result<Value, Problem> {
        let bytes = bytes_within(value, self.bytes).ok_or(Problem::ResultTooLarge)?;
        self.bytes -= bytes;
        Ok(value.clone())
    }

    fn listed(&mut self, values: &[&Value]) -> Result<Value, Problem> {
        if values.len() > ITEMS_LIMIT {
            let items = values.len();
            return Err(Problem::ResultTooLong { items });
        }
        values.iter().map(|value| self.copied(value)).collect()
    }
}
