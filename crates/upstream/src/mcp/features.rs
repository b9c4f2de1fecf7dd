//! The resources, prompts, completion and logging of one server.
//!
//! Everything is passed on as JSON of the protocol. Lists are complete: all pages, up to a limit.

use std::sync::{Arc, PoisonError};

use panpan_mcp::input::UsableCapabilities;
use panpan_mcp::library::{Freshness, List, Offer, Request};
use panpan_runtime::{AskError, Listener, StateOwner};
use rmcp::model::{
    ClientRequest, CompleteRequest, GetPromptRequest, GetPromptRequestParams, ReadResourceRequest,
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

impl McpUpstream {
    /// The features of the server. Connects if necessary.
    pub async fn offer(&self) -> Result<Offer, McpError> {
        Ok(offer_of(&*self.pool.shared().connected().await?))
    }

    /// The features of the server, if it is connected.
    pub fn known_offer(&self) -> Option<Offer> {
        self.pool.shared().current().map(|live| offer_of(&live))
    }

    /// The items of a list as the server lists them; none if it has no such list.
    pub async fn list(&self, list: List, owner: &StateOwner) -> Result<Vec<Value>, McpError> {
        if list != List::Tools && !list.is_offered(self.offer().await?) {
            return Ok(Vec::new());
        }
        let connection = self.pool.connection_for(owner).await?;
        let member = list.member();
        let (mut items, mut freshness) = (Vec::new(), Vec::new());
        let mut cursor = None;
        for _ in 0..PAGES_LIMIT {
            let mut page = connection
                .request(list.request(cursor), Map::new(), None)
                .await?;
            let Some(Value::Array(found)) = page.get_mut(member).map(Value::take) else {
                let reason = format!("the result has no list {member}");
                return Err(McpError::ProtocolViolation(reason));
            };
            items.extend(found);
            freshness.push(Freshness::of(&page));
            if items.len() > ITEMS_LIMIT {
                let reason = format!("the list has more than {ITEMS_LIMIT} {member}");
                return Err(McpError::ProtocolViolation(reason));
            }
            let next = page.get("nextCursor").and_then(Value::as_str);
            cursor = next.filter(|it| !it.is_empty()).map(str::to_owned);
            if cursor.is_none() {
                self.note_freshness(list, Freshness::of_all(freshness));
                return Ok(items);
            }
        }
        let reason = format!("the list of {member} has more than {PAGES_LIMIT} pages");
        Err(McpError::ProtocolViolation(reason))
    }

    /// The result of a request, under the names that the server uses.
    pub async fn request(
        &self,
        caller: &McpCaller<'_>,
        request: Request,
    ) -> Result<Value, McpError> {
        let owner = &caller.owner;
        let done = match request {
            Request::List(list) => return self.list(list, owner).await.map(Value::from),
            Request::Read(uri) => {
                let params = ReadResourceRequestParams::new(uri);
                let request = ReadResourceRequest::new(params).into();
                return self.request_with_input(caller, request).await;
            }
            Request::Prompt { name, arguments } => {
                let params = GetPromptRequestParams::new(name).with_arguments(arguments);
                let request = GetPromptRequest::new(params).into();
                return self.request_with_input(caller, request).await;
            }
            Request::Complete(params) => {
                let request = CompleteRequest::new(params).into();
                let connection = self.pool.connection_for(owner).await?;
                return connection.request(request, caller.meta.clone(), None).await;
            }
            Request::SetLevel(_) if !self.offer().await?.logging => Ok(()),
            Request::SetLevel(level) => {
                let connection = self.pool.connection_for(owner).await?;
                connection.set_level(level).await
            }
            Request::Subscribe(uri) => {
                let connection = self.pool.connection_for(owner).await?;
                connection.subscribe(&uri).await
            }
            Request::Unsubscribe(uri) => {
                let connection = self.pool.connection_for(owner).await?;
                connection.unsubscribe(&uri).await
            }
        };
        done.map(Value::from)
    }

    /// Sends a request during which the server may require input.
    async fn request_with_input(
        &self,
        caller: &McpCaller<'_>,
        request: ClientRequest,
    ) -> Result<Value, McpError> {
        let connection = self.pool.connection_for(&caller.owner).await?;
        let interactive = caller.client.clone().map(|client| {
            let secrets = connection.server.secrets.clone();
            InteractiveRequest::for_client(client, caller.identity, secrets)
        });
        let mut round = Round::default();
        loop {
            let request = round.applied_to(request.clone());
            let sent = connection.request(request, caller.meta.clone(), interactive.as_ref());
            let result = sent.await?;
            if !input_required::requires_input(&result) {
                return Ok(result);
            }
            let next = match &interactive {
                Some(interactive) => round.next(interactive, result).await,
                None => Err(InputNotProvided::Unasked(AskError::Unsupported)),
            };
            round = next.map_err(|error| McpError::InputRequired(error.to_string()))?;
        }
    }

    /// Notes the capabilities of the only client, before it is connected: the server is told them.
    pub fn expect_client(&self, client: UsableCapabilities) {
        self.pool.listeners.expect(client);
    }

    /// Adds a client that receives the server's notifications to an owner of state outside of
    /// calls.
    pub fn add_listener(&self, owner: &StateOwner, listener: &Arc<dyn Listener>) {
        self.pool.listeners.add(owner.clone(), listener);
    }

    /// Notifies the server that the roots of an owner of state changed, if it has a session.
    pub async fn notify_roots_changed(&self, owner: &StateOwner) {
        if let Some(connection) = self.pool.existing_connection_for(owner) {
            connection.notify_roots_changed().await;
        }
    }

    /// The freshness of one of its lists, from the last response.
    pub fn freshness(&self, list: List) -> Option<Freshness> {
        let known = self.freshness.lock();
        let known = known.unwrap_or_else(PoisonError::into_inner);
        // Callers with other scopes get other lists.
        known.get(&list).map(|it| Freshness {
            is_public: it.is_public && self.is_open(),
            ..*it
        })
    }

    fn note_freshness(&self, list: List, stated: Option<Freshness>) {
        let known = self.freshness.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        match stated {
            Some(stated) => known.insert(list, stated),
            None => known.remove(&list),
        };
    }
}

fn offer_of(live: &LiveConnection) -> Offer {
    let info = live.info();
    info.map_or_else(Offer::default, |info| Offer::of(&info.capabilities))
}
