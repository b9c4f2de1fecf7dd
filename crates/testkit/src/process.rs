//! The built program as a child process: commands that end, and servers.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::http::{self, Response};
use crate::{Folder, TIMEOUT};

/// The built program, next to the folder of the test.
pub fn program() -> String {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(|it| it.parent()).unwrap();
    let program = folder.join(format!("panpan{}", std::env::consts::EXE_SUFFIX));
    program.into_os_string().into_string().unwrap()
}

/// The program with these arguments, without environment variables and with pipes.
pub fn panpan<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(program());
    command
        .args(arguments)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs a command to its end with this input. A command that serves instead is killed.
pub fn run(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let (sender, output) = mpsc::channel();
    let (id, mut stdin, input) = (child.id(), child.stdin.take().unwrap(), input.to_vec());
    thread::spawn(move || {
        // A program that stops reading closes the pipe; its output is tested all the same.
        let _ = stdin.write_all(&input);
        drop(stdin);
        sender.send(child.wait_with_output())
    });
    output.recv_timeout(TIMEOUT).map_or_else(
        |_| {
            signal(id, "KILL");
            panic!("the program did not end");
        },
        Result::unwrap,
    )
}

/// The stdout of a command that has ended.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The stderr of a command that has ended.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Sends a signal to a process.
pub fn signal(id: u32, name: &str) {
    // The builtin of the shell: a minimal system has no program `kill`.
    let command = format!("kill -s {name} {id}");
    let sent = Command::new("sh").args(["-c", &command]).status();
    assert!(sent.unwrap().success());
}

/// Waits until a condition is true.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < TIMEOUT, "timeout: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A server as a child process, which is killed when the test ends.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// The address it listens on, as `127.0.0.1:PORT`.
    pub address: String,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts a server on a free port of the loopback address.
    pub fn start(folder: &Folder, flags: &[&str]) -> Self {
        let listen = ["serve", "--listen", "127.0.0.1:0"];
        Self::run(&mut folder.panpan(&[&listen, flags].concat()))
    }

    /// Starts a worker and waits until it runs tasks. It has no address.
    pub fn worker(folder: &Folder, flags: &[&str]) -> Self {
        let mut command = folder.panpan(&[&["worker"], flags].concat());
        Self::run_until(&mut command, |line| line.contains("running tasks of "))
    }

    /// Starts a server and waits until it prints its address.
    pub fn run(command: &mut Command) -> Self {
        Self::run_until(command, is_banner)
    }

    fn run_until(command: &mut Command, is_ready: impl Fn(&str) -> bool) -> Self {
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
            let banner = lines.iter().find(|line| is_ready(line));
            server.address = banner.map(|line| address(line)).unwrap_or_default();
            banner.is_some()
        });
        server
    }

    /// A server whose first line is known and whose further lines are not read.
    pub fn of(child: Child, line: &str) -> Self {
        Self {
            child,
            address: address(line),
            lines: Arc::default(),
        }
    }

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The lines on stderr so far.
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// Waits for a line on stderr that contains this part.
    pub fn wait_for_line(&self, part: &str) {
        until(part, || self.lines().iter().any(|line| line.contains(part)));
    }

    /// Sends a GET request.
    pub fn get(&self, path: &str) -> Response {
        http::request(&self.address, "GET", path, "", "")
    }

    /// Sends a POST request with a JSON body.
    pub fn post(&self, path: &str, headers: &str, body: &str) -> Response {
        let headers = format!("{headers}{}", http::JSON);
        http::request(&self.address, "POST", path, &headers, body)
    }

    /// Calls an operation by `/call`.
    pub fn call(&self, headers: &str, body: &str) -> Response {
        self.post("/call", headers, body)
    }

    /// Calls `demo/order` with a key.
    pub fn order(&self, key: &str) -> Response {
        let body = format!(
            r#"{{"operation": "demo/order", "input": {{"item": "tea"}}, "idempotency_key": "{key}"}}"#
        );
        self.call("", &body)
    }

    /// Waits until this many calls are in flight.
    pub fn until_running(&self, calls: usize) {
        let line = format!("\npanpan_calls_in_flight {calls}\n");
        until(&line, || self.get("/metrics").text().contains(&line));
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        signal(self.id(), name);
    }

    /// Waits for its end and returns the exit code; `None` if a signal ended it.
    pub fn wait_for_end(&mut self) -> Option<i32> {
        let mut status = None;
        until("the end of the server", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap().code()
    }

    /// Stops it with SIGTERM and returns its output.
    pub fn stop(&mut self) -> Output {
        self.signal("TERM");
        assert_eq!(self.wait_for_end(), Some(0), "{:?}", self.lines());
        self.output()
    }

    /// The output after its end; of stderr, only what was not read before.
    pub fn output(&mut self) -> Output {
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
    line.contains(" serves ") || line.starts_with('{')
}

/// The address in a line; empty if there is none.
fn address(line: &str) -> String {
    let rest = line.split_once("://").map_or("", |(_, rest)| rest);
    let is_part = |letter: char| letter.is_ascii_hexdigit() || ".:[]".contains(letter);
    rest.chars().take_while(|letter| is_part(*letter)).collect()
}
