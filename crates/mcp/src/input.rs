//! Input requests (elicitation, sampling, roots): as questions of the runtime and as requests of the protocol, their
//! replies, and the capabilities with which a client says that it answers them.

use panpan_runtime::{AskError, Question, QuestionKind, QuestionKinds, QuestionReply};
use rmcp::model::{
    ClientCapabilities, ClientResult, CreateMessageRequest, ElicitRequest, ElicitResult,
    ElicitationAction, ElicitationCapability, FormElicitationCapability, InputRequest,
    ListRootsRequest, RootsCapabilities, SamplingCapability, ServerRequest, TASKS_EXTENSION_ID,
    UrlElicitationCapability,
};
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The question as an input request; `None` for a schema that elicitation does not allow.
pub fn to_request(Question { message, kind, .. }: Question) -> Option<InputRequest> {
    let elicit = |params: Value| {
        let params = serde_json::from_value(params).ok()?;
        Some(InputRequest::Elicitation(ElicitRequest::new(params)))
    };
    match kind {
        QuestionKind::Form { schema } => {
            elicit(json!({"mode": "form", "message": message, "requestedSchema": schema}))
        }
        QuestionKind::Url { url, id } => {
            elicit(json!({"mode": "url", "message": message, "url": url, "elicitationId": id}))
        }
        QuestionKind::Sampling { params } => {
            let request = CreateMessageRequest::new(serde_json::from_value(params).ok()?);
            Some(InputRequest::CreateMessage(request))
        }
        QuestionKind::Roots => Some(InputRequest::ListRoots(ListRootsRequest::default())),
    }
}

/// The input request as a question, with the name that the server gave it.
pub fn to_question(name: Option<String>, request: InputRequest) -> Option<Question> {
    let mut message = String::new();
    let kind = match request {
        InputRequest::Elicitation(request) => {
            let mut params = serde_json::to_value(request.params).unwrap_or_default();
            let mut text = |name: &str| match params[name].take() {
                Value::String(text) => text,
                _ => String::new(),
            };
            message = text("message");
            match text("mode").as_str() {
                "url" => QuestionKind::Url {
                    url: text("url"),
                    id: text("elicitationId"),
                },
                _ => QuestionKind::Form {
                    schema: params["requestedSchema"].take(),
                },
            }
        }
        InputRequest::CreateMessage(request) => QuestionKind::Sampling {
            params: serde_json::to_value(request.params).ok()?,
        },
        InputRequest::ListRoots(_) => QuestionKind::Roots,
        _ => return None,
    };
    Some(Question {
        name,
        message,
        kind,
    })
}

/// The input request as a request to a client in a session.
pub fn in_session(request: InputRequest) -> Option<ServerRequest> {
    Some(match request {
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        _ => return None,
    })
}

/// The reply as the result of its input request.
pub fn to_result(reply: QuestionReply, is_form: bool) -> Value {
    match reply {
        QuestionReply::Accepted(values) if is_form => {
            json!({"action": "accept", "content": values})
        }
        QuestionReply::Accepted(_) => json!({"action": "accept"}),
        QuestionReply::Declined => json!({"action": "decline"}),
        QuestionReply::Cancelled => json!({"action": "cancel"}),
        QuestionReply::Result(result) => result,
    }
}

/// Why the result of an input request is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidReply {
    /// The JSON pointer to the invalid part.
    pub pointer: &'static str,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// The reply in the result of an input request.
pub fn to_reply(request: &InputRequest, result: &Value) -> Result<QuestionReply, InvalidReply> {
    let invalid = |pointer, reason| InvalidReply { pointer, reason };
    match request {
        InputRequest::Elicitation(_) => {
            let result = ElicitResult::deserialize(result);
            let result = result.map_err(|_| invalid("", "not the result of an elicitation"))?;
            elicitation_reply(result).ok_or(invalid("/content", "not an object"))
        }
        _ if result.is_object() => Ok(QuestionReply::Result(result.clone())),
        _ => Err(invalid("", "not an object")),
    }
}

/// The reply in the response of a client in a session.
pub fn reply_in_session(result: ClientResult) -> Result<QuestionReply, AskError> {
    let value = match result {
        ClientResult::ElicitResult(result) => {
            return elicitation_reply(result).ok_or(AskError::Unsupported);
        }
        ClientResult::CreateMessageResult(result) => serde_json::to_value(result),
        ClientResult::ListRootsResult(result) => serde_json::to_value(result),
        _ => return Err(AskError::Unsupported),
    };
    value
        .map(QuestionReply::Result)
        .map_err(|_| AskError::Unsupported)
}

/// The reply in an elicitation result; `None` if its content is not an object.
fn elicitation_reply(result: ElicitResult) -> Option<QuestionReply> {
    Some(match (result.action, result.content) {
        (ElicitationAction::Accept, Some(Value::Object(values))) => QuestionReply::Accepted(values),
        // The reply to a URL elicitation has no content.
        (ElicitationAction::Accept, None) => QuestionReply::Accepted(Map::new()),
        (ElicitationAction::Accept, Some(_)) => return None,
        (ElicitationAction::Decline, _) => QuestionReply::Declined,
        _ => QuestionReply::Cancelled,
    })
}

/// The kinds of input that a client declares to support.
pub fn supported_kinds(client: &ClientCapabilities) -> QuestionKinds {
    let mut kinds = QuestionKinds {
        sampling: client.sampling.is_some(),
        roots: client.roots.is_some(),
        ..QuestionKinds::default()
    };
    if let Some(ElicitationCapability { form, url, .. }) = &client.elicitation {
        // Older clients declare no modes and support forms.
        kinds.form = form.is_some() || url.is_none();
        kinds.url = url.is_some();
    }
    kinds
}

/// The capabilities of a client that upstream servers can use.
#[derive(Clone, Debug, Default)]
pub struct UsableCapabilities {
    /// The kinds of input that it supports.
    pub kinds: QuestionKinds,
    /// Its experimental capabilities and extensions.
    pub declared: Map<String, Value>,
}

impl UsableCapabilities {
    /// The capabilities of a client; `None` if upstream servers can use none of them.
    pub fn of(client: &ClientCapabilities) -> Option<Self> {
        let mut declared = Map::new();
        for (name, value) in [
            ("experimental", serde_json::to_value(&client.experimental)),
            ("extensions", serde_json::to_value(&client.extensions)),
        ] {
            if let Ok(value @ Value::Object(_)) = value {
                declared.insert(name.to_owned(), value);
            }
        }
        let kinds = supported_kinds(client);
        let is_usable = kinds != QuestionKinds::default() || !declared.is_empty();
        is_usable.then_some(Self { kinds, declared })
    }
}

/// The capabilities of a client that supports these kinds of input and declares these members.
pub fn client_capabilities(
    kinds: QuestionKinds,
    declared: Option<&Map<String, Value>>,
) -> ClientCapabilities {
    let mut elicitation = ElicitationCapability::new();
    elicitation.form = kinds.form.then(FormElicitationCapability::new);
    elicitation.url = kinds.url.then(UrlElicitationCapability::new);
    let mut capabilities = ClientCapabilities::default();
    capabilities.experimental = declared_member(declared, "experimental");
    capabilities.extensions = declared_member(declared, "extensions");
    if let Some(extensions) = &mut capabilities.extensions {
        // Tasks have their own methods, which are not passed on.
        extensions.remove(TASKS_EXTENSION_ID);
    }
    capabilities.elicitation = (kinds.form || kinds.url).then_some(elicitation);
    capabilities.sampling = kinds.sampling.then(SamplingCapability::default);
    capabilities.roots = kinds.roots.then(RootsCapabilities::default);
    capabilities
}

fn declared_member<T: DeserializeOwned>(
    declared: Option<&Map<String, Value>>,
    name: &str,
) -> Option<T> {
    T::deserialize(declared?.get(name)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(message: &str, kind: QuestionKind) -> Question {
        Question {
            name: Some("one".to_owned()),
            message: message.to_owned(),
            kind,
        }
    }

    #[test]
    fn a_question_survives_the_way_to_the_protocol_and_back() {
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let (url, id) = ("https://login.test".to_owned(), "e-1".to_owned());
        let params = json!({"messages": [], "maxTokens": 7});
        for question in [
            question("Who?", QuestionKind::Form { schema }),
            question("Log in", QuestionKind::Url { url, id }),
            question("", QuestionKind::Sampling { params }),
            question("", QuestionKind::Roots),
        ] {
            let request = to_request(question.clone()).unwrap();
            assert!(in_session(request.clone()).is_some());
            assert!(to_question(question.name.clone(), request) == Some(question));
        }
        let nested = json!({"type": "object", "properties": {"a": {"type": "object"}}});
        let nested = question("Who?", QuestionKind::Form { schema: nested });
        assert!(to_request(nested).is_none());
    }

    #[test]
    fn a_reply_survives_the_way_to_the_protocol_and_back() {
        let elicitation = InputRequest::Elicitation(ElicitRequest::new(
            serde_json::from_value(
                json!({"mode": "url", "message": "a", "url": "b:c", "elicitationId": "e"}),
            )
            .unwrap(),
        ));
        let roots = InputRequest::ListRoots(ListRootsRequest::default());
        let values = Map::from_iter([("a".to_owned(), json!(1))]);
        for (request, reply, is_form) in [
            (&elicitation, QuestionReply::Accepted(values), true),
            (&elicitation, QuestionReply::Accepted(Map::new()), false),
            (&elicitation, QuestionReply::Declined, true),
            (&elicitation, QuestionReply::Cancelled, false),
            (&roots, QuestionReply::Result(json!({"roots": []})), false),
        ] {
            let result = to_result(reply.clone(), is_form);
            assert_eq!(to_reply(request, &result), Ok(reply), "{result}");
        }
    }

    #[test]
    fn capabilities_survive_the_way_to_the_protocol_and_back() {
        let kinds = |form, url, sampling, roots| QuestionKinds {
            form,
            url,
            sampling,
            roots,
        };
        for kinds in [
            QuestionKinds::ALL,
            kinds(true, false, false, false),
            kinds(false, true, false, true),
            kinds(false, false, true, false),
        ] {
            let extensions = json!({"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}});
            let declared = Map::from_iter([("extensions".to_owned(), extensions)]);
            let client = client_capabilities(kinds, Some(&declared));
            let usable = UsableCapabilities::of(&client).unwrap();
            assert_eq!((usable.kinds, usable.declared), (kinds, declared));
        }
        let none = client_capabilities(QuestionKinds::default(), None);
        assert!(UsableCapabilities::of(&none).is_none());
    }
}
