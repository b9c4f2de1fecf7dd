//! What the library asks of a server.

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

use super::attendant::{Attendant, FOLLOWED_LIMIT, Session};
use super::back::Return;
use super::library::{
    cache_scope, lent, lent_resource, listed, no_library, of_resource, refused, whole,
};
use super::questions::Abilities;
use super::refusal;
use super::served::{self, Made};
use super::server::{Server, shown};
use super::turn::{Turn, is_stateless};

/// What an agent is told about all tools of this server.
const INSTRUCTIONS: &str = "A failing tool answers with isError and one JSON object. error.code and \
error.message say what happened, error.actions what to do next, in order. Repeat the identical call only \
if error.retryable is true, after error.retry_after_ms milliseconds where given; otherwise do first what \
error.actions says. error.effect says whether something was changed before it failed.";

/// The capability by which another panpan knows this one, whatever it calls itself.
const PANPAN_CAPABILITY: &str = "dev.panpan";

const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Experimental capabilities of the server that clients take panpan for, with the one that says what it is.
fn experimental(theirs: &Value) -> ExperimentalCapabilities {
    let theirs = ExperimentalCapabilities::deserialize(&theirs["experimental"]);
    let mut experimental = theirs.unwrap_or_default();
    let version = Map::from_iter([("version".to_owned(), env!("CARGO_PKG_VERSION").into())]);
    experimental.insert(PANPAN_CAPABILITY.to_owned(), version);
    experimental
}

/// Extensions of the server that clients take panpan for. What an extension adds to tools, results and resources is
/// passed on as it is; methods of its own are not, which is why tasks are left out.
fn extensions(theirs: &Value) -> Option<ExtensionCapabilities> {
    let mut extensions = ExtensionCapabilities::deserialize(&theirs["extensions"]).ok()?;
    extensions.remove(TASKS_EXTENSION);
    (!extensions.is_empty()).then_some(extensions)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let ours = Implementation::new("panpan", env!("CARGO_PKG_VERSION"));
        let about = self.gateway().library().and_then(|it| it.about());
        let about = about.unwrap_or_default();
        let this = serde_json::from_value(about.server_info).unwrap_or(ours);
        let instructions = match about.instructions {
            Some(theirs) => format!("{theirs}\n\n{INSTRUCTIONS}"),
            None => INSTRUCTIONS.to_owned(),
        };
        let mut offered = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_completions()
            .enable_experimental_with(experimental(&about.capabilities))
            .build();
        offered.extensions = extensions(&about.capabilities);
        let beside = self.offer();
        offered.resources = offered.resources.filter(|_| beside.resources);
        offered.prompts = offered.prompts.filter(|_| beside.prompts);
        offered.completions = offered.completions.filter(|_| beside.completions);
        offered.logging = beside.logging.then(Map::new);
        if let Some(resources) = offered.resources.as_mut().filter(|_| beside.subscriptions) {
            resources.subscribe = Some(true);
        }
        ServerConfig::new(offered)
            .with_server_info(this)
            .with_instructions(instructions)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.last();
        self.changes.mark(self.gateway());
        let negotiated = self.negotiate_initialize(&request);
        context.peer.set_peer_info(request);
        negotiated
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let caller = self.caller_in(&context.extensions);
        self.changes
            .tell_session(self.gateway(), caller, context.peer.clone());
        if let Some(library) = self.gateway().library() {
            let client = context.peer.peer_info();
            let client = client.and_then(|client| Abilities::of(&client.capabilities));
            let session = Session {
                gateway: self.gateway().clone(),
                caller: caller.clone(),
                peer: context.peer.clone(),
            };
            let made = || Attendant::in_session(session, client, self.level.clone());
            let client: Arc<dyn Listener> = self.attendant.get_or_init(made).clone();
            library.attend(caller, &client);
        }
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !self.offer().logging {
            return Err(refusal::no_such_method("nothing here writes a log"));
        }
        let caller = self.caller(&context);
        let library = self.library(caller)?;
        let level = serde_json::to_value(request.level).unwrap_or_default();
        let set = library.set_level(caller, level.as_str().unwrap_or_default());
        set.await.map_err(refused)?;
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.level);
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (caller, uri) = (self.caller(&context), &request.uri);
        let (library, client) = self.following(caller)?;
        if !client.follow(uri) {
            let message = format!("one client follows at most {FOLLOWED_LIMIT} resources");
            return Err(refusal::invalid_params(message));
        }
        let followed = library.follow(caller, uri, true).await;
        followed.map_err(|failure| {
            client.unfollow(uri);
            of_resource(uri, refused(failure))
        })
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (caller, uri) = (self.caller(&context), &request.uri);
        let (library, client) = self.following(caller)?;
        client.unfollow(uri);
        let done = library.follow(caller, uri, false).await;
        done.map_err(|failure| of_resource(uri, refused(failure)))
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.changes.mark(self.gateway());
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let shutdown = &self.shared.shutdown;
        let caller = self.caller(context.request_context());
        self.changes
            .tell_subscriber(self.gateway(), caller, &context, shutdown)
            .await;
        Ok(())
    }

    async fn on_cancelled(
        &self,
        notice: CancelledNotificationParam,
        _: NotificationContext<RoleServer>,
    ) {
        if let Some(id) = &notice.request_id {
            self.running.abort(id);
        }
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = page.and_then(|page| page.cursor);
        if cursor.is_some_and(|cursor| !cursor.is_empty()) {
            // Given to nobody: the list is always whole.
            let message = "no list of tools has given this cursor";
            return Err(refusal::invalid_params(message));
        }
        let tools = self.listed(&self.catalogue(), self.caller(&context));
        let mut listed = ListToolsResult::with_all_items(tools);
        let library = self.gateway().library();
        // Said only where the tools are those of one server, which knows.
        let fresh = library.filter(|library| library.about().is_some());
        if let Some(fresh) = fresh.and_then(|library| library.freshness("tools")) {
            listed.ttl_ms = Some(fresh.ttl_ms);
            listed.cache_scope = Some(cache_scope(fresh));
        }
        Ok(listed)
    }

    // What follows is offered where the gateway was lent a library.

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let caller = self.caller(&context);
        let library = self.library(caller)?;
        whole(page)?;
        listed(library, "prompts", library.prompts(caller).await)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let caller = self.caller(&context);
        self.library(caller)?;
        let replies = request.input_responses.map(Value::from_iter);
        let back = Return::of(request.request_state.map(Value::from), replies);
        let turn = Turn::new(self, &context, back);
        let arguments = request.arguments.unwrap_or_default();
        let made = Made {
            principal: caller.principal.clone(),
            method: Some(GetPromptRequestMethod::VALUE),
            operation: request.name.clone(),
            input: Arc::new(Value::Object(arguments.clone())),
        };
        let (shared, caller) = (self.shared.clone(), caller.clone());
        let give = async move |person| {
            let library = shared.gateway.library().ok_or_else(no_library)?;
            let prompt = library.prompt(&caller, &request.name, arguments, person);
            lent(prompt.await).map(ServerResult::GetPromptResult)
        };
        served::prompt(turn.given(made, give).await?)
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let caller = self.caller(&context);
        let library = self.library(caller)?;
        whole(page)?;
        listed(library, "resources", library.resources(caller).await)
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let caller = self.caller(&context);
        let library = self.library(caller)?;
        whole(page)?;
        let templates = library.templates(caller).await;
        listed(library, "resourceTemplates", templates)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let caller = self.caller(&context);
        self.library(caller)?;
        let replies = request.input_responses.map(Value::from_iter);
        let back = Return::of(request.request_state.map(Value::from), replies);
        let turn = Turn::new(self, &context, back);
        let uri = request.uri;
        let made = Made {
            principal: caller.principal.clone(),
            method: Some(ReadResourceRequestMethod::VALUE),
            operation: uri.clone(),
            input: Arc::default(),
        };
        let (shared, caller) = (self.shared.clone(), caller.clone());
        let give = async move |person| {
            let library = shared.gateway.library().ok_or_else(no_library)?;
            let read = library.read(&caller, &uri, person).await;
            lent_resource(&uri, read).map(ServerResult::ReadResourceResult)
        };
        served::resource(turn.given(made, give).await?)
    }

    async fn complete(
        &self,
        mut request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let caller = self.caller(&context);
        let library = self.library(caller)?;
        // What a client says beside its request is meant for this server.
        request.meta = None;
        let params = serde_json::to_value(request).unwrap_or_default();
        lent(library.complete(caller, params).await)
    }

    /// Asked for only to hold headers against arguments that are repeated there.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let catalogue = self.catalogue();
        let entry = catalogue.by_tool(name).filter(|entry| entry.has_headers)?;
        entry.tool.clone()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let input = Value::Object(request.arguments.unwrap_or_default());
        let replies = request.input_responses.map(Value::from_iter);
        let back = Return::of(request.request_state.map(Value::from), replies);
        // The library moves the future of a request from hand to hand; it is moved by its address.
        Box::pin(self.call(&request.name, input, back, &context)).await
    }

    /// Gets every request the library cannot read as one it knows, also a `tools/call` whose params
    /// have the wrong shape: arguments that are no object are the tool's to refuse, like all others.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != CallToolRequestMethod::VALUE {
            let message = format!("there is no method {}", shown(&request.method));
            return Err(refusal::no_such_method(message));
        }
        let mut params = request.params.unwrap_or_default();
        let Some(Value::String(name)) = params.get_mut("name").map(Value::take) else {
            let message = "tools/call needs the name of a tool, as a string";
            return Err(refusal::invalid_params(message));
        };
        let mut stated = |name: &str| params.get_mut(name).map(Value::take);
        let input = stated("arguments").unwrap_or_else(|| json!({}));
        let back = Return::of(stated("requestState"), stated("inputResponses"));
        let mut result = Box::pin(self.call(&name, input, back, &context)).await?;
        if let CallToolResponse::Complete(result) = &mut result
            && !is_stateless(&context)
        {
            // The library drops it for older peers from the results it knows.
            result.result_type = None;
        }
        let written = serde_json::to_value(ServerResult::from(result)).map(CustomResult);
        written.map_err(|_| refusal::internal("the answer could not be written"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_name_members_of_what_an_agent_reads() {
        const READ: [&str; 6] = [
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
        assert_eq!(named, READ.into_iter().collect());
    }
}
