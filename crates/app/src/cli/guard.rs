//! `panpan guard`: runs one program and kills it together with everything it started.
//!
//! A process group misses processes that leave it, and nothing kills the group when panpan itself is killed. So panpan
//! starts the program of an MCP server through this command. It becomes the parent of orphaned processes, and kills
//! all descendants when the program ends, when it gets a signal, or when its own parent is gone.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;
use std::{fs, thread};

use anyhow::Context;
use nix::errno::Errno;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, dup2_stdin, dup2_stdout, getpid, getppid};

use super::Status;
use crate::files::read_file;

/// How often to check that the parent still runs.
const PARENT_INTERVAL: Duration = Duration::from_millis(200);

/// How often and how many times to look for descendants that were started while others were killed.
const KILL_INTERVAL: Duration = Duration::from_millis(10);
const KILL_ROUNDS: usize = 300;

/// How many processes to reap per round.
const REAPED_PER_ROUND: usize = 10_000;

/// The arguments of `panpan guard`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The process id of the parent
    parent: i32,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Status> {
    let parent = Pid::from_raw(args.parent);
    set_child_subreaper(true).context("cannot become the parent of orphaned processes")?;
    let program = &args.words[0];
    // Before signals are blocked: the program would inherit the mask.
    let child = Command::new(program).args(&args.words[1..]).spawn();
    let child = child.with_context(|| format!("cannot start {program}"))?;
    let status = wait_for_end(Pid::from_raw(i32::try_from(child.id())?), parent);
    // Also after an error.
    kill_descendants();
    Ok(Status::Exit(exit_code(status?)))
}

/// Waits for the end of the program. Exits when the parent ends or a signal arrives.
fn wait_for_end(program: Pid, parent: Pid) -> anyhow::Result<ExitStatus> {
    let signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]);
    signals.thread_block().context("cannot wait for signals")?;
    // Otherwise this process keeps the program's pipes open after the program has closed them.
    let null = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    thread::Builder::new().spawn(move || {
        let _ = signals.wait();
        kill_and_exit();
    })?;
    thread::Builder::new().spawn(move || {
        while getppid() == parent {
            thread::sleep(PARENT_INTERVAL);
        }
        kill_and_exit();
    })?;
    reap_until(program)
}

/// Waits for the program, and reaps other processes that end meanwhile.
fn reap_until(program: Pid) -> anyhow::Result<ExitStatus> {
    loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, code)) if pid == program => {
                return Ok(ExitStatus::from_raw(code << 8));
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == program => {
                return Ok(ExitStatus::from_raw(signal as i32));
            }
            // Another thread has reaped it.
            Err(Errno::ECHILD) => return Ok(ExitStatus::from_raw(Signal::SIGKILL as i32)),
            // Some process was killed by a signal without a name; if it was the program, it no longer exists.
            Err(Errno::EINVAL) if kill(program, None).is_err() => {
                return Ok(ExitStatus::from_raw(Signal::SIGKILL as i32));
            }
            Ok(_) | Err(Errno::EINTR | Errno::EINVAL) => {}
            Err(error) => return Err(error).context("cannot wait for the program"),
        }
    }
}

/// The exit code that a shell reports for a status.
fn exit_code(status: ExitStatus) -> u8 {
    let signalled = || status.signal().map(|signal| 128 + signal);
    let code = status.code().or_else(signalled).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// Kills all descendants and exits.
fn kill_and_exit() -> ! {
    kill_descendants();
    #[allow(clippy::exit, reason = "runs on a thread that cannot return from main")]
    std::process::exit(0);
}

fn kill_descendants() {
    for _ in 0..KILL_ROUNDS {
        let descendants = descendants();
        for pid in &descendants {
            // It may have ended already.
            let _ = kill(*pid, Signal::SIGKILL);
        }
        let is_over = |status: &Result<WaitStatus, Errno>| {
            matches!(status, Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD))
        };
        let mut reaped = std::iter::repeat_with(|| waitpid(None, Some(WaitPidFlag::WNOHANG)));
        let _ = reaped.by_ref().take(REAPED_PER_ROUND).find(is_over);
        if descendants.is_empty() {
            return;
        }
        thread::sleep(KILL_INTERVAL);
    }
}

/// All running descendants of this process.
fn descendants() -> Vec<Pid> {
    let processes: Vec<(Pid, Pid)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| running(entry.ok()?.file_name().to_str()?.parse().ok()?))
        .collect();
    let mut found = vec![getpid()];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        let children = processes.iter().filter(|(_, ppid)| *ppid == parent);
        found.extend(children.map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}

/// The longest state of a process that is read.
const STAT_BYTES_LIMIT: usize = 4096;

/// A process and its parent, unless the process is a zombie.
fn running(pid: i32) -> Option<(Pid, Pid)> {
    let stat = read_file(Path::new(&format!("/proc/{pid}/stat")), STAT_BYTES_LIMIT).ok()?;
    // The name of the program is in parentheses and may contain any byte.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let after_name = std::str::from_utf8(&stat[end + 1..]).ok()?;
    let mut fields = after_name.split_ascii_whitespace();
    let has_ended = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    (!has_ended).then(|| (Pid::from_raw(pid), Pid::from_raw(parent)))
}
