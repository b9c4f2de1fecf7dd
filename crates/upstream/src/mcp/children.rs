//! The processes of one server that may still run: so that they can be ended at once, by whoever leaves
//! without time to let go of everything else.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use process_wrap::tokio::ChildWrapper;

/// A process that several may have to end.
pub(super) type Process = Arc<Mutex<Box<dyn ChildWrapper>>>;

/// The processes of one server. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Children(Arc<Mutex<Running>>);

#[derive(Debug, Default)]
struct Running {
    processes: Vec<Weak<Mutex<Box<dyn ChildWrapper>>>>,
    /// Whether they have been ended, and no more are to be started.
    ended: bool,
}

impl Children {
    /// Starts a process, unless all have been ended.
    pub(super) fn start<E>(
        &self,
        spawn: impl FnOnce() -> Result<Box<dyn ChildWrapper>, E>,
    ) -> Option<Result<Process, E>> {
        // Held meanwhile, so that none is started behind the back of whoever ends them.
        let mut running = self.running();
        if running.ended {
            return None;
        }
        let process = spawn().map(|it| Arc::new(Mutex::new(it)));
        if let Ok(process) = &process {
            running.processes.retain(|it| it.strong_count() > 0);
            running.processes.push(Arc::downgrade(process));
        }
        Some(process)
    }

    /// Ends them all and everything in their process groups; no more are started.
    pub(super) fn end(&self) {
        let mut running = self.running();
        running.ended = true;
        for process in running.processes.drain(..).filter_map(|it| it.upgrade()) {
            end(&process);
        }
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a process and everything in its process group.
pub(super) fn end(process: &Process) {
    let mut process = process.lock().unwrap_or_else(PoisonError::into_inner);
    // That there is nothing left to end is no trouble.
    let _ = process.start_kill();
}
