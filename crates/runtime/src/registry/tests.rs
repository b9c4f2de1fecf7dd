//! Problems of registries, all reported at once.

use panpan_contract::operation::OperationType;
use panpan_failure::{Category, ErrorDefinition, Failure};
use serde_json::json;

use super::*;
use crate::context::Context;

async fn nothing(_: Context, _: Arc<Value>) -> Result<Value, Failure> {
    Ok(Value::Null)
}

fn operation(name: &str, declared: &[(&str, Option<Category>)]) -> OperationSpec {
    let mut spec = OperationSpec::new(name.parse().unwrap(), OperationType::Query);
    spec.error_schemas = declared
        .iter()
        .map(|(code, category)| ErrorDefinition {
            category: *category,
            ..ErrorDefinition::new(Code::new((*code).to_owned()).unwrap(), "when it happens")
        })
        .collect();
    spec
}

fn check(specs: impl IntoIterator<Item = OperationSpec>, expected: &[&str]) {
    let builder = specs
        .into_iter()
        .fold(Registry::builder(), |builder, spec| {
            builder.register(spec, nothing)
        });
    let found: Vec<String> = match builder.build() {
        Ok(_) => Vec::new(),
        Err(RegistryProblems(problems)) => {
            problems.iter().map(RegistryProblem::to_string).collect()
        }
    };
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            found.contains(expected),
            "{found:?} does not say {expected:?}"
        );
    }
}

#[test]
fn operations_that_agree_are_accepted() {
    let full = ("DISK_FULL", Some(Category::Resource));
    check([operation("a/b", &[full]), operation("a/c", &[full])], &[]);
}

#[test]
fn the_order_of_arguments_names_each_property_once() {
    let ordered = |order: &[&str]| {
        let mut spec = operation("a/b", &[]);
        spec.input_schema = json!({"properties": {"from": {}, "to": {}}});
        spec.argument_order = order.iter().copied().map(str::to_owned).collect();
        spec
    };
    check([ordered(&["to", "from"])], &[]);
    check(
        [ordered(&["to", "form", "to"])],
        &[
            "form in argument_order: the input schema has no such",
            "to in argument_order: it is there twice",
        ],
    );
}

#[test]
fn all_problems_are_reported_at_once() {
    check(
        [
            operation(
                "a/b",
                &[("NOT_FOUND", None), ("DISK_FULL", Some(Category::Resource))],
            ),
            operation("a/b", &[("ERR_TIMEOUT", Some(Category::Permanent))]),
            operation(
                "a/c",
                &[
                    ("DISK_FULL", Some(Category::Transient)),
                    ("DISK_FULL", Some(Category::Transient)),
                ],
            ),
        ],
        &[
            "operation a/b: NOT_FOUND is reserved for the protocol",
            "the catalogue fixes category of ERR_TIMEOUT",
            "operation a/b is registered twice",
            "DISK_FULL has category RESOURCE in operation a/b and TRANSIENT in operation a/c",
            "DISK_FULL has retryable false",
            "DISK_FULL has remedy",
            "DISK_FULL has category",
            "DISK_FULL has retryable",
            "DISK_FULL has remedy",
            "operation a/c declares DISK_FULL twice",
        ],
    );
}

#[test]
fn a_number_belongs_to_one_code_and_a_code_has_one_number() {
    let numbered = |name, code, number| {
        let mut spec = operation(name, &[(code, None)]);
        spec.error_schemas[0].jsonrpc_code = number;
        spec
    };
    check(
        [
            numbered("a/b", "DISK_FULL", Some(1507)),
            numbered("a/c", "DISK_GONE", Some(1507)),
            numbered("a/d", "DISK_FULL", None),
            numbered("a/e", "DISK_LOST", Some(1000)),
            numbered("a/f", "DISK_SLOW", None),
        ],
        &[
            "operation a/c: DISK_GONE has JSON-RPC code 1507, which belongs to DISK_FULL",
            "DISK_FULL has the JSON-RPC code 1507 in operation a/b and 1000 in operation a/d",
        ],
    );
}

#[test]
fn a_schema_that_does_not_compile_is_reported_with_its_operation() {
    let mut spec = operation("a/b", &[("DISK_FULL", None)]);
    spec.input_schema = json!({"type": "sting"});
    spec.error_schemas[0].schema = json!({"minimum": "three"});
    let registry = Registry::builder().register(spec, nothing).build().unwrap();
    let problems: Vec<String> = registry
        .schema_problems()
        .iter()
        .map(RegistryProblem::to_string)
        .collect();
    assert_eq!(problems.len(), 2, "{problems:#?}");
    assert!(problems[0].starts_with("operation a/b: the schema of the input"));
    assert!(problems[1].starts_with("operation a/b: the schema of DISK_FULL"));
}

#[test]
fn a_leading_slash_in_a_name_is_ignored() {
    let registry = Registry::builder()
        .register(operation("a/b", &[]), nothing)
        .build()
        .unwrap();
    assert!(registry.get("a/b").is_some() && registry.get("/a/b").is_some());
    assert!(registry.get("a/c").is_none());
}
