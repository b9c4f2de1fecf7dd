//! A server as a child process: how it is started, what it inherits and how it ends.
//!
//! It leads a process group, so that its own children end with it. A guard also ends processes that
//! left the group, and everything if this process is killed. Its stderr is logged, redacted and
//! limited.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use panpan_redact::Redactor;
use process_wrap::tokio::CommandWrap;
#[cfg(unix)]
use process_wrap::tokio::ProcessGroup;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use super::children::{self, Children, Process, Started};
use super::error::McpError;
use super::settings::McpCommand;

/// Variables that every program needs and that contain no secrets.
const INHERITED_VARIABLES: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "SYSTEMROOT",
];

/// The variable with the number of nested panpans.
const DEPTH_VARIABLE: &str = "PANPAN_DEPTH";

/// The limit of nested panpans: one that is started in the folder of its own configuration would
/// start itself for ever.
const DEPTH_LIMIT: u32 = 4;

/// The longest line of stderr that is logged as one, in bytes.
const STDERR_LINE_LIMIT: usize = 2_000;

/// The number of lines of stderr that are logged per process; the rest is read and discarded.
const STDERR_LINES_LIMIT: usize = 1_000;

/// How long to wait for the exit status of a process that closed its output.
pub(super) const EXIT_STATUS_WAIT: Duration = Duration::from_millis(200);

/// How long to wait for a process that was told to exit.
pub(super) const SHUTDOWN_WAIT: Duration = Duration::from_secs(2);

/// The polling interval meanwhile.
pub(super) const EXIT_POLL: Duration = Duration::from_millis(10);

/// A running server. Dropping it kills it and its process group.
#[derive(Debug)]
pub(super) struct Child(Process);

/// The pipes to a server.
#[derive(Debug)]
pub(super) struct ChildPipes {
    pub(super) input: ChildStdin,
    pub(super) output: ChildStdout,
}

impl Child {
    /// Starts the program of a server.
    pub(super) fn start(
        namespace: &str,
        command: &McpCommand,
        children: &Children,
    ) -> Result<(Self, ChildPipes), McpError> {
        let failed = |source| McpError::Start {
            program: command.program.clone(),
            source: Arc::new(source),
        };
        let depth = depth();
        if depth >= DEPTH_LIMIT {
            return Err(failed(io::Error::other(TooNested)));
        }
        if command.guard.is_some() {
            // The guard would report it only on its own stderr.
            check_startable(command).map_err(failed)?;
        }
        let mut wrapped = CommandWrap::from(prepare(command, depth + 1));
        #[cfg(unix)]
        wrapped.wrap(ProcessGroup::leader());
        let started = children.start(|| {
            Ok(Started {
                process: wrapped.spawn()?,
                is_guarded: command.guard.is_some(),
            })
        });
        let closed = || McpError::Ended("closed by panpan".to_owned());
        let child = Self(started.ok_or_else(closed)?.map_err(failed)?);
        let pipes = {
            let mut started = child.0.lock().unwrap_or_else(PoisonError::into_inner);
            let process = &mut started.process;
            if let Some(stderr) = process.stderr().take() {
                tokio::spawn(StderrLog::new(namespace, command).run(stderr));
            }
            (process.stdin().take(), process.stdout().take())
        };
        let (Some(input), Some(output)) = pipes else {
            return Err(failed(io::ErrorKind::NotConnected.into()));
        };
        Ok((child, ChildPipes { input, output }))
    }

    /// The exit status, if it has exited.
    fn try_wait(&self) -> io::Result<Option<ExitStatus>> {
        let mut process = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        process.process.try_wait()
    }

    /// The exit status, if it exits within that time.
    pub(super) async fn exit_status(&mut self, within: Duration) -> Option<ExitStatus> {
        let waiting = async {
            loop {
                match self.try_wait() {
                    Ok(None) => tokio::time::sleep(EXIT_POLL).await,
                    Ok(status) => return status,
                    Err(_) => return None,
                }
            }
        };
        tokio::time::timeout(within, waiting).await.ok()?
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        children::kill(&self.0);
    }
}

/// A panpan that starts itself as a server.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "limit of {DEPTH_LIMIT} nested panpans reached; a panpan that is the server of another needs a \
     configuration that does not name itself (`directory`, or `--config` among its arguments)"
)]
struct TooNested;

fn depth() -> u32 {
    let depth = std::env::var(DEPTH_VARIABLE).ok();
    depth.and_then(|depth| depth.parse().ok()).unwrap_or(0)
}

/// The default of `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Whether the system would start the program of a server.
fn check_startable(command: &McpCommand) -> io::Result<()> {
    let program = Path::new(&command.program);
    let in_folder = |folder: PathBuf| folder.join(program);
    let candidates: Vec<PathBuf> = if program.components().count() > 1 {
        let folder = command.directory.clone().unwrap_or_default();
        vec![in_folder(folder)]
    } else {
        let configured = command.environment.iter().find(|(name, _)| name == "PATH");
        let path = match configured {
            Some((_, path)) => OsString::from(path.expose()),
            None => std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into()),
        };
        std::env::split_paths(&path).map(in_folder).collect()
    };
    let files = candidates.iter().filter(|it| it.is_file());
    match files.map(|it| is_executable(it)).max() {
        Some(true) => Ok(()),
        Some(false) => Err(io::ErrorKind::PermissionDenied.into()),
        None => Err(io::ErrorKind::NotFound.into()),
    }
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = file.metadata().map(|it| it.permissions().mode());
    mode.is_ok_and(|mode| mode & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    true
}

fn prepare(command: &McpCommand, depth: u32) -> Command {
    let guard = command.guard.iter().flatten().cloned();
    let own = command.guard.iter().map(|_| std::process::id().to_string());
    let mut words = guard
        .chain(own)
        .chain([command.program.clone()])
        .chain(command.arguments.iter().cloned());
    let mut prepared = Command::new(words.next().unwrap_or_default());
    prepared.args(words).env_clear();
    prepared.env(DEPTH_VARIABLE, depth.to_string());
    for name in INHERITED_VARIABLES {
        if let Some(value) = std::env::var_os(name) {
            prepared.env(name, value);
        }
    }
    for (name, value) in &command.environment {
        prepared.env(name, value.expose());
    }
    if let Some(directory) = &command.directory {
        prepared.current_dir(directory);
    }
    prepared
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    prepared
}

/// Logs the stderr of a server.
struct StderrLog {
    namespace: String,
    redactor: Redactor,
}

impl StderrLog {
    fn new(namespace: &str, command: &McpCommand) -> Self {
        let mut redactor = Redactor::new();
        for (_, value) in &command.environment {
            redactor.learn_literal(value.expose());
        }
        Self {
            namespace: namespace.to_owned(),
            redactor,
        }
    }

    /// Reads to the end, so that the server never blocks on stderr.
    async fn run(self, stderr: ChildStderr) {
        let mut reader = BufReader::new(stderr);
        let mut line = Vec::new();
        let mut logged = 0;
        loop {
            line.clear();
            let mut piece = (&mut reader).take(STDERR_LINE_LIMIT as u64);
            let read = piece.read_until(b'\n', &mut line).await;
            if !read.is_ok_and(|bytes| bytes > 0) {
                return;
            }
            if logged < STDERR_LINES_LIMIT {
                logged += 1;
                self.log(&String::from_utf8_lossy(&line));
            }
        }
    }

    fn log(&self, line: &str) {
        let line = self.redactor.text(line.trim_end());
        if !line.is_empty() {
            tracing::info!(server = self.namespace, "{line}");
        }
    }
}
