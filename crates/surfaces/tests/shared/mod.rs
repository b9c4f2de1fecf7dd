//! A server on its own port with test operations, and a minimal HTTP client.

#![allow(
    dead_code,
    unused_imports,
    reason = "each test uses only some of the helpers"
)]

mod client;
pub(crate) mod documented;
pub(crate) mod library;
pub(crate) mod operations;
mod socket;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use panpan_runtime::system::SystemClock;
use panpan_runtime::{Dispatcher, Ports};
use panpan_store::MemoryStore;
use panpan_surfaces::http::{HttpSettings, router};
use panpan_surfaces::identity::{NewToken, Tokens};
use panpan_surfaces::limits::Limits;
use panpan_surfaces::{Anonymous, CancellationToken, Gateway, listen};
use tokio::task::JoinHandle;

pub(crate) use client::{Response, exchange, request};
use documented::{Answered, Documented};
pub(crate) use operations::Probe;
pub(crate) use socket::Socket;

/// The timeout of every wait in a test.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// A running server.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) gateway: Gateway,
    pub(crate) tokens: Tokens,
    pub(crate) probe: Probe,
    pub(crate) stopping: CancellationToken,
    pub(crate) served: JoinHandle<usize>,
    documented: Documented,
}

/// The settings of a test server.
pub(crate) struct Settings {
    pub(crate) anonymous: Anonymous,
    pub(crate) limits: Limits,
    pub(crate) http: HttpSettings,
    pub(crate) drain: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            anonymous: Anonymous::Served,
            limits: Limits::default(),
            http: HttpSettings::default(),
            drain: Duration::from_secs(10),
        }
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(Settings::default()).await
    }

    pub(crate) async fn with(settings: Settings) -> Self {
        let clock = Arc::new(SystemClock);
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let probe = Probe::default();
        let registry = operations::registry(&probe);
        let dispatcher = Dispatcher::new(registry, Ports::system(store.clone()));
        let tokens = Tokens::new(store, clock);
        let gateway = Gateway::new(
            dispatcher,
            tokens.clone(),
            settings.anonymous,
            settings.limits,
        );
        let stopping = CancellationToken::new();
        let router = router(gateway.clone(), settings.http, stopping.clone());
        let listener = listen::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let served = tokio::spawn({
            let (gateway, stopping) = (gateway.clone(), stopping.clone());
            async move {
                listen::serve(listener, None, router, &gateway, stopping, settings.drain).await
            }
        });
        let documented = documented(address, &tokens).await;
        Self {
            address,
            gateway,
            tokens,
            probe,
            stopping,
            served,
            documented,
        }
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
        let response = request(self.address, "POST", path, &headers, body.as_bytes()).await;
        let has_default_dialect =
            |(name, value): &(&str, &str)| *name != "accept" || !value.contains("dialect");
        if headers.iter().all(has_default_dialect) {
            self.check("POST", path, &response);
        }
        response
    }

    /// Sends a GET.
    pub(crate) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Response {
        let response = request(self.address, "GET", path, headers, b"").await;
        self.check("GET", path, &response);
        response
    }
}

/// The OpenAPI document for a caller that may call everything.
async fn documented(address: SocketAddr, tokens: &Tokens) -> Documented {
    let resources = [("file".to_owned(), ["read".to_owned()].into())];
    let new = NewToken {
        principal: "documents-reader".to_owned(),
        scopes: ["tests:run".to_owned()].into(),
        resources: resources.into(),
        expires_at: None,
    };
    let (token, _) = tokens.create(new).await.unwrap();
    let bearer = format!("Bearer {}", token.expose());
    let headers = [("authorization", bearer.as_str()), ("host", "localhost")];
    let document = request(address, "GET", "/openapi.json", &headers, b"").await;
    assert_eq!(document.status, 200, "{}", document.text());
    Documented::read(&document.text())
}
