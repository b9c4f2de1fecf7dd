//! A walk through a guide in a folder of its own.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::clients::{self, Asked, Configured};
use crate::markdown::Snippet;
use crate::process::{self, Server, Variables};
use crate::{files, service};

/// How far a walk has come.
pub(crate) struct Walk {
    folder: PathBuf,
    /// What clients ask for.
    asked: Asked,
    service_url: String,
    /// The MCP server that is there already.
    behind: Server,
    variables: Variables,
    server: Option<Server>,
    /// The failure a caller was given last.
    failure: Option<Value>,
    /// What a command said last.
    said: Option<String>,
    pub(crate) tried: Tried,
}

/// How much was tried.
#[derive(Debug, Default)]
pub(crate) struct Tried {
    pub(crate) servers: usize,
    pub(crate) clients: usize,
    pub(crate) outcomes: usize,
}

impl Drop for Walk {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Walk {
    pub(crate) fn new(asked: Asked) -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::SeqCst);
        let name = format!("panpan-guides-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let data = folder.join("data").to_str().unwrap().to_owned();
        let behind_words = ["serve", "--store", "memory:"].map(str::to_owned);
        let variables = [
            ("PANPAN_DATA", data.as_str()),
            // The service of the guides is public; the one it is tried with is not.
            ("PANPAN_ALLOWED_HOSTS", "127.0.0.1"),
            ("PATH", &files::on_path(&folder)),
        ];
        Self {
            behind: Server::start(&behind_words, &folder, &Variables::new()),
            folder,
            asked,
            service_url: service::start(),
            variables: variables
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
            server: None,
            failure: None,
            said: None,
            tried: Tried::default(),
        }
    }

    /// Does what a snippet is for.
    pub(crate) async fn take(&mut self, snippet: &Snippet) {
        let text = self.filled(&snippet.text);
        match snippet.language.as_str() {
            "yaml" => {
                panpan_openapi::parse(text.as_bytes()).unwrap();
                self.write(snippet, &text);
            }
            "toml" => {
                text.parse::<toml::Table>().unwrap();
                self.write(snippet, &text);
            }
            "sh" => self.run_all(&snippet.text).await,
            "text" => assert_eq!(self.said.as_deref().map(str::trim_end), Some(&*text)),
            "json" => {
                let value = serde_json::from_str(&text).unwrap();
                match Configured::read(&value) {
                    Some(configured) => self.connect_all(configured).await,
                    None => self.compare(value),
                }
            }
            other => panic!("nobody knows how to try {other:?}"),
        }
    }

    /// What stands for something of the reader's, replaced by ours.
    fn filled(&self, text: &str) -> String {
        let nowhere = String::new();
        let token = self.variables.get("PANPAN_TOKEN").unwrap_or(&nowhere);
        let server = self.server.as_ref();
        let folder = self.folder.to_str().unwrap();
        let id = server.map_or_else(String::new, |it| it.id().to_string());
        let replaced = [
            ("/home/ann/billing", folder),
            ("${workspaceFolder}", folder),
            ("${env:BILLING_KEY}", service::KEY),
            ("${input:billing-key}", service::KEY),
            ("${env:PANPAN_TOKEN}", token),
            ("${input:panpan-token}", token),
            ("${PANPAN_TOKEN}", token),
            ("$PANPAN_TOKEN", token),
            ("$(pgrep -x panpan)", &id),
            ("http://127.0.0.1:7077", server.map_or("", |it| &it.url)),
            ("https://billing.example.com", &self.service_url),
            ("billing.example.com", "127.0.0.1"),
            ("https://mcp.example.com", &self.behind.url),
        ];
        let filled = text.to_owned();
        let replace = |text: String, (from, to): (&str, &str)| text.replace(from, to);
        replaced.into_iter().fold(filled, replace)
    }

    fn write(&self, snippet: &Snippet, text: &str) {
        let file = snippet.file.as_ref().unwrap();
        std::fs::write(self.folder.join(file), text).unwrap();
    }

    /// Runs the lines of a snippet, each seeing what those before it left.
    async fn run_all(&mut self, text: &str) {
        for line in text.replace("\\\n", " ").lines() {
            let words = words(&self.filled(line));
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
                ["panpan", ..] => self.run(&words[1..]),
                ["claude", "mcp", "add", ..] => {
                    self.connect_all(vec![Configured::added(&words[3..])]).await;
                }
                ["kill", ..] => self.reload(&words[1..]),
                _ => panic!("nobody knows how to try {line:?}"),
            }
        }
    }

    fn serve(&mut self, words: &[String]) {
        // The one before gives its store free first.
        self.server = None;
        let server = Server::start(words, &self.folder, &self.variables);
        self.variables
            .insert("PANPAN_SERVER".to_owned(), server.url.clone());
        self.server = Some(server);
        self.tried.servers += 1;
    }

    fn reload(&self, arguments: &[String]) {
        // One that has answered hears signals.
        let words = ["call", "services/list"].map(str::to_owned);
        let answered = process::ended(&words, &self.folder, &self.variables);
        assert!(answered.status.success(), "{answered:?}");
        // The shell's own: a bare machine has no program of that name.
        let command = format!("kill {}", arguments.join(" "));
        let mut shell = std::process::Command::new("sh");
        let killed = shell.args(["-c", &command]).status();
        assert!(killed.unwrap().success());
        let server = self.server.as_ref().unwrap();
        server.wait_for("the sources were read again");
    }

    fn run(&mut self, words: &[String]) {
        let output = process::ended(words, &self.folder, &self.variables);
        let said = String::from_utf8(output.stderr).unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        // In a guide about failures, calls fail.
        let is_call = words[0] == "call";
        assert_eq!(
            output.status.code(),
            Some(i32::from(is_call)),
            "{words:?}: {said}"
        );
        if is_call {
            self.failure = Some(serde_json::from_str(&printed).unwrap());
        }
        if words[0] == "token" {
            let token = printed.trim().to_owned();
            self.variables.insert("PANPAN_TOKEN".to_owned(), token);
        }
        self.said = Some(said);
    }

    async fn connect_all(&mut self, configured: Vec<Configured>) {
        for each in configured {
            self.failure = Some(match each {
                Configured::Command {
                    words,
                    mut variables,
                } => {
                    let ours = self.variables.iter().filter(|(name, _)| !is_secret(name));
                    variables.extend(ours.map(|(name, value)| (name.clone(), value.clone())));
                    clients::over_pipe(self.asked, &words, variables).await
                }
                Configured::Address { url, headers } => {
                    clients::over_http(self.asked, &url, &headers)
                }
            });
            self.tried.clients += 1;
        }
    }

    /// Compares what a guide shows with what a caller was given.
    fn compare(&mut self, shown: Value) {
        let given = self.failure.take().unwrap();
        assert_eq!(lasting(shown), lasting(given.clone()), "{given:#}");
        self.tried.outcomes += 1;
    }
}

/// What a client has to be told and does not find in its surroundings.
fn is_secret(variable: &str) -> bool {
    variable.contains("KEY") || variable.contains("CREDENTIAL") || variable.contains("TOKEN")
}

/// Without what is another each time.
fn lasting(mut failure: Value) -> Value {
    for (place, members) in [("/panpan", &["id", "at"][..]), ("/error", &["debug", "id"])] {
        let object = failure.pointer_mut(place).and_then(Value::as_object_mut);
        if let Some(object) = object {
            object.retain(|name, _| !members.contains(&name.as_str()));
        }
    }
    failure
}

/// The words of a line; double quotes keep some together.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('"').enumerate();
    let words = parts.flat_map(|(number, part)| match number % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    words.map(str::to_owned).collect()
}
