//! A server as a process of its own, and what the system says about it.

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
    /// Starts this program in a role, and waits until it says where it listens.
    pub(crate) fn start(role: &Role) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("this program cannot be found")?;
        let mut child = Command::new(program)
            .arg(serve::FLAG)
            .args(role.to_arguments())
            // It ends when this end is closed, also when nobody is left to stop it.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("a server cannot be started")?;
        let pid = Pid::from_raw(i32::try_from(child.id())?);
        let clock = ClockId::pid_cpu_clock_id(pid)?;
        let stdout = child.stdout.take().context("its output is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let address = line.trim().parse();
        Ok(Self {
            address: address.with_context(|| format!("{role:?} does not say where it listens"))?,
            child,
            clock,
        })
    }

    /// The processor time it has used so far, its system calls included.
    pub(crate) fn cpu(&self) -> anyhow::Result<Duration> {
        Ok(self.clock.now()?.into())
    }

    /// How much memory it holds, in megabytes.
    pub(crate) fn resident_mb(&self) -> anyhow::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        let kilobytes: f64 = kilobytes.context("the system does not tell")?.parse()?;
        Ok(kilobytes * 1024.0 / 1e6)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
