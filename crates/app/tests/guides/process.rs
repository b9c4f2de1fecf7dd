//! The program as the guides start it: a server that runs on, or a command that ends.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long something is waited for before the test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Variables of the environment.
pub(crate) type Variables = BTreeMap<String, String>;

/// The program in a folder, with these variables and nothing else of ours.
pub(crate) fn command(words: &[String], folder: &Path, variables: &Variables) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_panpan"));
    let ours =
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PANPAN_"));
    for (name, _) in ours {
        command.env_remove(name);
    }
    command.args(words).envs(variables).current_dir(folder);
    command
}

/// What a command that ends came to.
pub(crate) fn ended(words: &[String], folder: &Path, variables: &Variables) -> Output {
    let mut command = command(words, folder, variables);
    command.stdin(Stdio::null()).output().unwrap()
}

/// A server that runs. It stops when it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    lines: Receiver<String>,
    pub(crate) url: String,
}

impl Server {
    /// Starts it at a port of its own, and waits until it says where it is.
    pub(crate) fn start(words: &[String], folder: &Path, variables: &Variables) -> Self {
        let mut command = command(words, folder, variables);
        command
            .args(["--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, lines) = channel();
        let said = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            let said = said.lines().map_while(Result::ok);
            said.for_each(|line| drop(sender.send(line)));
        });
        let mut server = Self {
            child,
            lines,
            url: String::new(),
        };
        let greeting = server.wait_for(" operations at http://");
        server.url = greeting.rsplit(' ').next().unwrap().to_owned();
        let about = server.lines_until("stop with Ctrl-C");
        assert!(
            !about.iter().any(|it| it.contains("not there")),
            "{about:?}"
        );
        server
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line that has a part.
    pub(crate) fn wait_for(&self, part: &str) -> String {
        let mut lines = self.lines_until(part);
        lines.pop().unwrap()
    }

    fn lines_until(&self, part: &str) -> Vec<String> {
        let mut seen = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            seen.push(line);
            if seen.last().is_some_and(|line| line.contains(part)) {
                return seen;
            }
        }
        panic!("no line has {part:?}: {}", seen.join("\n"));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
