//! The methods of the protocol, as rmcp calls them.

use std::sync::{Arc, PoisonError};

use panpan_mcp::STATELESS;
use panpan_mcp::input::UsableCapabilities;
use panpan_mcp::library::{List, Request, ServerPeerInfo};
use panpan_mcp::names::PANPAN_CAPABILITY;
use panpan_runtime::Listener;
use rmcp::model::{
    CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CancelTaskParams,
    CancelledNotificationParam, CompleteRequestParams, CompleteResult, ConstString, CustomRequest,
    CustomResult, ExperimentalCapabilities, ExtensionCapabilities, GetPromptRequestMethod,
    GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult, Implementation,
    InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestMethod,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    ServerResult, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter,
    TASKS_EXTENSION_ID, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value, json};

use super::call::forwarded;
use super::connected_client::{ConnectedClient, SUBSCRIPTIONS_LIMIT, Session};
use super::features::{failure_error, refuse_cursor, send, typed, with_uri};
use super::interactive;
use super::request::is_stateless;
use super::resume::ResumeInput;
use super::rpc_error;
use super::server::{Server, truncated};
use crate::library::RequestSource;

/// The instructions that agents read before any tool.
const INSTRUCTIONS: &str = "A failing tool returns isError and one JSON object. error.code and error.message \
say what happened, error.actions what to do next, in order. Repeat the identical call only if \
error.retryable is true, after error.retry_after_ms milliseconds if given; otherwise follow error.actions \
first. error.effect says whether anything was changed before the failure.";

/// The experimental capabilities of the server that panpan stands for, plus panpan's own marker.
fn experimental(upstream: &mut ServerCapabilities) -> ExperimentalCapabilities {
    let mut experimental = upstream.experimental.take().unwrap_or_default();
    let version = Map::from_iter([("version".to_owned(), env!("CARGO_PKG_VERSION").into())]);
    experimental.insert(PANPAN_CAPABILITY.to_owned(), version);
    experimental
}

/// The extensions of the server that panpan stands for. Additions to tools, results and resources
/// pass through unchanged. Methods of an extension do not, so its tasks are left out: panpan has its own.
fn extensions(
    upstream: &mut ServerCapabilities,
    offers_tasks: bool,
) -> Option<ExtensionCapabilities> {
    let mut extensions = upstream.extensions.take().unwrap_or_default();
    extensions.remove(TASKS_EXTENSION_ID);
    if offers_tasks {
        extensions.insert(TASKS_EXTENSION_ID.to_owned(), Map::new());
    }
    (!extensions.is_empty()).then_some(extensions)
}

impl Server {
    /// What agents read before any tool: what the upstream server says, how panpan reports failures,
    /// and which servers are missing.
    fn instructions(&self, upstream: Option<String>) -> String {
        let library = self.gateway().library();
        let missing = library.map_or_else(Vec::new, |library| library.unavailable());
        let missing = missing.into_iter().map(|reason| {
            format!("Some tools are missing now: {reason}. They are listed as soon as it answers.")
        });
        let parts = upstream.into_iter().chain([INSTRUCTIONS.to_owned()]);
        parts.chain(missing).collect::<Vec<_>>().join("\n\n")
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let about = self.gateway().library().and_then(|it| it.about());
        let mut about =
            about.unwrap_or_else(|| ServerPeerInfo::new(STATELESS, ServerCapabilities::default()));
        let panpan = || Implementation::new("panpan", env!("CARGO_PKG_VERSION"));
        let instructions = self.instructions(about.instructions.take());
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_experimental_with(experimental(&mut about.capabilities))
            .build();
        capabilities.extensions = extensions(&mut about.capabilities, self.offers_tasks());
        self.offer().declare(&mut capabilities);
        ServerConfig::new(capabilities)
            .with_server_info(about.server_info.unwrap_or_else(panpan))
            .with_instructions(instructions)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.mark_persistent();
        self.list_changes.mark(self.gateway());
        let negotiated = self.negotiate_initialize(&request);
        context.peer.set_peer_info(request);
        negotiated
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let caller = self.caller_in(&context.extensions);
        self.list_changes
            .notify_session(self.gateway(), caller, context.peer.clone());
        if let Some(library) = self.gateway().library() {
            let client = context.peer.peer_info();
            let client = client.and_then(|client| UsableCapabilities::of(&client.capabilities));
            let session = Session {
                gateway: self.gateway().clone(),
                caller: caller.clone(),
                peer: context.peer.clone(),
            };
            let connected = || ConnectedClient::in_session(session, client, self.level.clone());
            let client: Arc<dyn Listener> = self.client.get_or_init(connected).clone();
            library.attend(caller, &client);
            // A server that asked for the roots before this client came got no reply.
            if client.question_kinds().roots {
                library.roots_changed(caller).await;
            }
        }
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        if let Some(library) = self.gateway().library() {
            let caller = self.caller_in(&context.extensions);
            library.roots_changed(caller).await;
        }
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !self.offer().logging {
            return Err(rpc_error::unknown_method("logging is not supported"));
        }
        let caller = self.caller(&context);
        let library = self.library(caller)?;
        let set = send(library, caller, Request::SetLevel(request.level));
        set.await.map_err(failure_error)?;
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.level);
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (caller, uri) = (self.caller(&context), &request.uri);
        let (library, client) = self.subscribing(caller)?;
        if !client.subscribe(uri) {
            let message =
                format!("limit of {SUBSCRIPTIONS_LIMIT} resource subscriptions per client reached");
            return Err(rpc_error::invalid_params(message));
        }
        let subscribe = Request::Subscribe(uri.clone());
        let subscribed = send(library, caller, subscribe).await;
        subscribed.map(drop).map_err(|failure| {
            client.unsubscribe(uri);
            with_uri(uri, failure_error(failure))
        })
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (caller, uri) = (self.caller(&context), &request.uri);
        let (library, client) = self.subscribing(caller)?;
        client.unsubscribe(uri);
        let unsubscribe = Request::Unsubscribe(uri.clone());
        let done = send(library, caller, unsubscribe).await;
        done.map(drop)
            .map_err(|failure| with_uri(uri, failure_error(failure)))
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.list_changes.mark(self.gateway());
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let shutdown = &self.shared.shutdown;
        let caller = self.caller(context.request_context());
        self.list_changes
            .notify_subscriber(self.gateway(), caller, &context, shutdown)
            .await;
        Ok(())
    }

    async fn on_cancelled(
        &self,
        notification: CancelledNotificationParam,
        _: NotificationContext<RoleServer>,
    ) {
        if let Some(id) = &notification.request_id {
            self.in_flight.cancel(id);
        }
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        refuse_cursor(page)?;
        let tools = self.listed_tools(&self.tool_index(), self.caller(&context));
        let mut listed = ListToolsResult::with_all_items(tools);
        let library = self.gateway().library();
        // Known only where all tools come from one server.
        let fresh = library.filter(|library| library.about().is_some());
        if let Some(fresh) = fresh.and_then(|library| library.freshness(List::Tools)) {
            listed.ttl_ms = Some(fresh.ttl_ms);
            listed.cache_scope = Some(fresh.scope());
        }
        Ok(listed)
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let caller = self.caller(&context);
        Box::pin(self.detailed_task(caller, &request.task_id)).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (caller, responses) = (self.caller(&context), request.input_responses);
        Box::pin(self.answer_task(caller, &request.task_id, responses)).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let caller = self.caller(&context);
        Box::pin(self.cancel_task_of(caller, &request.task_id)).await
    }

    // The methods below exist only if the gateway has resources and prompts to offer.

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.list(List::Prompts, page, &context).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let resume = ResumeInput::of(request.request_state, request.input_responses);
        let (name, arguments) = (request.name, request.arguments.unwrap_or_default());
        let input = Value::Object(arguments.clone());
        let of = (GetPromptRequestMethod::VALUE, name.clone(), input);
        let request = Request::Prompt { name, arguments };
        let fetched = self.fetch(&context, resume, of, request, |fetched| {
            typed(fetched).map(ServerResult::GetPromptResult)
        });
        interactive::prompt(fetched.await?)
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.list(List::Resources, page, &context).await
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.list(List::Templates, page, &context).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let resume = ResumeInput::of(request.request_state, request.input_responses);
        let uri = request.uri;
        let of = (ReadResourceRequestMethod::VALUE, uri.clone(), Value::Null);
        let request = Request::Read(uri.clone());
        let fetched = self.fetch(&context, resume, of, request, move |fetched| {
            let result = typed(fetched).map_err(|error| with_uri(&uri, error));
            result.map(ServerResult::ReadResourceResult)
        });
        interactive::resource(fetched.await?)
    }

    async fn complete(
        &self,
        mut request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let caller = self.caller(&context);
        let library = self.library(caller)?;
        // The client's `_meta` is addressed to this server; what goes on is in the source.
        request.meta = None;
        let (client, meta) = (None, forwarded(&context.meta));
        let source = RequestSource { client, meta };
        let completed = library.request(caller, Request::Complete(request), source);
        typed(completed.await)
    }

    /// rmcp calls this only to compare headers with the arguments that they repeat.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let index = self.tool_index();
        let entry = index.by_tool(name).filter(|entry| entry.has_headers)?;
        entry.tool.clone()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let input = Value::Object(request.arguments.unwrap_or_default());
        let resume = ResumeInput::of(request.request_state, request.input_responses);
        // rmcp moves the future of a request several times; boxed, only its address moves.
        Box::pin(self.call(&request.name, input, resume, &context)).await
    }

    /// Gets every request that rmcp cannot parse, those of sessions about tasks, and a `tools/call` with malformed params.
    /// Arguments that are not an object are the tool's to refuse, like any other invalid input.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if let Some(response) = Box::pin(self.session_request(&request, &context)).await {
            return response.map(CustomResult);
        }
        if request.method != CallToolRequestMethod::VALUE {
            let message = format!("unknown method {}", truncated(&request.method));
            return Err(rpc_error::unknown_method(message));
        }
        let mut params = request.params.unwrap_or_default();
        let Some(Value::String(name)) = params.get_mut("name").map(Value::take) else {
            let message = "tools/call requires the name of a tool as a string";
            return Err(rpc_error::invalid_params(message));
        };
        let mut take = |name: &str| params.get_mut(name).map(Value::take);
        let input = take("arguments").unwrap_or_else(|| json!({}));
        let resume = ResumeInput::new(take("requestState"), take("inputResponses"));
        let mut result = Box::pin(self.call(&name, input, resume, &context)).await?;
        if let CallToolResponse::Complete(result) = &mut result
            && !is_stateless(&context)
        {
            // rmcp drops it for older peers only from results of known methods.
            result.result_type = None;
        }
        let written = serde_json::to_value(ServerResult::from(result)).map(CustomResult);
        written.map_err(|_| rpc_error::internal("the response could not be serialised"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_name_the_members_of_the_agent_view() {
        const MEMBERS: [&str; 6] = [
            "code",
            "message",
            "actions",
            "retryable",
            "retry_after_ms",
            "effect",
        ];
        let named = INSTRUCTIONS.split("error.").skip(1);
        let named = named.map(|it| {
            it.split(|it: char| !it.is_alphanumeric() && it != '_')
                .next()
                .unwrap()
        });
        let named: std::collections::BTreeSet<&str> = named.collect();
        assert_eq!(named, MEMBERS.into_iter().collect());
    }
}
