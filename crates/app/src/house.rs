//! The house every command that serves or makes calls lives in: a store, the operations, the dispatcher.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use panpan_runtime::system::SystemClock;
use panpan_runtime::{Dispatcher, Registry, World};
use panpan_surfaces::identity::Tokens;

use crate::store::{Store, StoreAddress};
use crate::world::warn;

/// How often counts are handed to the store, and old outcomes are forgotten.
const TEND: Duration = Duration::from_secs(2);

/// How long calls that hold a key may go on when everything else has ended, unless told otherwise.
pub(crate) const DRAIN: Duration = Duration::from_secs(30);

/// A store, and the dispatcher over it.
#[derive(Debug)]
pub(crate) struct House {
    store: Store,
    dispatcher: Dispatcher,
}

impl House {
    /// Opens the store and registers the operations.
    pub(crate) fn open(address: &StoreAddress) -> anyhow::Result<Self> {
        let store = address.open().context("cannot open the store")?;
        let builder = panpan_operations::demo(Registry::builder()).with_services();
        let registry = panpan_operations::calls(builder, &store.outcomes)
            .build()
            .context("the operations contradict each other")?;
        let dispatcher = Dispatcher::new(registry, World::system(store.outcomes.clone()));
        Ok(Self { store, dispatcher })
    }

    /// The dispatcher.
    pub(crate) fn dispatcher(&self) -> &Dispatcher {
        &self.dispatcher
    }

    /// The tokens kept in the store.
    pub(crate) fn tokens(&self) -> Tokens {
        Tokens::new(self.store.documents.clone(), Arc::new(SystemClock))
    }

    /// Does some work while the house is kept in order, and waits afterwards for calls that hold a key,
    /// for at most as long as is left then.
    pub(crate) async fn kept_while<T>(
        &self,
        work: impl Future<Output = T>,
        left: impl FnOnce() -> Duration,
    ) -> T {
        let tending = tokio::spawn(tend(self.dispatcher.clone()));
        let done = work.await;
        // Calls that hold a key go on when their callers have left.
        let drained = tokio::time::timeout(left(), self.dispatcher.drain()).await;
        tending.abort();
        // What was counted since the last time. Nobody is left to be told should that fail.
        let _ = self.dispatcher.tend().await;
        if drained.is_err() {
            warn(
                "calls with an idempotency key still ran in the end and were cut off; ask for them again with their keys",
            );
        }
        done
    }
}

async fn tend(dispatcher: Dispatcher) {
    loop {
        tokio::time::sleep(TEND).await;
        // A store that is away now is asked again the next time; calls are told about it themselves.
        let _ = dispatcher.tend().await;
    }
}
