//! Runs the snippets of a guide in a temporary folder.

use panpan_testkit::{Folder, Server, http};
use serde_json::Value;

use crate::clients::{self, Configured, ToolCall};
use crate::markdown::Snippet;
use crate::process::{self, Variables};
use crate::{files, service};

/// The state after the snippets so far.
pub(crate) struct Runner {
    folder: Folder,
    /// The call that clients make.
    call: ToolCall,
    service_url: String,
    /// The MCP server at mcp.example.com.
    mcp_server: Server,
    variables: Variables,
    server: Option<Server>,
    /// The last failure that a caller got.
    failure: Option<Value>,
    /// What the last command printed: its stderr, or the stdout of one about tasks.
    printed: Option<String>,
    pub(crate) counts: Counts,
}

/// How many snippets of each kind have run.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) servers: usize,
    pub(crate) clients: usize,
    pub(crate) outcomes: usize,
    pub(crate) streams: usize,
}

impl Runner {
    pub(crate) fn new(call: ToolCall) -> Self {
        let folder = Folder::new();
        let data = folder.data().to_str().unwrap().to_owned();
        let mcp_server = ["serve", "--store", "memory:"].map(str::to_owned);
        let variables = [
            ("PANPAN_DATA", data.as_str()),
            // The service of the guides is public; the test service is not.
            ("PANPAN_ALLOWED_HOSTS", "127.0.0.1"),
            ("PATH", &files::on_path(&folder.0)),
        ];
        Self {
            mcp_server: process::serve(&mcp_server, &folder.0, &Variables::new()),
            folder,
            call,
            service_url: service::start(),
            variables: variables
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
            server: None,
            failure: None,
            printed: None,
            counts: Counts::default(),
        }
    }

    /// Runs a snippet according to its language.
    pub(crate) async fn run(&mut self, snippet: &Snippet) {
        let text = self.fill(&snippet.text);
        match snippet.language.as_str() {
            "yaml" => {
                panpan_openapi::parse(text.as_bytes()).unwrap();
                self.write(snippet, &text);
            }
            "toml" => {
                text.parse::<toml::Table>().unwrap();
                self.write(snippet, &text);
            }
            "sh" => self.run_commands(&snippet.text).await,
            "text" => {
                assert_eq!(self.printed.as_deref().map(str::trim_end), Some(&*text));
                self.counts.outcomes += 1;
            }
            "json" if snippet.file.is_some() => self.write(snippet, &text),
            "json" => {
                let value = serde_json::from_str(&text).unwrap();
                match Configured::read(&value) {
                    Some(configured) => self.connect_all(configured).await,
                    None => self.compare(value),
                }
            }
            other => panic!("no way to test a snippet in {other:?}"),
        }
    }

    /// Replaces the placeholders of the guide by the values of the test.
    fn fill(&self, text: &str) -> String {
        let no_token = String::new();
        let token = self.variables.get("PANPAN_TOKEN").unwrap_or(&no_token);
        let server = self.server.as_ref();
        let folder = self.folder.0.to_str().unwrap();
        let id = server.map_or_else(String::new, |it| it.id().to_string());
        let replacements = [
            ("/home/ann/billing", folder),
            ("${workspaceFolder}", folder),
            ("${env:BILLING_KEY}", service::KEY),
            ("${input:billing-key}", service::KEY),
            ("${env:PANPAN_TOKEN}", token),
            ("${input:panpan-token}", token),
            ("${PANPAN_TOKEN}", token),
            ("$PANPAN_TOKEN", token),
            ("$(pgrep -x panpan)", &id),
            (
                "http://127.0.0.1:7077",
                &server.map_or_else(String::new, url),
            ),
            ("https://billing.example.com", &self.service_url),
            ("billing.example.com", "127.0.0.1"),
            ("https://mcp.example.com", &url(&self.mcp_server)),
        ];
        let replace = |text: String, (from, to): (&str, &str)| text.replace(from, to);
        replacements.into_iter().fold(text.to_owned(), replace)
    }

    fn write(&self, snippet: &Snippet, text: &str) {
        let file = snippet.file.as_ref().unwrap();
        self.folder.file(file, text);
    }

    /// Runs the commands of a shell snippet one after the other.
    async fn run_commands(&mut self, text: &str) {
        for line in text.replace("\\\n", " ").lines() {
            let words = words(&self.fill(line));
            let program: Vec<&str> = words.iter().map(String::as_str).collect();
            match program[..] {
                ["export", assignment] => {
                    let (name, value) = assignment.split_once('=').unwrap();
                    self.variables.insert(name.to_owned(), value.to_owned());
                }
                ["panpan", "serve", ..] => self.serve(&words[1..]),
                ["panpan", "mcp", ..] => {
                    let configured = Configured::command(words.clone(), self.variables.clone());
                    self.connect_all(vec![configured]).await;
                }
                ["panpan", ..] => self.run_command(&words[1..]),
                ["claude", "mcp", "add", ..] => {
                    self.connect_all(vec![Configured::added(&words[3..])]).await;
                }
                ["kill", ..] => self.reload(&words[1..]),
                ["curl", "-N", url] => self.stream(url, ""),
                ["curl", "-N", "-H", header, url] => self.stream(url, &format!("{header}\r\n")),
                _ => panic!("no way to test {line:?}"),
            }
        }
    }

    fn serve(&mut self, words: &[String]) {
        // The previous server has to release its store first.
        self.server = None;
        let server = process::serve(words, &self.folder.0, &self.variables);
        self.variables
            .insert("PANPAN_SERVER".to_owned(), url(&server));
        self.server = Some(server);
        self.counts.servers += 1;
    }

    fn reload(&self, arguments: &[String]) {
        // A server that has answered a call also receives signals.
        let words = ["call", "services/list"].map(str::to_owned);
        let called = process::run(&words, &self.folder.0, &self.variables);
        assert!(called.status.success(), "{called:?}");
        // The builtin of the shell: a minimal system has no program `kill`.
        let command = format!("kill {}", arguments.join(" "));
        let mut shell = std::process::Command::new("sh");
        let killed = shell.args(["-c", &command]).status();
        assert!(killed.unwrap().success());
        let server = self.server.as_ref().unwrap();
        server.wait_for_line("sources reloaded");
    }

    /// Reads a stream of events to its end.
    fn stream(&mut self, url: &str, headers: &str) {
        let address = url.strip_prefix("http://").unwrap();
        let (host, path) = address.split_once('/').unwrap();
        let response = http::request(host, "GET", &format!("/{path}"), headers, "");
        assert_eq!(response.status, 200);
        let events = response.text();
        assert!(events.contains("\"final\":true"), "{events}");
        assert_eq!(events.contains("id: 1\n"), headers.is_empty(), "{events}");
        self.counts.streams += 1;
    }

    fn run_command(&mut self, words: &[String]) {
        let output = process::run(words, &self.folder.0, &self.variables);
        let stderr = String::from_utf8(output.stderr).unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        // The calls in the guides fail, and so does the first flow, which is not retried.
        let is_call = words[0] == "call" && !words[1].starts_with("tasks/");
        let is_first_flow = words[..2] == ["task", "run"];
        let fails = is_call || is_first_flow;
        assert_eq!(
            output.status.code(),
            Some(i32::from(fails)),
            "{words:?}: {stderr}"
        );
        if is_call {
            self.failure = Some(serde_json::from_str(&stdout).unwrap());
        }
        if words[0] == "token" {
            let token = stdout.trim().to_owned();
            self.variables.insert("PANPAN_TOKEN".to_owned(), token);
        }
        self.printed = Some(match words[0].as_str() {
            "task" => stdout,
            _ => stderr,
        });
    }

    async fn connect_all(&mut self, configured: Vec<Configured>) {
        for each in configured {
            self.failure = Some(match each {
                Configured::Command {
                    words,
                    mut variables,
                } => {
                    let shared = self.variables.iter().filter(|(name, _)| !is_secret(name));
                    variables.extend(shared.map(|(name, value)| (name.clone(), value.clone())));
                    clients::over_stdio(self.call, &words, variables).await
                }
                Configured::Url { url, headers } => clients::over_http(self.call, &url, &headers),
            });
            self.counts.clients += 1;
        }
    }

    /// Compares the failure in the guide with the one that a caller got.
    fn compare(&mut self, shown: Value) {
        let actual = self.failure.take().unwrap();
        assert_eq!(stable(shown), stable(actual.clone()), "{actual:#}");
        self.counts.outcomes += 1;
    }
}

fn url(server: &Server) -> String {
    format!("http://{}", server.address)
}

/// Whether a variable has to be in the configuration of the client.
fn is_secret(variable: &str) -> bool {
    variable.contains("KEY") || variable.contains("CREDENTIAL") || variable.contains("TOKEN")
}

/// The failure without the members that differ each time.
fn stable(mut failure: Value) -> Value {
    for (pointer, members) in [("/panpan", &["id", "at"][..]), ("/error", &["debug", "id"])] {
        let object = failure.pointer_mut(pointer).and_then(Value::as_object_mut);
        if let Some(object) = object {
            object.retain(|name, _| !members.contains(&name.as_str()));
        }
    }
    failure
}

/// The words of a line; double quotes group words.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('"').enumerate();
    let words = parts.flat_map(|(number, part)| match number % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    words.map(str::to_owned).collect()
}
