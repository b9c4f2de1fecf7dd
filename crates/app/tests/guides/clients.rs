//! MCP clients, configured with a command to start or a URL to connect to.

use panpan_testkit::http::{JSON, Response, request};
use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};

use crate::process::{self, Variables};

/// The tool call of a guide, and the code it fails with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolCall {
    pub(crate) tool: &'static str,
    /// Its only argument.
    pub(crate) argument: (&'static str, &'static str),
    pub(crate) code: &'static str,
}

impl ToolCall {
    fn arguments(&self) -> Value {
        let (name, value) = self.argument;
        json!({name: value})
    }

    /// The failure in the first text block, as the model reads it.
    fn failure(&self, result: &Value) -> Value {
        assert_eq!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        let view: Value = serde_json::from_str(text).unwrap();
        assert_eq!(view["error"]["code"], self.code, "{view}");
        view
    }
}

/// A server in the configuration of a client.
#[derive(Debug)]
pub(crate) enum Configured {
    Command {
        words: Vec<String>,
        variables: Variables,
    },
    Url {
        url: String,
        headers: Vec<(String, String)>,
    },
}

impl Configured {
    pub(crate) fn command(words: Vec<String>, variables: Variables) -> Self {
        assert!(
            words[0] == "panpan" || words[0].ends_with("/panpan"),
            "{words:?}"
        );
        Self::Command {
            words: words[1..].to_vec(),
            variables,
        }
    }

    /// The servers in the file of a client; `None` if the value is not such a file.
    pub(crate) fn read(file: &Value) -> Option<Vec<Self>> {
        let servers = file
            .get("mcpServers")
            .or(file.get("servers"))?
            .as_object()?;
        Some(servers.values().map(Self::of).collect())
    }

    fn of(server: &Value) -> Self {
        let pairs = |member: &str| -> Vec<(String, String)> {
            let pairs = server
                .get(member)
                .and_then(Value::as_object)
                .into_iter()
                .flatten();
            pairs
                .map(|(name, value)| (name.clone(), text(value)))
                .collect()
        };
        if let Some(url) = server.get("url") {
            assert!(server.get("type").is_none_or(|it| it == "http"));
            return Self::Url {
                url: text(url),
                headers: pairs("headers"),
            };
        }
        assert!(server.get("type").is_none_or(|it| it == "stdio"));
        let arguments = server["args"].as_array().unwrap().iter();
        let words = std::iter::once(&server["command"])
            .chain(arguments)
            .map(text);
        Self::command(words.collect(), pairs("env").into_iter().collect())
    }

    /// The arguments of `claude mcp add`.
    pub(crate) fn added(words: &[String]) -> Self {
        let (mut names, mut variables, mut headers) = (Vec::new(), Variables::new(), Vec::new());
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match word.as_str() {
                "--" => return Self::command(rest.cloned().collect(), variables),
                "--env" => {
                    let (name, value) = rest.next().unwrap().split_once('=').unwrap();
                    variables.insert(name.to_owned(), value.to_owned());
                }
                "--transport" => assert_eq!(rest.next().unwrap(), "http"),
                "--header" => {
                    let (name, value) = rest.next().unwrap().split_once(": ").unwrap();
                    headers.push((name.to_owned(), value.to_owned()));
                }
                option if option.starts_with('-') => panic!("unknown option {option}"),
                name => names.push(name.to_owned()),
            }
        }
        let url = names.pop().unwrap();
        assert_eq!(names.len(), 1, "a server has one name");
        Self::Url { url, headers }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Calls the tool of a server that the client starts in another folder, and returns the failure.
pub(crate) async fn over_stdio(call: ToolCall, words: &[String], variables: Variables) -> Value {
    let other_folder = std::env::temp_dir();
    let command = process::command(words, &other_folder, &variables);
    let child = TokioChildProcess::new(tokio::process::Command::from(command)).unwrap();
    let client = ().serve(child).await.unwrap();
    let tools = client.list_all_tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == call.tool));
    let arguments = call.arguments().as_object().unwrap().clone();
    let request = CallToolRequestParams::new(call.tool).with_arguments(arguments);
    let result = client.call_tool(request).await.unwrap();
    client.cancel().await.unwrap();
    call.failure(&serde_json::to_value(result).unwrap())
}

/// Calls the tool of a running server, and returns the failure.
pub(crate) fn over_http(call: ToolCall, url: &str, headers: &[(String, String)]) -> Value {
    let mut client = HttpClient {
        url,
        headers: headers.to_vec(),
    };
    let initialize = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "guides", "version": "1"},
    });
    assert_eq!(
        client.request("initialize", &initialize)["serverInfo"]["name"],
        "panpan"
    );
    let tools = client.request("tools/list", &json!({}));
    let mut tools = tools["tools"].as_array().unwrap().iter();
    assert!(tools.any(|tool| tool["name"] == call.tool));
    let parameters = json!({"name": call.tool, "arguments": call.arguments()});
    call.failure(&client.request("tools/call", &parameters))
}

/// A minimal MCP client over HTTP.
struct HttpClient<'a> {
    url: &'a str,
    headers: Vec<(String, String)>,
}

impl HttpClient<'_> {
    fn request(&mut self, method: &str, parameters: &Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters});
        let response = self.post(&request.to_string());
        assert_eq!(response.status, 200, "{response:?}");
        if let Some(session) = response.header("mcp-session-id") {
            self.headers
                .push(("mcp-session-id".to_owned(), session.to_owned()));
        }
        let body = response.text();
        let answer = body
            .lines()
            .find(|line| line.contains(r#""jsonrpc""#))
            .unwrap();
        let answer = answer.strip_prefix("data: ").unwrap_or(answer);
        let answer: Value = serde_json::from_str(answer).unwrap();
        answer
            .get("result")
            .unwrap_or_else(|| panic!("{answer}"))
            .clone()
    }

    fn post(&self, body: &str) -> Response {
        let address = self.url.strip_prefix("http://").unwrap();
        let (host, path) = address.split_once('/').unwrap();
        let headers = self.headers.iter();
        let headers: String = headers
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let accept = "accept: application/json, text/event-stream\r\n";
        let headers = format!("{accept}{JSON}{headers}");
        request(host, "POST", &format!("/{path}"), &headers, body)
    }
}
