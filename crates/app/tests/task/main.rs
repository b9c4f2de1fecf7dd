//! `panpan task`: the output and exit codes of the built program, at a server and in the process itself.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod commands;
mod errors;
#[cfg(unix)]
mod interrupts;
#[cfg(target_os = "linux")]
mod terminal;
mod watching;

use std::process::Output;

use panpan_testkit::{Folder, Server, run, stderr, stdout};
use serde_json::{Value, json};

/// Where the commands of a test go: to a server, or to a store with --local.
struct Place {
    folder: Folder,
    server: Option<Server>,
}

impl Place {
    fn local() -> Self {
        Self {
            folder: Folder::new(),
            server: None,
        }
    }

    fn server() -> Self {
        let folder = Folder::new();
        let server = Some(Server::start(&folder, &[]));
        Self { folder, server }
    }

    /// Both of them.
    fn both() -> [Self; 2] {
        [Self::local(), Self::server()]
    }

    /// The arguments with those that name the place.
    fn arguments(&self, arguments: &[&str]) -> Vec<String> {
        let target = self.options();
        let target = target.split_whitespace();
        let arguments = ["task"].iter().chain(arguments).copied();
        arguments.chain(target).map(str::to_owned).collect()
    }

    /// The options that name the place, as hints repeat them.
    fn options(&self) -> String {
        match &self.server {
            Some(server) => format!(" --server http://{}", server.address),
            None => " --local".to_owned(),
        }
    }

    fn command(&self, arguments: &[&str]) -> std::process::Command {
        let arguments = self.arguments(arguments);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut command = self.folder.panpan(&arguments);
        // `stty` tells the size of a terminal.
        command.env("PATH", std::env::var("PATH").unwrap());
        command
    }

    fn task(&self, arguments: &[&str]) -> Output {
        run(&mut self.command(arguments), b"")
    }

    /// Runs tasks to their end; returns the exit code and the output.
    fn run_tasks(&self, tasks: &Value) -> Output {
        let file = self.folder.file("flow.json", tasks.to_string());
        self.task(&["run", &file, "--watch"])
    }

    /// The JSON on stdout of a command that succeeds.
    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.task(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_str(&stdout(&output)).unwrap()
    }

    /// The failure on stdout of a command that is refused, and its messages.
    #[track_caller]
    fn refused(&self, arguments: &[&str]) -> (String, String) {
        let output = self.task(arguments);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let failure: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let code = failure["code"].as_str().unwrap().to_owned();
        (code, stderr(&output))
    }
}

fn id(number: u32) -> String {
    format!("20000000-0000-4000-8000-{number:012}")
}

fn task(number: u32, name: &str, method: &str, inputs: Value) -> Value {
    json!({"id": id(number), "name": name, "schemas": {"method": method}, "inputs": inputs})
}

/// The same task below the first one, after these.
fn below(mut task: Value, on: &[u32]) -> Value {
    task["parent_id"] = json!(id(1));
    let on = on.iter().map(|number| json!({"id": id(*number)}));
    task["dependencies"] = on.collect();
    task
}

/// A flow with a task that fails and one that is blocked by it.
fn failing_flow() -> Value {
    json!([
        task(1, "report", "demo/echo", json!({"text": "hello"})),
        below(
            task(
                2,
                "divide",
                "demo/divide",
                json!({"dividend": 1, "divisor": 0})
            ),
            &[]
        ),
        below(task(3, "total", "demo/echo", json!({})), &[2]),
    ])
}

/// A flow whose tasks succeed.
fn good_flow() -> Value {
    json!([
        task(1, "report", "demo/echo", json!({"text": "hello"})),
        below(
            task(
                2,
                "divide",
                "demo/divide",
                json!({"dividend": 6, "divisor": 3})
            ),
            &[1]
        ),
    ])
}
