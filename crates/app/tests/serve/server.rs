//! A server as a child process, which is killed when the test ends.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::http::{self, Response};
use crate::{Folder, until};

pub(crate) struct Server {
    child: Child,
    /// The address it listens on, as `127.0.0.1:PORT`.
    pub(crate) address: String,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts a server on a free port of the loopback address.
    pub(crate) fn start(folder: &Folder, flags: &[&str]) -> Self {
        let listen = ["serve", "--listen", "127.0.0.1:0"];
        Self::run(&mut folder.panpan(&[&listen, flags].concat()))
    }

    /// Starts a server and waits until it prints its address.
    pub(crate) fn run(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        let collected = lines.clone();
        thread::spawn(move || {
            for line in stderr.map_while(Result::ok) {
                collected.lock().unwrap().push(line);
            }
        });
        let mut server = Self::of(child, "");
        server.lines = lines;
        until("the address of the server", || {
            let lines = server.lines();
            assert_eq!(server.child.try_wait().unwrap(), None, "{lines:?}");
            let banner = lines.iter().find(|line| is_banner(line));
            server.address = banner.map(|line| address(line)).unwrap_or_default();
            banner.is_some()
        });
        server
    }

    /// A server whose first line is known and whose further lines are not read.
    pub(crate) fn of(child: Child, line: &str) -> Self {
        Self {
            child,
            address: address(line),
            lines: Arc::default(),
        }
    }

    /// The lines on stderr so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// Waits for a line on stderr that contains this part.
    pub(crate) fn wait_for_line(&self, part: &str) {
        until(part, || self.lines().iter().any(|line| line.contains(part)));
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        http::request(&self.address, "GET", path, "", "")
    }

    pub(crate) fn call(&self, headers: &str, body: &str) -> Response {
        http::request(&self.address, "POST", "/call", headers, body)
    }

    /// Calls `demo/order` with a key.
    pub(crate) fn order(&self, key: &str) -> Response {
        let body = format!(
            r#"{{"operation": "demo/order", "input": {{"item": "tea"}}, "idempotency_key": "{key}"}}"#
        );
        self.call("", &body)
    }

    /// Waits until this many calls are in flight.
    pub(crate) fn until_running(&self, calls: usize) {
        let line = format!("\npanpan_calls_in_flight {calls}\n");
        until(&line, || self.get("/metrics").body.contains(&line));
    }

    pub(crate) fn signal(&self, name: &str) {
        // The builtin of the shell: a minimal system has no program `kill`.
        let command = format!("kill -s {name} {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &command]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for its end and returns the exit code; `None` if a signal ended it.
    pub(crate) fn wait_for_end(&mut self) -> Option<i32> {
        let mut status = None;
        until("the end of the server", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap().code()
    }

    /// Stops it with SIGTERM and returns its output.
    pub(crate) fn stop(&mut self) -> Output {
        self.signal("TERM");
        assert_eq!(self.wait_for_end(), Some(0), "{:?}", self.lines());
        self.output()
    }

    /// The output after its end; of stderr, only what was not read before.
    pub(crate) fn output(&mut self) -> Output {
        fn rest(stream: Option<impl Read>) -> Vec<u8> {
            let mut bytes = Vec::new();
            stream.map(|mut it| it.read_to_end(&mut bytes).unwrap());
            bytes
        }
        Output {
            status: self.child.wait().unwrap(),
            stdout: rest(self.child.stdout.take()),
            stderr: rest(self.child.stderr.take()),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a line contains the address of the server; in a JSON log, that is the first line.
fn is_banner(line: &str) -> bool {
    line.contains(" operations at ") || line.starts_with('{')
}

/// The address in a line; empty if there is none.
fn address(line: &str) -> String {
    let rest = line.split_once("://").map_or("", |(_, rest)| rest);
    let is_part = |letter: char| letter.is_ascii_hexdigit() || ".:[]".contains(letter);
    rest.chars().take_while(|letter| is_part(*letter)).collect()
}
