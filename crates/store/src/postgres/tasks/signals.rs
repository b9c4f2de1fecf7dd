//! Notifies processes of each other's changes with LISTEN and NOTIFY, over a connection of its own.
//!
//! A hint: nothing depends on it, because workers and streams also look by themselves from time to time. So a
//! notification is sent after the transaction, and reports all changes since the last one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};
use tokio_postgres::AsyncMessage;
use uuid::Uuid;

use super::super::errors::QueryError;
use super::super::lane::REQUEST_TIMEOUT;
use super::super::session::{Connector, Session};

/// The channel of notifications.
const CHANNEL: &str = "panpan_tasks";

/// How long to wait before connecting again.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);

/// The shortest time between two notifications.
const NOTIFY_PAUSE: Duration = Duration::from_millis(10);

/// What changed in this process and in others.
#[derive(Debug)]
pub(super) struct Signals {
    /// Rises with every change.
    changed: watch::Sender<u64>,
    /// Names this store in notifications, so that it does not wake up by its own.
    name: String,
    /// Whether other processes still have to be notified of the last change.
    must_notify: AtomicBool,
    /// Whether a worker or a stream waits for changes.
    is_watched: AtomicBool,
    is_closed: AtomicBool,
    /// Wakes the exchange when one of these was set.
    work: Notify,
}

impl Signals {
    pub(super) fn new() -> Self {
        Self {
            changed: watch::Sender::new(0),
            name: Uuid::new_v4().to_string(),
            must_notify: AtomicBool::new(false),
            is_watched: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            work: Notify::new(),
        }
    }

    /// Changes with the tasks.
    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.set(&self.is_watched);
        self.changed.subscribe()
    }

    /// This process has written tasks. A worker expects one change for each of its transactions, even if there was
    /// nothing to write; other processes are notified only of what they can find.
    pub(super) fn written(&self, has_changed: bool) {
        self.mark_changed();
        if has_changed {
            self.set(&self.must_notify);
        }
    }

    /// The exchange ends, after it has notified other processes of the last change.
    pub(super) fn close(&self) {
        self.set(&self.is_closed);
    }

    fn set(&self, flag: &AtomicBool) {
        flag.store(true, Ordering::SeqCst);
        self.work.notify_one();
    }

    fn mark_changed(&self) {
        self.changed.send_modify(|it| *it = it.wrapping_add(1));
    }

    fn must_notify(&self) -> bool {
        self.must_notify.load(Ordering::SeqCst)
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    fn is_needed(&self) -> bool {
        self.must_notify() || self.is_watched.load(Ordering::SeqCst)
    }

    fn receive(&self, message: &AsyncMessage) {
        if let AsyncMessage::Notification(received) = message
            && received.channel() == CHANNEL
            && received.payload() != self.name
        {
            self.mark_changed();
        }
    }
}

/// Sends and receives notifications until the signals are closed. Connects when it is needed, and again after the
/// connection was lost.
pub(super) async fn exchange(connector: Connector, signals: Arc<Signals>) {
    loop {
        while !signals.is_needed() {
            if signals.is_closed() {
                return;
            }
            signals.work.notified().await;
        }
        if signals.is_closed() && !signals.must_notify() {
            return;
        }
        let ended = Arc::new(Notify::new());
        let (receiver, has_ended) = (signals.clone(), ended.clone());
        let receive = move |message: Option<AsyncMessage>| match message {
            Some(message) => receiver.receive(&message),
            None => has_ended.notify_one(),
        };
        if let Ok(session) = connector.connect_and_receive(receive).await {
            // A lost connection is made again, and a failed notification repeated.
            let _ = serve_connection(&session, &signals, &ended).await;
        }
        if signals.is_closed() {
            return;
        }
        sleep(RECONNECT_PAUSE).await;
    }
}

/// Uses a connection until it is lost or the signals are closed.
async fn serve_connection(
    session: &Session,
    signals: &Signals,
    ended: &Notify,
) -> Result<(), ConnectionLost> {
    run(session, &format!("LISTEN {CHANNEL}")).await?;
    // Notifications before this were not received.
    signals.mark_changed();
    let notify = format!("NOTIFY {CHANNEL}, '{}'", signals.name);
    loop {
        if signals.must_notify.swap(false, Ordering::SeqCst) {
            if let Err(error) = run(session, &notify).await {
                signals.must_notify.store(true, Ordering::SeqCst);
                return Err(error);
            }
            if !signals.is_closed() {
                sleep(NOTIFY_PAUSE).await;
            }
            continue;
        }
        if signals.is_closed() {
            return Ok(());
        }
        tokio::select! {
            () = signals.work.notified() => {}
            () = ended.notified() => return Err(ConnectionLost),
        }
    }
}

/// The connection is lost.
struct ConnectionLost;

impl From<QueryError> for ConnectionLost {
    fn from(_: QueryError) -> Self {
        Self
    }
}

async fn run(session: &Session, sql: &str) -> Result<(), ConnectionLost> {
    let ran = timeout(REQUEST_TIMEOUT, session.run(sql)).await;
    Ok(ran.map_err(|_| ConnectionLost)??)
}
