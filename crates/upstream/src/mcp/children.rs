//! The running processes of one server, so that all of them can be killed at once when panpan exits
//! immediately.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use process_wrap::tokio::ChildWrapper;

/// A process with several owners.
pub(super) type Process = Arc<Mutex<Started>>;

/// A process that was started: the server itself or its guard.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) process: Box<dyn ChildWrapper>,
    pub(super) is_guarded: bool,
}

/// The processes of one server. Clones share the list.
#[derive(Clone, Debug, Default)]
pub(super) struct Children(Arc<Mutex<Running>>);

#[derive(Debug, Default)]
struct Running {
    processes: Vec<Weak<Mutex<Started>>>,
    /// Whether they have been killed and no more may be started.
    killed: bool,
}

impl Children {
    /// Starts a process, unless all have been killed.
    pub(super) fn start<E>(
        &self,
        spawn: impl FnOnce() -> Result<Started, E>,
    ) -> Option<Result<Process, E>> {
        // Locked meanwhile, so that no process is started after all have been killed.
        let mut running = self.running();
        if running.killed {
            return None;
        }
        let process = spawn().map(|it| Arc::new(Mutex::new(it)));
        if let Ok(process) = &process {
            running.processes.retain(|it| it.strong_count() > 0);
            running.processes.push(Arc::downgrade(process));
        }
        Some(process)
    }

    /// Kills all of them with everything they started; no more are started.
    pub(super) fn kill(&self) {
        let mut running = self.running();
        running.killed = true;
        for process in running.processes.drain(..).filter_map(|it| it.upgrade()) {
            kill(&process);
        }
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Kills a process and its process group; a guard also kills everything else.
pub(super) fn kill(process: &Process) {
    let mut started = process.lock().unwrap_or_else(PoisonError::into_inner);
    // A guard that has exited can kill nothing.
    let is_guarded = started.is_guarded && matches!(started.process.try_wait(), Ok(None));
    // A process that has already exited is not an error.
    let _ = match is_guarded {
        #[cfg(unix)]
        true => started.process.signal(SIGTERM),
        _ => started.process.start_kill(),
    };
}

/// The signal that tells a guard to exit; the same number on every Unix.
#[cfg(unix)]
const SIGTERM: i32 = 15;
