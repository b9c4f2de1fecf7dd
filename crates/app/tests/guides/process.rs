//! Processes that the guides start: servers, and commands that end.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long a test waits before it fails.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Environment variables.
pub(crate) type Variables = BTreeMap<String, String>;

/// The program in a folder, with these variables and no other `PANPAN_` variables.
pub(crate) fn command(words: &[String], folder: &Path, variables: &Variables) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_panpan"));
    let inherited =
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PANPAN_"));
    for (name, _) in inherited {
        command.env_remove(name);
    }
    command.args(words).envs(variables).current_dir(folder);
    command
}

/// Runs a command to its end.
pub(crate) fn run(words: &[String], folder: &Path, variables: &Variables) -> Output {
    let mut command = command(words, folder, variables);
    command.stdin(Stdio::null()).output().unwrap()
}

/// A running server, killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    lines: Receiver<String>,
    pub(crate) url: String,
}

impl Server {
    /// Starts it on a free port and waits for its banner.
    pub(crate) fn start(words: &[String], folder: &Path, variables: &Variables) -> Self {
        let mut command = command(words, folder, variables);
        command
            .args(["--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, lines) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            let stderr = stderr.lines().map_while(Result::ok);
            stderr.for_each(|line| drop(sender.send(line)));
        });
        let mut server = Self {
            child,
            lines,
            url: String::new(),
        };
        let banner = server.wait_for(" operations at http://");
        server.url = banner.rsplit(' ').next().unwrap().to_owned();
        let banner = server.lines_until("stop with Ctrl-C");
        assert!(
            !banner.iter().any(|it| it.contains("unavailable")),
            "{banner:?}"
        );
        server
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line that contains this part.
    pub(crate) fn wait_for(&self, part: &str) -> String {
        let mut lines = self.lines_until(part);
        lines.pop().unwrap()
    }

    fn lines_until(&self, part: &str) -> Vec<String> {
        let mut seen = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(TIMEOUT) {
            seen.push(line);
            if seen.last().is_some_and(|line| line.contains(part)) {
                return seen;
            }
        }
        panic!("no line contains {part:?}: {}", seen.join("\n"));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
