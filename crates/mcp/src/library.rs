//! What MCP servers offer besides tools: resources, prompts, completion of arguments and log messages.

pub use rmcp::model::ServerPeerInfo;
use rmcp::model::{
    CacheScope, ClientRequest, CompleteRequestParams, ListPromptsRequest,
    ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest, LoggingLevel,
    PaginatedRequestParams, PromptsCapability, ResourcesCapability, ServerCapabilities,
};
use serde_json::{Map, Value};

/// The features that servers support.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// Resources and resource templates.
    pub resources: bool,
    /// Prompts.
    pub prompts: bool,
    /// Completion of arguments.
    pub completions: bool,
    /// Log messages.
    pub logging: bool,
    /// Notifications about changed contents of a resource.
    pub subscriptions: bool,
}

impl Offer {
    /// The features that a server declares.
    pub fn of(server: &ServerCapabilities) -> Self {
        let resources = server.resources.as_ref();
        Self {
            resources: resources.is_some(),
            prompts: server.prompts.is_some(),
            completions: server.completions.is_some(),
            logging: server.logging.is_some(),
            subscriptions: resources.is_some_and(|it| it.subscribe == Some(true)),
        }
    }

    /// Declares the features as those of a server whose lists change.
    pub fn declare(self, server: &mut ServerCapabilities) {
        server.resources = self.resources.then(|| {
            let mut resources = ResourcesCapability::default();
            resources.list_changed = Some(true);
            resources.subscribe = self.subscriptions.then_some(true);
            resources
        });
        server.prompts = self.prompts.then(|| {
            let mut prompts = PromptsCapability::default();
            prompts.list_changed = Some(true);
            prompts
        });
        server.completions = self.completions.then(Map::new);
        server.logging = self.logging.then(Map::new);
    }

    /// The features of two servers together.
    pub fn or(self, other: Self) -> Self {
        Self {
            resources: self.resources || other.resources,
            prompts: self.prompts || other.prompts,
            completions: self.completions || other.completions,
            logging: self.logging || other.logging,
            subscriptions: self.subscriptions || other.subscriptions,
        }
    }
}

/// How often each list has changed, as far as is known. A new connection to a server counts as a change of every list,
/// since changes in between were missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The tools.
    pub tools: u64,
    /// The prompts.
    pub prompts: u64,
    /// The resources and their templates.
    pub resources: u64,
}

/// How long a list may be cached, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// Time to live, in milliseconds.
    pub ttl_ms: u64,
    /// Whether a shared cache may keep it for other callers.
    pub is_public: bool,
}

impl Freshness {
    /// The freshness that the result of a list states.
    pub fn of(result: &Value) -> Option<Self> {
        Some(Self {
            ttl_ms: result.get("ttlMs")?.as_u64()?,
            is_public: result.get("cacheScope").and_then(Value::as_str) == Some("public"),
        })
    }

    /// The freshness of several lists together, if all of them state one.
    pub fn of_all(all: impl IntoIterator<Item = Option<Self>>) -> Option<Self> {
        let all: Option<Vec<Self>> = all.into_iter().collect();
        all?.into_iter().reduce(|one, other| Self {
            ttl_ms: one.ttl_ms.min(other.ttl_ms),
            is_public: one.is_public && other.is_public,
        })
    }

    /// The `cacheScope` of the list.
    pub fn scope(self) -> CacheScope {
        match self.is_public {
            true => CacheScope::Public,
            false => CacheScope::Private,
        }
    }
}

/// A list of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum List {
    /// `tools/list`.
    Tools,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    Templates,
    /// `prompts/list`.
    Prompts,
}

impl List {
    /// The member of the result with the items, the member that identifies an item, and what an item is called.
    const fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Tools => ("tools", "name", "tool"),
            Self::Resources => ("resources", "uri", "resource"),
            Self::Templates => ("resourceTemplates", "uriTemplate", "resource template"),
            Self::Prompts => ("prompts", "name", "prompt"),
        }
    }

    /// The member of the result with the items.
    pub const fn member(self) -> &'static str {
        self.names().0
    }

    /// The member that identifies an item.
    pub const fn key(self) -> &'static str {
        self.names().1
    }

    /// What an item is called in messages.
    pub const fn item(self) -> &'static str {
        self.names().2
    }

    /// Whether servers with these features have the list.
    pub fn is_offered(self, offer: Offer) -> bool {
        match self {
            Self::Tools => true,
            Self::Resources | Self::Templates => offer.resources,
            Self::Prompts => offer.prompts,
        }
    }

    /// The request for a page.
    pub fn request(self, cursor: Option<String>) -> ClientRequest {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        match self {
            Self::Tools => ListToolsRequest::with_param(page).into(),
            Self::Resources => ListResourcesRequest::with_param(page).into(),
            Self::Templates => ListResourceTemplatesRequest::with_param(page).into(),
            Self::Prompts => ListPromptsRequest::with_param(page).into(),
        }
    }
}

/// A request for anything but a tool.
#[derive(Clone, Debug)]
pub enum Request {
    /// All items of a list, as an array.
    List(List),
    /// The contents of the resource with this URI, as the result of `resources/read`.
    Read(String),
    /// A prompt with its arguments filled in, as the result of `prompts/get`.
    Prompt {
        /// Its name.
        name: String,
        /// Its arguments.
        arguments: Map<String, Value>,
    },
    /// Values for an argument, as the result of `completion/complete`.
    Complete(CompleteRequestParams),
    /// The lowest level of log messages.
    SetLevel(LoggingLevel),
    /// Notifications about the resource with this URI.
    Subscribe(String),
    /// No more notifications about the resource with this URI.
    Unsubscribe(String),
}
