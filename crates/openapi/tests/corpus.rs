//! Imports whole documents: those in `documents`, and all in the folder named by PANPAN_OPENAPI_CORPUS. A
//! separate walk over the document, independent of the import, checks the result.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails here")]
#![allow(clippy::print_stdout, reason = "the figures are read with --nocapture")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use panpan_contract::binding::HttpBinding;
use panpan_contract::contract_file::{self, ContractFile};
use panpan_contract::operation::OperationSpec;
use panpan_openapi::{Import, ImportOptions, OTHER_RESPONSES_EXTENSION, Warning, import, parse};
use serde_json::{Value, json};

const METHODS: [&str; 9] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace", "query",
];

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    let is_document = |it: &PathBuf| {
        let extension = it.extension().unwrap_or_default();
        ["json", "yaml", "yml"]
            .iter()
            .any(|known| extension == *known)
    };
    files.retain(is_document);
    files.sort();
    files
}

/// The documents of these tests, and those of the corpus if it is set.
fn documents() -> Vec<(String, Value)> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents");
    let corpus = std::env::var_os("PANPAN_OPENAPI_CORPUS").map(PathBuf::from);
    let folders = [own].into_iter().chain(corpus);
    let files = folders.flat_map(|folder| {
        let found = files(&folder);
        assert!(!found.is_empty(), "{} has no documents", folder.display());
        found
    });
    files
        .map(|file| {
            let document = parse(&std::fs::read(&file).unwrap());
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            (name, document.unwrap())
        })
        .collect()
}

/// Resolves references in the simplest way.
fn resolved<'a>(document: &'a Value, value: &'a Value) -> Option<&'a Value> {
    let mut value = value;
    while let Some(reference) = value["$ref"].as_str() {
        let pointer = reference
            .strip_prefix('#')?
            .replace("%7B", "{")
            .replace("%7D", "}");
        value = document.pointer(&pointer)?;
    }
    Some(value)
}

/// Every operation of a document, by method and path.
fn raw_operations(document: &Value) -> BTreeMap<(String, String), &Value> {
    let mut found = BTreeMap::new();
    let paths = document["paths"].as_object().unwrap().iter();
    for (path, item) in paths.filter(|(path, _)| !path.starts_with("x-")) {
        let path = format!("/{}", path.trim_start_matches('/'));
        let item = resolved(document, item).unwrap();
        for method in METHODS.iter().filter(|it| item[**it].is_object()) {
            found.insert((method.to_uppercase(), path.clone()), &item[*method]);
        }
        for (method, operation) in item["additionalOperations"]
            .as_object()
            .into_iter()
            .flatten()
        {
            found.insert((method.clone(), path.clone()), operation);
        }
    }
    found
}

fn by_request(import: &Import) -> BTreeMap<(String, String), &OperationSpec> {
    let operations = import.operations.iter().map(|spec| {
        let binding = HttpBinding::of(spec).unwrap().unwrap();
        ((binding.method, binding.path), spec)
    });
    operations.collect()
}

fn is_status(key: &str) -> bool {
    let is_number = key.parse().is_ok_and(|it: u16| (100..600).contains(&it));
    is_number || ["4XX", "5XX", "DEFAULT"].contains(&key.to_uppercase().as_str())
}

/// Checks that every response other than success was imported; returns the number of failures.
fn check_responses(
    document: &Value,
    raw: &Value,
    spec: &OperationSpec,
    warnings: &[Warning],
) -> usize {
    let mut failures = 0;
    for (status, response) in raw["responses"].as_object().into_iter().flatten() {
        if status.starts_with('2') || status.starts_with("x-") {
            continue;
        }
        let response = resolved(document, response);
        let described = response.and_then(|it| it["description"].as_str());
        let described = described.map(str::trim).filter(|it| !it.is_empty());
        if status.starts_with(['1', '3']) {
            let others = spec.extensions.get(OTHER_RESPONSES_EXTENSION).unwrap();
            assert!(others.get(status).is_some(), "{} {status}", spec.name);
            continue;
        }
        if !is_status(status) {
            let pointer = format!("/responses/{status}");
            assert!(
                warnings.iter().any(|it| it.pointer.ends_with(&pointer)),
                "{status}"
            );
            continue;
        }
        failures += 1;
        let code = format!("HTTP_{}", status.to_uppercase());
        let definition = spec.definition(&code);
        let definition = definition.unwrap_or_else(|| panic!("{} lost {status}", spec.name));
        let pattern = definition.http_status.unwrap().to_string();
        assert!(
            pattern.eq_ignore_ascii_case(status),
            "{} {status}",
            spec.name
        );
        assert!(!definition.description.trim().is_empty());
        if let Some(described) = described {
            assert_eq!(definition.description, described, "{} {status}", spec.name);
        }
        let types = response.and_then(|it| it["content"].as_object());
        let has_schema =
            |media: &Value| media["schema"].as_object().is_some_and(|it| !it.is_empty());
        if types.is_some_and(|types| types.values().any(has_schema)) {
            assert_ne!(definition.schema, json!({}), "{} {status}", spec.name);
        }
    }
    failures
}

/// The member names of a body, without those of combined schemas.
fn member_names<'a>(document: &'a Value, schema: Option<&'a Value>) -> BTreeSet<&'a str> {
    let schema = schema.and_then(|it| resolved(document, it));
    let properties = schema.and_then(|it| it["properties"].as_object());
    let names = properties.into_iter().flat_map(|it| it.keys());
    names.map(String::as_str).collect()
}

/// Checks that the members of every described JSON body of a failure were imported.
fn check_details(document: &Value, raw: &Value, spec: &OperationSpec, definitions: &Value) {
    for (status, response) in raw["responses"].as_object().into_iter().flatten() {
        let code = format!("HTTP_{}", status.to_uppercase());
        let Some(definition) = spec.definition(&code) else {
            continue;
        };
        let response = resolved(document, response);
        let body = response.and_then(|it| it["content"]["application/json"].get("schema"));
        let declared = member_names(document, body);
        let schema = &definition.schema;
        let alternatives = schema["anyOf"].as_array().map(|it| it.iter().collect());
        let alternatives: Vec<_> = alternatives.unwrap_or_else(|| vec![schema]);
        let is_kept = |it| member_names(definitions, Some(it)).is_superset(&declared);
        assert!(
            alternatives.into_iter().any(is_kept),
            "{} {status}",
            spec.name
        );
    }
}

/// Checks that every described parameter is sent or reported.
fn check_parameters(document: &Value, raw: &Value, spec: &OperationSpec, warnings: &[Warning]) {
    let binding = HttpBinding::of(spec).unwrap().unwrap();
    let item = document["paths"].get(&binding.path);
    let item = item
        .and_then(|it| resolved(document, it))
        .unwrap_or(&Value::Null);
    let lists = [&item["parameters"], &raw["parameters"]].into_iter();
    let parameters = lists.flat_map(|it| it.as_array()).flatten();
    for parameter in parameters.filter_map(|it| resolved(document, it)) {
        let (Some(name), Some(place)) = (parameter["name"].as_str(), parameter["in"].as_str())
        else {
            continue;
        };
        let is_sent = binding.parameters.iter().any(|it| {
            let is_there = serde_json::to_value(it.place).unwrap() == place;
            is_there && it.wire_name.eq_ignore_ascii_case(name)
        });
        let key = binding.idempotency_header.as_deref();
        let is_reported = || {
            warnings
                .iter()
                .any(|it| it.pointer.contains("/parameters/") || it.message.contains(name))
        };
        assert!(
            is_sent || key == Some(name) || is_reported(),
            "{} {name}",
            spec.name
        );
    }
}

/// Checks that the members of the input are the same as the parts of the request.
fn check_input(spec: &OperationSpec) {
    let binding = HttpBinding::of(spec).unwrap().unwrap();
    let properties = spec.input_schema["properties"].as_object();
    let members: BTreeSet<_> = properties.into_iter().flat_map(|it| it.keys()).collect();
    let sent = binding.parameters.iter().map(|it| &it.name);
    let sent: Vec<_> = sent
        .chain(binding.body.iter().filter_map(|it| it.name.as_ref()))
        .collect();
    assert_eq!(members.len(), sent.len(), "{}", spec.name);
    assert_eq!(members, sent.into_iter().collect(), "{}", spec.name);
    for step in binding.path.split('{').skip(1) {
        let name = step.split('}').next().unwrap();
        let parameter = binding.parameters.iter().find(|it| it.wire_name == name);
        assert!(parameter.is_some(), "{} has no {name}", spec.name);
    }
}

/// All schemas of a contract as one schema, so that each definition is compiled once.
fn all_schemas(file: &ContractFile) -> Value {
    let mut schemas = Vec::new();
    for spec in &file.operations {
        schemas.extend([&spec.input_schema, &spec.output_schema]);
        schemas.extend(spec.error_schemas.iter().map(|it| &it.schema));
    }
    json!({"anyOf": schemas, "$defs": file.definitions})
}

fn check(name: &str, document: &Value) {
    let import = import(document, &ImportOptions::new("service")).unwrap();
    let raw = raw_operations(document);
    let found = by_request(&import);
    let requests = |it: &BTreeMap<(String, String), _>| it.keys().cloned().collect::<Vec<_>>();
    let found_requests: Vec<_> = found.keys().cloned().collect();
    assert_eq!(requests(&raw), found_requests, "{name}");
    assert_eq!(found.len(), import.operations.len(), "{name}");
    let names: BTreeSet<_> = import
        .operations
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(names.len(), found.len(), "{name}");
    let definitions = json!({"$defs": import.definitions});
    let mut failures = 0;
    for (request, spec) in &found {
        failures += check_responses(document, raw[request], spec, &import.warnings);
        check_details(document, raw[request], spec, &definitions);
        check_parameters(document, raw[request], spec, &import.warnings);
        check_input(spec);
    }
    assert_eq!(failures, import.summary.failures, "{name}");
    println!(
        "{name}: {} operations, {failures} failures, {} without, {} definitions, {} warnings",
        import.summary.operations,
        import.summary.without_failures,
        import.definitions.len(),
        import.warnings.len(),
    );
    let file = import.into_contract();
    let text = file.to_text();
    let checked = contract_file::check(text.as_bytes());
    assert_eq!(checked.as_ref().err(), None, "{name}");
    assert_eq!(checked.unwrap(), file, "{name}");
    let compiled = jsonschema::draft202012::options().build(&all_schemas(&file));
    assert!(compiled.is_ok(), "{name}: {}", compiled.unwrap_err());
}

#[test]
fn every_operation_failure_and_parameter_is_imported() {
    for (name, document) in documents() {
        check(&name, &document);
    }
}
