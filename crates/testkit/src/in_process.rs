//! A panpan in this process, served over HTTP on a free port.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use panpan_runtime::Dispatcher;
use panpan_runtime::system::SystemClock;
use panpan_store::MemoryStore;
use panpan_surfaces::http::{HttpSettings, router};
use panpan_surfaces::identity::Tokens;
use panpan_surfaces::limits::Limits;
use panpan_surfaces::{Anonymous, CancellationToken, Gateway, listen};
use tokio::task::JoinHandle;

use crate::http::{self, Response};

/// A running panpan.
#[derive(Debug)]
pub struct InProcessServer {
    /// The address it listens on.
    pub address: SocketAddr,
    /// Its gateway.
    pub gateway: Gateway,
    /// Its tokens.
    pub tokens: Tokens,
    /// Stops it.
    pub stopping: CancellationToken,
    /// Ends with the number of connections that were still open.
    pub ended: JoinHandle<usize>,
}

/// The settings of a panpan.
#[derive(Debug)]
pub struct ServeSettings {
    /// Whether callers without a token are served.
    pub anonymous: Anonymous,
    /// The limits.
    pub limits: Limits,
    /// The settings of the HTTP surface.
    pub http: HttpSettings,
    /// How long it waits for connections when it stops.
    pub drain: Duration,
}

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            anonymous: Anonymous::Served,
            limits: Limits::default(),
            http: HttpSettings::default(),
            drain: Duration::from_secs(10),
        }
    }
}

impl InProcessServer {
    /// Serves the operations of a dispatcher, with the tokens in a store.
    pub async fn start(
        dispatcher: Dispatcher,
        store: Arc<MemoryStore>,
        settings: ServeSettings,
    ) -> Self {
        let tokens = Tokens::new(store, Arc::new(SystemClock));
        let ServeSettings {
            anonymous, limits, ..
        } = settings;
        let gateway = Gateway::new(dispatcher, tokens.clone(), anonymous, limits);
        let stopping = CancellationToken::new();
        let router = router(gateway.clone(), settings.http, stopping.clone());
        let listener = listen::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let ended = tokio::spawn({
            let (gateway, stopping) = (gateway.clone(), stopping.clone());
            async move {
                listen::serve(listener, None, router, &gateway, stopping, settings.drain).await
            }
        });
        Self {
            address,
            gateway,
            tokens,
            stopping,
            ended,
        }
    }

    /// Sends a request and reads the response.
    pub fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> impl Future<Output = Response> + Send + use<> {
        let headers = headers.iter();
        let headers = headers.map(|(name, value)| format!("{name}: {value}\r\n"));
        let headers = format!("{}connection: close\r\n", headers.collect::<String>());
        let address = self.address.to_string();
        let bytes = http::bytes(&address, method, path, &headers, body);
        self.exchange(bytes)
    }

    /// Sends these bytes and reads until the server closes the connection.
    pub fn exchange(&self, bytes: Vec<u8>) -> impl Future<Output = Response> + Send + use<> {
        let address = self.address;
        async move {
            let exchange = tokio::task::spawn_blocking(move || http::exchange(address, &bytes));
            exchange.await.unwrap()
        }
    }
}
