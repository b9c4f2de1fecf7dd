//! A server as a child process, which ends with the test, however that ends.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::http::{self, Answer};
use crate::{Folder, until};

pub(crate) struct Server {
    child: Child,
    /// Where it listens, as `127.0.0.1:PORT`.
    pub(crate) address: String,
    said: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts a server on some port of this machine's own address.
    pub(crate) fn start(folder: &Folder, flags: &[&str]) -> Self {
        let listen = ["serve", "--listen", "127.0.0.1:0"];
        Self::run(&mut folder.panpan(&[&listen, flags].concat()))
    }

    /// Starts a server and waits until it says where it is.
    pub(crate) fn run(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let heard = said.clone();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                heard.lock().unwrap().push(line);
            }
        });
        let mut server = Self::of(child, "");
        server.said = said;
        until("the address of the server", || {
            let said = server.said();
            assert_eq!(server.child.try_wait().unwrap(), None, "{said:?}");
            let greeting = said.iter().find(|line| is_greeting(line));
            server.address = greeting.map(|line| address(line)).unwrap_or_default();
            greeting.is_some()
        });
        server
    }

    /// A server that said this first, and is heard no more.
    pub(crate) fn of(child: Child, line: &str) -> Self {
        Self {
            child,
            address: address(line),
            said: Arc::default(),
        }
    }

    /// What it wrote to stderr so far.
    pub(crate) fn said(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }

    /// Waits until it says something with these words.
    pub(crate) fn hear(&self, words: &str) {
        until(words, || {
            self.said().iter().any(|line| line.contains(words))
        });
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        http::request(&self.address, "GET", path, "", "")
    }

    pub(crate) fn call(&self, headers: &str, body: &str) -> Answer {
        http::request(&self.address, "POST", "/call", headers, body)
    }

    /// Calls `demo/order` with a key.
    pub(crate) fn order(&self, key: &str) -> Answer {
        let body = format!(
            r#"{{"operation": "demo/order", "input": {{"item": "tea"}}, "idempotency_key": "{key}"}}"#
        );
        self.call("", &body)
    }

    /// Waits until so many calls run.
    pub(crate) fn until_running(&self, calls: usize) {
        let line = format!("\npanpan_calls_in_flight {calls}\n");
        until(&line, || self.get("/metrics").body.contains(&line));
    }

    pub(crate) fn signal(&self, name: &str) {
        // The shell's own: a bare machine has no program of that name.
        let command = format!("kill -s {name} {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &command]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for its end, and gives its exit code; `None` when a signal ended it.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let mut status = None;
        until("the end of the server", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap().code()
    }

    /// Has it stop, and gives what it left behind.
    pub(crate) fn stopped(&mut self) -> Output {
        self.signal("TERM");
        assert_eq!(self.ended(), Some(0), "{:?}", self.said());
        self.output()
    }

    /// What it left behind when it ended, of stderr what nobody has heard.
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

/// The address in the first line, of a log for people or for programs; empty where there is none.
/// Whether a line says where a server is; a log for programs says so first.
fn is_greeting(line: &str) -> bool {
    line.contains(" operations at ") || line.starts_with('{')
}

fn address(line: &str) -> String {
    let rest = line.split_once("://").map_or("", |(_, rest)| rest);
    let is_part = |letter: char| letter.is_ascii_hexdigit() || ".:[]".contains(letter);
    rest.chars().take_while(|letter| is_part(*letter)).collect()
}
