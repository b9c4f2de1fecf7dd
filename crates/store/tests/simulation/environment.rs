//! Gateways that share one store, and restart after a crash with nothing but the data in the store.
//!
//! Clients are outside of all processes; after a crash they only notice that no answer arrives.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use panpan_runtime::ports::{Clock as _, Outcomes, PrivateLog, Spawn as _};
use panpan_runtime::testing::TestClock;
use panpan_runtime::{Answer, CallRequest, CancellationToken, Dispatcher, Ports, Record, Settings};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::checks::Checks;
use crate::defects::Defect;
use crate::faults::{Fault, Faults, Point};
use crate::journal::Journal;
use crate::operations;
use crate::process::{Process, ProcessClock, ProcessState};
use crate::store;

/// The number of gateways.
pub(crate) const GATEWAYS: usize = 4;
/// The lease of a key.
pub(crate) const LEASE_MS: u64 = 3000;
/// How long an outcome is kept.
pub(crate) const KEEP_MS: u64 = 2 * 60 * 60 * 1000;

/// How often a gateway flushes counts and sweeps.
const MAINTENANCE_INTERVAL_MS: u64 = 60_000;

/// The simulated environment: gateways, store, clock, faults and checks.
#[derive(Debug)]
pub(crate) struct Environment {
    pub(crate) clock: TestClock,
    pub(crate) faults: Faults,
    pub(crate) journal: Arc<Journal>,
    pub(crate) checks: Arc<Checks>,
    /// The store, which survives every crash.
    pub(crate) shared_store: Arc<dyn Outcomes>,
    pub(crate) defect: Option<Defect>,
    gateways: [Mutex<Option<Gateway>>; GATEWAYS],
}

#[derive(Clone, Debug)]
struct Gateway {
    process: Arc<Process>,
    dispatcher: Dispatcher,
}

impl Environment {
    pub(crate) fn new(
        clock: TestClock,
        faults: Faults,
        checks: Arc<Checks>,
        shared_store: Arc<dyn Outcomes>,
        defect: Option<Defect>,
    ) -> Arc<Self> {
        let environment = Arc::new(Self {
            clock,
            faults,
            journal: checks.journal.clone(),
            checks,
            shared_store,
            defect,
            gateways: [const { Mutex::new(None) }; GATEWAYS],
        });
        (0..GATEWAYS).for_each(|gateway| environment.start(gateway));
        environment
    }

    /// Sends a call to a gateway; `None` if it is down.
    ///
    /// The call is dropped when `gone` is cancelled, as a server does when a connection closes.
    pub(crate) fn call(
        &self,
        gateway: usize,
        request: CallRequest,
        gone: CancellationToken,
    ) -> Option<(Arc<ProcessState>, oneshot::Receiver<Answer>)> {
        let Gateway {
            process,
            dispatcher,
        } = self.gateway(gateway).clone()?;
        let (sender, receiver) = oneshot::channel();
        process.spawn(Box::pin(async move {
            let answer = gone.run_until_cancelled(dispatcher.dispatch(request)).await;
            answer.map(|answer| sender.send(answer));
        }));
        Some((process.state.clone(), receiver))
    }

    /// Crashes and stalls gateways at random times.
    pub(crate) async fn inject_faults(self: Arc<Self>) {
        while !self.faults.are_off() {
            self.clock.sleep(self.faults.random.between(100, 900)).await;
            let gateway = self.gateway(self.faults.random.pick(&[0, 1, 2, 3])).clone();
            let Some(Gateway { process, .. }) = gateway else {
                continue;
            };
            if self.faults.occurs(Fault::Crash(Point::Anywhere)) {
                process.crash(Point::Anywhere);
            } else if self.faults.occurs(Fault::Stall(Point::Anywhere)) {
                process.stall();
            }
        }
    }

    /// Stops all gateways.
    pub(crate) fn stop(&self) {
        for gateway in 0..GATEWAYS {
            let stopped = self.gateway(gateway).take();
            stopped.inspect(|it| it.process.end());
        }
    }

    fn gateway(&self, gateway: usize) -> MutexGuard<'_, Option<Gateway>> {
        let gateway = &self.gateways[gateway];
        gateway.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Restarts a crashed gateway after some time.
    pub(crate) fn restart(self: &Arc<Self>, gateway: usize) {
        *self.gateway(gateway) = None;
        let environment = self.clone();
        tokio::spawn(async move {
            let down_ms = environment.faults.random.between(1, 2 * LEASE_MS);
            environment.clock.sleep(down_ms).await;
            environment.start(gateway);
        });
    }

    fn start(self: &Arc<Self>, gateway: usize) {
        let process = Process::new(self.clone(), gateway);
        let ports = Ports {
            clock: Arc::new(ProcessClock(process.clone())),
            ids: self.faults.random.clone(),
            spawn: process.clone(),
            outcomes: store::connect(&process),
            log: Arc::new(NoLog),
        };
        let settings = Settings {
            lease_ms: LEASE_MS,
            keep_ms: KEEP_MS,
            record: Record::All,
            ..Settings::default()
        };
        let registry = operations::registry(&process);
        let dispatcher = Dispatcher::with_settings(registry, ports, settings);
        process.spawn(Box::pin(maintain(self.clock, dispatcher.clone())));
        self.journal.note(format_args!("gateway {gateway} starts"));
        *self.gateway(gateway) = Some(Gateway {
            process,
            dispatcher,
        });
    }
}

async fn maintain(clock: TestClock, dispatcher: Dispatcher) {
    loop {
        clock.sleep(MAINTENANCE_INTERVAL_MS).await;
        dispatcher.maintain().await.unwrap();
    }
}

#[derive(Debug)]
struct NoLog;

impl PrivateLog for NoLog {
    fn note(&self, _: Uuid, _: &str, _: &str) {}
}
