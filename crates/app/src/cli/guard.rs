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
use nix::unistd::{Pid, getpid, getppid};

use super::Done;

/// How often it is looked whether the parent is still there.
const PARENT_LOOK: Duration = Duration::from_millis(200);

/// How often what was killed is looked for again, and how many times: what starts others while it is being
/// ended is ended too.
const END_LOOK: Duration = Duration::from_millis(10);
const END_LOOKS: usize = 300;

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
    // Waited for by a thread; the program starts without this mask.
    let asked = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]);
    asked.thread_block().context("cannot wait for signals")?;
    let program = &args.words[0];
    let child = Command::new(program).args(&args.words[1..]).spawn();
    let child = child.with_context(|| format!("cannot start {program}"))?;
    thread::spawn(move || {
        let _ = asked.wait();
        end_all();
    });
    thread::spawn(move || {
        while getppid() == parent {
            thread::sleep(PARENT_LOOK);
        }
        end_all();
    });
    let status = ended(Pid::from_raw(i32::try_from(child.id())?))?;
    kill_descendants();
    Ok(Done::Told(exit_code(status)))
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
            Ok(_) | Err(Errno::EINTR) => {}
            // Another thread has ended it.
            Err(Errno::ECHILD) => return Ok(ExitStatus::from_raw(Signal::SIGKILL as i32)),
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
        if descendants.is_empty() {
            return;
        }
        for pid in descendants {
            // That it ended by itself is as good.
            let _ = kill(pid, Signal::SIGKILL);
        }
        while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            if status == WaitStatus::StillAlive {
                break;
            }
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
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program is in parentheses, and may hold any character.
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace();
    let is_over = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    (!is_over).then(|| (Pid::from_raw(pid), Pid::from_raw(parent)))
}
