//! A server in its own process, with its processor time and memory.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use nix::time::ClockId;
use nix::unistd::Pid;

use crate::serve::{self, Role};

/// A running server, stopped when it is dropped.
pub(crate) struct Process {
    pub(crate) address: SocketAddr,
    child: Child,
    clock: ClockId,
}

impl Process {
    /// Starts this program in a role, and waits until it prints its address.
    pub(crate) fn start(role: &Role) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut child = Command::new(program)
            .arg(serve::FLAG)
            .args(role.to_arguments())
            // The server ends when its stdin is closed, even if this process is killed.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a server")?;
        let pid = Pid::from_raw(i32::try_from(child.id())?);
        let clock = ClockId::pid_cpu_clock_id(pid)?;
        let stdout = child.stdout.take().context("its output is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.trim().parse();
        Ok(Self {
            address: address.with_context(|| format!("{role:?} did not print its address"))?,
            child,
            clock,
        })
    }

    /// The processor time it has used so far, including system calls.
    pub(crate) fn cpu(&self) -> anyhow::Result<Duration> {
        Ok(self.clock.now()?.into())
    }

    /// Its resident memory, in megabytes.
    pub(crate) fn resident_mb(&self) -> anyhow::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        let kilobytes: f64 = kilobytes
            .context("the system does not report memory")?
            .parse()?;
        Ok(kilobytes * 1024.0 / 1e6)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
