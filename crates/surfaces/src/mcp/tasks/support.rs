//! Whether an operation runs as a task, and which questions its client answers first.

use panpan_contract::operation::{ASK_FIRST_EXTENSION, OperationSpec, TaskUse};
use panpan_mcp::input::{to_reply, to_request};
use panpan_mcp::names::TASK_META_KEY;
use panpan_runtime::{Question, QuestionKind};
use rmcp::model::InputRequests;
use serde_json::{Map, Value};

/// The word for what an operation declares in 2025-11-25, where the client decides; `None` where tasks are not supported.
pub(super) fn support_word(declared: Option<TaskUse>) -> Option<&'static str> {
    match declared {
        None | Some(TaskUse::Preferred) => Some("optional"),
        Some(TaskUse::Required) => Some("required"),
        Some(TaskUse::Forbidden) => None,
    }
}

/// Whether a call with this `_meta` of a client that supports tasks runs as one, in the stateless version.
pub(in crate::mcp) fn runs_as_task(declared: Option<TaskUse>, meta: &Map<String, Value>) -> bool {
    match declared {
        None => is_requested(meta),
        Some(TaskUse::Forbidden) => false,
        Some(TaskUse::Preferred | TaskUse::Required) => true,
    }
}

/// Whether a call asks to run as a task.
pub(super) fn is_requested(meta: &Map<String, Value>) -> bool {
    let requested = meta.get(TASK_META_KEY);
    requested.is_some_and(|it| !it.is_null() && *it != false)
}

/// The questions that a client answers before a task is created. A question that elicitation does not allow is left
/// out.
pub(in crate::mcp) fn ask_first(spec: &OperationSpec) -> InputRequests {
    let declared = spec.extensions.get(ASK_FIRST_EXTENSION);
    let declared = declared.and_then(Value::as_object).into_iter().flatten();
    let questions = declared.filter_map(|(name, question)| {
        let message = question.get("message")?.as_str()?.to_owned();
        let schema = question.get("schema")?.clone();
        let question = Question {
            name: None,
            message,
            kind: QuestionKind::Form { schema },
        };
        Some((name.clone(), to_request(question)?))
    });
    questions.collect()
}

/// The questions without a valid response.
pub(super) fn unanswered(asked: &InputRequests, responses: &Map<String, Value>) -> InputRequests {
    let is_unanswered = |(name, request): &(&String, &_)| {
        let response = responses.get(*name);
        response.is_none_or(|it| to_reply(request, it).is_err())
    };
    let unanswered = asked.iter().filter(is_unanswered);
    unanswered
        .map(|(name, request)| (name.clone(), request.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use panpan_contract::operation::{OperationType, TASK_EXTENSION};
    use serde_json::json;

    use super::*;

    fn declaring(name: &str, value: Value) -> OperationSpec {
        let mut spec = OperationSpec::new("shop/get".parse().unwrap(), OperationType::Query);
        spec.extensions.insert(name, value).unwrap();
        spec
    }

    #[test]
    fn an_operation_decides_whether_a_call_runs_as_a_task() {
        let (silent, asking) = (json!({}), json!({TASK_META_KEY: {}}));
        for (declared, word, unasked, asked) in [
            ("forbidden", None, false, false),
            ("preferred", Some("optional"), true, true),
            ("required", Some("required"), true, true),
            ("unknown", Some("optional"), false, true),
        ] {
            let support = TaskUse::of(&declaring(TASK_EXTENSION, json!(declared)));
            assert_eq!(support_word(support), word, "{declared}");
            for (meta, applies) in [(&silent, unasked), (&asking, asked)] {
                let meta = meta.as_object().unwrap();
                assert_eq!(runs_as_task(support, meta), applies, "{declared} {meta:?}");
            }
        }
        for (value, is_asking) in [
            (json!(false), false),
            (json!(null), false),
            (json!(true), true),
        ] {
            let meta = Map::from_iter([(TASK_META_KEY.to_owned(), value)]);
            assert_eq!(is_requested(&meta), is_asking);
        }
    }

    #[test]
    fn questions_are_asked_until_each_has_a_valid_response() {
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let nested = json!({"type": "object", "properties": {"a": {"type": "object"}}});
        let asked = ask_first(&declaring(
            ASK_FIRST_EXTENSION,
            json!({
                "who": {"message": "Who?", "schema": schema},
                "nested": {"message": "What?", "schema": nested},
                "mute": {"schema": schema},
            }),
        ));
        assert_eq!(asked.keys().collect::<Vec<_>>(), ["who"]);
        for (response, is_open) in [
            (json!({}), true),
            (json!({"who": "Alice"}), true),
            (
                json!({"who": {"action": "accept", "content": {"name": "Alice"}}}),
                false,
            ),
            (json!({"who": {"action": "decline"}}), false),
        ] {
            let open = unanswered(&asked, response.as_object().unwrap());
            assert_eq!(!open.is_empty(), is_open, "{response}");
        }
    }
}
