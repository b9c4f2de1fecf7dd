//! The connection to a server: made when it is first needed, and made again when it ended.
//!
//! A server that fails or ends again and again is left alone for longer and longer, up to a limit; whoever asks
//! meanwhile is told at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use panpan_contract::binding::SuccessBodies;
use panpan_runtime::{Credentials, StateOwner};
use rmcp::model::{
    ClientRequest, LoggingLevel, RequestMetaObject, SetLevelRequest, SetLevelRequestParams,
    SubscribeRequest, SubscribeRequestParams, UnsubscribeRequest, UnsubscribeRequestParams,
};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::asking::AskingCall;
use super::audience::{Audience, Hearers};
use super::children::Children;
use super::ear::{Ear, McpChanges};
use super::error::McpError;
use super::live::Live;
use super::settings::{McpCommand, McpPatience, McpPlace, McpSettings, McpSettingsError};
use super::web::Web;
use crate::remote::connection_pool;

/// How long a server is left alone after the second failure in a row; doubled with each further one.
pub const FIRST_REST: Duration = Duration::from_millis(200);

/// The longest it is left alone.
pub const LONGEST_REST: Duration = Duration::from_secs(30);

/// The way to one server.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) namespace: String,
    pub(super) patience: McpPatience,
    pub(super) success_bodies: SuccessBodies,
    /// What the server may repeat and nobody else is to see.
    pub(super) secrets: Credentials,
    reach: Reach,
    children: Children,
    sessions: bool,
    ear: Ear,
    changes: watch::Sender<McpChanges>,
    /// Whether it is the connection of a caller. Those of all callers are of one server.
    is_of_caller: bool,
    /// What the clients of the connection asked the server to tell them.
    wishes: Mutex<Wishes>,
    /// Held by whoever makes the connection.
    making: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

/// How the server is reached.
#[derive(Clone, Debug)]
enum Reach {
    Child(McpCommand),
    Web(Box<Web>),
}

/// How many resources the clients of one connection follow.
pub(super) const FOLLOWED_LIMIT: usize = 1_000;

/// What clients asked a server to tell them. A new connection is told again.
#[derive(Debug, Default)]
struct Wishes {
    level: Option<LoggingLevel>,
    /// The resources that are followed, each with what ends that where the server has no sessions.
    resources: BTreeMap<String, Option<AbortOnDropHandle<()>>>,
}

#[derive(Debug, Default)]
struct State {
    live: Option<Arc<Live>>,
    /// How often in a row it failed, or ended soon after it began.
    failures: u32,
    rest_until: Option<Instant>,
    last: Option<Arc<McpError>>,
    /// Whether nobody is to connect any more.
    closed: bool,
    /// Whether there was a connection before.
    was_connected: bool,
}

impl Link {
    pub(super) fn new(
        settings: McpSettings,
        audience: Arc<Audience>,
    ) -> Result<Self, McpSettingsError> {
        settings.check_namespace()?;
        let secrets = settings.secrets();
        let changes = watch::Sender::default();
        let is_alone = settings.sessions_of_callers.alone;
        let hearers = Hearers::of_all(audience, is_alone, secrets.clone());
        let ear = Ear::new(changes.clone(), hearers);
        let reach = match settings.place {
            McpPlace::Stdio(command) if command.program.is_empty() => {
                return Err(McpSettingsError::NoProgram);
            }
            McpPlace::Stdio(command) => Reach::Child(command),
            McpPlace::Http(address) => {
                let (url, headers) = (address.parsed()?, address.header_map()?);
                let ca = address.ca.as_deref();
                let wire = connection_pool(&url, ca, settings.patience.start)
                    .map_err(McpSettingsError::Client)?;
                let ear = ear.clone();
                let web = Web {
                    wire,
                    url,
                    headers,
                    ear,
                };
                Reach::Web(Box::new(web))
            }
        };
        Ok(Self {
            namespace: settings.namespace,
            patience: settings.patience,
            secrets,
            reach,
            children: Children::default(),
            sessions: settings.sessions,
            success_bodies: settings.success_bodies,
            ear,
            changes,
            is_of_caller: false,
            wishes: Mutex::default(),
            making: tokio::sync::Mutex::default(),
            state: Mutex::default(),
        })
    }

    /// Another way to the same server, for the session of a caller.
    pub(super) fn another(&self, owner: StateOwner, changes: watch::Sender<McpChanges>) -> Self {
        Self {
            namespace: self.namespace.clone(),
            patience: self.patience,
            success_bodies: self.success_bodies,
            secrets: self.secrets.clone(),
            reach: self.reach.clone(),
            children: self.children.clone(),
            sessions: self.sessions,
            ear: Ear::new(changes.clone(), self.ear.hearers.of(owner)),
            changes,
            is_of_caller: true,
            wishes: Mutex::default(),
            making: tokio::sync::Mutex::default(),
            state: Mutex::default(),
        }
    }

    pub(super) fn changes(&self) -> watch::Receiver<McpChanges> {
        self.changes.subscribe()
    }

    /// Has the server log at a level, where one caller decides that. Servers without sessions are told with every
    /// request.
    pub(super) async fn set_level(self: &Arc<Self>, level: LoggingLevel) -> Result<(), McpError> {
        if !self.ear.hearers.is_of_one() || self.connected().await?.is_stateless() {
            return Ok(());
        }
        self.wishes().level = Some(level);
        self.ask(
            "for a level of its log",
            set_level(level),
            self.patience.list,
        )
        .await
        .map(drop)
    }

    /// Has the server tell when a resource has other contents.
    pub(super) async fn follow(self: &Arc<Self>, uri: &str) -> Result<(), McpError> {
        let live = self.connected().await?;
        let following = live.follow_resource(uri);
        if following.is_none() {
            self.ask("to follow a resource", subscribe(uri), self.patience.list)
                .await?;
        }
        let mut wishes = self.wishes();
        let is_full = wishes.resources.len() >= FOLLOWED_LIMIT;
        if is_full && !wishes.resources.contains_key(uri) {
            return Err(McpError::Full {
                limit: FOLLOWED_LIMIT,
            });
        }
        wishes.resources.insert(uri.to_owned(), following);
        Ok(())
    }

    /// No longer follows a resource, unless other callers may.
    pub(super) async fn unfollow(self: &Arc<Self>, uri: &str) -> Result<(), McpError> {
        if !self.ear.hearers.is_of_one() {
            return Ok(());
        }
        let followed = self.wishes().resources.remove(uri);
        match followed {
            Some(Some(_)) => Ok(()),
            Some(None) | None => self
                .ask(
                    "to follow a resource no longer",
                    unsubscribe(uri),
                    self.patience.list,
                )
                .await
                .map(drop),
        }
    }

    /// Tells a new connection what clients asked of the one before.
    fn wish_again(&self, live: &Arc<Live>) {
        let mut wishes = self.wishes();
        let mut requests: Vec<ClientRequest> = wishes.level.map(set_level).into_iter().collect();
        for (uri, following) in &mut wishes.resources {
            *following = live.follow_resource(uri);
            if following.is_none() {
                requests.push(subscribe(uri));
            }
        }
        let (live, patience) = (live.clone(), self.patience.list);
        tokio::spawn(async move {
            for request in requests {
                let meta = RequestMetaObject::new();
                // What the server refuses now, it says to whoever asks next.
                let _ = live
                    .ask("for the same", request, meta, None, patience)
                    .await;
            }
        });
    }

    fn wishes(&self) -> MutexGuard<'_, Wishes> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that what is known of the tools is not what there is.
    pub(super) fn doubt_tools(&self) {
        self.ear.note(|changes| changes.tools += 1);
    }

    /// Asks something that can be asked twice.
    pub(super) async fn ask(
        self: &Arc<Self>,
        what: &'static str,
        request: ClientRequest,
        patience: Duration,
    ) -> Result<Value, McpError> {
        self.ask_for(what, request, None, patience).await
    }

    /// Asks something that can be asked twice, for somebody who may be asked in turn.
    pub(super) async fn ask_for(
        self: &Arc<Self>,
        what: &'static str,
        request: ClientRequest,
        call: Option<&AskingCall>,
        patience: Duration,
    ) -> Result<Value, McpError> {
        let live = self.connected().await?;
        let meta = RequestMetaObject::new;
        let first = live.ask(what, request.clone(), meta(), call, patience);
        match first.await {
            Err(lost) if lost.is_the_end() => {
                self.forget(&live);
                let live = self.connected().await?;
                let second = live.ask(what, request, meta(), call, patience);
                second.await.map_err(|lost| lost.error)
            }
            answered => answered.map_err(|lost| lost.error),
        }
    }

    /// The connection, made now if there is none.
    ///
    /// Whoever stops waiting does not stop the server from starting: the next one finds it ready.
    pub(super) async fn connected(self: &Arc<Self>) -> Result<Arc<Live>, McpError> {
        if let Some(live) = self.current() {
            return Ok(live);
        }
        let link = self.clone();
        let made = tokio::spawn(async move { link.made().await }).await;
        made.unwrap_or_else(|_| Err(McpError::Ended("connecting was given up".to_owned())))
    }

    async fn made(&self) -> Result<Arc<Live>, McpError> {
        let _making = self.making.lock().await;
        if let Some(live) = self.current() {
            return Ok(live);
        }
        self.rested()?;
        let patience = self.patience.start;
        let made = match tokio::time::timeout(patience, self.make()).await {
            Ok(made) => made,
            Err(_) => Err(McpError::Silent {
                what: "the handshake",
                waited_ms: u64::try_from(patience.as_millis()).unwrap_or(u64::MAX),
            }),
        };
        match made {
            Ok(live) => Ok(self.keep(live)),
            Err(error) => Err(self.failed(error)),
        }
    }

    async fn make(&self) -> Result<Live, McpError> {
        let ear = self.ear.anew();
        match &self.reach {
            Reach::Child(command) => {
                Live::with_child(&self.namespace, command, &self.children, ear, self.sessions).await
            }
            Reach::Web(web) => {
                let web = Web {
                    ear,
                    ..(**web).clone()
                };
                Live::with_web(web, self.sessions).await
            }
        }
    }

    fn keep(&self, live: Live) -> Arc<Live> {
        let live = Arc::new(live);
        let mut state = self.state();
        state.live = Some(live.clone());
        let was_connected = std::mem::replace(&mut state.was_connected, true);
        drop(state);
        if was_connected {
            self.wish_again(&live);
        }
        // A caller's first session is what it saw before; the tools are the same in all.
        if was_connected || !self.is_of_caller {
            self.ear.note(|changes| {
                changes.tools += u64::from(!self.is_of_caller);
                changes.prompts += 1;
                changes.resources += 1;
            });
        }
        live
    }

    /// Ends the process there is without waiting, and starts no other.
    pub(super) fn kill(&self) {
        self.state().closed = true;
        self.children.end();
    }

    /// Ends the connection there is, and makes no other.
    pub(super) async fn close(&self) {
        let live = {
            let mut state = self.state();
            state.closed = true;
            state.live.take()
        };
        if let Some(live) = live {
            live.end().await;
        }
    }

    /// The connection there is, if it still holds.
    pub(super) fn current(&self) -> Option<Arc<Live>> {
        let mut state = self.state();
        let live = state.live.clone()?;
        if !live.is_over() {
            return Some(live);
        }
        state.ended(&live);
        None
    }

    /// Gives a connection up.
    pub(super) fn forget(&self, live: &Arc<Live>) {
        let mut state = self.state();
        let is_current = |current: &Arc<Live>| Arc::ptr_eq(current, live);
        if state.live.as_ref().is_some_and(is_current) {
            state.ended(live);
        }
    }

    fn rested(&self) -> Result<(), McpError> {
        let state = self.state();
        if state.closed {
            return Err(McpError::Ended("this side closed it".to_owned()));
        }
        let (Some(until), Some(last)) = (state.rest_until, &state.last) else {
            return Ok(());
        };
        let wait = until.saturating_duration_since(Instant::now());
        if wait.is_zero() {
            return Ok(());
        }
        Err(McpError::Resting {
            wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1),
            last: last.clone(),
        })
    }

    fn failed(&self, error: McpError) -> McpError {
        tracing::warn!(server = self.namespace, "{error}");
        let told = error.retold();
        self.state().note(error);
        told
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn ended(&mut self, live: &Live) {
        self.live = None;
        if live.was_steady() {
            self.failures = 0;
        }
        self.note(McpError::Ended(live.why()));
    }

    fn note(&mut self, error: McpError) {
        self.failures = self.failures.saturating_add(1);
        self.rest_until = rest_after(self.failures).map(|rest| Instant::now() + rest);
        self.last = Some(Arc::new(error));
    }
}

fn set_level(level: LoggingLevel) -> ClientRequest {
    ClientRequest::SetLevelRequest(SetLevelRequest::new(SetLevelRequestParams::new(level)))
}

fn subscribe(uri: &str) -> ClientRequest {
    ClientRequest::SubscribeRequest(SubscribeRequest::new(SubscribeRequestParams::new(uri)))
}

fn unsubscribe(uri: &str) -> ClientRequest {
    ClientRequest::UnsubscribeRequest(UnsubscribeRequest::new(UnsubscribeRequestParams::new(uri)))
}

/// How long a server is left alone that failed so often in a row. The first failure may be an accident.
fn rest_after(failures: u32) -> Option<Duration> {
    let doublings = failures.checked_sub(2)?;
    let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
    Some(FIRST_REST.saturating_mul(factor).min(LONGEST_REST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_double_up_to_a_limit_and_the_first_failure_costs_none() {
        for (failures, rest_ms) in [
            (0, None),
            (1, None),
            (2, Some(200)),
            (3, Some(400)),
            (9, Some(25_600)),
            (10, Some(30_000)),
            (34, Some(30_000)),
            (u32::MAX, Some(30_000)),
        ] {
            let rest = rest_after(failures).map(|rest| rest.as_millis());
            assert_eq!(rest, rest_ms, "{failures}");
        }
    }
}
