//! What a server says of its own accord: that its lists have changed, and how far a call has come.
//!
//! Words about progress are overheard where messages are read, in their order: the library would hand
//! them out beside the answer they come before. What a server may ask of people and their clients is in
//! `asking`.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use panpan_runtime::{Answerable, Context, Notice, Progress, Unasked, Wanted};
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequest, CreateMessageRequestParams,
    CreateMessageResult, CustomNotification, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationCapability, FormElicitationCapability, Implementation, InputRequest,
    ListRootsRequest, ListRootsResult, ProgressNotificationParam, ProgressToken, RequestId,
    RootsCapabilities, SamplingCapability, ServerJsonRpcMessage, ServerNotification,
    UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::asking::{AskingCall, question, refused, result};
use super::audience::Hearers;
use super::underway::{Underway, Unplaced};

/// How often each list of a server has changed, as far as is known. A new connection counts as a change
/// of all: nobody knows what happened in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct McpChanges {
    /// The tools.
    pub tools: u64,
    /// The prompts.
    pub prompts: u64,
    /// The resources and their templates.
    pub resources: u64,
}

/// Hears what a server says.
#[derive(Clone, Debug)]
pub(super) struct Ear {
    changes: watch::Sender<McpChanges>,
    calls: Arc<Mutex<Calls>>,
    /// Whether nothing more will be heard.
    over: watch::Sender<bool>,
    /// Whether the server gave the connection a session.
    in_session: Arc<AtomicBool>,
    pub(super) underway: Underway,
    /// Who hears what is said outside of any call.
    pub(super) hearers: Hearers,
}

/// The notice that an address was visited which a server wanted to be.
const VISITED: &str = "notifications/elicitation/complete";

const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// How many words about calls nobody has asked about yet are kept. A server may be quicker than whoever
/// asks.
const EARLY_WORDS_LIMIT: usize = 32;

#[derive(Debug, Default)]
struct Calls {
    listening: HashMap<ProgressToken, Context>,
    early: VecDeque<ProgressNotificationParam>,
}

/// Words about a call's progress reach it until this is dropped.
#[derive(Debug)]
pub(super) struct Listening<'a> {
    ear: &'a Ear,
    token: ProgressToken,
}

impl Ear {
    pub(super) fn new(changes: watch::Sender<McpChanges>, hearers: Hearers) -> Self {
        Self {
            changes,
            hearers,
            calls: Arc::default(),
            over: watch::Sender::default(),
            in_session: Arc::default(),
            underway: Underway::default(),
        }
    }

    /// The ear of another connection: calls are numbered anew there.
    pub(super) fn anew(&self) -> Self {
        Self::new(self.changes.clone(), self.hearers.clone())
    }

    /// Notes that the server gave the connection a session.
    pub(super) fn enter_session(&self) {
        self.in_session.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_in_session(&self) -> bool {
        self.in_session.load(Ordering::Relaxed)
    }

    pub(super) fn listen(&self, token: ProgressToken, context: Context) -> Listening<'_> {
        let mut calls = self.calls();
        let early = std::mem::take(&mut calls.early);
        let (ours, others) = early
            .into_iter()
            .partition(|word| word.progress_token == token);
        calls.early = others;
        calls.listening.insert(token.clone(), context.clone());
        drop(calls);
        let ours: VecDeque<_> = ours;
        for word in ours.into_iter().rev() {
            report(&context, word);
        }
        Listening { ear: self, token }
    }

    /// Passes on what a message says about a call, or to the client behind it. Where it came in the stream of a
    /// request, that is `origin`.
    pub(super) fn overhear(&self, message: &ServerJsonRpcMessage, origin: Option<&RequestId>) {
        let ServerJsonRpcMessage::Notification(notice) = message else {
            return;
        };
        match &notice.notification {
            ServerNotification::ProgressNotification(it) => self.hear_progress(it.params.clone()),
            ServerNotification::LoggingMessageNotification(it) => {
                let line = serde_json::to_value(&it.params).unwrap_or_default();
                let call = self.underway.logging(origin);
                match call.as_ref().and_then(AskingCall::context) {
                    Some(context) => {
                        context.note_sign_of_life();
                        context.log(line);
                    }
                    None => self.hearers.hear(Notice::Logged(line)),
                }
            }
            ServerNotification::ResourceUpdatedNotification(it) => {
                let params = serde_json::to_value(&it.params).unwrap_or_default();
                self.hearers.hear(Notice::Updated(params));
            }
            _ => {}
        }
    }

    fn hear_progress(&self, word: ProgressNotificationParam) {
        let mut calls = self.calls();
        let listening = calls.listening.get(&word.progress_token).cloned();
        match listening {
            Some(context) => {
                drop(calls);
                report(&context, word);
            }
            None => {
                calls.early.truncate(EARLY_WORDS_LIMIT - 1);
                calls.early.push_front(word);
            }
        }
    }

    /// Notes that nothing more will be heard.
    pub(super) fn end(&self) {
        self.over.send_replace(true);
    }

    /// Comes about when nothing more will be heard.
    pub(super) fn over(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut over = self.over.subscribe();
        async move {
            // An ear that is gone hears nothing either.
            let _ = over.wait_for(|over| *over).await;
        }
    }

    /// What comes about while there is somebody to tell it to. The library waits seconds for the replies to
    /// questions of a server that is gone, and everybody who waits for that server with it.
    async fn while_heard<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.over() => None,
        }
    }

    /// Has whoever made the call that a question belongs to answer it.
    async fn asked<T: DeserializeOwned>(
        &self,
        asked: InputRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<T, ErrorData> {
        let asked = async {
            match self.underway.asking(&context.extensions) {
                Ok(call) => Ok(call.ask(None, asked).await),
                // A server may ask its client before anything is called.
                Err(Unplaced::NoCall) => Ok(self.ask_client(asked).await),
                Err(unplaced) => Err(refused(&unplaced.to_string())),
            }
        };
        let replied = context.ct.run_until_cancelled(asked);
        let replied = self.while_heard(replied).await.flatten().transpose()?;
        let replied = replied.unwrap_or(Err(Unasked::Gone));
        let replied = replied.map_err(|unasked| refused(&unasked.to_string()))?;
        serde_json::from_value(replied)
            .map_err(|_| refused("the client answered with something else"))
    }

    async fn ask_client(&self, asked: InputRequest) -> Result<Value, Unasked> {
        let question = question(None, asked).ok_or(Unasked::Kind)?;
        if !self.hearers.answerable().includes(&question.wanted) {
            return Err(Unasked::Nobody);
        }
        let gives_values = matches!(question.wanted, Wanted::Values { .. });
        let reply = self.hearers.ask(question).await?;
        Ok(result(reply, gives_values))
    }

    pub(super) fn note(&self, change: impl FnOnce(&mut McpChanges)) {
        self.changes.send_modify(change);
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn report(call: &Context, word: ProgressNotificationParam) {
    call.note_sign_of_life();
    call.report(Progress {
        done: word.progress,
        total: word.total,
        message: word.message,
    });
}

/// What a client that answers such questions says of itself.
pub(super) fn offered(
    kinds: Answerable,
    declared: Option<&Map<String, Value>>,
) -> ClientCapabilities {
    let form = || FormElicitationCapability::new();
    let url = || UrlElicitationCapability::new();
    let mut elicitation = ElicitationCapability::new();
    elicitation.form = kinds.values.then(form);
    elicitation.url = kinds.visit.then(url);
    let mut offered = ClientCapabilities::default();
    offered.experimental = stated(declared, "experimental");
    offered.extensions = stated(declared, "extensions");
    if let Some(extensions) = &mut offered.extensions {
        // Tasks have methods of their own, which are not passed on.
        extensions.remove(TASKS_EXTENSION);
    }
    offered.elicitation = (kinds.values || kinds.visit).then_some(elicitation);
    offered.sampling = kinds.sample.then(SamplingCapability::default);
    offered.roots = kinds.roots.then(RootsCapabilities::default);
    offered
}

fn stated<T: DeserializeOwned>(declared: Option<&Map<String, Value>>, name: &str) -> Option<T> {
    T::deserialize(declared?.get(name)?).ok()
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.ear.calls().listening.remove(&self.token);
    }
}

impl ClientHandler for Ear {
    fn get_info(&self) -> ClientConfig {
        let this = Implementation::new("panpan", env!("CARGO_PKG_VERSION"));
        // Whether a caller can really be asked is known when something is asked.
        let declared = self.hearers.declared();
        ClientConfig::new(offered(Answerable::ALL, declared.as_ref()), this)
    }

    async fn create_elicitation(
        &self,
        asked: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let asked = InputRequest::Elicitation(ElicitRequest::new(asked));
        self.asked(asked, context).await
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let asked = InputRequest::CreateMessage(CreateMessageRequest::new(params));
        self.asked(asked, context).await
    }

    async fn list_roots(
        &self,
        context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        let asked = InputRequest::ListRoots(ListRootsRequest::default());
        self.asked(asked, context).await
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.note(|changes| changes.tools += 1);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.note(|changes| changes.prompts += 1);
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.note(|changes| changes.resources += 1);
    }

    async fn on_custom_notification(
        &self,
        notice: CustomNotification,
        _: NotificationContext<RoleClient>,
    ) {
        if notice.method == VISITED {
            let params = notice.params.unwrap_or_default();
            self.hearers.hear(Notice::Visited(params));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures_util::FutureExt as _;
    use serde_json::json;

    use super::*;

    #[test]
    fn so_many_words_nobody_has_asked_about_are_kept() {
        let ear = Ear::new(watch::Sender::default(), Hearers::default());
        for heard in 1..=EARLY_WORDS_LIMIT + 1 {
            let word = json!({
                "jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": heard, "progress": 1},
            });
            ear.overhear(&serde_json::from_value(word).unwrap(), None);
            assert_eq!(ear.calls().early.len(), heard.min(EARLY_WORDS_LIMIT));
        }
        assert_eq!(ear.anew().calls().early.len(), 0);
    }

    #[test]
    fn nobody_is_waited_for_when_nothing_more_is_heard() {
        let ear = Ear::new(watch::Sender::default(), Hearers::default());
        assert!(ear.while_heard(pending::<()>()).now_or_never().is_none());
        let another = ear.anew();
        ear.end();
        assert_eq!(ear.while_heard(pending::<()>()).now_or_never(), Some(None));
        assert_eq!(ear.while_heard(ready(7)).now_or_never(), Some(Some(7)));
        assert!(
            another
                .while_heard(pending::<()>())
                .now_or_never()
                .is_none()
        );
    }
}
