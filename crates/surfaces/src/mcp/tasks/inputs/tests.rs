//! Who answers the questions of a task, how many there may be, and how they end.

use panpan_runtime::QuestionKind;

use super::*;

fn question(name: Option<&str>) -> Question {
    Question {
        name: name.map(str::to_owned),
        message: "Sure?".to_owned(),
        kind: QuestionKind::Form {
            schema: json!({"type": "object", "properties": {"ok": {"type": "boolean"}}}),
        },
    }
}

fn stored(responses: Value) -> Map<String, Value> {
    let kinds = QuestionKinds {
        form: true,
        ..QuestionKinds::default()
    };
    let Value::Object(responses) = responses else {
        panic!("{responses}");
    };
    params(kinds, responses)
}

/// The questions of a process that clients can reach.
fn served() -> Arc<TaskInputs> {
    let inputs = TaskInputs::new();
    inputs.serve();
    inputs
}

fn accepted() -> Value {
    json!({"action": "accept", "content": {"ok": true}})
}

/// Asks in the background.
fn asked(
    client: &Arc<dyn AskClient>,
    name: Option<&str>,
) -> tokio::task::JoinHandle<Result<QuestionReply, AskError>> {
    let (client, question) = (client.clone(), question(name));
    tokio::spawn(async move { client.ask(question).await })
}

/// The names of the open questions, once there are this many.
async fn open(inputs: &TaskInputs, task: &str, count: usize) -> Vec<String> {
    let open = async {
        loop {
            let queue = inputs.of(task);
            let names: Vec<String> =
                queue.map_or_else(Vec::new, |it| it.requests().into_keys().collect());
            if names.len() == count {
                return names;
            }
            tokio::task::yield_now().await;
        }
    };
    let open = tokio::time::timeout(std::time::Duration::from_secs(60), open);
    open.await.expect("the questions did not open in time")
}

#[tokio::test]
async fn each_question_has_its_own_name_and_ends_with_its_own_reply() {
    let inputs = served();
    let client = inputs
        .client("t", Some("anna"), &stored(json!({})))
        .unwrap();
    let both = [asked(&client, Some("ok")), asked(&client, Some("ok"))];
    let names = open(&inputs, "t", 2).await;
    assert!(names[0] != names[1] && names.iter().all(|it| it.starts_with("ok-")));
    let queue = inputs.of("t").unwrap();
    assert!(queue.is_asking());
    let answer = |name: &str, reply: Value| {
        let responses = Value::from_iter([(name.to_owned(), reply)]);
        queue.answer(&ResumeInput::new(None, Some(responses)).unwrap())
    };
    answer("another", json!(7)).unwrap();
    assert!(answer(&names[0], json!({"action": "nod"})).is_err());
    assert_eq!(open(&inputs, "t", 2).await, names);
    answer(&names[0], accepted()).unwrap();
    assert_eq!(open(&inputs, "t", 1).await, names[1..]);
    answer(&names[1], accepted()).unwrap();
    for reply in both {
        assert!(matches!(
            reply.await.unwrap(),
            Ok(QuestionReply::Accepted(_))
        ));
    }
    assert!(!queue.is_asking());
    drop((queue, client));
    assert!(inputs.of("t").is_none() && inputs.state().tasks.is_empty());
}

#[tokio::test]
async fn a_response_that_was_given_before_answers_its_question_once() {
    let inputs = served();
    let given = stored(json!({"ok": accepted()}));
    let client = inputs.client("t", None, &given).unwrap();
    let first = client.ask(question(Some("ok"))).await;
    assert!(matches!(first, Ok(QuestionReply::Accepted(_))));
    let second = asked(&client, Some("ok"));
    open(&inputs, "t", 1).await;
    inputs.stop();
    assert_eq!(second.await.unwrap(), Err(AskError::Stopping));
    let late = inputs.client("u", None, &given).unwrap();
    assert_eq!(late.ask(question(None)).await, Err(AskError::Stopping));
}

#[tokio::test]
async fn a_process_that_no_client_reaches_asks_nothing() {
    let inputs = TaskInputs::new();
    let given = stored(json!({"ok": accepted()}));
    let client = inputs.client("t", None, &given).unwrap();
    let known = client.ask(question(Some("ok"))).await;
    assert!(matches!(known, Ok(QuestionReply::Accepted(_))));
    let unknown = client.ask(question(Some("ok"))).await;
    assert_eq!(unknown, Err(AskError::NotServed));
}

#[tokio::test]
async fn only_clients_that_declared_it_are_asked_and_only_what_they_declared() {
    let inputs = served();
    let unasked = params(QuestionKinds::default(), Map::new());
    assert_eq!(Value::Object(unasked.clone()), json!({"mcp": {}}));
    for params in [&unasked, &Map::new()] {
        assert!(inputs.client("t", None, params).is_none());
    }
    let client = inputs.client("t", None, &stored(json!({}))).unwrap();
    let roots = Question {
        kind: QuestionKind::Roots,
        ..question(None)
    };
    assert_eq!(client.ask(roots).await, Err(AskError::UnsupportedKind));
}

#[tokio::test]
async fn the_questions_of_one_owner_are_limited_and_those_of_all() {
    let inputs = served();
    let mut waiting = Vec::new();
    let owners = TASK_QUESTIONS_LIMIT / TASK_QUESTIONS_PER_OWNER_LIMIT;
    for owner in 0..owners {
        let owner = owner.to_string();
        for number in 0..TASK_QUESTIONS_PER_OWNER_LIMIT {
            let task = format!("{owner}-{number}");
            let client = inputs.client(&task, Some(&owner), &stored(json!({})));
            let client = client.unwrap();
            waiting.push((asked(&client, None), client));
            open(&inputs, &task, 1).await;
        }
        let more = inputs.client("more", Some(&owner), &stored(json!({})));
        let refused = more.unwrap().ask(question(None)).await;
        assert_eq!(refused, Err(AskError::TooManyOpen));
    }
    let other = inputs
        .client("more", Some("other"), &stored(json!({})))
        .unwrap();
    assert_eq!(other.ask(question(None)).await, Err(AskError::TooManyOpen));
    inputs.stop();
    for (reply, _) in waiting {
        assert_eq!(reply.await.unwrap(), Err(AskError::Stopping));
    }
}
