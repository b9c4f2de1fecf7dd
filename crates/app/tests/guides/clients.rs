//! MCP clients as their configuration has them: a command they start, or an address they ask.

use std::io::{Read, Write};
use std::net::TcpStream;

use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};

use crate::process::{self, Variables};

/// The tool a guide asks for, and how it fails.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) tool: &'static str,
    /// The one argument it takes.
    pub(crate) argument: (&'static str, &'static str),
    pub(crate) code: &'static str,
}

impl Asked {
    fn arguments(&self) -> Value {
        let (name, value) = self.argument;
        json!({name: value})
    }

    /// The failure in the first text block, which is all that some models see.
    fn told(&self, result: &Value) -> Value {
        assert_eq!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        let told: Value = serde_json::from_str(text).unwrap();
        assert_eq!(told["error"]["code"], self.code, "{told}");
        told
    }
}

/// A server a client is told about.
#[derive(Debug)]
pub(crate) enum Configured {
    Command {
        words: Vec<String>,
        variables: Variables,
    },
    Address {
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

    /// The servers in a client's file; none where a value is no such file.
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
            return Self::Address {
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

    /// What stands behind `claude mcp add`.
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
                option if option.starts_with('-') => panic!("{option} is not known"),
                name => names.push(name.to_owned()),
            }
        }
        let url = names.pop().unwrap();
        assert_eq!(names.len(), 1, "a server has one name");
        Self::Address { url, headers }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// What a model is given by a server that the client starts, wherever the client runs.
pub(crate) async fn over_pipe(asked: Asked, words: &[String], variables: Variables) -> Value {
    let elsewhere = std::env::temp_dir();
    let command = process::command(words, &elsewhere, &variables);
    let child = TokioChildProcess::new(tokio::process::Command::from(command)).unwrap();
    let client = ().serve(child).await.unwrap();
    let tools = client.list_all_tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == asked.tool));
    let arguments = asked.arguments().as_object().unwrap().clone();
    let request = CallToolRequestParams::new(asked.tool).with_arguments(arguments);
    let result = client.call_tool(request).await.unwrap();
    client.cancel().await.unwrap();
    asked.told(&serde_json::to_value(result).unwrap())
}

/// What a model is given by a server that runs already.
pub(crate) fn over_http(asked: Asked, url: &str, headers: &[(String, String)]) -> Value {
    let mut client = Asking {
        url,
        headers: headers.to_vec(),
    };
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "guides", "version": "1"},
    });
    assert_eq!(
        client.ask("initialize", &hello)["serverInfo"]["name"],
        "panpan"
    );
    let tools = client.ask("tools/list", &json!({}));
    let mut tools = tools["tools"].as_array().unwrap().iter();
    assert!(tools.any(|tool| tool["name"] == asked.tool));
    let call = json!({"name": asked.tool, "arguments": asked.arguments()});
    asked.told(&client.ask("tools/call", &call))
}

/// A client that knows only as much HTTP as it needs.
struct Asking<'a> {
    url: &'a str,
    headers: Vec<(String, String)>,
}

impl Asking<'_> {
    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters});
        let (head, body) = self.posted(&request.to_string());
        assert!(head.starts_with("HTTP/1.1 200"), "{head}\n{body}");
        let session = head
            .lines()
            .find_map(|line| line.strip_prefix("mcp-session-id: "));
        if let Some(session) = session {
            self.headers
                .push(("mcp-session-id".to_owned(), session.to_owned()));
        }
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

    fn posted(&self, body: &str) -> (String, String) {
        let address = self.url.strip_prefix("http://").unwrap();
        let (host, path) = address.split_once('/').unwrap();
        let headers = self.headers.iter();
        let headers: String = headers
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let length = body.len();
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "POST /{path} HTTP/1.1\r\nhost: {host}\r\naccept: application/json, text/event-stream\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\
             {headers}\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }
}
