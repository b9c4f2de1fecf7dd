//! Temporary folders.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::process::{panpan, run, stderr, stdout};

/// An empty folder that is deleted at the end of the test.
#[derive(Debug)]
pub struct Folder(pub PathBuf);

impl Default for Folder {
    fn default() -> Self {
        Self::new()
    }
}

impl Folder {
    /// Creates the folder.
    pub fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::SeqCst);
        let name = format!("panpan-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The data folder of the programs that run in the folder.
    pub fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The program in this folder, with an environment that contains only the data folder.
    pub fn panpan(&self, arguments: &[&str]) -> Command {
        let mut command = panpan(arguments);
        command.current_dir(&self.0).env("PANPAN_DATA", self.data());
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[&str]) -> Output {
        run(&mut self.panpan(arguments), b"")
    }

    /// Runs a command that succeeds, and returns its stdout.
    pub fn stdout(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    }

    /// Creates a token.
    pub fn token(&self, principal: &str) -> String {
        let token = self.stdout(&["token", "new", principal]);
        token.trim().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
