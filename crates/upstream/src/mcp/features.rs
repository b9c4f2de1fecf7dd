//! The resources, prompts, completion and logging of one server.
//!
//! Everything is passed on as JSON of the protocol. Lists are complete: all pages, up to a limit.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use panpan_runtime::{AskError, Listener, QUESTIONS_WAIT_LIMIT_MS, StateOwner};
use rmcp::model::{
    ClientRequest, CompleteRequest, CompleteRequestParams, GetPromptRequest,
    GetPromptRequestParams, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
    ListToolsRequest, LoggingLevel, PaginatedRequestParams, ReadResourceRequest,
    ReadResourceRequestParams,
};
use serde_json::{Map, Value};

use super::error::McpError;
use super::input_requests::InteractiveRequest;
use super::input_required::{self, InputNotProvided, Round};
use super::live_connection::LiveConnection;
use super::{McpCaller, McpUpstream};

/// The largest number of pages of a list.
pub const PAGES_LIMIT: usize = 200;

/// The largest number of items of a list.
pub const ITEMS_LIMIT: usize = 10_000;

/// The capabilities that a server declares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct McpCapabilities {
    /// Tools.
    pub tools: bool,
    /// Resources and resource templates.
    pub resources: bool,
    /// Prompts.
    pub prompts: bool,
    /// Completion of arguments.
    pub completions: bool,
    /// Log notifications.
    pub logging: bool,
    /// Resource subscriptions.
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
    /// The name of the request for messages, and the member of the result with the items.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Tools => ("tools/list", "tools"),
            Self::Resources => ("resources/list", "resources"),
            Self::Templates => ("resources/templates/list", "resourceTemplates"),
            Self::Prompts => ("prompts/list", "prompts"),
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

/// How long a list stays fresh, and who may cache it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpFreshness {
    /// The time to live, in milliseconds.
    pub ttl_ms: u64,
    /// Whether it may be cached for other callers too.
    pub is_public: bool,
}

impl McpFreshness {
    /// The freshness of one page.
    fn of_page(page: &Value) -> Option<Self> {
        Some(Self {
            ttl_ms: page.get("ttlMs")?.as_u64()?,
            is_public: page.get("cacheScope").and_then(Value::as_str) == Some("public"),
        })
    }

    /// The freshness of several lists together, if all of them state one.
    pub(super) fn of_all(all: impl IntoIterator<Item = Option<Self>>) -> Option<Self> {
        let all: Option<Vec<Self>> = all.into_iter().collect();
        all?.into_iter().reduce(|one, other| Self {
            ttl_ms: one.ttl_ms.min(other.ttl_ms),
            is_public: one.is_public && other.is_public,
        })
    }
}

fn capabilities_of(live: &LiveConnection) -> McpCapabilities {
    let Some(info) = live.info() else {
        return McpCapabilities::default();
    };
    McpCapabilities {
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
    /// The capabilities of the server. Connects if necessary.
    pub async fn capabilities(&self) -> Result<McpCapabilities, McpError> {
        Ok(capabilities_of(&*self.pool.shared().connected().await?))
    }

    /// The capabilities of the server, if it is connected.
    pub fn known_capabilities(&self) -> Option<McpCapabilities> {
        self.pool
            .shared()
            .current()
            .map(|live| capabilities_of(&live))
    }

    /// The tools as the server lists them.
    pub async fn list_tools(&self) -> Result<Vec<Value>, McpError> {
        self.list(List::Tools, &StateOwner::Anyone).await
    }

    /// The resources as the server lists them; none if it has no resources.
    pub async fn list_resources(&self, owner: &StateOwner) -> Result<Vec<Value>, McpError> {
        match self.capabilities().await?.resources {
            true => self.list(List::Resources, owner).await,
            false => Ok(Vec::new()),
        }
    }

    /// The resource templates as the server lists them; none if it has no resources.
    pub async fn list_resource_templates(
        &self,
        owner: &StateOwner,
    ) -> Result<Vec<Value>, McpError> {
        match self.capabilities().await?.resources {
            true => self.list(List::Templates, owner).await,
            false => Ok(Vec::new()),
        }
    }

    /// The prompts as the server lists them, with its own names; none if it has no prompts.
    pub async fn list_prompts(&self, owner: &StateOwner) -> Result<Vec<Value>, McpError> {
        match self.capabilities().await?.prompts {
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
        self.request_with_input(caller, "resources/read", request)
            .await
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
        self.request_with_input(caller, "prompts/get", request)
            .await
    }

    /// Sends a request during which the server may require input.
    async fn request_with_input(
        &self,
        caller: &McpCaller<'_>,
        name: &'static str,
        request: ClientRequest,
    ) -> Result<Value, McpError> {
        let connection = self.pool.connection_for(&caller.owner).await?;
        let secrets = connection.secrets.clone();
        let client = caller.client.clone();
        let interactive =
            client.map(|it| InteractiveRequest::for_client(it, caller.identity, secrets));
        let timeout = match interactive {
            Some(_) => connection.timeouts.list + Duration::from_millis(QUESTIONS_WAIT_LIMIT_MS),
            None => connection.timeouts.list,
        };
        let mut round = Round::default();
        loop {
            let request = round.applied_to(request.clone());
            let result = connection
                .request_with_input(name, request, interactive.as_ref(), timeout)
                .await?;
            if !input_required::requires_input(&result) {
                return Ok(result);
            }
            let not_provided = |error: InputNotProvided| McpError::InputRequired(error.to_string());
            let interactive = interactive
                .as_ref()
                .ok_or_else(|| not_provided(InputNotProvided::Unasked(AskError::Unsupported)))?;
            let next = round.next(interactive, result).await;
            round = next.map_err(not_provided)?;
        }
    }

    /// Values for an argument, as the result of `completion/complete`; takes its params.
    pub async fn complete(&self, owner: &StateOwner, params: Value) -> Result<Value, McpError> {
        let params: CompleteRequestParams = serde_json::from_value(params).map_err(|_| {
            McpError::ProtocolViolation("invalid params of completion/complete".to_owned())
        })?;
        let request = ClientRequest::CompleteRequest(CompleteRequest::new(params));
        self.request("completion/complete", request, owner).await
    }

    /// Adds a client that receives the server's notifications to an owner of state outside of
    /// calls.
    pub fn add_listener(&self, owner: &StateOwner, listener: &Arc<dyn Listener>) {
        self.pool.listeners.add(owner.clone(), listener);
    }

    /// Sets the log level of the server for an owner of state, if it logs.
    pub async fn set_level(&self, owner: &StateOwner, level: &str) -> Result<(), McpError> {
        if !self.capabilities().await?.logging {
            return Ok(());
        }
        let level: LoggingLevel = serde_json::from_value(level.into())
            .map_err(|_| McpError::ProtocolViolation("unknown log level".to_owned()))?;
        self.pool
            .connection_for(owner)
            .await?
            .set_level(level)
            .await
    }

    /// Notifies the server that the roots of an owner of state changed, if it has a session.
    pub async fn notify_roots_changed(&self, owner: &StateOwner) {
        if let Some(connection) = self.pool.existing_connection_for(owner) {
            connection.notify_roots_changed().await;
        }
    }

    /// Subscribes an owner of state to a resource.
    pub async fn subscribe(&self, owner: &StateOwner, uri: &str) -> Result<(), McpError> {
        self.pool.connection_for(owner).await?.subscribe(uri).await
    }

    /// Unsubscribes an owner of state from a resource.
    pub async fn unsubscribe(&self, owner: &StateOwner, uri: &str) -> Result<(), McpError> {
        self.pool
            .connection_for(owner)
            .await?
            .unsubscribe(uri)
            .await
    }

    async fn request(
        &self,
        name: &'static str,
        request: ClientRequest,
        owner: &StateOwner,
    ) -> Result<Value, McpError> {
        let connection = self.pool.connection_for(owner).await?;
        let timeout = connection.timeouts.list;
        connection.request(name, request, timeout).await
    }

    /// The freshness of one of its lists, from the last response.
    pub fn freshness(&self, member: &str) -> Option<McpFreshness> {
        let known = self.freshness.lock();
        let known = known.unwrap_or_else(PoisonError::into_inner);
        // Callers with other scopes get other lists.
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
        let (name, member) = list.names();
        let mut items: Vec<Value> = Vec::new();
        let mut cursor = None;
        let mut freshness = Vec::new();
        for _ in 0..PAGES_LIMIT {
            let mut page = self
                .request(name, list.request(cursor.take()), owner)
                .await?;
            let Some(Value::Array(found)) = page.get_mut(member).map(Value::take) else {
                let reason = format!("the result has no list {member}");
                return Err(McpError::ProtocolViolation(reason));
            };
            items.extend(found);
            freshness.push(McpFreshness::of_page(&page));
            if items.len() > ITEMS_LIMIT {
                let reason = format!("the list has more than {ITEMS_LIMIT} {member}");
                return Err(McpError::ProtocolViolation(reason));
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
        let reason = format!("the list of {member} has more than {PAGES_LIMIT} pages");
        Err(McpError::ProtocolViolation(reason))
    }
}
