//! Where the service is looked for, and what is wrong there.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use panpan_faulty::{Place, Service};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::client::{Answer, before_silence};

fn address(service: &Service, place: Place) -> SocketAddr {
    let url = service.url(place);
    url.split_once("://").unwrap().1.parse().unwrap()
}

async fn secure(service: &Service, place: Place) -> io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(service.authority_pem().as_bytes()).unwrap();
    roots.add(authority).unwrap();
    let config = ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let address = address(service, place);
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::from(address.ip());
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}

/// Why no secure connection came about.
async fn refused(service: &Service, place: Place) -> rustls::Error {
    let error = secure(service, place).await.unwrap_err();
    error.downcast().unwrap()
}

#[tokio::test]
async fn who_trusts_the_authority_reaches_the_service() {
    let service = Service::start().await.unwrap();
    let mut stream = secure(&service, Place::Tls).await.unwrap();
    stream
        .write_all(b"GET /echo HTTP/1.1\r\n\r\n")
        .await
        .unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    assert_eq!(Answer::of(&bytes).json()["path"], "/echo");
}

/// What a client finds wrong with a certificate.
fn flaw(error: &rustls::Error) -> Option<Place> {
    use CertificateError as Flaw;
    let rustls::Error::InvalidCertificate(error) = error else {
        return None;
    };
    match error {
        Flaw::UnknownIssuer => Some(Place::SelfSigned),
        Flaw::Expired | Flaw::ExpiredContext { .. } => Some(Place::Expired),
        Flaw::NotValidForName | Flaw::NotValidForNameContext { .. } => Some(Place::OtherHost),
        _ => None,
    }
}

#[tokio::test]
async fn every_flaw_of_a_certificate_is_the_one_it_says() {
    let service = Service::start().await.unwrap();
    for place in [Place::SelfSigned, Place::Expired, Place::OtherHost] {
        let error = refused(&service, place).await;
        assert_eq!(flaw(&error), Some(place), "{error}");
    }
}

#[tokio::test]
async fn a_plain_port_answers_no_handshake() {
    let service = Service::start().await.unwrap();
    let error = refused(&service, Place::HttpsOnPlain).await;
    assert!(
        matches!(error, rustls::Error::InvalidMessage(_)),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_secure_port_answers_no_plain_request() {
    let service = Service::start().await.unwrap();
    let mut stream = TcpStream::connect(address(&service, Place::HttpOnTls))
        .await
        .unwrap();
    stream
        .write_all(b"GET /echo HTTP/1.1\r\n\r\n")
        .await
        .unwrap();
    let mut bytes = Vec::new();
    // Whether its last words arrive before the connection breaks is not certain.
    let _ = stream.read_to_end(&mut bytes).await;
    assert!(!bytes.starts_with(b"HTTP"), "{bytes:?}");
}

#[tokio::test]
async fn a_silent_port_takes_connections_and_says_nothing() {
    let service = Service::start().await.unwrap();
    let mut stream = TcpStream::connect(address(&service, Place::HttpsOnSilence))
        .await
        .unwrap();
    stream.write_all(b"\x16\x03\x01").await.unwrap();
    assert_eq!(before_silence(stream, |_| true).await, b"");
}

#[tokio::test]
async fn nobody_listens_where_nobody_is() {
    let service = Service::start().await.unwrap();
    let error = TcpStream::connect(address(&service, Place::Nobody))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn a_name_without_an_address_has_none() {
    let service = Service::start().await.unwrap();
    let url = service.url(Place::NoName);
    assert!(url.split_once("://").unwrap().1.to_socket_addrs().is_err());
}
