//! Imports the tools that a server lists as operations.
//!
//! Nothing is dropped silently: every tool or part of a tool that cannot be used is reported in a
//! warning.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use panpan_contract::operation::{OperationName, OperationSpec, OperationType};
use panpan_failure::{Code, ErrorDefinition, Kind};
use panpan_mcp::names::{DEFINITION_EXTENSION, ERRORS_META_KEY, KEY_ARGUMENT, TOOL_EXTENSION};
use panpan_mcp::output;
use panpan_runtime::{Context, Registry, RegistryProblem, RegistryProblems};
use serde_json::{Value, json};

use super::incoming::REQUIRES_TASK_META_KEY;
use super::operation_names;
use super::settings::McpNames;

/// The members that a definition copies from a listed tool.
const COPIED_MEMBERS: [&str; 4] = ["title", "annotations", "icons", "_meta"];

/// The largest number of failures that are imported per tool.
pub const ERRORS_LIMIT: usize = 200;

/// A tool, or a part of a tool, that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpWarning {
    /// The name of the tool at the server.
    pub tool: String,
    /// The problem.
    pub problem: String,
}

impl fmt::Display for McpWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "tool {:?}: {}", self.tool, self.problem)
    }
}

/// A tool that was imported as an operation.
#[derive(Clone, Debug)]
pub(super) struct ImportedTool {
    /// Its name at the server.
    pub(super) tool: String,
    pub(super) spec: OperationSpec,
    pub(super) has_output_schema: bool,
}

/// Imports tools as operations, ordered by name.
pub(super) fn operations(
    namespace: &str,
    tools: &[Value],
    by_panpan: bool,
    names: McpNames,
) -> (Vec<ImportedTool>, Vec<McpWarning>) {
    let mut importer = Importer {
        namespace,
        by_panpan,
        names,
        first: BTreeMap::new(),
        warnings: Vec::new(),
    };
    let named = importer.by_name(tools);
    let segments = operation_names::segments(namespace, named.keys().copied());
    let imported = named.iter().map(|(tool, (order, listed))| {
        let segment = segments.get(tool).map_or(*tool, String::as_str);
        importer.import(tool, segment, *order, listed)
    });
    let mut imported: Vec<ImportedTool> = imported.flatten().collect();
    importer.replace_invalid_schemas(&mut imported);
    imported.sort_by(|one, other| one.spec.name.cmp(&other.spec.name));
    (imported, importer.warnings)
}

struct Importer<'a> {
    namespace: &'a str,
    by_panpan: bool,
    names: McpNames,
    /// The facts with which a code was first published.
    first: BTreeMap<Code, Kind>,
    warnings: Vec<McpWarning>,
}

impl Importer<'_> {
    fn warn(&mut self, tool: &str, problem: impl Into<String>) {
        self.warnings.push(McpWarning {
            tool: tool.to_owned(),
            problem: problem.into(),
        });
    }

    /// The tools by name, each with its position in the list.
    fn by_name<'t>(&mut self, tools: &'t [Value]) -> BTreeMap<&'t str, (usize, &'t Value)> {
        let mut named = BTreeMap::new();
        for (order, tool) in tools.iter().enumerate() {
            let Some(name) = tool.get("name").and_then(Value::as_str) else {
                self.warn("", "has no name; left out");
                continue;
            };
            if named.contains_key(name) {
                self.warn(name, "is listed twice; only the first one is used");
            } else {
                named.insert(name, (order, tool));
            }
        }
        named
    }

    fn import(
        &mut self,
        tool: &str,
        segment: &str,
        order: usize,
        listed: &Value,
    ) -> Option<ImportedTool> {
        let name = OperationName::new(&format!("{}/{segment}", self.namespace));
        let Ok(name) = name else {
            self.warn(
                tool,
                "its name cannot become part of an operation name; left out",
            );
            return None;
        };
        if listed
            .pointer("/_meta")
            .and_then(|it| it.get(REQUIRES_TASK_META_KEY))
            .is_some()
        {
            self.warn(
                tool,
                "can only be called as a task, which panpan does not support; left out",
            );
            return None;
        }
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
        spec.description = text("/description").map(|text| without_codes(text, &spec));
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
            kept.expect("the name has the prefix of extensions");
        }
        Some(ImportedTool {
            tool: tool.to_owned(),
            spec,
            has_output_schema: declared.is_some(),
        })
    }

    /// The members of the tool that clients are shown as the server wrote them.
    fn definition_of(&self, tool: &str, order: usize, listed: &Value) -> Value {
        let mut definition = json!({"order": order});
        if self.names == McpNames::Own {
            definition["name"] = tool.into();
        }
        for name in COPIED_MEMBERS {
            if let Some(stated) = listed.get(name) {
                definition[name] = stated.clone();
            }
        }
        definition
    }

    fn input_schema(&mut self, tool: &str, listed: &Value) -> Value {
        let Some(Value::Object(schema)) = listed.get("inputSchema") else {
            self.warn(tool, "has no input schema; any object is accepted");
            return json!({"type": "object"});
        };
        let mut schema = schema.clone();
        // Callers send the key in the way of their own protocol; it is forwarded in `_meta`.
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

    /// The failures that a tool publishes. A code with contradicting facts is left out, so that a
    /// code means the same everywhere.
    fn errors(&mut self, tool: &str, listed: &Value) -> Vec<ErrorDefinition> {
        let published = listed
            .get("_meta")
            .and_then(|meta| meta.get(ERRORS_META_KEY));
        let Some(Value::Array(published)) = published else {
            return Vec::new();
        };
        if published.len() > ERRORS_LIMIT {
            let problem = format!("only the first {ERRORS_LIMIT} of its failures are imported");
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
            .map_err(|error| format!("a published failure is invalid: {error}"))?;
        let code = &definition.code;
        let kind = definition.kind().map_err(|problems| {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            format!("failure {code} is left out: {}", problems.join("; "))
        })?;
        let first = self
            .first
            .entry(code.clone())
            .or_insert_with(|| kind.clone());
        match first.disagreements(&kind).next() {
            None => Ok(definition),
            Some((fact, one, other)) => Err(format!(
                "failure {code} is left out: its {} is {other} here and {one} in another tool",
                fact.word()
            )),
        }
    }

    /// A JSON-RPC number that identifies a code must belong to one code only.
    fn drop_shared_numbers(&mut self, imported: &mut [ImportedTool], problems: RegistryProblems) {
        for problem in problems.0 {
            let RegistryProblem::SharedNumber {
                operation, code, ..
            } = &problem
            else {
                continue;
            };
            let Some(sharing) = imported.iter_mut().find(|it| it.spec.name == *operation) else {
                continue;
            };
            sharing.spec.error_schemas.retain(|it| it.code != *code);
            let tool = sharing.tool.clone();
            self.warn(&tool, format!("failure {code} is left out: {problem}"));
        }
    }

    /// A schema that does not compile would refuse every call; it is replaced by one that accepts
    /// anything.
    fn replace_invalid_schemas(&mut self, imported: &mut [ImportedTool]) {
        let registry = match registry(imported) {
            Ok(registry) => registry,
            Err(problems) => {
                self.drop_shared_numbers(imported, problems);
                registry(imported).unwrap_or_default()
            }
        };
        for problem in registry.schema_problems() {
            let RegistryProblem::Schema {
                operation,
                of,
                problem,
            } = problem
            else {
                continue;
            };
            let Some(invalid) = imported.iter_mut().find(|it| it.spec.name == operation) else {
                continue;
            };
            replace_schema(invalid, &of);
            let tool = invalid.tool.clone();
            self.warn(
                &tool,
                format!("the schema of {of} does not compile and is ignored: {problem}"),
            );
        }
    }
}

fn registry(imported: &[ImportedTool]) -> Result<Registry, RegistryProblems> {
    let specs = imported.iter().map(|it| it.spec.clone());
    let builder = specs.fold(Registry::builder(), |builder, spec| {
        builder.register(spec, unused)
    });
    builder.build()
}

fn replace_schema(invalid: &mut ImportedTool, of: &str) {
    match of {
        "the input" => invalid.spec.input_schema = json!({"type": "object"}),
        "the output" => {
            invalid.spec.output_schema = output::schema(None);
            invalid.has_output_schema = false;
        }
        _ => {
            let definitions = invalid.spec.error_schemas.iter_mut();
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

/// The description without the line of codes that a panpan adds; it is added again when the tool is
/// listed.
fn without_codes(text: String, spec: &OperationSpec) -> String {
    match text.rsplit_once('\n') {
        Some((before, last)) if !spec.error_schemas.is_empty() && last.starts_with("Errors: ") => {
            before.to_owned()
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests;
