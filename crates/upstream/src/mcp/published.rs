//! From the tools a server lists to operations.
//!
//! Nothing is dropped silently: what cannot be used is left out with a warning that names the tool.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use panpan_contract::operation::{OperationName, OperationSpec, OperationType};
use panpan_failure::{Code, ErrorDefinition, Kind};
use panpan_runtime::{Context, Problem, Problems, Registry};
use serde_json::{Value, json};

use super::settings::McpNames;
use super::{names, output};

/// The extension of an operation that holds the name of its tool.
pub const TOOL_EXTENSION: &str = "x-mcp-tool";

/// The extension of an operation that holds what else its server says of its tool, for clients that list tools:
/// `order`, its place in the server's list; `name`, where it is known by the server's name for it; and `title`,
/// `annotations`, `icons` and `_meta` as the server wrote them.
pub const DEFINITION_EXTENSION: &str = "x-mcp-definition";

/// What a definition repeats of a listed tool.
const DEFINED: [&str; 4] = ["title", "annotations", "icons", "_meta"];

/// Where a panpan publishes the failures of a tool.
const ERRORS_META_KEY: &str = "dev.panpan/errors";

/// The argument a panpan adds to tools that change something.
const KEY_ARGUMENT: &str = "idempotency_key";

/// The most failures of one tool that are read.
pub const ERRORS_LIMIT: usize = 200;

/// Something about a server that could not be used as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpWarning {
    /// The tool, by its name at the server.
    pub tool: String,
    /// What about it.
    pub problem: String,
}

impl fmt::Display for McpWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "tool {:?}: {}", self.tool, self.problem)
    }
}

/// A tool as an operation.
#[derive(Clone, Debug)]
pub(super) struct Published {
    /// Its name at the server.
    pub(super) tool: String,
    pub(super) spec: OperationSpec,
    pub(super) has_output_schema: bool,
}

/// The operations of these tools, in the order of their names.
pub(super) fn operations(
    namespace: &str,
    tools: &[Value],
    by_panpan: bool,
    names: McpNames,
) -> (Vec<Published>, Vec<McpWarning>) {
    let mut reading = Reading {
        namespace,
        by_panpan,
        names,
        first: BTreeMap::new(),
        warnings: Vec::new(),
    };
    let named = reading.named(tools);
    let steps = names::steps(namespace, named.keys().copied());
    let made = named.iter().map(|(tool, (order, listed))| {
        let step = steps.get(tool).map_or(*tool, String::as_str);
        reading.operation(tool, step, *order, listed)
    });
    let mut made: Vec<Published> = made.flatten().collect();
    reading.mend_schemas(&mut made);
    made.sort_by(|one, other| one.spec.name.cmp(&other.spec.name));
    (made, reading.warnings)
}

struct Reading<'a> {
    namespace: &'a str,
    by_panpan: bool,
    names: McpNames,
    /// The facts a code was first published with.
    first: BTreeMap<Code, Kind>,
    warnings: Vec<McpWarning>,
}

impl Reading<'_> {
    fn warn(&mut self, tool: &str, problem: impl Into<String>) {
        self.warnings.push(McpWarning {
            tool: tool.to_owned(),
            problem: problem.into(),
        });
    }

    /// The tools by their names, each with its place in the list.
    fn named<'t>(&mut self, tools: &'t [Value]) -> BTreeMap<&'t str, (usize, &'t Value)> {
        let mut named = BTreeMap::new();
        for (order, tool) in tools.iter().enumerate() {
            let Some(name) = tool.get("name").and_then(Value::as_str) else {
                self.warn("", "it has no name and is left out");
                continue;
            };
            if named.contains_key(name) {
                self.warn(name, "it is listed twice; only the first one counts");
            } else {
                named.insert(name, (order, tool));
            }
        }
        named
    }

    fn operation(
        &mut self,
        tool: &str,
        step: &str,
        order: usize,
        listed: &Value,
    ) -> Option<Published> {
        let name = OperationName::new(&format!("{}/{step}", self.namespace));
        let Ok(name) = name else {
            self.warn(tool, "no operation can be named after it");
            return None;
        };
        let hint =
            |name: &str| listed.pointer(&format!("/annotations/{name}")) == Some(&json!(true));
        let op_type = match hint("readOnlyHint") {
            true => OperationType::Query,
            false => OperationType::Mutation,
        };
        let mut spec = OperationSpec::new(name, op_type);
        spec.idempotency.idempotent = op_type == OperationType::Mutation && hint("idempotentHint");
        let text = |pointer: &str| Some(listed.pointer(pointer)?.as_str()?.to_owned());
        spec.title = text("/title").or_else(|| text("/annotations/title"));
        spec.error_schemas = self.errors(tool, listed);
        spec.description = text("/description").map(|text| described(text, &spec));
        spec.input_schema = self.input_schema(tool, listed);
        let declared = listed
            .get("outputSchema")
            .filter(|schema| schema.is_object());
        spec.output_schema = output::schema(declared);
        let definition = self.definition_of(tool, order, listed);
        for (name, value) in [
            (TOOL_EXTENSION, tool.into()),
            (DEFINITION_EXTENSION, definition),
        ] {
            let kept = spec.extensions.insert(name, value);
            kept.expect("the name starts as extensions do");
        }
        Some(Published {
            tool: tool.to_owned(),
            spec,
            has_output_schema: declared.is_some(),
        })
    }

    /// What clients that list tools are shown of this one as the server wrote it.
    fn definition_of(&self, tool: &str, order: usize, listed: &Value) -> Value {
        let mut definition = json!({"order": order});
        if self.names == McpNames::Own {
            definition["name"] = tool.into();
        }
        for name in DEFINED {
            if let Some(stated) = listed.get(name) {
                definition[name] = stated.clone();
            }
        }
        definition
    }

    fn input_schema(&mut self, tool: &str, listed: &Value) -> Value {
        let Some(Value::Object(schema)) = listed.get("inputSchema") else {
            self.warn(tool, "it has no input schema; it is given anything");
            return json!({"type": "object"});
        };
        let mut schema = schema.clone();
        // Whoever calls gives the key in the way of its own protocol; it is handed on in `_meta`.
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = required.is_some_and(|names| names.iter().any(|it| it == KEY_ARGUMENT));
        if self.by_panpan
            && !is_required
            && let Some(Value::Object(properties)) = schema.get_mut("properties")
        {
            properties.remove(KEY_ARGUMENT);
        }
        Value::Object(schema)
    }

    /// The failures a tool publishes. A code that contradicts what is known of it is left out, so that
    /// it means the same everywhere.
    fn errors(&mut self, tool: &str, listed: &Value) -> Vec<ErrorDefinition> {
        let published = listed
            .get("_meta")
            .and_then(|meta| meta.get(ERRORS_META_KEY));
        let Some(Value::Array(published)) = published else {
            return Vec::new();
        };
        if published.len() > ERRORS_LIMIT {
            let problem = format!("only the first {ERRORS_LIMIT} of its failures are known here");
            self.warn(tool, problem);
        }
        let mut seen = BTreeSet::new();
        let mut definitions = Vec::new();
        for published in published.iter().take(ERRORS_LIMIT) {
            match self.definition(published) {
                Ok(definition) if seen.insert(definition.code.clone()) => {
                    definitions.push(definition);
                }
                Ok(_) => {}
                Err(problem) => self.warn(tool, problem),
            }
        }
        definitions
    }

    fn definition(&mut self, published: &Value) -> Result<ErrorDefinition, String> {
        let definition: ErrorDefinition = serde_json::from_value(published.clone())
            .map_err(|error| format!("a failure it publishes cannot be read: {error}"))?;
        let code = &definition.code;
        let kind = definition.kind().map_err(|problems| {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            format!("its failure {code} is left out: {}", problems.join("; "))
        })?;
        let first = self
            .first
            .entry(code.clone())
            .or_insert_with(|| kind.clone());
        match first.disagreements(&kind).next() {
            None => Ok(definition),
            Some((fact, one, other)) => Err(format!(
                "its failure {code} is left out: its {} is {other} here and {one} elsewhere",
                fact.word()
            )),
        }
    }

    /// A number of JSON-RPC that says which code it is can be that of one code only.
    fn drop_shared_numbers(&mut self, made: &mut [Published], problems: Problems) {
        for problem in problems.0 {
            let Problem::SharedNumber {
                operation, code, ..
            } = &problem
            else {
                continue;
            };
            let Some(sharing) = made.iter_mut().find(|it| it.spec.name == *operation) else {
                continue;
            };
            sharing.spec.error_schemas.retain(|it| it.code != *code);
            let tool = sharing.tool.clone();
            self.warn(&tool, format!("its failure {code} is left out: {problem}"));
        }
    }

    /// A schema that does not compile would refuse every call; it counts as none.
    fn mend_schemas(&mut self, made: &mut [Published]) {
        let registry = match registry(made) {
            Ok(registry) => registry,
            Err(problems) => {
                self.drop_shared_numbers(made, problems);
                registry(made).unwrap_or_default()
            }
        };
        for problem in registry.schema_problems() {
            let Problem::Schema {
                operation,
                of,
                problem,
            } = problem
            else {
                continue;
            };
            let Some(broken) = made.iter_mut().find(|it| it.spec.name == operation) else {
                continue;
            };
            mend(broken, &of);
            let tool = broken.tool.clone();
            self.warn(
                &tool,
                format!("the schema of {of} does not compile and is not used: {problem}"),
            );
        }
    }
}

fn registry(made: &[Published]) -> Result<Registry, Problems> {
    let specs = made.iter().map(|it| it.spec.clone());
    let builder = specs.fold(Registry::builder(), |builder, spec| {
        builder.register(spec, unused)
    });
    builder.build()
}

fn mend(broken: &mut Published, of: &str) {
    match of {
        "the input" => broken.spec.input_schema = json!({"type": "object"}),
        "the output" => {
            broken.spec.output_schema = output::schema(None);
            broken.has_output_schema = false;
        }
        _ => {
            let definitions = broken.spec.error_schemas.iter_mut();
            for definition in definitions.filter(|it| it.code.as_str() == of) {
                definition.schema = json!({});
            }
        }
    }
}

async fn unused(
    _: Context,
    input: std::sync::Arc<Value>,
) -> Result<std::sync::Arc<Value>, panpan_failure::Failure> {
    Ok(input)
}

/// The description without the line of codes a panpan adds: it is added again where it is shown.
fn described(text: String, spec: &OperationSpec) -> String {
    match text.rsplit_once('\n') {
        Some((before, last)) if !spec.error_schemas.is_empty() && last.starts_with("Errors: ") => {
            before.to_owned()
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests;
