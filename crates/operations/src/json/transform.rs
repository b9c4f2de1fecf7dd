//! The operations of `json/transform` and their parameters. The contract is in `contract`.

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
use super::members::{Members, flattened, merged};
use super::path::Path;
use super::problem::Problem;
use super::schema::check;

/// The function of an operation.
type Run = fn(&Parameters<'_>, &Document<'_>) -> Result<Output, Problem>;

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

/// Runs on a blocking thread, because a large document takes a while.
pub(super) async fn run(_: Context, input: Arc<Value>) -> Result<Value, Failure> {
    let work = tokio::task::spawn_blocking(move || transform(&input));
    match work.await {
        Ok(output) => output.map_err(Failure::from),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(error) => Err(untyped(&error)),
        },
    }
}

/// Expects an input that matches its schema.
fn transform(input: &Value) -> Result<Value, Problem> {
    let name = input["operation"].as_str().unwrap_or_default();
    let (operation, run) = OPERATIONS
        .into_iter()
        .find(|(known, _)| *known == name)
        .expect("the schema lists the operations");
    let document = Document::read(&input["data"], "data")?;
    let transformed = run(&Parameters { input, operation }, &document)?;
    let output_size = canonical_json(&transformed.result).len();
    if output_size > BYTES_LIMIT {
        return Err(Problem::ResultTooLarge);
    }
    let mut output = json!({
        "result_hash": hex(&digest(&transformed.result)),
        "operation": operation,
        "input_size": document.bytes,
        "output_size": output_size,
    });
    if let Some((form, matches)) = transformed.selected {
        output["form"] = form.into();
        output["matches"] = matches.into();
    }
    output["result"] = transformed.result;
    Ok(output)
}

/// The result of an operation.
struct Output {
    result: Value,
    /// For a path: the form of the result, and the number of selected values.
    selected: Option<(&'static str, usize)>,
}

impl From<Value> for Output {
    fn from(result: Value) -> Self {
        Self {
            result,
            selected: None,
        }
    }
}

/// The parameters of an operation.
struct Parameters<'a> {
    input: &'a Value,
    operation: &'static str,
}

impl<'a> Parameters<'a> {
    fn path(&self) -> Result<Path, Problem> {
        let operation = self.operation;
        let path = self.input.get("path").and_then(Value::as_str);
        Path::read(path.ok_or(Problem::PathMissing { operation })?, "/path")
    }

    /// A required parameter.
    fn required(&self, parameter: &'static str, example: Value) -> Result<&'a Value, Problem> {
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
        let keys = self.required("keys", example())?.as_array();
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
        let condition = self.required("condition", example)?;
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

fn extract(parameters: &Parameters<'_>, document: &Document<'_>) -> Result<Output, Problem> {
    let path = parameters.path()?;
    path.check_work(document)?;
    let mut space = RemainingSpace::default();
    let outputs = path.select([&*document.value], |found| {
        let (form, result) = match found.first() {
            _ if !path.is_singular() => ("list", space.list(&found)?),
            Some(value) => ("value", space.copy(value)?),
            None => return Err(path.not_found(&document.value)),
        };
        let selected = Some((form, found.len()));
        Ok(Output { result, selected })
    })?;
    Ok(outputs
        .into_iter()
        .next()
        .expect("one part gives one result"))
}

fn map(parameters: &Parameters<'_>, document: &Document<'_>) -> Result<Output, Problem> {
    let path = parameters.path()?;
    let items = parameters.items(document)?;
    path.check_work(document)?;
    let mut space = RemainingSpace::default();
    let mapped = path.select(items, |found| match found.first() {
        _ if !path.is_singular() => space.list(&found),
        Some(value) => space.copy(value),
        None => Ok(Value::Null),
    })?;
    Ok(Value::from(mapped).into())
}

fn filter(parameters: &Parameters<'_>, document: &Document<'_>) -> Result<Output, Problem> {
    let condition = parameters.condition()?;
    let items = parameters.items(document)?.iter().enumerate();
    let met = items.filter_map(|(index, item)| match condition.is_met(index, item) {
        Ok(met) => met.then(|| Ok(item.clone())),
        Err(problem) => Some(Err(problem)),
    });
    Ok(met.collect::<Result<Value, Problem>>()?.into())
}

fn pick(parameters: &Parameters<'_>, document: &Document<'_>) -> Result<Output, Problem> {
    let picked = Members::Kept.of(&document.value, &parameters.keys()?, parameters.operation);
    picked.map(Output::from)
}

fn omit(parameters: &Parameters<'_>, document: &Document<'_>) -> Result<Output, Problem> {
    let kept = Members::Omitted.of(&document.value, &parameters.keys()?, parameters.operation);
    kept.map(Output::from)
}

fn merge(parameters: &Parameters<'_>, document: &Document<'_>) -> Result<Output, Problem> {
    let added = parameters.required("merge_with", json!({"status": "open"}))?;
    let added = Document::read(added, "merge_with")?;
    match (&*document.value, &*added.value) {
        (Value::Object(first), Value::Object(second)) => Ok(merged(first, second).into()),
        _ => Err(parameters.wrong_data(document, "an object")),
    }
}

fn flatten(parameters: &Parameters<'_>, document: &Document<'_>) -> Result<Output, Problem> {
    let depth = parameters
        .input
        .get("depth")
        .and_then(Value::as_u64)
        .unwrap_or(1);
    let levels = usize::try_from(depth).unwrap_or(DEPTH_LIMIT);
    let items = flattened(parameters.items(document)?, levels)?;
    Ok(Value::from(items).into())
}

fn sort(parameters: &Parameters<'_>, document: &Document<'_>) -> Result<Output, Problem> {
    let field = match parameters.input.get("sort_key").and_then(Value::as_str) {
        Some(key) => Field::read(key, "/sort_key", parameters.operation)?,
        None => Field::Whole,
    };
    let descending = parameters.input.get("sort_order") == Some(&Value::from("desc"));
    let items = sorted(parameters.items(document)?, &field, descending)?;
    Ok(Value::from(items).into())
}

fn validate(parameters: &Parameters<'_>, document: &Document<'_>) -> Result<Output, Problem> {
    let schema = parameters.required("schema", json!({"type": "object", "required": ["id"]}))?;
    check(document, schema)?;
    Ok(document.value.clone().into_owned().into())
}

/// How much a result may still grow: a path can select the same part of the data many times.
struct RemainingSpace {
    bytes: usize,
}

impl Default for RemainingSpace {
    fn default() -> Self {
        Self { bytes: BYTES_LIMIT }
    }
}

impl RemainingSpace {
    fn copy(&mut self, value: &Value) -> Result<Value, Problem> {
        let bytes = bytes_within(value, self.bytes).ok_or(Problem::ResultTooLarge)?;
        self.bytes -= bytes;
        Ok(value.clone())
    }

    fn list(&mut self, values: &[&Value]) -> Result<Value, Problem> {
        if values.len() > ITEMS_LIMIT {
            let items = values.len();
            return Err(Problem::ResultTooLong { items });
        }
        values.iter().map(|value| self.copy(value)).collect()
    }
}
