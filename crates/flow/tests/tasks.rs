//! Random definitions and views: what is written, stored and read back.

use jiff::Timestamp;
use panpan_flow::{Definition, Dependency, Phase, State, TaskId, TaskView, read_tasks};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use uuid::Uuid;

fn ids() -> impl Strategy<Value = TaskId> {
    any::<u128>().prop_map(|it| TaskId::from_random(Uuid::from_u128(it)))
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(".*", inner, 0..4)
                .prop_map(|it| it.into_iter().collect()),
        ]
    })
}

fn objects() -> impl Strategy<Value = Value> {
    let members = proptest::collection::btree_map("[a-z$]{0,5}", values(), 0..4);
    members.prop_map(|it| it.into_iter().collect())
}

fn or_null(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop_oneof![Just(Value::Null), value]
}

fn schemas() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec!["local", "remote", "external"]);
    (".+", kind, or_null(objects()), objects()).prop_map(|(method, kind, schema, extra)| {
        let mut schemas = extra;
        schemas["method"] = method.into();
        schemas["type"] = kind.into();
        schemas["input_schema"] = schema;
        schemas["model"] = Value::Null;
        schemas
    })
}

fn retries() -> impl Strategy<Value = Value> {
    let delays = (0..100_000u32, 0..100_000u32);
    let backoff = prop::sample::select(vec!["exponential", "constant"]);
    (1..=100u32, backoff, delays).prop_map(|(attempts, backoff, (one, other))| {
        json!({
            "max_attempts": attempts,
            "backoff": backoff,
            "initial_delay": f64::from(one.min(other)) / 1000.0,
            "max_delay": f64::from(one.max(other)) / 1000.0,
        })
    })
}

/// A task as a client writes it, with members of its own.
fn written() -> impl Strategy<Value = Value> {
    let origin = prop::sample::select(vec!["link", "copy", "archive"]);
    let origin = proptest::option::of((origin, ids()));
    let texts = (".{1,255}", or_null(".+".prop_map(Value::from)), 0..4u8);
    let values = (
        objects(),
        or_null(objects()),
        or_null(schemas()),
        or_null(retries()),
    );
    (texts, values, origin, objects()).prop_map(|(texts, values, origin, own)| {
        let mut task = Map::new();
        // The prefix keeps them apart from members of the protocol, such as `id`.
        let own = own.as_object().expect("an object").iter();
        task.extend(own.map(|(name, value)| (format!("x-{name}"), value.clone())));
        task.insert("name".to_owned(), texts.0.into());
        task.insert("user_id".to_owned(), texts.1);
        task.insert("priority".to_owned(), texts.2.into());
        task.insert("inputs".to_owned(), values.0);
        task.insert("params".to_owned(), values.1);
        task.insert("schemas".to_owned(), values.2);
        task.insert("retry".to_owned(), values.3);
        if let Some((word, original)) = origin {
            task.insert("origin_type".to_owned(), word.into());
            task.insert("original_task_id".to_owned(), json!(original));
        }
        task.into()
    })
}

fn read(task: &Value) -> Definition {
    let mut new_id = || TaskId::from_random(Uuid::nil());
    let mut read = read_tasks(task, &mut new_id).unwrap_or_else(|error| panic!("{error}: {task}"));
    read.remove(0).task.definition
}

/// A phase and the values in it.
#[derive(Clone, Debug)]
struct Values {
    state: State,
    started_at: Option<Timestamp>,
    error: Option<String>,
    value: Value,
    retry_at: Option<Timestamp>,
    blocked_by: Vec<TaskId>,
    progress: f64,
}

impl Values {
    fn phase(&self) -> Phase<'_> {
        let completed_at = Timestamp::UNIX_EPOCH;
        let started = self.started_at.unwrap_or_default();
        match self.state {
            State::Pending => Phase::Pending {
                blocked_by: &self.blocked_by,
                retry_at: self.retry_at,
            },
            State::InProgress => Phase::InProgress {
                started_at: started,
                retry_at: self.retry_at,
            },
            State::Completed => Phase::Completed {
                started_at: started,
                completed_at,
                output: &self.value,
            },
            State::Failed => Phase::Failed {
                started_at: self.started_at,
                completed_at,
                error: self.error.as_deref().unwrap_or_default(),
                failure: Some(&self.value),
            },
            State::Cancelled => Phase::Cancelled {
                started_at: self.started_at,
                completed_at,
                error: self.error.as_deref(),
                failure: None,
            },
        }
    }
}

fn phases() -> impl Strategy<Value = Values> {
    let times = || {
        proptest::option::of(
            (0..1_000_000i64).prop_map(|it| Timestamp::from_second(it).expect("in range")),
        )
    };
    let blocked_by = proptest::collection::vec(ids(), 0..3);
    let state = prop::sample::select(State::ALL.to_vec());
    let error = proptest::option::of(".{0,3}");
    (
        state,
        times(),
        error,
        values(),
        times(),
        blocked_by,
        any::<f64>(),
    )
        .prop_map(
            |(state, started_at, error, value, retry_at, blocked_by, progress)| Values {
                state,
                started_at,
                error,
                value,
                retry_at,
                blocked_by,
                progress,
            },
        )
}

const MEMBERS: [&str; 25] = [
    "id",
    "parent_id",
    "user_id",
    "name",
    "status",
    "priority",
    "inputs",
    "schemas",
    "params",
    "result",
    "error",
    "dependencies",
    "progress",
    "created_at",
    "updated_at",
    "started_at",
    "completed_at",
    "origin_type",
    "original_task_id",
    "has_references",
    "root_task_id",
    "generation",
    "attempts",
    "failure",
    "blocked_by",
];

fn view<'a>(
    definition: &'a Definition,
    dependencies: &'a [Dependency],
    values: &'a Values,
) -> TaskView<'a> {
    let id = TaskId::from_random(Uuid::from_u128(1));
    TaskView {
        id,
        parent: None,
        root: id,
        definition,
        dependencies,
        phase: values.phase(),
        progress: values.progress,
        generation: 1,
        attempts: 2,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
        has_references: true,
    }
}

proptest! {
    #[test]
    fn a_definition_is_the_same_after_it_was_stored(task in written()) {
        let definition = read(&task);
        let text = definition.to_text();
        prop_assert_eq!(Definition::from_text(&text).unwrap(), definition);
    }

    #[test]
    fn a_task_shows_everything_that_the_client_wrote(task in written(), values in phases()) {
        let definition = read(&task);
        let shown = view(&definition, &[], &values).to_value();
        for (member, value) in task.as_object().unwrap() {
            let mut expected = value.clone();
            // Optional members of `schemas` are left out.
            if let (true, Some(schemas)) = (member == "schemas", expected.as_object_mut()) {
                schemas.retain(|name, it| !(it.is_null() && ["input_schema", "model"].contains(&name.as_str())));
            }
            let found = shown.get(member).unwrap_or(&Value::Null);
            prop_assert_eq!(found, &expected, "{}", member);
        }
        let mut again = shown;
        let again = again.as_object_mut().unwrap();
        for set_by_server in [
            "id", "status", "result", "error", "progress", "created_at", "updated_at", "started_at", "completed_at",
            "has_references", "root_task_id", "generation", "attempts", "failure", "blocked_by", "retry_at",
        ] {
            again.remove(set_by_server);
        }
        prop_assert_eq!(read(&Value::Object(again.clone())), definition);
    }

    #[test]
    fn a_task_keeps_the_rules_of_its_state(values in phases(), dependency in ids(), required: bool) {
        let definition = Definition::new("a").unwrap();
        let dependencies = [Dependency { id: dependency, required }];
        let task = view(&definition, &dependencies, &values).to_value();
        for member in MEMBERS {
            prop_assert!(task.get(member).is_some(), "{} is missing", member);
        }
        let state = values.state;
        let is_terminal = matches!(state, State::Completed | State::Failed | State::Cancelled);
        prop_assert_eq!(&task["status"], state.word());
        prop_assert_eq!(task["result"].is_object(), state == State::Completed);
        prop_assert_eq!(task["result"].is_null(), state != State::Completed);
        let has_error = matches!(state, State::Failed | State::Cancelled);
        prop_assert_eq!(task["error"].is_null(), !has_error);
        prop_assert_eq!(task["error"].as_str().is_some_and(|it| !it.is_empty()), has_error);
        prop_assert_eq!(task["completed_at"].is_string(), is_terminal);
        prop_assert!(state != State::Pending || task["started_at"].is_null());
        let has_to_start = matches!(state, State::InProgress | State::Completed);
        prop_assert!(!has_to_start || task["started_at"].is_string());
        let progress = task["progress"].as_f64().unwrap();
        prop_assert!((0.0..=1.0).contains(&progress));
        prop_assert!(state != State::Completed || progress >= 1.0);
        prop_assert!(task["blocked_by"].as_array().unwrap().is_empty() || state == State::Pending);
        prop_assert!(task.get("retry_at").is_none() || !is_terminal);
        prop_assert_eq!(&task["dependencies"], &json!([{"id": dependency, "required": required}]));
    }
}

#[test]
fn an_output_that_is_not_an_object_is_wrapped() {
    for (output, result) in [
        (json!({"a": 1}), json!({"a": 1})),
        (json!({}), json!({})),
        (json!([1]), json!({"result": [1]})),
        (json!(null), json!({"result": null})),
    ] {
        assert_eq!(*panpan_flow::result_object(&output), result);
    }
}

#[test]
fn an_ended_task_without_a_message_gets_one() {
    let values = |state| Values {
        state,
        started_at: None,
        error: None,
        value: Value::Null,
        retry_at: None,
        blocked_by: Vec::new(),
        progress: f64::NAN,
    };
    let definition = Definition::new("a").unwrap();
    for (state, message) in [(State::Failed, "failed"), (State::Cancelled, "cancelled")] {
        let task = view(&definition, &[], &values(state)).to_value();
        assert_eq!(
            (&task["error"], &task["progress"]),
            (&json!(message), &json!(0.0))
        );
    }
}
