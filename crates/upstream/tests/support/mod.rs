//! Servers that send scripted bytes, and clients that may connect to them.

#![allow(
    dead_code,
    unused_imports,
    reason = "each test binary uses a part of this"
)]

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use panpan_failure::Failure;
pub(crate) use panpan_testkit::{Then, http_response as http, refusing_url, serve, server};
use panpan_upstream::{
    Allowed, Client, ClientSettings, Lookup, LookupFuture, Method, Outgoing, Url,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// A server that sends one response and closes the connection.
pub(crate) async fn server_once(response: impl Into<String>) -> (String, JoinHandle<Vec<String>>) {
    server(vec![(response.into(), Then::Closes)]).await
}

/// A TLS server with the certificate and key of a PEM that sends one response.
pub(crate) async fn tls_server(pem: &[u8], response: String) -> String {
    let certificate = CertificateDer::from_pem_slice(pem).unwrap();
    let key = PrivateKeyDer::from_pem_slice(pem).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        if let Ok(mut stream) = acceptor.accept(stream).await {
            serve(&mut stream, response.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    url
}

/// A lookup with scripted results, the last one repeated, that counts its calls.
pub(crate) struct ScriptedLookup {
    pub(crate) results: Vec<io::Result<Vec<IpAddr>>>,
    pub(crate) calls: AtomicUsize,
}

impl ScriptedLookup {
    pub(crate) fn of(results: &[&[&str]]) -> Arc<Self> {
        let addresses = |result: &&[&str]| {
            let parsed = result.iter().map(|address| address.parse().unwrap());
            Ok(parsed.collect())
        };
        Arc::new(Self {
            results: results.iter().map(addresses).collect(),
            calls: AtomicUsize::new(0),
        })
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Lookup for ScriptedLookup {
    fn lookup(&self, _: String) -> LookupFuture {
        let count = self.calls.fetch_add(1, Ordering::SeqCst);
        let result = &self.results[count.min(self.results.len() - 1)];
        let result = match result {
            Ok(addresses) => Ok(addresses.clone()),
            Err(error) => Err(error.kind().into()),
        };
        Box::pin(std::future::ready(result))
    }
}

/// A client that is allowed to connect to the loopback address.
pub(crate) fn client() -> Client {
    client_with(|_| {})
}

pub(crate) fn client_with(change: impl FnOnce(&mut ClientSettings)) -> Client {
    let mut settings = ClientSettings {
        allowed: Allowed::parse(["127.0.0.1"]).unwrap(),
        ..ClientSettings::default()
    };
    change(&mut settings);
    Client::new(settings).unwrap()
}

pub(crate) fn request(method: Method, url: &str) -> Outgoing {
    Outgoing::new(method, Url::parse(url).unwrap())
}

pub(crate) fn get(url: &str) -> Outgoing {
    request(Method::GET, url)
}

/// A write with a body and without a key.
pub(crate) fn post(url: &str) -> Outgoing {
    let mut outgoing = request(Method::POST, url);
    outgoing.body = Some("{}".into());
    outgoing
}

pub(crate) fn reason(failure: &Failure) -> &str {
    let details = failure.details().unwrap();
    details["reason"].as_str().unwrap()
}
