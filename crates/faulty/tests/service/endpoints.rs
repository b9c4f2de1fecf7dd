//! The endpoints of the service and their faults.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use panpan_faulty::{Endpoint, Service};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::client::{Answer, read_until_silent};

fn address(service: &Service, endpoint: Endpoint) -> SocketAddr {
    let url = service.url(endpoint);
    url.split_once("://").unwrap().1.parse().unwrap()
}

async fn secure(service: &Service, endpoint: Endpoint) -> io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(service.authority_pem().as_bytes()).unwrap();
    roots.add(authority).unwrap();
    let config = ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let address = address(service, endpoint);
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::from(address.ip());
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}

/// The error of a TLS connection that fails.
async fn refused(service: &Service, endpoint: Endpoint) -> rustls::Error {
    let error = secure(service, endpoint).await.unwrap_err();
    error.downcast().unwrap()
}

#[tokio::test]
async fn a_client_that_trusts_the_authority_reaches_the_service() {
    let service = Service::start().await.unwrap();
    let mut stream = secure(&service, Endpoint::Tls).await.unwrap();
    stream
        .write_all(b"GET /echo HTTP/1.1\r\n\r\n")
        .await
        .unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    assert_eq!(Answer::of(&bytes).json()["path"], "/echo");
}

/// The endpoint whose certificate flaw matches this error.
fn flaw(error: &rustls::Error) -> Option<Endpoint> {
    use CertificateError as Flaw;
    let rustls::Error::InvalidCertificate(error) = error else {
        return None;
    };
    match error {
        Flaw::UnknownIssuer => Some(Endpoint::SelfSigned),
        Flaw::Expired | Flaw::ExpiredContext { .. } => Some(Endpoint::Expired),
        Flaw::NotValidForName | Flaw::NotValidForNameContext { .. } => Some(Endpoint::OtherHost),
        _ => None,
    }
}

#[tokio::test]
async fn every_certificate_has_the_flaw_of_its_endpoint() {
    let service = Service::start().await.unwrap();
    for endpoint in [Endpoint::SelfSigned, Endpoint::Expired, Endpoint::OtherHost] {
        let error = refused(&service, endpoint).await;
        assert_eq!(flaw(&error), Some(endpoint), "{error}");
    }
}

#[tokio::test]
async fn a_plain_port_rejects_a_tls_handshake() {
    let service = Service::start().await.unwrap();
    let error = refused(&service, Endpoint::HttpsOnPlain).await;
    assert!(
        matches!(error, rustls::Error::InvalidMessage(_)),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_tls_port_rejects_a_plain_request() {
    let service = Service::start().await.unwrap();
    let mut stream = TcpStream::connect(address(&service, Endpoint::HttpOnTls))
        .await
        .unwrap();
    stream
        .write_all(b"GET /echo HTTP/1.1\r\n\r\n")
        .await
        .unwrap();
    let mut bytes = Vec::new();
    // Whether the TLS alert arrives before the connection breaks is not certain.
    let _ = stream.read_to_end(&mut bytes).await;
    assert!(!bytes.starts_with(b"HTTP"), "{bytes:?}");
}

#[tokio::test]
async fn a_silent_port_accepts_connections_and_sends_nothing() {
    let service = Service::start().await.unwrap();
    let mut stream = TcpStream::connect(address(&service, Endpoint::HttpsOnSilence))
        .await
        .unwrap();
    stream.write_all(b"\x16\x03\x01").await.unwrap();
    assert_eq!(read_until_silent(stream, |_| true).await, b"");
}

#[tokio::test]
async fn nothing_listens_on_the_closed_port() {
    let service = Service::start().await.unwrap();
    let error = TcpStream::connect(address(&service, Endpoint::ClosedPort))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn the_unresolvable_name_does_not_resolve() {
    let service = Service::start().await.unwrap();
    let url = service.url(Endpoint::UnresolvableName);
    assert!(url.split_once("://").unwrap().1.to_socket_addrs().is_err());
}
