//! A server in a process of its own: how it is started, what it inherits, and that it ends.
//!
//! It leads a process group, so that what it started ends with it; a guard also ends what left the group, and
//! all of it when this process is killed. What it writes to stderr goes to the
//! log, without secrets and within bounds.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::PoisonError;
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

/// What every program needs and nobody keeps a secret in.
const INHERITED: [&str; 12] = [
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

/// How many panpans have started one another before a process, as it is told to it.
const DEPTH: &str = "PANPAN_DEPTH";

/// How many may: one that is started in the folder of its own configuration would start itself for ever.
const DEPTH_LIMIT: u32 = 4;

/// The longest line of stderr that is logged as one, in bytes.
const STDERR_LINE_LIMIT: usize = 2_000;

/// How many lines of stderr are logged per process; it may go on talking, unheard.
const STDERR_LINES_LIMIT: usize = 1_000;

/// How long a process that closed its output is waited for, to tell how it ended.
pub(super) const AFTER_ITS_END: Duration = Duration::from_millis(200);

/// How long a process that was told to end is waited for.
pub(super) const AFTER_OUR_END: Duration = Duration::from_secs(2);

/// How often it is looked at meanwhile.
pub(super) const EXIT_LOOK: Duration = Duration::from_millis(10);

/// A running server. Dropping it ends it and everything in its process group.
#[derive(Debug)]
pub(super) struct Child(Process);

/// What a server is talked to through.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) input: ChildStdin,
    pub(super) output: ChildStdout,
}

impl Child {
    /// Starts the program of a server.
    pub(super) fn start(
        namespace: &str,
        command: &McpCommand,
        children: &Children,
    ) -> Result<(Self, Ends), McpError> {
        let failed = |source| McpError::Start {
            program: command.program.clone(),
            source,
        };
        let depth = depth();
        if depth >= DEPTH_LIMIT {
            return Err(failed(io::Error::other(TooDeep)));
        }
        if command.guard.is_some() {
            // The guard would say so only to its log.
            startable(command).map_err(failed)?;
        }
        let mut wrapped = CommandWrap::from(prepared(command, depth + 1));
        #[cfg(unix)]
        wrapped.wrap(ProcessGroup::leader());
        let started = children.start(|| {
            Ok(Started {
                process: wrapped.spawn()?,
                is_guarded: command.guard.is_some(),
            })
        });
        let closed = || McpError::Ended("this side closed it".to_owned());
        let child = Self(started.ok_or_else(closed)?.map_err(failed)?);
        let (ends, stderr) = child.taken();
        let (Some(input), Some(output)) = ends else {
            return Err(failed(io::ErrorKind::NotConnected.into()));
        };
        if let Some(stderr) = stderr {
            let log = Log::of(namespace, command);
            tokio::spawn(log.follow(stderr));
        }
        Ok((child, Ends { input, output }))
    }

    /// What it is talked to through, for the first who asks.
    fn taken(
        &self,
    ) -> (
        (Option<ChildStdin>, Option<ChildStdout>),
        Option<ChildStderr>,
    ) {
        let mut process = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let process = &mut process.process;
        let ends = (process.stdin().take(), process.stdout().take());
        (ends, process.stderr().take())
    }

    /// Whether it has ended, and how.
    fn looked_at(&self) -> io::Result<Option<ExitStatus>> {
        let mut process = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        process.process.try_wait()
    }

    /// How it ended, if it does within that time.
    pub(super) async fn ended(&mut self, within: Duration) -> Option<ExitStatus> {
        let waiting = async {
            loop {
                match self.looked_at() {
                    Ok(None) => tokio::time::sleep(EXIT_LOOK).await,
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
        children::end(&self.0);
    }
}

/// Servers that are panpans start each other.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "{DEPTH_LIMIT} panpans have started one another already; one that is a server of another needs a \
     configuration that does not name itself (`directory`, or `--config` among its arguments)"
)]
struct TooDeep;

fn depth() -> u32 {
    let told = std::env::var(DEPTH).ok();
    told.and_then(|depth| depth.parse().ok()).unwrap_or(0)
}

/// Where systems look for programs when nothing is said.
const USUAL_PATH: &str = "/bin:/usr/bin";

/// Whether the system would start the program of a server.
fn startable(command: &McpCommand) -> io::Result<()> {
    let program = Path::new(&command.program);
    let named = |folder: PathBuf| folder.join(program);
    let places: Vec<PathBuf> = if program.components().count() > 1 {
        let folder = command.directory.clone().unwrap_or_default();
        vec![named(folder)]
    } else {
        let own = command.environment.iter().find(|(name, _)| name == "PATH");
        let path = match own {
            Some((_, path)) => OsString::from(path.expose()),
            None => std::env::var_os("PATH").unwrap_or_else(|| USUAL_PATH.into()),
        };
        std::env::split_paths(&path).map(named).collect()
    };
    let files = places.iter().filter(|it| it.is_file());
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

fn prepared(command: &McpCommand, depth: u32) -> Command {
    let guard = command.guard.iter().flatten().cloned();
    let own = command.guard.iter().map(|_| std::process::id().to_string());
    let mut words = guard
        .chain(own)
        .chain([command.program.clone()])
        .chain(command.arguments.iter().cloned());
    let mut prepared = Command::new(words.next().unwrap_or_default());
    prepared.args(words).env_clear();
    prepared.env(DEPTH, depth.to_string());
    for name in INHERITED {
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

/// Takes what a server writes to stderr.
struct Log {
    namespace: String,
    redactor: Redactor,
}

impl Log {
    fn of(namespace: &str, command: &McpCommand) -> Self {
        let mut redactor = Redactor::new();
        for (_, value) in &command.environment {
            redactor.learn_literal(value.expose());
        }
        Self {
            namespace: namespace.to_owned(),
            redactor,
        }
    }

    /// Reads to the end, so that the server never waits for somebody to listen.
    async fn follow(self, stderr: ChildStderr) {
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
                self.tell(&String::from_utf8_lossy(&line));
            }
        }
    }

    fn tell(&self, line: &str) {
        let line = self.redactor.text(line.trim_end());
        if !line.is_empty() {
            tracing::info!(server = self.namespace, "{line}");
        }
    }
}
