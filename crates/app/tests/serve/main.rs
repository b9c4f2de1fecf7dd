//! `panpan serve` as the one who runs it meets it: a process with signals, sockets, files and a log.
//!
//! What the protocols answer is tested where they are; here it is that the process serves at all, refuses
//! to with a sentence, and ends as it should. Signals are those of Unix.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod clients;
mod first;
mod http;
mod logs;
mod offered;
mod refusals;
mod room;
mod server;
mod settings;
mod sharing;
mod sources;
mod stopping;

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use server::Server;

/// What is waited for comes much earlier; that it does not come at all is what this is for.
const PATIENCE: Duration = Duration::from_secs(20);

/// An empty folder that goes away with the test; one level below it data is kept.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::SeqCst);
        let name = format!("panpan-serve-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    /// Writes a file and gives its path.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The program, started in this folder, with nothing of the environment but where data is kept.
    fn panpan(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_panpan"));
        command
            .args(arguments)
            .current_dir(&self.0)
            .env_clear()
            .env("PANPAN_DATA", self.data())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the program with these arguments to its end.
    fn ran(&self, arguments: &[&str]) -> Output {
        ran(&mut self.panpan(arguments))
    }

    /// Makes a token.
    fn token(&self, name: &str) -> String {
        let output = self.ran(&["token", "new", name]);
        assert!(output.status.success(), "{}", talk(&output));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a command to its end; one that begins to serve instead is ended with the test.
fn ran(command: &mut Command) -> Output {
    let mut server = Server::of(command.spawn().unwrap(), "");
    server.ended();
    server.output()
}

/// What a command that ended said to whoever ran it.
fn talk(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Waits until something is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "{what} does not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}
