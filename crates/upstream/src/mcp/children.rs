//! The processes of one server that may still run: so that they can be ended at once, by whoever leaves
//! without time to let go of everything else.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use process_wrap::tokio::ChildWrapper;

/// A process that several may have to end.
pub(super) type Process = Arc<Mutex<Started>>;

/// A process that was started, for itself or as the guard of another.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) process: Box<dyn ChildWrapper>,
    pub(super) is_guarded: bool,
}

/// The processes of one server. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Children(Arc<Mutex<Running>>);

#[derive(Debug, Default)]
struct Running {
    processes: Vec<Weak<Mutex<Started>>>,
    /// Whether they have been ended, and no more are to be started.
    ended: bool,
}

impl Children {
    /// Starts a process, unless all have been ended.
    pub(super) fn start<E>(
        &self,
        spawn: impl FnOnce() -> Result<Started, E>,
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

    /// Ends them all with what they started; no more are started.
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

/// Ends a process and everything in its process group; a guard ends everything else.
pub(super) fn end(process: &Process) {
    let mut started = process.lock().unwrap_or_else(PoisonError::into_inner);
    // A guard that has ended, or was, ends nothing any more.
    let is_guarded = started.is_guarded && matches!(started.process.try_wait(), Ok(None));
    // That there is nothing left to end is no trouble.
    let _ = match is_guarded {
        #[cfg(unix)]
        true => started.process.signal(SIGTERM),
        _ => started.process.start_kill(),
    };
}

/// What a guard is asked to end with; the same number on every Unix.
#[cfg(unix)]
const SIGTERM: i32 = 15;
