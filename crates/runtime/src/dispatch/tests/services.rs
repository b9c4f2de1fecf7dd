//! `services/list` and `services/schema` show only operations that the caller may call.

use super::*;
use crate::identity::Identity;

fn fixture() -> Fixture {
    let mut hidden = OperationSpec::new("a/hidden".parse().unwrap(), OperationType::Query);
    hidden.visibility = Visibility::Internal;
    let mut restricted = OperationSpec::new("a/secret".parse().unwrap(), OperationType::Mutation);
    restricted.access_control.required_scopes = vec!["s".to_owned()];
    restricted.error_schemas = vec![definition("DISK_FULL")];
    let builder = Registry::builder()
        .with_services()
        .register(query(), echo)
        .register(hidden, echo)
        .register(restricted, echo);
    Fixture::over(builder, Settings::default())
}

async fn as_ann(fixture: &Fixture, name: &str, input: Value) -> Result<Value, Redacted> {
    let request = CallRequest {
        caller: Some(Arc::new(Identity::new("ann").with_scope("s"))),
        ..CallRequest::from_wire(name, input)
    };
    fixture.dispatcher.dispatch(request).await.into_value()
}

fn names(listed: &Value) -> Vec<&str> {
    let operations = listed["operations"].as_array().unwrap();
    operations
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn the_list_contains_the_operations_that_the_caller_may_call() {
    let fixture = fixture();
    let anyone = fixture.call("services/list", json!({})).await.unwrap();
    assert_eq!(
        names(&anyone),
        ["services/list", "services/schema", "test/run"]
    );
    let ann = as_ann(&fixture, "services/list", json!({})).await.unwrap();
    assert_eq!(
        names(&ann),
        ["a/secret", "services/list", "services/schema", "test/run"]
    );
    assert_eq!(ann["operations"][0]["op_type"], json!("mutation"));
    assert_eq!(ann["operations"][0]["namespace"], json!("a"));
}

#[tokio::test(start_paused = true)]
async fn the_schema_of_an_operation_is_its_full_contract() {
    let fixture = fixture();
    let name = json!({"name": "/a/secret"});
    let schema = as_ann(&fixture, "services/schema", name).await.unwrap();
    assert_eq!(schema["error_schemas"][0]["code"], json!("DISK_FULL"));
    assert_eq!(schema["access_control"]["required_scopes"], json!(["s"]));
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_may_not_be_called_looks_unknown() {
    let fixture = fixture();
    for name in ["a/secret", "a/hidden", "a/nothing"] {
        let failure = fixture.call("services/schema", json!({"name": name})).await;
        let failure = failure.unwrap_err();
        assert_eq!(failure.code().as_str(), "NOT_FOUND");
        assert_eq!(failure.message(), format!("there is no operation {name}"));
        assert!(failure.details().unwrap().get("nearest").is_none());
    }
    let failure = fixture
        .call("services/schema", json!({"name": "test/rum"}))
        .await
        .unwrap_err();
    assert_eq!(failure.details().unwrap()["nearest"], json!(["test/run"]));
}
