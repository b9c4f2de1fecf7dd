//! The server of the tests: one route, and operations that report their progress.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::http::header::{AUTHORIZATION, HeaderMap};
use axum::routing::get;
use axum::serve::ListenerExt as _;
use futures_util::{Stream, StreamExt as _, stream};
use panpan_contract::operation::{OperationSpec, OperationType, Visibility};
use panpan_failure::{Failure, codes};
use panpan_runtime::{Builder, CancellationToken, Context, Registration, Registry};
use panpan_testkit::Socket;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{Notify, mpsc, oneshot};

use super::super::call::WsClient;
use super::super::keepalive::{KEEPALIVE, KeepaliveSettings};
use super::super::{configure, serve};
use super::client;
use crate::caller::Principal;
use crate::gateway::Gateway;
use crate::identity::Tokens;
use crate::limits::Limits;
use crate::testing;

pub(super) struct Server {
    address: SocketAddr,
    pub(super) tokens: Tokens,
    pub(super) shutdown: CancellationToken,
    /// Receives when a connection has ended.
    pub(super) ended: mpsc::UnboundedReceiver<()>,
    /// Receives when `test/wait`, `test/work` or `test/still` starts; the inner receiver fires when it is dropped.
    pub(super) started: mpsc::UnboundedReceiver<oneshot::Receiver<()>>,
    /// Lets `test/work` end.
    pub(super) finish: Arc<Notify>,
    /// How often `test/work` has finished.
    pub(super) finished: Arc<AtomicUsize>,
    /// Items of `test/large` plus outputs of `test/fat`.
    pub(super) produced: Arc<AtomicUsize>,
}

/// The settings of a test server.
#[derive(Default)]
pub(super) struct Setup {
    pub(super) limits: Limits,
    pub(super) keepalive: Option<KeepaliveSettings>,
}

/// The size of an item of `test/large` and of the output of `test/fat`.
const LARGE: usize = 64 * 1024;

/// Approximate socket buffer size at each end of a connection.
pub(super) const SOCKET_BYTES: u32 = 64 * 1024;

impl Server {
    pub(super) async fn start() -> Self {
        Self::with(Setup::default()).await
    }

    pub(super) async fn with(setup: Setup) -> Self {
        let (start_sender, started) = mpsc::unbounded_channel();
        let (end, ended) = mpsc::unbounded_channel();
        let (finish, shutdown) = (Arc::new(Notify::new()), CancellationToken::new());
        let (finished, produced) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let work = Work {
            start_sender,
            finish: finish.clone(),
            finished: finished.clone(),
            produced: produced.clone(),
        };
        let (gateway, tokens) = testing::gateway(work.operations(), setup.limits.clone());
        let router = router(gateway, setup, shutdown.clone(), end);
        let listener = listener();
        let address = listener.local_addr().unwrap();
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            address,
            tokens,
            shutdown,
            ended,
            started,
            finish,
            finished,
            produced,
        }
    }

    pub(super) async fn client(&self) -> Socket {
        client::connect(self.address, None).await
    }

    /// A client with a token.
    pub(super) async fn client_with(&self, token: &str) -> Socket {
        client::connect(self.address, Some(token)).await
    }
}

/// A listener with small socket buffers, so that few messages fill a connection.
fn listener() -> TcpListener {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(SOCKET_BYTES).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    socket.listen(64).unwrap()
}

fn router(
    gateway: Gateway,
    setup: Setup,
    shutdown: CancellationToken,
    end: mpsc::UnboundedSender<()>,
) -> Router {
    let keepalive = setup.keepalive.unwrap_or(KEEPALIVE);
    Router::new().route(
        "/ws",
        get(move |headers: HeaderMap, upgrade: WebSocketUpgrade| {
            let token = headers.get(AUTHORIZATION);
            let token = token.map(|it| it.to_str().unwrap().to_owned());
            let upgrade = configure(upgrade, gateway.limits());
            let serving = upgrade.on_upgrade(move |socket| async move {
                let client = WsClient::new(gateway, token, None, Principal::Local);
                serve(keepalive, client, socket, None, shutdown).await;
                // The receiver is gone if the test has ended.
                let _ = end.send(());
            });
            std::future::ready(serving)
        }),
    )
}

/// Sends when it is dropped.
struct Dropped(Option<oneshot::Sender<()>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        if let Some(sender) = self.0.take() {
            let _ = sender.send(());
        }
    }
}

#[derive(Clone)]
struct Work {
    start_sender: mpsc::UnboundedSender<oneshot::Receiver<()>>,
    finish: Arc<Notify>,
    finished: Arc<AtomicUsize>,
    produced: Arc<AtomicUsize>,
}

fn spec(name: &str, op_type: OperationType) -> OperationSpec {
    OperationSpec::new(name.parse().unwrap(), op_type)
}

impl Work {
    /// Reports the start of an operation.
    fn report_start(&self) -> Dropped {
        let (sender, receiver) = oneshot::channel();
        let _ = self.start_sender.send(receiver);
        Dropped(Some(sender))
    }

    fn operations(&self) -> Builder {
        use OperationType::{Mutation, Query, Subscription};
        let mut limited = spec("test/limited", Query);
        limited.access_control.required_scopes = vec!["deep".to_owned()];
        let mut hidden = spec("test/hidden", Subscription);
        hidden.visibility = Visibility::Internal;
        let (wait, work) = (self.clone(), self.clone());
        let wait = move |_: Context, _: Arc<Value>| wait.clone().wait();
        let work = move |_: Context, _: Arc<Value>| work.clone().work();
        let (fat, still, large) = (self.clone(), self.clone(), self.clone());
        let fat = move |_: Context, _: Arc<Value>| fat.clone().fat();
        let still = move |_: Context, _: Arc<Value>| still.clone().still();
        let large = move |_: Context, input: Arc<Value>| large.clone().large(&input);
        let stream = |name| spec(name, Subscription);
        Registry::builder()
            .register(spec("test/echo", Query), echo)
            .register(limited, echo)
            .register(spec("test/who", Query), who)
            .register(spec("test/wait", Query), wait)
            .register(spec("test/work", Mutation), work)
            .register(spec("test/fat", Query), fat)
            .add(Registration::streaming(hidden, count))
            .add(Registration::streaming(stream("test/count"), count))
            .add(Registration::streaming(stream("test/broken"), broken))
            .add(Registration::streaming(stream("test/still"), still))
            .add(Registration::streaming(stream("test/large"), large))
    }

    async fn wait(self) -> Result<Value, Failure> {
        let _guard = self.report_start();
        std::future::pending().await
    }

    async fn work(self) -> Result<Value, Failure> {
        let _guard = self.report_start();
        self.finish.notified().await;
        self.finished.fetch_add(1, Ordering::SeqCst);
        Ok(json!("done"))
    }

    async fn fat(self) -> Result<Value, Failure> {
        self.produced.fetch_add(1, Ordering::SeqCst);
        Ok(json!("x".repeat(LARGE)))
    }

    /// One item, then nothing until it is stopped.
    fn still(self) -> impl Stream<Item = Result<Value, Failure>> {
        let guard = self.report_start();
        let rest = stream::pending().map(move |item| {
            let _ = &guard;
            item
        });
        stream::iter([Ok(json!("first"))]).chain(rest)
    }

    /// The requested number of large items.
    fn large(self, input: &Value) -> impl Stream<Item = Result<Value, Failure>> + use<> {
        let guard = self.report_start();
        let count = input["count"].as_u64().unwrap_or(u64::MAX);
        stream::iter(0..count).map(move |number| {
            let _ = &guard;
            self.produced.fetch_add(1, Ordering::SeqCst);
            Ok(json!({"number": number, "text": "x".repeat(LARGE)}))
        })
    }
}

/// Returns the id of the caller.
async fn who(context: Context, _: Arc<Value>) -> Result<Value, Failure> {
    Ok(json!(context.caller().map(|caller| &caller.id)))
}

async fn echo(_: Context, input: Arc<Value>) -> Result<Value, Failure> {
    Ok(Value::clone(&input))
}

fn count(_: Context, input: Arc<Value>) -> impl Stream<Item = Result<Value, Failure>> {
    let count = input["count"].as_u64().unwrap_or_default();
    stream::iter(0..count).map(|number| Ok(json!(number)))
}

fn broken(_: Context, _: Arc<Value>) -> impl Stream<Item = Result<Value, Failure>> {
    let failure = Failure::new(codes::ERR_HTTP_429_RATE_LIMITED);
    stream::iter([Ok(json!(1)), Err(failure), Ok(json!(2))])
}
