//! `panpan serve` as a process: start, errors, signals, files and the log.
//!
//! The protocols are tested in the surfaces crate. The tests use Unix signals.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod access;
mod clients;
mod first_start;
mod full_store;
mod http;
mod logs;
mod offered_operations;
mod refusals;
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

/// How long a test waits before it fails.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A temporary folder with a data folder in it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::SeqCst);
        let name = format!("panpan-serve-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn data(&self) -> PathBuf {
        self.0.join("data")
    }

    /// Writes a file and returns its path.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The program in this folder, with an environment that contains only the data folder.
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

    /// Runs the program to its end.
    fn run(&self, arguments: &[&str]) -> Output {
        run(&mut self.panpan(arguments))
    }

    /// Creates a token.
    fn token(&self, name: &str) -> String {
        let output = self.run(&["token", "new", name]);
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a command to its end; a command that serves instead is killed with the test.
fn run(command: &mut Command) -> Output {
    let mut server = Server::of(command.spawn().unwrap(), "");
    server.wait_for_end();
    server.output()
}

/// The stderr of a command that has ended.
fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Waits until a condition is true.
fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < TIMEOUT, "timeout: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
