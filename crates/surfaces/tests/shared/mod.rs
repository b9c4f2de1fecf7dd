//! A server with test operations that checks its responses against its own OpenAPI document.

#![allow(dead_code, reason = "each test uses only some of the helpers")]

pub(crate) mod library;
pub(crate) mod operations;

use std::ops::Deref;
use std::sync::Arc;

use panpan_runtime::system::SystemClock;
use panpan_runtime::{Dispatcher, Ports};
use panpan_store::MemoryStore;
use panpan_surfaces::identity::NewToken;
use panpan_testkit::{Answered, Documented, InProcessServer, Socket};
use tokio::net::TcpStream;

pub(crate) use operations::Probe;
pub(crate) use panpan_testkit::http::Response;
pub(crate) use panpan_testkit::{ServeSettings as Settings, TIMEOUT};

/// A running server.
pub(crate) struct Server {
    pub(crate) served: InProcessServer,
    pub(crate) probe: Probe,
    documented: Documented,
}

impl Deref for Server {
    type Target = InProcessServer;

    fn deref(&self) -> &InProcessServer {
        &self.served
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(Settings::default()).await
    }

    pub(crate) async fn with(settings: Settings) -> Self {
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let probe = Probe::default();
        let registry = operations::registry(&probe);
        let dispatcher = Dispatcher::new(registry, Ports::system(store.clone()));
        let served = InProcessServer::start(dispatcher, store, settings).await;
        Self {
            documented: documented(&served).await,
            served,
            probe,
        }
    }

    /// Opens a WebSocket, or returns the status of the refusal.
    pub(crate) async fn socket(&self, token: Option<&str>) -> Result<Socket, u16> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let bearer = token.map(|token| format!("Bearer {token}"));
        Socket::open(stream, bearer.as_deref()).await
    }

    /// Checks a response against the server's OpenAPI document.
    pub(crate) fn check(&self, method: &str, path: &str, response: &Response) {
        let answered = Answered {
            method,
            path,
            status: response.status,
            media_type: response.header("content-type"),
            body: &response.body,
        };
        // The document does not describe other dialects.
        if !path.contains("dialect=") {
            let contradiction = self.documented.contradiction(&answered);
            assert_eq!(contradiction, None);
        }
    }

    /// A token with these scopes and `type:action` grants.
    pub(crate) async fn token(&self, principal: &str, scopes: &[&str], grants: &[&str]) -> String {
        let mut resources =
            std::collections::BTreeMap::<String, std::collections::BTreeSet<String>>::new();
        for grant in grants {
            let (kind, action) = grant.split_once(':').unwrap();
            resources
                .entry(kind.to_owned())
                .or_default()
                .insert(action.to_owned());
        }
        let new = NewToken {
            principal: principal.to_owned(),
            scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
            resources,
            expires_at: None,
        };
        let (token, _) = self.tokens.create(new).await.unwrap();
        token.expose().clone()
    }

    /// Sends a POST with a JSON body.
    pub(crate) async fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let headers = [&[("content-type", "application/json")], headers].concat();
        let response = self.request("POST", path, &headers, body.as_bytes()).await;
        let has_default_dialect =
            |(name, value): &(&str, &str)| *name != "accept" || !value.contains("dialect");
        if headers.iter().all(has_default_dialect) {
            self.check("POST", path, &response);
        }
        response
    }

    /// Sends a GET.
    pub(crate) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Response {
        let response = self.request("GET", path, headers, b"").await;
        self.check("GET", path, &response);
        response
    }
}

/// The OpenAPI document for a caller that may call everything.
async fn documented(served: &InProcessServer) -> Documented {
    let resources = [("file".to_owned(), ["read".to_owned()].into())];
    let new = NewToken {
        principal: "documents-reader".to_owned(),
        scopes: ["tests:run".to_owned()].into(),
        resources: resources.into(),
        expires_at: None,
    };
    let (token, _) = served.tokens.create(new).await.unwrap();
    let bearer = format!("Bearer {}", token.expose());
    let headers = [("authorization", bearer.as_str()), ("host", "localhost")];
    let document = served.request("GET", "/openapi.json", &headers, b"").await;
    assert_eq!(document.status, 200, "{}", document.text());
    Documented::read(&document.text())
}
