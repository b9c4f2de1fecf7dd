//! The tools that the suite calls by name, as operations, and the demo operations. The suite defines what
//! each tool has to return.

use std::future::ready;
use std::sync::{Arc, OnceLock};

use panpan_contract::operation::{OperationName, OperationSpec, OperationType};
use panpan_failure::{Failure, codes};
use panpan_flow::Flows;
use panpan_runtime::{
    Context, Dispatcher, Handler, Ports, Progress, Question, QuestionKind, QuestionReply,
    Registration, Registry, RegistryProblems,
};
use serde_json::{Value, json};

use crate::task_tools::task_tools;

/// A red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// An empty sound at 8 kHz.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
/// The duration of each step of the tool with progress.
const STEP_MS: u64 = 50;

/// A dispatcher for the tools and the operations of tasks; one tool changes the list of tools.
pub(crate) fn dispatcher(ports: Ports, flows: &Flows) -> Result<Dispatcher, RegistryProblems> {
    let own = Arc::new(OnceLock::new());
    let dispatcher = Dispatcher::new(registry(&own, flows, false)?, ports);
    // Set once, here.
    let _ = own.set(dispatcher.clone());
    Ok(dispatcher)
}

fn registry(
    own: &Arc<OnceLock<Dispatcher>>,
    flows: &Flows,
    has_another: bool,
) -> Result<Registry, RegistryProblems> {
    let mut tools = content_tools();
    tools.extend(asking_tools());
    tools.extend(task_tools());
    let tasks = panpan_flow::operations(flows).into_iter();
    tools.extend(tasks.map(Registration::not_offered_to_models));
    tools.extend([
        tool("test_error_handling", fail),
        tool("test_tool_with_progress", progress),
        schema_tool(),
        header_tool(),
        change_tool(own, flows, has_another),
    ]);
    if has_another {
        tools.push(says("test_another_tool", "Is there every other time."));
    }
    let demonstration = panpan_operations::demo(Registry::builder());
    let builder = tools
        .into_iter()
        .fold(demonstration, |it, tool| it.add(tool));
    builder.build()
}

fn content_tools() -> Vec<Registration> {
    let text = |text: &str| json!({"type": "text", "text": text});
    let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    let audio = json!({"type": "audio", "data": WAV, "mimeType": "audio/wav"});
    let resource = |uri: &str, mime_type: &str, text: &str| {
        let resource = json!({"uri": uri, "mimeType": mime_type, "text": text});
        json!({"type": "resource", "resource": resource})
    };
    let embedded = resource(
        "test://embedded-resource",
        "text/plain",
        "This is an embedded resource content.",
    );
    let mixed = [
        text("Multiple content types test:"),
        image.clone(),
        resource(
            "test://mixed-content-resource",
            "application/json",
            r#"{"test":"data","value":123}"#,
        ),
    ];
    vec![
        says(
            "test_simple_text",
            "This is a simple text response for testing.",
        ),
        gives("test_image_content", &[image]),
        gives("test_audio_content", &[audio]),
        gives("test_embedded_resource", &[embedded]),
        gives("test_multiple_content_types", &mixed),
        says("test_logging_tool", "Nothing was logged."),
        asks(
            "test_streaming_elicitation",
            &[("Please confirm", json!({"ok": {"type": "boolean"}}))],
        ),
    ]
}

/// Tools that send an elicitation before they return.
fn asking_tools() -> Vec<Registration> {
    let name = || json!({"name": {"type": "string"}});
    let user = json!({"username": {"type": "string"}, "email": {"type": "string"}});
    let confirmed = || json!({"ok": {"type": "boolean"}});
    let color = json!({"color": {"type": "string"}});
    vec![
        asks(
            "test_elicitation",
            &[("Please provide your information", user)],
        ),
        asks(
            "test_elicitation_sep1034_defaults",
            &[("Who is it?", defaults())],
        ),
        asks("test_elicitation_sep1330_enums", &[("Which?", choices())]),
        asks(
            "test_input_required_result_elicitation",
            &[("What is your name?", name())],
        ),
        asks(
            "test_input_required_result_request_state",
            &[("Please confirm", confirmed())],
        ),
        asks(
            "test_input_required_result_tampered_state",
            &[("Please confirm", confirmed())],
        ),
        asks(
            "test_input_required_result_multi_round",
            &[
                ("What is your name?", name()),
                ("What is your favorite color?", color),
            ],
        ),
    ]
}

fn defaults() -> Value {
    json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    })
}

fn choices() -> Value {
    let plain = ["option1", "option2", "option3"];
    let titled = json!([
        {"const": "value1", "title": "First"},
        {"const": "value2", "title": "Second"},
        {"const": "value3", "title": "Third"},
    ]);
    json!({
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {
            "type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    })
}

/// The name of a question whose form has one member; clients use it to identify their reply.
fn question_name(properties: &Value) -> Option<String> {
    let mut names = properties.as_object()?.keys();
    let name = names.next().filter(|_| names.next().is_none())?;
    Some(format!("user_{name}"))
}

/// A tool that asks the questions one after the other, and returns the replies.
pub(crate) fn asks(name: &'static str, questions: &[(&str, Value)]) -> Registration {
    let questions: Vec<Question> = questions
        .iter()
        .map(|(message, properties)| Question {
            name: question_name(properties),
            message: (*message).to_owned(),
            kind: QuestionKind::Form {
                schema: json!({"type": "object", "properties": properties}),
            },
        })
        .collect();
    tool(name, move |context: Context, _: Arc<Value>| {
        let questions = questions.clone();
        async move {
            let mut told = String::from("state-ok");
            for question in questions {
                told += &match context.ask(question).await {
                    Ok(QuestionReply::Accepted(values)) => format!(", {}", Value::Object(values)),
                    Ok(other) => format!(", {other:?}"),
                    Err(unasked) => {
                        let failure = Failure::new(codes::TOOL_FAILED);
                        return Err(failure.with_message(unasked.to_string()));
                    }
                };
            }
            Ok(saying(&told))
        }
    })
}

async fn fail(_: Context, _: Arc<Value>) -> Result<Value, Failure> {
    let message = "This tool intentionally returns an error for testing";
    Err(Failure::new(codes::TOOL_FAILED).with_message(message))
}

async fn progress(context: Context, _: Arc<Value>) -> Result<Value, Failure> {
    for done in [0.0, 50.0, 100.0] {
        context.report(Progress {
            done,
            total: Some(100.0),
            message: None,
        });
        context.sleep(STEP_MS).await;
    }
    Ok(saying("Done."))
}

fn schema_tool() -> Registration {
    says("json_schema_2020_12_tool", "Accepted.").with(|spec| {
        spec.input_schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {"address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }},
            "properties": {
                "name": {"type": "string"},
                "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"},
                "email": {"type": "string"},
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": false,
        });
    })
}

fn header_tool() -> Registration {
    says("test_header_tool", "The header and the argument agree.").with(|spec| {
        let region = json!({"type": "string", "x-mcp-header": "Region"});
        spec.input_schema = json!({"type": "object", "properties": {"region": region}});
    })
}

/// Adds another tool, or removes it.
fn change_tool(own: &Arc<OnceLock<Dispatcher>>, flows: &Flows, has_another: bool) -> Registration {
    let (own, flows) = (own.clone(), flows.clone());
    tool(
        "test_trigger_tool_change",
        move |_: Context, _: Arc<Value>| {
            let changed = registry(&own, &flows, !has_another);
            if let (Some(dispatcher), Ok(changed)) = (own.get(), changed) {
                dispatcher.replace(changed);
            }
            ready(Ok::<_, Failure>(saying("There are other tools now.")))
        },
    )
}

/// A tool that returns a text.
fn says(name: &'static str, text: &str) -> Registration {
    gives(name, &[json!({"type": "text", "text": text})])
}

/// A tool that returns content blocks.
fn gives(name: &'static str, content: &[Value]) -> Registration {
    let output = json!({"content": content});
    tool(name, move |_: Context, _: Arc<Value>| {
        ready(Ok::<_, Failure>(output.clone()))
    })
}

pub(crate) fn saying(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// An operation that is listed under the tool name that the suite expects.
pub(crate) fn tool(name: &'static str, handler: impl Handler) -> Registration {
    let operation = OperationName::new(&format!("conformance/{name}")).expect("the name is valid");
    let mut spec = OperationSpec::new(operation, OperationType::Query);
    spec.description = Some(format!("The conformance suite's {name}."));
    spec.input_schema = json!({"type": "object"});
    spec.output_schema = json!({"type": "object", "x-mcp-content": true});
    let named = spec.extensions.insert("x-mcp-tool-name", name.into());
    named.expect("the member is an extension");
    Registration::new(spec, handler)
}
