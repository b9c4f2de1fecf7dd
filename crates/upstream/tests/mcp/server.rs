//! A misbehaving server: its start argument and the called tool choose the misbehaviour. It
//! implements the protocol by hand, line by line.

use std::collections::HashMap;
use std::io::{BufRead, Write, stdin, stdout};
use std::process::{Command, Stdio, exit};
use std::time::Duration;

use serde_json::{Value, json};

/// The argument that makes this program a server.
pub(crate) const SERVE: &str = "serve";

/// The name of a secret variable that the server must not inherit.
pub(crate) const INHERITED: &str = "PANPAN_TEST_INHERITED_SECRET";

/// The member of `_meta` that names the subscription of a notification.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

struct Server {
    touchy: bool,
    /// Whether it uses the stateless version, where notifications need a subscription.
    modern: bool,
    subscription: Option<Value>,
    /// The number of pages of its tool list and of tools per page, instead of the default list.
    pages: Option<(u64, u64)>,
    has_late_tool: bool,
    /// The calls that wait for the reply to an elicitation, by its id.
    asking: HashMap<String, Value>,
    /// The request that was cancelled last.
    cancelled: Option<Value>,
    /// The state of its client.
    remembered: Option<String>,
    /// Whether it has required a URL elicitation.
    has_sent_away: bool,
    /// How often a read-only tool that never responds was called.
    hung: u64,
}

pub(crate) fn serve(behaviour: &str) {
    match behaviour {
        "dies" => exit(3),
        "mute" => std::thread::sleep(Duration::from_secs(600)),
        "babbles" => loop {
            send_line("this is not a message");
        },
        _ => {}
    }
    let mut server = Server {
        touchy: behaviour == "touchy",
        modern: behaviour == "modern",
        subscription: None,
        pages: counted(behaviour),
        has_late_tool: false,
        asking: HashMap::new(),
        cancelled: None,
        remembered: None,
        has_sent_away: false,
        hung: 0,
    };
    eprintln!("ready, with sk-live-abcdefghijklmnopqrstuvwxyz012345");
    for line in stdin().lock().lines() {
        let Ok(line) = line else { return };
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        server.handle(&message);
    }
}

impl Server {
    fn handle(&mut self, message: &Value) {
        let id = message.get("id");
        let params = &message["params"];
        match (message["method"].as_str().unwrap_or_default(), id) {
            ("", Some(id)) => self.replied(id, message),
            ("notifications/cancelled", _) => self.cancelled = Some(params["requestId"].clone()),
            (_, None) => {}
            ("tools/call", Some(id)) => self.call(id, params),
            ("subscriptions/listen", Some(id)) if self.modern => {
                self.subscription = Some(id.clone());
                let accepted = json!({"toolsListChanged": true});
                self.notify(
                    "subscriptions/acknowledged",
                    json!({"notifications": accepted}),
                );
            }
            (method, Some(id)) => match self.answer(method, params) {
                Some(result) => send(&json!({"jsonrpc": "2.0", "id": id, "result": result})),
                None if self.touchy => exit(4),
                None => respond_error(id, -32601, "Method not found"),
            },
        }
    }

    fn answer(&self, method: &str, params: &Value) -> Option<Value> {
        Some(match method {
            "initialize" => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {"listChanged": true}, "resources": {}, "prompts": {}, "completions": {}},
                "serverInfo": {"name": "misbehaving", "version": "1"},
            }),
            "server/discover" if self.modern => json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {"listChanged": true}, "prompts": {}, "resources": {}},
                "ttlMs": 0, "cacheScope": "private",
            }),
            "prompts/get" | "resources/read"
                if self.modern && params.get("inputResponses").is_none() =>
            {
                let question = json!({"method": "elicitation/create", "params": form()});
                json!({"resultType": "input_required", "inputRequests": {"it": question}})
            }
            "prompts/get" if self.modern => {
                let text = params["inputResponses"].to_string();
                let message = json!({"role": "user", "content": {"type": "text", "text": text}});
                json!({"resultType": "complete", "messages": [message]})
            }
            "resources/read" if self.modern => {
                let text = params["inputResponses"].to_string();
                json!({"resultType": "complete", "contents": [{"uri": params["uri"], "text": text}]})
            }
            "prompts/list" if self.modern => {
                let prompts = json!([{"name": "greet"}]);
                json!({"prompts": prompts, "ttlMs": 700, "cacheScope": "public"})
            }
            "ping" => json!({}),
            "tools/list" if self.pages.is_some() => self.page(params),
            "tools/list" if params["cursor"] == "second" => json!({"tools": self.second_page()}),
            "tools/list" => json!({"tools": tools(), "nextCursor": "second"}),
            "resources/list" => {
                let remembered = self.remembered.iter();
                let uris = remembered.map(|it| format!("test://remembered/{it}"));
                let uris = std::iter::once("test://one".to_owned()).chain(uris);
                let resources = uris.map(|uri| json!({"uri": uri, "name": "one"}));
                json!({"resources": resources.collect::<Vec<Value>>()})
            }
            "resources/templates/list" => {
                json!({"resourceTemplates": [{"uriTemplate": "test://{name}", "name": "any"}]})
            }
            "resources/read" if params["uri"] == "test://meta" => {
                let text = params["_meta"]["vendor/locale"].to_string();
                json!({"contents": [{"uri": params["uri"], "text": text}]})
            }
            "resources/read" => json!({"contents": [{"uri": params["uri"], "text": "contents"}]}),
            "prompts/list" => {
                json!({"prompts": [{"name": "greet", "arguments": [{"name": "who"}]}]})
            }
            "prompts/get" => {
                let text = format!("Greet {}", params["arguments"]["who"]);
                let message = json!({"role": "user", "content": {"type": "text", "text": text}});
                json!({"messages": [message]})
            }
            "completion/complete" => json!({"completion": {"values": ["Ada", "Alan"]}}),
            _ => return None,
        })
    }

    fn page(&self, params: &Value) -> Value {
        let (pages, items) = self.pages.unwrap_or_default();
        let page = params["cursor"].as_str().and_then(|it| it.parse().ok());
        let page: u64 = page.unwrap_or(1);
        let tool = |item| json!({"name": format!("tool_{page}_{item}"), "inputSchema": {}});
        let mut list = json!({"tools": (0..items).map(tool).collect::<Vec<Value>>()});
        if page < pages {
            list["nextCursor"] = json!((page + 1).to_string());
        }
        list
    }

    fn notify(&self, what: &str, mut params: Value) {
        if let Some(id) = &self.subscription {
            params["_meta"] = json!({SUBSCRIPTION: id});
        }
        let method = format!("notifications/{what}");
        send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn second_page(&self) -> Vec<Value> {
        let late = json!({"name": "late", "inputSchema": {"type": "object"}});
        let always = json!({"name": "second page", "inputSchema": {"type": "object"}});
        match self.has_late_tool {
            true => vec![always, late],
            false => vec![always],
        }
    }

    fn elicit(&mut self, id: &Value, arguments: &Value) {
        let question = format!("question-{id}");
        send(&json!({
            "jsonrpc": "2.0", "id": question, "method": "elicitation/create",
            "params": arguments["question"],
        }));
        self.asking.insert(question, id.clone());
    }

    /// Ends a call with the reply to its elicitation.
    fn replied(&mut self, question: &Value, message: &Value) {
        let Some(id) = self.asking.remove(question.as_str().unwrap_or_default()) else {
            return;
        };
        match message.get("result") {
            Some(reply) => respond(&id, &reply.to_string()),
            None => {
                let reason = message["error"]["message"].as_str().unwrap_or_default();
                let block = json!({"type": "text", "text": format!("I had to know: {reason}")});
                let result = json!({"isError": true, "content": [block]});
                send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
            }
        }
    }

    fn call(&mut self, id: &Value, params: &Value) {
        let arguments = &params["arguments"];
        match params["name"].as_str().unwrap_or_default() {
            "echo" | "second page" => respond(id, &arguments["text"].to_string()),
            "die" | "die_reading" => exit(3),
            "hang" => {}
            "hang_reading" => self.hung += 1,
            "hung" => respond(id, &self.hung.to_string()),
            "slow" => {
                let token = &params["_meta"]["progressToken"];
                for step in 1..=arguments["steps"].as_u64().unwrap() {
                    std::thread::sleep(Duration::from_millis(
                        arguments["each_ms"].as_u64().unwrap(),
                    ));
                    let params = match arguments["logs"] == true {
                        true => json!({"level": "info", "data": "at work"}),
                        false => json!({"progressToken": token, "progress": step}),
                    };
                    let what = if arguments["logs"] == true {
                        "message"
                    } else {
                        "progress"
                    };
                    self.notify(what, params);
                }
                respond(id, "done");
            }
            "guarded" if !self.has_sent_away => {
                self.has_sent_away = true;
                let data = json!({"elicitations": [arguments["visit"]]});
                respond_error_with(id, -32042, "Sign in first", &data);
            }
            "guarded" => respond(id, "\"in\""),
            "remember" => {
                self.remembered = arguments["text"].as_str().map(str::to_owned);
                self.notify("resources/list_changed", json!({}));
                respond(id, "remembered");
            }
            "recall" => respond(id, self.remembered.as_deref().unwrap_or("nothing")),
            "cancelled" => respond(id, &json!(self.cancelled).to_string()),
            "garble" => {
                send_line("Progress: 50%");
                send_line("{\"jsonrpc\": \"2.0\", \"id\":");
                respond(id, "garbled");
            }
            "babble" => {
                for _ in 0..arguments["lines"].as_u64().unwrap() {
                    send_line("this is not a message");
                }
                respond(id, "done");
            }
            "long" => respond_with_bytes(id, arguments["bytes"].as_u64().unwrap()),
            "endless" => loop {
                if stdout().write_all(&[b'a'; 65_536]).is_err() {
                    exit(0);
                }
            },
            "change" => {
                self.has_late_tool = true;
                self.notify("tools/list_changed", json!({}));
                respond(id, "changed");
            }
            "progress" => {
                let token = &params["_meta"]["progressToken"];
                let progress =
                    json!({"progressToken": token, "progress": 1, "total": 2, "message": "half"});
                send(
                    &json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}),
                );
                respond(id, &params["_meta"].to_string());
            }
            "environment" => {
                let names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
                respond(id, &names.join(" "));
            }
            "descend" => {
                let mut sleep = Command::new("sleep");
                let sleep = sleep.arg("600").stdin(Stdio::null()).stdout(Stdio::null());
                respond(id, &sleep.spawn().unwrap().id().to_string());
            }
            "pester" => {
                for question in 0..arguments["questions"].as_u64().unwrap() {
                    send(&json!({
                        "jsonrpc": "2.0", "id": question, "method": "elicitation/create",
                        "params": arguments["question"],
                    }));
                }
                respond(id, "enough");
            }
            "ask_and_leave" => {
                let asked = json!({
                    "jsonrpc": "2.0", "id": format!("left-{id}"), "method": "elicitation/create",
                    "params": arguments["question"],
                });
                let result = json!({"content": [{"type": "text", "text": "\"left\""}]});
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
                send_line(&format!("{asked}\n{answer}"));
            }
            "ask" if self.modern => require_input(id, params),
            "ask" => self.elicit(id, arguments),
            "fail" => send(&json!({"jsonrpc": "2.0", "id": id, "result": arguments["result"]})),
            "refuse" => {
                let code = arguments["code"].as_i64().unwrap();
                let message = arguments["message"].as_str().unwrap();
                respond_error_with(id, code, message, &arguments["data"]);
            }
            other => respond_error(id, -32602, &format!("Unknown tool: {other}")),
        }
    }
}

/// Requires input for the given number of rounds and returns the last replies.
fn require_input(id: &Value, params: &Value) {
    let done = params["requestState"].as_str().unwrap_or_default().len();
    let rounds = params["arguments"]["rounds"].as_u64().unwrap_or(1);
    if done as u64 == rounds {
        let offered = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        let result = json!({"replies": params["inputResponses"], "offered": offered});
        return respond(id, &result.to_string());
    }
    let method = params["arguments"]["method"].as_str();
    let question = json!({
        "method": method.unwrap_or("elicitation/create"), "params": params["arguments"]["question"],
    });
    let result = json!({
        "resultType": "input_required", "inputRequests": {"it": question},
        "requestState": "r".repeat(done + 1),
    });
    send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn tools() -> Vec<Value> {
    let names = [
        "echo",
        "die",
        "hang",
        "garble",
        "endless",
        "change",
        "progress",
        "descend",
        "fail",
        "refuse",
        "gone",
        "babble",
        "long",
        "ask",
        "ask_and_leave",
        "pester",
        "remember",
        "guarded",
        "slow",
    ];
    let reading = [
        "die_reading",
        "cancelled",
        "environment",
        "recall",
        "hang_reading",
        "hung",
    ];
    let tool = |name: &&str| json!({"name": name, "inputSchema": {"type": "object"}});
    let mut tools: Vec<Value> = names.iter().map(tool).collect();
    tools.extend(reading.iter().map(|name| {
        let mut tool = tool(name);
        tool["annotations"] = json!({"readOnlyHint": true});
        tool
    }));
    tools
}

fn respond(id: &Value, text: &str) {
    let result = json!({"content": [{"type": "text", "text": text}]});
    send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

/// Responds with a line of this length.
fn respond_with_bytes(id: &Value, bytes: u64) {
    let message = |text: &str| {
        let result = json!({"content": [{"type": "text", "text": text}]});
        json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
    };
    let around = message("").len() + "\n".len();
    let text = "a".repeat(usize::try_from(bytes).unwrap() - around);
    send_line(&message(&text));
}

/// The number of pages and of tools per page, as in `pages-3-10`.
fn counted(behaviour: &str) -> Option<(u64, u64)> {
    let (pages, items) = behaviour.strip_prefix("pages-")?.split_once('-')?;
    Some((pages.parse().ok()?, items.parse().ok()?))
}

fn form() -> Value {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    json!({"message": "Who are you?", "requestedSchema": schema})
}

fn respond_error(id: &Value, code: i64, message: &str) {
    respond_error_with(id, code, message, &Value::Null);
}

fn respond_error_with(id: &Value, code: i64, message: &str, data: &Value) {
    let mut error = json!({"code": code, "message": message});
    if !data.is_null() {
        error["data"] = data.clone();
    }
    send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
}

fn send(message: &Value) {
    send_line(&message.to_string());
}

fn send_line(line: &str) {
    let mut out = stdout();
    // The client is gone.
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        exit(0);
    }
}
