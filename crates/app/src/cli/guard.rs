//! `panpan guard`: runs one program, and ends it with everything it started.
//!
//! A process group ends what stays in it, and nothing ends it when the process that started it is killed. So the
//! program of an MCP server is started through this one, which is the parent of whatever the program leaves
//! behind, and ends all of it when the program ends, when it is told to, or when its own parent is gone.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};
use std::time::Duration;
use std::{fs, thread};

use anyhow::Context;
use nix::errno::Errno;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, dup2_stdin, dup2_stdout, getpid, getppid};

use super::Done;

/// How often it is looked whether the parent is still there.
const PARENT_LOOK: Duration = Duration::from_millis(200);

/// How often what was killed is looked for again, and how many times: what starts others while it is being
/// ended is ended too.
const END_LOOK: Duration = Duration::from_millis(10);
const END_LOOKS: usize = 300;

/// How many processes that have ended are taken leave of between two looks.
const REAPED_AT_ONCE: usize = 10_000;

/// Runs a program for as long as the process that started this one runs.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The process it runs for.
    parent: i32,
    /// The program, and what it is started with.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Done> {
    let parent = Pid::from_raw(args.parent);
    set_child_subreaper(true).context("cannot become the parent of what the program leaves")?;
    let program = &args.words[0];
    // Before signals are blocked: the program inherits what is.
    let child = Command::new(program).args(&args.words[1..]).spawn();
    let child = child.with_context(|| format!("cannot start {program}"))?;
    let status = watched(Pid::from_raw(i32::try_from(child.id())?), parent);
    // Whatever went wrong, nothing is left behind.
    kill_descendants();
    Ok(Done::Told(exit_code(status?)))
}

/// Waits for the end of the program, of its parent, or for being asked to end it.
fn watched(program: Pid, parent: Pid) -> anyhow::Result<ExitStatus> {
    let asked = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]);
    asked.thread_block().context("cannot wait for signals")?;
    // The pipes are the program's: held open here, its end of them would never be noticed.
    let nothing = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    thread::Builder::new().spawn(move || {
        let _ = asked.wait();
        end_all();
    })?;
    thread::Builder::new().spawn(move || {
        while getppid() == parent {
            thread::sleep(PARENT_LOOK);
        }
        end_all();
    })?;
    ended(program)
}

/// Waits for the program, and takes leave of everything else that ends meanwhile.
fn ended(program: Pid) -> anyhow::Result<ExitStatus> {
    loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, code)) if pid == program => {
                return Ok(ExitStatus::from_raw(code << 8));
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == program => {
                return Ok(ExitStatus::from_raw(signal as i32));
            }
            // Another thread has ended it.
            Err(Errno::ECHILD) => return Ok(ExitStatus::from_raw(Signal::SIGKILL as i32)),
            // Ended by a signal that has no name; if it was the program, it is not there any more.
            Err(Errno::EINVAL) if kill(program, None).is_err() => {
                return Ok(ExitStatus::from_raw(Signal::SIGKILL as i32));
            }
            Ok(_) | Err(Errno::EINTR | Errno::EINVAL) => {}
            Err(error) => return Err(error).context("cannot wait for the program"),
        }
    }
}

/// What shells say of a program that ended so.
fn exit_code(status: ExitStatus) -> u8 {
    let signalled = || status.signal().map(|signal| 128 + signal);
    let code = status.code().or_else(signalled).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// Ends everything, this process included.
fn end_all() -> ! {
    kill_descendants();
    #[allow(clippy::exit, reason = "this is the end of it")]
    std::process::exit(0);
}

fn kill_descendants() {
    for _ in 0..END_LOOKS {
        let descendants = descendants();
        for pid in &descendants {
            // That it ended by itself is as good.
            let _ = kill(*pid, Signal::SIGKILL);
        }
        let is_over = |status: &Result<WaitStatus, Errno>| {
            matches!(status, Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD))
        };
        let mut reaped = std::iter::repeat_with(|| waitpid(None, Some(WaitPidFlag::WNOHANG)));
        let _ = reaped.by_ref().take(REAPED_AT_ONCE).find(is_over);
        if descendants.is_empty() {
            return;
        }
        thread::sleep(END_LOOK);
    }
}

/// Every process that this one started, or that those started, and that still runs.
fn descendants() -> Vec<Pid> {
    let processes: Vec<(Pid, Pid)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| running(entry.ok()?.file_name().to_str()?.parse().ok()?))
        .collect();
    let mut found = vec![getpid()];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        let children = processes.iter().filter(|(_, its)| *its == parent);
        found.extend(children.map(|(pid, _)| *pid));
        at += 1;
    }
    found.split_off(1)
}

/// A process and its parent, unless it has ended and only waits to be taken leave of.
fn running(pid: i32) -> Option<(Pid, Pid)> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program is in parentheses, and may hold any byte.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let after_name = std::str::from_utf8(&stat[end + 1..]).ok()?;
    let mut fields = after_name.split_ascii_whitespace();
    let is_over = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    (!is_over).then(|| (Pid::from_raw(pid), Pid::from_raw(parent)))
}
