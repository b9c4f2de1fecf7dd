//! Making the HTTP client: which addresses are taken, which certificates are trusted.
//!
//! The client follows no redirect, uses no proxy and repeats nothing: what it is told to send goes to
//! the address it was given, once.

use std::sync::Arc;
use std::time::Duration;

use panpan_contract::Secret;
use reqwest::header::HeaderValue;
use reqwest::{Client, Url, redirect, retry};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);

/// Why a panpan cannot be asked with these settings.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The text is no URL. It is not repeated: it may hold a password.
    #[error("the address of the server is no URL ({0}); write it as in http://127.0.0.1:7077")]
    Url(String),
    /// Another scheme than HTTP's.
    #[error("{0}: is no way to ask a server; write http:// or https://")]
    Scheme(String),
    /// A name or password, a query or a fragment.
    #[error("the address of the server may hold no {0}")]
    Extra(&'static str),
    /// The token holds what no header may.
    #[error("the token holds characters no token has, such as a line break")]
    Token,
    /// The PEM cannot be read.
    #[error("the certificates to trust cannot be read as PEM")]
    Pem(#[source] PemError),
    /// There is nothing in the PEM.
    #[error("there is no certificate among the certificates to trust")]
    NoCertificate,
    /// TLS cannot be set up, usually for want of certificates to trust.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
    /// The client cannot be set up.
    #[error("the HTTP client cannot be set up")]
    Client(#[source] reqwest::Error),
}

/// The address everything is asked below, with a path that ends in a slash.
pub(super) fn base(text: &str) -> Result<Url, RemoteError> {
    let mut url = Url::parse(text).map_err(|error| RemoteError::Url(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(RemoteError::Scheme(url.scheme().to_owned()));
    }
    for (extra, is_there) in [
        (
            "name or password",
            !url.username().is_empty() || url.password().is_some(),
        ),
        ("query", url.query().is_some()),
        ("fragment", url.fragment().is_some()),
    ] {
        if is_there {
            return Err(RemoteError::Extra(extra));
        }
    }
    let path = format!("{}/", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Ok(url)
}

/// The address as people write it.
pub(super) fn shown(url: &Url) -> &str {
    url.as_str().trim_end_matches('/')
}

/// A path below the address.
pub(super) fn below(base: &Url, name: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{name}", base.path()));
    url
}

/// The header that presents a token; no log shows its value.
pub(super) fn bearer(token: &Secret<String>) -> Result<HeaderValue, RemoteError> {
    let text = format!("Bearer {}", token.expose());
    let mut value = HeaderValue::from_str(&text).map_err(|_| RemoteError::Token)?;
    value.set_sensitive(true);
    Ok(value)
}

pub(super) fn build(
    url: &Url,
    ca: Option<&[u8]>,
    timeout: Duration,
) -> Result<Client, RemoteError> {
    Client::builder()
        .tls_backend_preconfigured(tls(url, ca)?)
        .no_proxy()
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .connect_timeout(CONNECT.min(timeout))
        .user_agent(concat!("panpan/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(RemoteError::Client)
}

/// The cryptography is passed along: what the rest of the process uses is not touched.
fn tls(url: &Url, ca: Option<&[u8]>) -> Result<ClientConfig, RemoteError> {
    let provider = Arc::new(ring::default_provider());
    let extra = ca.map_or(Ok(Vec::new()), certificates)?;
    let versions = ClientConfig::builder_with_provider(provider.clone());
    let builder = versions
        .with_safe_default_protocol_versions()
        .map_err(RemoteError::Tls)?;
    // Without TLS nobody has to be trusted, and the certificates of the system need not be there.
    if url.scheme() != "https" {
        let nobody = RootCertStore::empty();
        return Ok(builder.with_root_certificates(nobody).with_no_client_auth());
    }
    let verifier = Verifier::new_with_extra_roots(extra, provider).map_err(RemoteError::Tls)?;
    Ok(builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, RemoteError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = read.map_err(RemoteError::Pem)?;
    if certificates.is_empty() {
        return Err(RemoteError::NoCertificate);
    }
    Ok(certificates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_with_and_without_a_path() {
        for (text, called) in [
            ("http://127.0.0.1:7077", "http://127.0.0.1:7077/call"),
            ("http://127.0.0.1:7077/", "http://127.0.0.1:7077/call"),
            (
                "https://tools.example/panpan",
                "https://tools.example/panpan/call",
            ),
            (
                "https://tools.example/a/b//",
                "https://tools.example/a/b/call",
            ),
        ] {
            assert_eq!(below(&base(text).unwrap(), "call").as_str(), called);
        }
    }

    #[test]
    fn other_addresses_are_refused_and_no_password_is_repeated() {
        for (text, said) in [
            ("127.0.0.1:7077", "no URL"),
            ("localhost:7077", "localhost: is no way to ask"),
            ("ftp://tools.example", "ftp: is no way to ask"),
            ("http://", "no URL"),
            ("http://me:hunter2@tools.example", "no name or password"),
            ("http://me:hunter2@", "no URL"),
            ("http://tools.example?token=hunter2", "no query"),
            ("http://tools.example#hunter2", "no fragment"),
        ] {
            let error = base(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_token_no_header_can_carry_is_refused() {
        assert!(bearer(&Secret::new("pp_1234".to_owned())).is_ok());
        let broken = bearer(&Secret::new("pp\r\nHost: evil".to_owned()));
        assert!(matches!(broken, Err(RemoteError::Token)));
    }

    #[test]
    fn what_is_no_certificate_is_not_trusted() {
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n";
        assert!(matches!(
            certificates(b"hello"),
            Err(RemoteError::NoCertificate)
        ));
        assert!(matches!(
            certificates(broken.as_bytes()),
            Err(RemoteError::Pem(_))
        ));
    }
}
