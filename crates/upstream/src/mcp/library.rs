//! What a server offers beside tools: resources, prompts and the completion of arguments.
//!
//! Everything is given as the JSON of the protocol. Lists are whole: all pages, within bounds.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use panpan_runtime::{Listener, QUESTIONS_WAIT_LIMIT_MS, StateOwner, Unasked};
use rmcp::model::{
    ClientRequest, CompleteRequest, CompleteRequestParams, GetPromptRequest,
    GetPromptRequestParams, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
    ListToolsRequest, LoggingLevel, PaginatedRequestParams, ReadResourceRequest,
    ReadResourceRequestParams,
};
use serde_json::{Map, Value};

use super::asking::AskingCall;
use super::error::McpError;
use super::live::Live;
use super::rounds::{self, Round, Unmet};
use super::{McpCaller, McpUpstream};

/// The most pages of a list that are read.
pub const PAGES_LIMIT: usize = 200;

/// The most items of a list that are kept.
pub const ITEMS_LIMIT: usize = 10_000;

/// What a server says it offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct McpOffer {
    /// Tools.
    pub tools: bool,
    /// Resources and templates of them.
    pub resources: bool,
    /// Prompts.
    pub prompts: bool,
    /// The completion of arguments.
    pub completions: bool,
    /// Lines of its log.
    pub logging: bool,
    /// That it tells when a resource has other contents.
    pub subscriptions: bool,
}

/// A list of a server.
#[derive(Clone, Copy, Debug)]
enum List {
    Tools,
    Resources,
    Templates,
    Prompts,
}

impl List {
    /// What is asked, and where the items stand in the answer.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Tools => ("for its tools", "tools"),
            Self::Resources => ("for its resources", "resources"),
            Self::Templates => ("for its resource templates", "resourceTemplates"),
            Self::Prompts => ("for its prompts", "prompts"),
        }
    }

    fn request(self, cursor: Option<String>) -> ClientRequest {
        let mut page = PaginatedRequestParams::default();
        page.cursor = cursor;
        match self {
            Self::Tools => ClientRequest::ListToolsRequest(ListToolsRequest::with_param(page)),
            Self::Resources => {
                ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(page))
            }
            Self::Templates => ClientRequest::ListResourceTemplatesRequest(
                ListResourceTemplatesRequest::with_param(page),
            ),
            Self::Prompts => {
                ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(page))
            }
        }
    }
}

/// How long a list stays fresh, and who may keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpFreshness {
    /// For how long, in milliseconds.
    pub ttl_ms: u64,
    /// Whether it may be kept for others than the caller that asked.
    pub is_public: bool,
}

impl McpFreshness {
    /// What a page of a list says.
    fn of(page: &Value) -> Option<Self> {
        Some(Self {
            ttl_ms: page.get("ttlMs")?.as_u64()?,
            is_public: page.get("cacheScope").and_then(Value::as_str) == Some("public"),
        })
    }

    /// That of several lists together, where each says something.
    pub(super) fn of_all(all: impl IntoIterator<Item = Option<Self>>) -> Option<Self> {
        let all: Option<Vec<Self>> = all.into_iter().collect();
        all?.into_iter().reduce(|one, other| Self {
            ttl_ms: one.ttl_ms.min(other.ttl_ms),
            is_public: one.is_public && other.is_public,
        })
    }
}

fn offer_of(live: &Live) -> McpOffer {
    let Some(info) = live.info() else {
        return McpOffer::default();
    };
    McpOffer {
        tools: info.capabilities.tools.is_some(),
        resources: info.capabilities.resources.is_some(),
        prompts: info.capabilities.prompts.is_some(),
        completions: info.capabilities.completions.is_some(),
        logging: info.capabilities.logging.is_some(),
        subscriptions: info
            .capabilities
            .resources
            .as_ref()
            .is_some_and(|it| it.subscribe == Some(true)),
    }
}

impl McpUpstream {
    /// What the server says it offers. Connects if that has not been done.
    pub async fn offer(&self) -> Result<McpOffer, McpError> {
        Ok(offer_of(&*self.pool.own().connected().await?))
    }

    /// The same, if there is a connection.
    pub fn known_offer(&self) -> Option<McpOffer> {
        self.pool.own().current().map(|live| offer_of(&live))
    }

    /// The tools as the server lists them.
    pub async fn list_tools(&self) -> Result<Vec<Value>, McpError> {
        self.list(List::Tools, &StateOwner::Anyone).await
    }

    /// The resources as the server lists them; none of a server that offers none.
    pub async fn list_resources(&self, owner: &StateOwner) -> Result<Vec<Value>, McpError> {
        match self.offer().await?.resources {
            true => self.list(List::Resources, owner).await,
            false => Ok(Vec::new()),
        }
    }

    /// The resource templates as the server lists them; none of a server that offers no resources.
    pub async fn list_resource_templates(
        &self,
        owner: &StateOwner,
    ) -> Result<Vec<Value>, McpError> {
        match self.offer().await?.resources {
            true => self.list(List::Templates, owner).await,
            false => Ok(Vec::new()),
        }
    }

    /// The prompts as the server lists them, by its own names; none of a server that offers none.
    pub async fn list_prompts(&self, owner: &StateOwner) -> Result<Vec<Value>, McpError> {
        match self.offer().await?.prompts {
            true => self.list(List::Prompts, owner).await,
            false => Ok(Vec::new()),
        }
    }

    /// The contents of a resource, as the result of `resources/read`.
    pub async fn read_resource(
        &self,
        caller: &McpCaller<'_>,
        uri: &str,
    ) -> Result<Value, McpError> {
        let params = ReadResourceRequestParams::new(uri);
        let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
        self.asked_by(caller, "for a resource", request).await
    }

    /// A prompt with its arguments filled in, as the result of `prompts/get`.
    pub async fn get_prompt(
        &self,
        caller: &McpCaller<'_>,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Value, McpError> {
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        self.asked_by(caller, "for a prompt", request).await
    }

    /// Asks for what the server may ask about first.
    async fn asked_by(
        &self,
        caller: &McpCaller<'_>,
        what: &'static str,
        request: ClientRequest,
    ) -> Result<Value, McpError> {
        let link = self.pool.of(&caller.owner).await?;
        let person = caller.person.clone();
        let call = person
            .map(|person| AskingCall::of_reader(person, caller.identity, link.secrets.clone()));
        let patience = match call {
            Some(_) => link.patience.list + Duration::from_millis(QUESTIONS_WAIT_LIMIT_MS),
            None => link.patience.list,
        };
        let mut round = Round::default();
        loop {
            let request = round.applied_to(request.clone());
            let result = link.ask_for(what, request, call.as_ref(), patience).await?;
            if !rounds::asks(&result) {
                return Ok(result);
            }
            let unmet = |unmet: Unmet| McpError::Asks(unmet.to_string());
            let call = call
                .as_ref()
                .ok_or_else(|| unmet(Unmet::Unasked(Unasked::Nobody)))?;
            round = round.next(call, result).await.map_err(unmet)?;
        }
    }

    /// Values for an argument, as the result of `completion/complete`; takes the params of it.
    pub async fn complete(&self, owner: &StateOwner, params: Value) -> Result<Value, McpError> {
        let params: CompleteRequestParams = serde_json::from_value(params)
            .map_err(|_| McpError::Nonsense("these are no params of a completion".to_owned()))?;
        let request = ClientRequest::CompleteRequest(CompleteRequest::new(params));
        self.asked("for a completion", request, owner).await
    }

    /// Has a client hear what the server says to an owner of state outside of any call.
    pub fn attend(&self, owner: &StateOwner, listener: &Arc<dyn Listener>) {
        self.pool.audience.attend(owner.clone(), listener);
    }

    /// Has the server log at a level for an owner of state, if it logs.
    pub async fn set_level(&self, owner: &StateOwner, level: &str) -> Result<(), McpError> {
        if !self.offer().await?.logging {
            return Ok(());
        }
        let level: LoggingLevel = serde_json::from_value(level.into())
            .map_err(|_| McpError::Nonsense("this is no level of a log".to_owned()))?;
        self.pool.of(owner).await?.set_level(level).await
    }

    /// Has the server tell an owner of state when a resource has other contents.
    pub async fn follow_resource(&self, owner: &StateOwner, uri: &str) -> Result<(), McpError> {
        self.pool.of(owner).await?.follow(uri).await
    }

    /// The same no longer.
    pub async fn unfollow_resource(&self, owner: &StateOwner, uri: &str) -> Result<(), McpError> {
        self.pool.of(owner).await?.unfollow(uri).await
    }

    async fn asked(
        &self,
        what: &'static str,
        request: ClientRequest,
        owner: &StateOwner,
    ) -> Result<Value, McpError> {
        let link = self.pool.of(owner).await?;
        link.ask(what, request, link.patience.list).await
    }

    /// How long one of its lists stays fresh and who may keep it, as the server said when it was last asked for.
    pub fn freshness(&self, member: &str) -> Option<McpFreshness> {
        let known = self.freshness.lock();
        let known = known.unwrap_or_else(PoisonError::into_inner);
        // Callers with other scopes have other lists.
        known.get(member).map(|it| McpFreshness {
            is_public: it.is_public && self.is_open(),
            ..*it
        })
    }

    fn note_freshness(&self, member: &'static str, pages: Option<McpFreshness>) {
        let known = self.freshness.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        match pages {
            Some(pages) => known.insert(member, pages),
            None => known.remove(member),
        };
    }

    async fn list(&self, list: List, owner: &StateOwner) -> Result<Vec<Value>, McpError> {
        let (what, member) = list.words();
        let mut items: Vec<Value> = Vec::new();
        let mut cursor = None;
        let mut freshness = Vec::new();
        for _ in 0..PAGES_LIMIT {
            let mut page = self.asked(what, list.request(cursor.take()), owner).await?;
            let Some(Value::Array(found)) = page.get_mut(member).map(Value::take) else {
                let reason = format!("its answer has no list of {member}");
                return Err(McpError::Nonsense(reason));
            };
            items.extend(found);
            freshness.push(McpFreshness::of(&page));
            if items.len() > ITEMS_LIMIT {
                let reason = format!("it lists more than {ITEMS_LIMIT} {member}");
                return Err(McpError::Nonsense(reason));
            }
            let next = page.get("nextCursor").and_then(Value::as_str);
            match next.filter(|next| !next.is_empty()) {
                Some(next) => cursor = Some(next.to_owned()),
                None => {
                    self.note_freshness(member, McpFreshness::of_all(freshness));
                    return Ok(items);
                }
            }
        }
        let reason = format!("its list of {member} has more than {PAGES_LIMIT} pages");
        Err(McpError::Nonsense(reason))
    }
}
