//! The methods of the protocol, as rmcp calls them.

use std::sync::{Arc, PoisonError};

use panpan_runtime::Listener;

use rmcp::model::{
    CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CancelledNotificationParam,
    CompleteRequestParams, CompleteResult, ConstString, CustomRequest, CustomResult,
    ExperimentalCapabilities, ExtensionCapabilities, GetPromptRequestMethod,
    GetPromptRequestParams, GetPromptResponse, Implementation, InitializeRequestParams,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestMethod, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, ServerResult, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::connected_client::{ConnectedClient, SUBSCRIPTIONS_LIMIT, Session};
use super::features::{
    cache_scope, failure_error, list_result, no_library, refuse_cursor, typed, typed_resource,
    with_uri,
};
use super::input_requests::UsableCapabilities;
use super::interactive::{self, RequestIdentity};
use super::request::{ActiveRequest, is_stateless};
use super::resume::ResumeInput;
use super::rpc_error;
use super::server::{Server, truncated};

/// The instructions that agents read before any tool.
const INSTRUCTIONS: &str = "A failing tool returns isError and one JSON object. error.code and error.message \
say what happened, error.actions what to do next, in order. Repeat the identical call only if \
error.retryable is true, after error.retry_after_ms milliseconds if given; otherwise follow error.actions \
first. error.effect says whether anything was changed before the failure.";

/// The capability by which another panpan recognises this one, whatever its name.
const PANPAN_CAPABILITY: &str = "dev.panpan";

const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The experimental capabilities of the server that panpan stands for, plus panpan's own marker.
fn experimental(upstream: &Value) -> ExperimentalCapabilities {
    let declared = ExperimentalCapabilities::deserialize(&upstream["experimental"]);
    let mut experimental = declared.unwrap_or_default();
    let version = Map::from_iter([("version".to_owned(), env!("CARGO_PKG_VERSION").into())]);
    experimental.insert(PANPAN_CAPABILITY.to_owned(), version);
    experimental
}

/// The extensions of the server that panpan stands for. Additions to tools, results and resources
/// pass through unchanged. Methods of an extension do not, so tasks are left out.
fn extensions(upstream: &Value) -> Option<ExtensionCapabilities> {
    let mut extensions = ExtensionCapabilities::deserialize(&upstream["extensions"]).ok()?;
    extensions.remove(TASKS_EXTENSION);
    (!extensions.is_empty()).then_some(extensions)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let panpan = Implementation::new("panpan", env!("CARGO_PKG_VERSION"));
        let about = self.gateway().library().and_then(|it| it.about());
        let about = about.unwrap_or_default();
        let server_info = serde_json::from_value(about.server_info).unwrap_or(panpan);
        let instructions = match about.instructions {
            Some(upstream) => format!("{upstream}\n\n{INSTRUCTIONS}"),
            None => INSTRUCTIONS.to_owned(),
        };
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_completions()
            .enable_experimental_with(experimental(&about.capabilities))
            .build();
        capabilities.extensions = extensions(&about.capabilities);
        let features = self.offer();
        capabilities.resources = capabilities.resources.filter(|_| features.resources);
        capabilities.prompts = capabilities.prompts.filter(|_| features.prompts);
        capabilities.completions = capabilities.completions.filter(|_| features.completions);
        capabilities.logging = features.logging.then(Map::new);
        if let Some(resources) = capabilities
            .resources
            .as_mut()
            .filter(|_| features.subscriptions)
        {
            resources.subscribe = Some(true);
        }
        ServerConfig::new(capabilities)
            .with_server_info(server_info)
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
        let level = serde_json::to_value(request.level).unwrap_or_default();
        let set = library.set_level(caller, level.as_str().unwrap_or_default());
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
        let subscribed = library.follow(caller, uri, true).await;
        subscribed.map_err(|failure| {
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
        let done = library.follow(caller, uri, false).await;
        done.map_err(|failure| with_uri(uri, failure_error(failure)))
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
        if let Some(fresh) = fresh.and_then(|library| library.freshness("tools")) {
            listed.ttl_ms = Some(fresh.ttl_ms);
            listed.cache_scope = Some(cache_scope(fresh));
        }
        Ok(listed)
    }

    // The methods below exist only if the gateway has resources and prompts to offer.

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let caller = self.caller(&context);
        let library = self.library(caller)?;
        refuse_cursor(page)?;
        list_result(library, "prompts", library.prompts(caller).await)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let caller = self.caller(&context);
        self.library(caller)?;
        let responses = request.input_responses.map(Value::from_iter);
        let resume = ResumeInput::new(request.request_state.map(Value::from), responses);
        let active = ActiveRequest::new(self, &context, resume);
        let arguments = request.arguments.unwrap_or_default();
        let identity = RequestIdentity {
            principal: caller.principal.clone(),
            method: Some(GetPromptRequestMethod::VALUE),
            target: request.name.clone(),
            input: Arc::new(Value::Object(arguments.clone())),
        };
        let (shared, caller) = (self.shared.clone(), caller.clone());
        let fetch = async move |asks| {
            let library = shared.gateway.library().ok_or_else(no_library)?;
            let prompt = library.prompt(&caller, &request.name, arguments, asks);
            typed(prompt.await).map(ServerResult::GetPromptResult)
        };
        interactive::prompt(active.feature(identity, fetch).await?)
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let caller = self.caller(&context);
        let library = self.library(caller)?;
        refuse_cursor(page)?;
        list_result(library, "resources", library.resources(caller).await)
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let caller = self.caller(&context);
        let library = self.library(caller)?;
        refuse_cursor(page)?;
        let templates = library.templates(caller).await;
        list_result(library, "resourceTemplates", templates)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let caller = self.caller(&context);
        self.library(caller)?;
        let responses = request.input_responses.map(Value::from_iter);
        let resume = ResumeInput::new(request.request_state.map(Value::from), responses);
        let active = ActiveRequest::new(self, &context, resume);
        let uri = request.uri;
        let identity = RequestIdentity {
            principal: caller.principal.clone(),
            method: Some(ReadResourceRequestMethod::VALUE),
            target: uri.clone(),
            input: Arc::default(),
        };
        let (shared, caller) = (self.shared.clone(), caller.clone());
        let fetch = async move |asks| {
            let library = shared.gateway.library().ok_or_else(no_library)?;
            let read = library.read(&caller, &uri, asks).await;
            typed_resource(&uri, read).map(ServerResult::ReadResourceResult)
        };
        interactive::resource(active.feature(identity, fetch).await?)
    }

    async fn complete(
        &self,
        mut request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let caller = self.caller(&context);
        let library = self.library(caller)?;
        // The client's `_meta` is addressed to this server.
        request.meta = None;
        let params = serde_json::to_value(request).unwrap_or_default();
        typed(library.complete(caller, params).await)
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
        let responses = request.input_responses.map(Value::from_iter);
        let resume = ResumeInput::new(request.request_state.map(Value::from), responses);
        // rmcp moves the future of a request several times; boxed, only its address moves.
        Box::pin(self.call(&request.name, input, resume, &context)).await
    }

    /// Gets every request that rmcp cannot parse, also a `tools/call` with malformed params.
    /// Arguments that are not an object are the tool's to refuse, like any other invalid input.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
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
