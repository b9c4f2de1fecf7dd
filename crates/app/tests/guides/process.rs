//! Processes that the guides start: servers, and commands that end.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use panpan_testkit::{Server, panpan};

/// Environment variables.
pub(crate) type Variables = BTreeMap<String, String>;

/// The program in a folder, with these variables.
pub(crate) fn command(words: &[String], folder: &Path, variables: &Variables) -> Command {
    let mut command = panpan(words);
    command.envs(variables).current_dir(folder);
    command
}

/// Runs a command to its end.
pub(crate) fn run(words: &[String], folder: &Path, variables: &Variables) -> Output {
    panpan_testkit::run(&mut command(words, folder, variables), b"")
}

/// Starts a server on a free port and waits for its banner.
pub(crate) fn serve(words: &[String], folder: &Path, variables: &Variables) -> Server {
    let mut command = command(words, folder, variables);
    let server = Server::run(command.args(["--listen", "127.0.0.1:0"]));
    server.wait_for_line("stop with Ctrl-C");
    let lines = server.lines();
    assert!(
        !lines.iter().any(|it| it.contains("unavailable")),
        "{lines:?}"
    );
    server
}
