//! The tools that the suite calls as tasks.

use std::sync::Arc;

use panpan_failure::{Failure, codes};
use panpan_runtime::{Context, Question, QuestionKind, QuestionReply, Registration};
use serde_json::{Value, json};

use crate::tools::{asks, saying, tool};

/// The longest that a tool takes.
const TIMEOUT_MS: u64 = 120_000;

/// How long a tool takes that fails.
const FAILS_AFTER_MS: u64 = 1000;

/// The code of an upstream server that requires a capability: an error of the protocol.
const CAPABILITY_MISSING: i32 = -32021;

pub(crate) fn task_tools() -> Vec<Registration> {
    vec![
        as_task(tool("greet", greet), "forbidden"),
        as_task(tool("slow_compute", compute), "preferred"),
        as_task(tool("failing_job", fail), "required"),
        as_task(tool("protocol_error_job", refuse), "preferred"),
        as_task(tool("confirm_delete", confirm), "preferred"),
        as_task(tool("multi_input", ask_both), "preferred"),
        asks_first(),
    ]
}

fn as_task(tool: Registration, support: &str) -> Registration {
    tool.with(|spec| {
        spec.timeout_ms = Some(TIMEOUT_MS);
        let declared = spec.extensions.insert("x-mcp-task", support.into());
        declared.expect("the member is an extension");
    })
}

async fn greet(_: Context, input: Arc<Value>) -> Result<Value, Failure> {
    let name = input["name"].as_str().unwrap_or("stranger");
    Ok(saying(&format!("Hello, {name}!")))
}

async fn compute(context: Context, input: Arc<Value>) -> Result<Value, Failure> {
    let seconds = input["seconds"].as_u64().unwrap_or_default();
    context.sleep(seconds * 1000).await;
    Ok(saying(&format!("computed for {seconds} s")))
}

async fn fail(context: Context, _: Arc<Value>) -> Result<Value, Failure> {
    context.sleep(FAILS_AFTER_MS).await;
    Err(Failure::new(codes::TOOL_FAILED).with_message("the job fails"))
}

async fn refuse(context: Context, _: Arc<Value>) -> Result<Value, Failure> {
    let data = json!({"requiredCapabilities": {"sampling": {}}});
    context.set_extra(Some(
        json!({"error": {"code": CAPABILITY_MISSING, "data": data}}),
    ));
    Err(Failure::new(codes::TOOL_FAILED))
}

async fn asked(context: &Context, message: &str) -> Result<QuestionReply, Failure> {
    let properties = json!({"confirm": {"type": "boolean"}});
    let question = Question {
        name: None,
        message: message.to_owned(),
        kind: QuestionKind::Form {
            schema: json!({"type": "object", "properties": properties}),
        },
    };
    let reply = context.ask(question).await;
    reply.map_err(|error| Failure::new(codes::TOOL_FAILED).with_message(error.to_string()))
}

async fn confirm(context: Context, input: Arc<Value>) -> Result<Value, Failure> {
    let reply = asked(&context, &format!("Delete {}?", input["filename"])).await?;
    Ok(saying(&format!("{reply:?}")))
}

async fn ask_both(context: Context, _: Arc<Value>) -> Result<Value, Failure> {
    let (first, second) = (asked(&context, "First?"), asked(&context, "Second?"));
    let (first, second) = futures_util::future::try_join(first, second).await?;
    Ok(saying(&format!("{first:?}, {second:?}")))
}

/// A tool whose client is asked before its task is created.
fn asks_first() -> Registration {
    let properties = json!({"name": {"type": "string"}});
    let message = "What is your name?";
    let tool = asks("test_tool_with_task", &[(message, properties.clone())]);
    as_task(tool, "required").with(|spec| {
        let schema = json!({"type": "object", "properties": properties});
        let asked = json!({"user_name": {"message": message, "schema": schema}});
        let declared = spec.extensions.insert("x-mcp-ask-first", asked);
        declared.expect("the member is an extension");
    })
}
