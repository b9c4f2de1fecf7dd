//! Servers that say what they are told, byte by byte, and clients that may ask them.

#![allow(dead_code, reason = "every test uses its part of this")]

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use panpan_failure::Failure;
use panpan_upstream::{Allowed, Client, ClientSettings, Lookup, Lookups, Method, Outgoing, Url};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// What a server does when it has said what it had to say.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Then {
    Closes,
    Hangs,
    Resets,
}

/// A server that says each of these to one connection; gives its address, and the requests in the end.
pub(crate) async fn server(says: Vec<(String, Then)>) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let served = tokio::spawn(async move {
        let mut requests = Vec::new();
        for (says, then) in says {
            let (mut stream, _) = listener.accept().await.unwrap();
            requests.push(serve(&mut stream, says.as_bytes()).await);
            end(stream, then).await;
        }
        requests
    });
    (url, served)
}

/// The same for one answer after which the connection is closed.
pub(crate) async fn one(says: impl Into<String>) -> (String, JoinHandle<Vec<String>>) {
    server(vec![(says.into(), Then::Closes)]).await
}

async fn end(mut stream: TcpStream, then: Then) {
    match then {
        Then::Closes => {
            let _ = stream.shutdown().await;
        }
        Then::Hangs => std::future::pending().await,
        Then::Resets => stream.set_zero_linger().unwrap(),
    }
}

/// Reads one request and answers it.
pub(crate) async fn serve(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    says: &[u8],
) -> String {
    let mut request = Vec::new();
    while !is_whole(&request) {
        if stream.read_buf(&mut request).await.unwrap() == 0 {
            break;
        }
    }
    stream.write_all(says).await.unwrap();
    stream.flush().await.unwrap();
    String::from_utf8(request).unwrap()
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.parse::<usize>().unwrap())
    });
    body.len() >= length.unwrap_or(0)
}

/// An answer after which the connection is closed.
pub(crate) fn http(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}

/// A server that speaks TLS with the certificate and key of a PEM, and says this once.
pub(crate) async fn tls_server(pem: &[u8], says: String) -> String {
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
            serve(&mut stream, says.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    url
}

/// Gives the answers one after the other, the last one for ever, and counts.
pub(crate) struct Script {
    pub(crate) answers: Vec<io::Result<Vec<IpAddr>>>,
    pub(crate) asked: AtomicUsize,
}

impl Script {
    pub(crate) fn of(answers: &[&[&str]]) -> Arc<Self> {
        let addresses = |answer: &&[&str]| {
            let parsed = answer.iter().map(|address| address.parse().unwrap());
            Ok(parsed.collect())
        };
        Arc::new(Self {
            answers: answers.iter().map(addresses).collect(),
            asked: AtomicUsize::new(0),
        })
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Lookup for Script {
    fn lookup(&self, _: String) -> Lookups {
        let count = self.asked.fetch_add(1, Ordering::SeqCst);
        let answer = &self.answers[count.min(self.answers.len() - 1)];
        let answer = match answer {
            Ok(addresses) => Ok(addresses.clone()),
            Err(error) => Err(error.kind().into()),
        };
        Box::pin(std::future::ready(answer))
    }
}

/// A client that may ask the loopback address.
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

/// A write with a body, which nothing finds again.
pub(crate) fn post(url: &str) -> Outgoing {
    let mut outgoing = request(Method::POST, url);
    outgoing.body = Some("{}".into());
    outgoing
}

pub(crate) fn reason(failure: &Failure) -> &str {
    let details = failure.details().unwrap();
    details["reason"].as_str().unwrap()
}
